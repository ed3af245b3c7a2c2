import math
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.errors import EngineError
from rgsupport.samplers._survive import Died, groups, survive
from rgsupport.types import Completion, FinishReason, Request

WINDOW = 8


def request(index):
    return Request("p", index, 100 + index, (1,))


class Engine:
    """An engine of a few lines: some requests kill it, or some attempts do, or all of them."""

    def __init__(self, *, fatal=(), deadly_attempts=(), always=False):
        self.fatal, self.deadly_attempts, self.always = set(fatal), set(deadly_attempts), always
        self.attempts = self.starts = 0

    def attempt(self, source):
        self.attempts += 1
        while batch := list(islice(source, WINDOW)):
            dies = self.always or self.attempts in self.deadly_attempts
            if dies or any(one.sample_index in self.fatal for one in batch):
                yield from map(Died, batch)
                return
            for one in batch:
                yield Completion(one.problem_id, one.sample_index, one.seed, "text", FinishReason.STOP, 1)

    def restart(self):
        self.starts += 1

    def works(self):
        return not self.always


def reasons(engine, n):
    completions = list(survive(engine, map(request, range(n))))
    assert len(completions) == n
    return {completion.sample_index: completion.finish_reason for completion in completions}


@given(
    n=st.integers(0, 60),
    fatal=st.sets(st.integers(0, 59), max_size=20),
    deadly=st.sets(st.integers(1, 12), max_size=2),
)
def test_every_request_ends_once_and_those_that_kill_are_given_up(n, fatal, deadly):
    found = reasons(Engine(fatal=fatal, deadly_attempts=deadly), n)
    given_up = {index for index, reason in found.items() if reason is FinishReason.ABORT}
    assert fatal & set(range(n)) <= given_up
    # Two deaths by chance can find an innocent request alone, but never three of them.
    assert len(given_up - fatal) <= len(deadly)


def test_an_engine_that_does_not_die_is_never_started_again():
    engine = Engine()
    assert len(reasons(engine, 30)) == 30
    assert engine.starts == 0


def test_a_death_by_chance_costs_one_start():
    engine = Engine(deadly_attempts={1})
    assert set(reasons(engine, 30).values()) == {FinishReason.STOP}
    assert engine.starts == 1


@pytest.mark.parametrize("n", [1, 2, 4, 16, 300])
def test_an_engine_that_always_dies_is_an_error_and_gives_up_no_request(n):
    made = []
    with pytest.raises(EngineError, match=r"dies of every request|times in a row"):
        made.extend(survive(Engine(always=True), map(request, range(n))))
    assert made == []


@pytest.mark.parametrize("n", [1, 2, 7, 512])
def test_suspects_are_tried_again_together_then_in_small_groups_then_alone(n):
    died = [request(index) for index in range(n)]
    assert groups(died, deaths=1) == [died]
    second = groups(died, deaths=2)
    assert [one for group in second for one in group] == died
    assert max(map(len, second)) == math.isqrt(n)
    assert groups(died, deaths=3) == [[one] for one in died]
