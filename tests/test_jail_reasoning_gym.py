"""The jail with the verifiers of Reasoning Gym that run or choke on a model's text."""

import pytest

from rgsupport.jail import MAX_ANSWER, Jail, Job, Specification
from rgsupport.reasoning_gym import default_task
from rgsupport.types import Status

EVALUATE = ("binary_matrix", "n_queens", "spiral_matrix", "string_insertion")
PARSE = ("countdown", "puzzle24", "polynomial_multiplication", "simple_integration", "intermediate_integration")
OTHERS = ("propositional_logic", "rubiks_cube", "leg_counting")

EXIT_AT_ONCE = '__import__("os")._exit(7)'
KILL_PARENT = '__import__("os").kill(__import__("os").getppid(), 9)'
POWER = "9**9**9"

# The file that TOUCH stands for is known only when the test runs.
TOUCH = "touch"

ATTACKS = [
    ("binary_matrix", TOUCH, Status.ERROR),
    ("n_queens", EXIT_AT_ONCE, Status.ERROR),
    ("spiral_matrix", KILL_PARENT, Status.ERROR),
    ("countdown", POWER, Status.TIMEOUT),
    ("polynomial_multiplication", TOUCH, Status.ERROR),
    # These two swallow every exception, so only the guard's memory tells that something was refused.
    ("simple_integration", TOUCH, Status.ERROR),
    ("intermediate_integration", KILL_PARENT, Status.ERROR),
    *((name, "exit()", Status.ERROR) for name in EVALUATE),
    *((name, "[0]*10**9", Status.WRONG) for name in ("n_queens", "string_insertion")),
    ("propositional_logic", "(" * 2000 + "p" + ")" * 2000, Status.ERROR),
    ("rubiks_cube", "U " * 400_000, Status.ERROR),
    ("leg_counting", "9" * MAX_ANSWER, Status.WRONG),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Status of every attack, in order, then of every dataset's reference by name; and the file that must not be."""
    target = tmp_path_factory.mktemp("attacked") / "touched"
    command = f'__import__("os").system("touch {target}")'
    problems = {name: default_task(name).problems(count=1, seed=45)[0] for name in (*EVALUATE, *PARSE, *OTHERS)}
    references = {name: problem for name, problem in problems.items() if problem.reference is not None}
    asked = [(name, command if answer is TOUCH else answer) for name, answer, _ in ATTACKS]
    asked += [(name, problem.reference) for name, problem in references.items()]
    jobs = [Job(key, problems[name], answer) for key, (name, answer) in enumerate(asked)]
    specification = Specification(tuple(problems))
    with Jail(specification, time_limit=6.0) as jail:
        found = {result.key: result for result in jail.score(jobs)}
    in_order = [found[key] for key in range(len(jobs))]
    return in_order[: len(ATTACKS)], dict(zip(references, in_order[len(ATTACKS) :], strict=True)), target


@pytest.mark.parametrize("place", range(len(ATTACKS)), ids=[f"{name}-{text[:30]}" for name, text, _ in ATTACKS])
def test_an_attack_on_a_verifier_is_a_status(results, place):
    attacks, _, _ = results
    assert attacks[place].status is ATTACKS[place][2], attacks[place].detail


def test_references_beside_the_attacks_are_correct(results):
    _, references, _ = results
    assert len(references) == len(EVALUATE) + len(PARSE) + 1
    assert {name for name, result in references.items() if result.status is not Status.CORRECT} == set()


def test_no_answer_wrote_a_file(results):
    _, _, target = results
    assert target.parent.is_dir()
    assert not target.exists()
