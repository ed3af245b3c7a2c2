"""Hostile answers to every dataset of Reasoning Gym whose verifier is known to execute, hang, overflow or raise.

Each dataset gets all of them, with its own reference between them. Nothing may be left behind, and none be correct.
"""

import os
from pathlib import Path

import psutil
import pytest

from rgsupport import codec
from rgsupport.jail import Jail, Job, Specification
from rgsupport.reasoning_gym import default_task
from rgsupport.types import Status
from right_answers import right_answer

LIMIT = 2.0
EXECUTE = (
    *("binary_matrix", "n_queens", "spiral_matrix", "string_insertion", "countdown", "puzzle24"),
    *("polynomial_multiplication", "simple_integration", "intermediate_integration"),
)
RAISE = ("boxnet", "codeio", "game_of_life", "prime_factorization", "propositional_logic", "rubiks_cube", "composite")
OS = '__import__("os")'
# Each of these ends a worker of a verifier that executes it.
CODE = {
    "touch": f'{OS}.system("touch {{folder}}/touched")',
    "leave at once": f"{OS}._exit(7)",
    "exit": "exit()",
}
MORE_CODE = {
    "sys.exit": '__import__("sys").exit()',
    "kill parent": f"{OS}.kill({OS}.getppid(), 9)",
    "open": "open('{folder}/opened', 'w')",
    "kill itself": f"{OS}.kill({OS}.getpid(), 9)",
    "kill group": f"{OS}.killpg(0, 9)",
    "fork": f"{OS}.fork()",
    "fork bomb": f"[{OS}.fork() for _ in range(100)]",
    "socket": '__import__("socket").socket()',
    "shell": '__import__("subprocess").Popen(["sleep", "1000"])',
    "environment": f'{OS}.environ["PATH"]',
    "parent's environment": f'open("/proc/%d/environ" % {OS}.getppid()).read()',
}
TEXTS = {
    "memory": "[0]*10**9",
    "long text": '"a"*10**10',
    "nested map": '{"a":' * 1000 + "1" + "}" * 1000,
    "brackets": "(" * 2000 + "p" + ")" * 2000,
    "square brackets": "[" * 4000 + "]" * 4000,
    "lines": "1\n" * 4000,
    "commas": "1," * 4000,
    "moves": "U " * 200_000,
    "digits": "9" * 9000,
    "not a number": "NaN",
    "none": "None",
    "null": "null",
    "a map": '{"a":1}',
    "a list": "[[1]]",
    "an agent": '[{"Agent[0.5, 0.5]": 5}]',
    "off the grid": '[{"Agent[0.5, 0.5]": "move(box_red, square[-0.5, 0.5])"}]',
    "surrogate": "\ud800",
    "empty": "",
    "sum": "+".join("x" * 3000),
    "json bomb": "[" + ",".join(["[" * 50 + "]" * 50] * 80) + "]",
}
# These make a verifier hang, so each costs the limit.
ENDLESS = ("9**9**9", "10**10**10", "factorial(10**8)", "1e999999999", "1e-999999999")
# One dataset of each kind, whose verifiers evaluate Python and parse formulas, gets everything.
THOROUGH = ("binary_matrix", "simple_integration")


def hostile(name, folder):
    """Return what a dataset is attacked with."""
    texts = [*TEXTS.values(), *CODE.values(), ENDLESS[0]]
    if name in THOROUGH:
        texts += [*MORE_CODE.values(), *ENDLESS[1:]]
    return [text.replace("{folder}", str(folder)) for text in texts]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Every result with its question, and the folder that was attacked."""
    folder = tmp_path_factory.mktemp("attacked")
    problems = {name: default_task(name).problems(count=1, seed=45)[0] for name in (*EXECUTE, *RAISE)}
    asked = []
    for name, problem in problems.items():
        right = right_answer(codec.decode(problem.entry))
        asked += [(name, text) for attack in hostile(name, folder) for text in (attack, right)]
    jobs = [Job(key, problems[name], answer) for key, (name, answer) in enumerate(asked)]
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with Jail(Specification(tuple(problems)), time_limit=LIMIT) as jail:
        found = {result.key: result for result in jail.score(jobs)}
        inside = {child.pid for child in psutil.Process().children(recursive=True)} - before
    assert len(inside) == 2, "more runs than the two workers"
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    return [(name, text, found[key]) for key, (name, text) in enumerate(asked)], folder


def test_no_hostile_answer_is_correct(results):
    answers, _ = results
    assert [(name, text[:60]) for name, text, result in answers[::2] if result.status is Status.CORRECT] == []


def test_the_answers_of_the_batch_beside_them_are_right(results):
    answers, _ = results
    wrong = [(name, text, result) for name, text, result in answers[1::2] if result.status is not Status.CORRECT]
    assert wrong == []
    assert len(answers) > 800


def test_no_file_was_written(results):
    _, folder = results
    assert list(folder.iterdir()) == []
    assert not list(Path(os.curdir).glob("touched"))


def test_what_hangs_is_stopped_at_the_limit(results):
    answers, _ = results
    statuses = {(name, text): result.status for name, text, result in answers}
    assert statuses["binary_matrix", "9**9**9"] is Status.TIMEOUT
    assert all(f"no score within {LIMIT:g} s" in r.detail for _, _, r in answers if r.status is Status.TIMEOUT)


@pytest.mark.parametrize("name", EXECUTE)
def test_code_that_a_verifier_executes_is_refused_by_name(results, name):
    answers, folder = results
    attack = CODE["touch"].replace("{folder}", str(folder))
    (result,) = [result for dataset, text, result in answers if (dataset, text) == (name, attack)]
    assert result.status is Status.ERROR
    assert "may not do this: os.system" in result.detail
