"""`generate` gives the same problems whatever process calls it, and what is stored is what Reasoning Gym made."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rgsupport.errors import EngineError, UsageError
from rgsupport.generation import generate
from rgsupport.reasoning_gym import dataset_names

HERE = Path(__file__).parent
SEED = 45
COUNT = 2  # of each of 106 datasets; some need a second per problem
PARENT = """
import json, sys
from dataclasses import asdict
from rgsupport.generation import generate
problems = generate(json.loads(sys.argv[1]), params={}, user_folder=None, count=%d, seed=%d, on_problem=None)
json.dump([asdict(problem) for problem in problems], sys.stdout)
"""


def made(names, *, count=3, seed=SEED, params=None, user_folder=None, on_problem=None):
    return generate(names, params=params or {}, user_folder=user_folder, count=count, seed=seed, on_problem=on_problem)


@pytest.fixture(scope="module")
def from_two_parents(tmp_path_factory):
    """All datasets as made by two parents that differ in hash seed, folder and warnings; as lists of fields."""
    names = json.dumps(dataset_names())
    parents = [
        subprocess.Popen(
            [sys.executable, "-c", PARENT % (COUNT, SEED), names],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path_factory.mktemp(f"parent{hash_seed}"),
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": warnings},
        )
        for hash_seed, warnings in (("1", "default"), ("77", "error::SyntaxWarning"))
    ]
    printed = [parent.communicate() for parent in parents]
    assert [parent.returncode for parent in parents] == [0, 0], printed
    return [json.loads(stdout) for stdout, _ in printed]


def test_all_datasets_give_the_same_problems_to_parents_with_different_hash_seeds(from_two_parents):
    first, second = from_two_parents
    assert first == second
    assert len(first) == COUNT * len(dataset_names()) == COUNT * 106


def test_every_stored_item_equals_the_live_one_and_scores_right_and_wrong_answers_alike(from_two_parents, tmp_path):
    stored = tmp_path / "problems.json"
    stored.write_text(json.dumps({"seed": SEED, "problems": from_two_parents[0]}))
    program = subprocess.run(
        [sys.executable, HERE / "compare_stored_with_live.py", stored],
        env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert program.stdout == ""


def test_a_smaller_count_gives_the_first_problems_of_a_larger_one():
    names = ["dice", "acre", "list_functions"]  # items of the last two depend on the size of their dataset
    few, many = made(names, count=3), made(names, count=7)
    assert few == [problem for n in range(3) for problem in many[7 * n : 7 * n + 3]]


def test_problems_arrive_one_by_one_in_the_order_of_the_list():
    seen = []
    assert made(["dice", "gcd"], on_problem=seen.append) == seen
    assert [problem.task for problem in seen] == ["dice"] * 3 + ["gcd"] * 3


def test_another_hash_seed_is_taken_only_where_it_is_asked_for():
    def questions(hash_seed):
        problems = generate(
            ["isomorphic_strings"],
            params={},
            user_folder=None,
            count=3,
            seed=SEED,
            on_problem=None,
            hash_seed=hash_seed,
        )
        return [problem.question for problem in problems]

    usual = [problem.question for problem in made(["isomorphic_strings"])]
    assert questions(0) == usual
    assert questions(1) != usual


def test_the_time_that_each_task_took_is_told_before_its_problems_arrive():
    told = []
    generate(
        ["dice", "arc_1d"],
        params={},
        user_folder=None,
        count=2,
        seed=SEED,
        on_problem=lambda problem: told.append(problem.task),
        on_task=lambda name, seconds: told.append((name, seconds > 0)),
    )
    assert told == [("dice", True), "dice", "dice", ("arc_1d", True), "arc_1d", "arc_1d"]


def test_what_a_dataset_prints_and_the_files_it_writes_stay_out_of_the_way(tmp_path, monkeypatch, capfd):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "loud.py").write_text(LOUD)
    (tmp_path / "random.py").write_text("raise SystemExit('a file of the working directory was imported')")
    monkeypatch.chdir(tmp_path)
    (problem,) = made(["loud"], count=1, user_folder=Path("tasks"))
    assert problem.question == "?"
    assert capfd.readouterr() == ("", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["random.py", "tasks"]


@pytest.mark.parametrize(
    ("names", "params", "message"),
    [
        (["dise"], {}, "no task 'dise'; did you mean dice?"),
        (
            ["dice"],
            {"dice": {"num_dice": 0}},
            "task 'dice' refuses its parameters (num_dice=0): num_dice must be gte 1",
        ),
        (
            ["prime_factorization"],
            {"prime_factorization": {"max_value": 5}},
            "task 'prime_factorization' has only 4 distinct questions within reach of seed 45, and 9 were asked for: "
            "ask for 4 or fewer (--problems)",
        ),
    ],
)
def test_a_mistake_found_in_the_child_is_raised_with_the_same_class_and_text(names, params, message):
    with pytest.raises(UsageError) as error:
        made(names, params=params, count=9)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("body", "message", "kind"),
    [
        ("raise ValueError('no dice left')", "ValueError: no dice left", UsageError),
        ("os.kill(os.getpid(), 9)", "SIGKILL", EngineError),
    ],
)
def test_a_task_that_dies_ends_in_one_line_that_says_how(tmp_path, body, message, kind):
    (tmp_path / "mine.py").write_text(LOUD.replace("problem = ", f"{body}; problem = "))
    with pytest.raises(kind) as error:
        made(["loud"], count=1, user_folder=tmp_path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[problem]", "[]"), "task 'loud' made no problems"),
        (("[problem]", "[problem, problem]"), "task 'loud' made 2 problems where 1 were asked for"),
        (("task=self.name, id", "task='quiet', id"), "task 'loud' made problems under another task's name"),
        (("id=problem_id(task=self.name, question='?')", "id='1'"), "task 'loud' made an id that is not"),
    ],
)
def test_problems_that_break_the_rules_of_a_run_are_refused(tmp_path, change, message):
    assert change[0] in LOUD
    (tmp_path / "mine.py").write_text(LOUD.replace(*change))
    with pytest.raises(UsageError, match=message):
        made(["loud"], count=1, user_folder=tmp_path)


def test_problems_survive_the_pipe_whatever_their_text(tmp_path):
    text = "a\n\u2028\0 ∠ {\\"
    (tmp_path / "mine.py").write_text(LOUD.replace("'?'", ascii(text)))
    (problem,) = made(["loud"], count=1, user_folder=tmp_path)
    assert problem.question == text


LOUD = """
import os, sys
from rgsupport.seeds import problem_id
from rgsupport.types import Problem

class Loud:
    name = "loud"
    def problems(self, *, count, seed):
        print("noise"); os.system("echo more noise"); sys.stderr.write("noise"); open("file.txt", "w").close()
        problem = Problem(task=self.name, id=problem_id(task=self.name, question='?'), index=0, question='?',
                          reference="1", entry="")
        return [problem]
    def score(self, problem, answer):
        return float(answer == problem.reference)

TASKS = (Loud(),)
"""
