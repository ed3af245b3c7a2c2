"""A task of the paper, its first problems, and whether an answer is right, with and without its normaliser."""

from functools import cache

from rgsupport.registry import load_tasks

SEED = 45


@cache
def task(name):
    (found,) = load_tasks([name], params={}, user_folder=None)
    return found


@cache
def problems(name, count=50):
    return task(name).problems(count=count, seed=SEED)


def is_right(name, problem, answer):
    """Tell whether the task takes an answer after normalising it: the lenient verdict."""
    return task(name).score(problem, task(name).normalise(answer)) >= 1 - 1e-9


def is_strictly_right(name, problem, answer):
    """Tell whether the task takes an answer as it is."""
    return task(name).score(problem, answer) >= 1 - 1e-9


HEDGES = ("{} or {}", "{}, {}", "{} and {}", "{}; {}", "{}\n{}", "not {} = {}?", "x = {} or x = {}", "{} = x, x = {}")
"""Two answers in one: neither is taken, not even where both stand for the same."""


def assert_hedges_are_wrong(name, problem, right, wrong):
    for hedge in HEDGES:
        for pair in ((right, wrong), (wrong, right)):
            text = hedge.format(*pair)
            assert not is_right(name, problem, text), text
