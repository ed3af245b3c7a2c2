"""Finish every request though the engine may die: try again, find the request that kills, give that one up."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Final, Protocol

from rgsupport.errors import EngineError
from rgsupport.types import Completion, FinishReason, Request

_FATAL_DEATHS: Final = 3  # of the engine, with the same request in flight
_MOST_DEATHS_IN_A_ROW: Final = 6


@dataclass(frozen=True, slots=True)
class Died:
    """A request that was in flight when the engine died."""

    request: Request


class Mortal(Protocol):
    """An engine that may die."""

    def attempt(self, source: Iterator[Request]) -> Iterator[Completion | Died]:
        """Yield what becomes of the requests of a source; at a death, of those in flight, and no more are drawn."""
        ...

    def restart(self) -> None:
        """Start it again after a death."""
        ...

    def works(self) -> bool:
        """Tell whether it survives a request that can do no harm."""
        ...


def survive(engine: Mortal, source: Iterator[Request]) -> Iterator[Completion]:
    """Yield the completion of every request, whatever dies on the way.

    What was in flight at a death is asked again. A request that is alone with the engine when that dies, and has seen
    three of its deaths, is given up (finish reason `abort`), provided that the engine survives a harmless one.

    Raises:
        EngineError: The engine dies again and again without finishing anything.
    """
    deaths: Counter[tuple[str, int]] = Counter()
    suspects: list[list[Request]] = []
    in_a_row = 0
    is_dead = False
    while True:
        group = iter(suspects.pop()) if suspects else source
        if is_dead:
            engine.restart()
        died: list[Request] = []
        for answer in engine.attempt(group):
            if isinstance(answer, Died):
                died.append(answer.request)
            else:
                in_a_row = 0
                yield answer
        is_dead = bool(died)
        if not died:
            if group is source:
                return
            continue
        in_a_row += 1
        if in_a_row > _MOST_DEATHS_IN_A_ROW:
            msg = f"the engine died {in_a_row} times in a row without finishing one response; see the log"
            raise EngineError(msg)
        if group is not source:
            suspects.append(list(group))
        deaths.update(map(_key, died))
        most = max(deaths[_key(request)] for request in died)
        if len(died) == 1 and most >= _FATAL_DEATHS:
            _refuse_if_it_never_works(engine)
            is_dead, in_a_row = False, 0
            yield aborted(died[0])
        else:
            suspects += reversed(groups(died, deaths=most))


def _refuse_if_it_never_works(engine: Mortal) -> None:
    engine.restart()
    if not engine.works():
        msg = "the engine dies of every request; see the log"
        raise EngineError(msg)


def groups(died: list[Request], *, deaths: int) -> list[list[Request]]:
    """Return how the requests that were in flight at a death are tried again.

    One death may have any cause: all go on together. After a second one a request is under suspicion: groups of the
    square root of their number, so that the one that kills is found with few deaths. After a third, each by itself.
    """
    size = {1: len(died), 2: isqrt(len(died))}.get(deaths, 1)
    return [died[start : start + size] for start in range(0, len(died), size)]


def aborted(request: Request) -> Completion:
    """Return the completion of a request that was given up."""
    return Completion(request.problem_id, request.sample_index, request.seed, "", FinishReason.ABORT, 0)


def _key(request: Request) -> tuple[str, int]:
    return request.problem_id, request.sample_index
