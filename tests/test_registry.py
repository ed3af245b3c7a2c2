"""Names become tasks, and what is wrong with a name or a file is said in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from rgsupport.errors import UsageError
from rgsupport.protocols import Described, Normalises, Task
from rgsupport.registry import (
    PAPER_TASKS,
    expand,
    list_tasks,
    load_tasks,
    task_digest,
    task_source,
    with_checker,
    with_doubts,
)

PAPER_CONFIGURATIONS = {
    "dice": {"num_dice": 4, "max_dice_size": 20},
    "prime_factorization": {"min_value": 2, "max_value": 1000},
    "prime_factorization_hard": {"min_value": 1000, "max_value": 5000},
    "palindrome_generation": {"min_length": 3, "max_length": 10},
    "advanced_geometry": {"min_coord": -10, "max_coord": 10},
    "advanced_geometry_hard": {"min_coord": -100, "max_coord": 100},
    "graph_color": {"min_num_vertices": 10, "max_num_vertices": 10, "num_colors": 3, "edge_probability": 0.1},
    "graph_color_hard": {"min_num_vertices": 10, "max_num_vertices": 20, "num_colors": 4, "edge_probability": 0.1},
    "graph_color_vertex15": {"min_num_vertices": 15, "max_num_vertices": 15, "num_colors": 3, "edge_probability": 0.1},
    "graph_color_vertex20": {"min_num_vertices": 20, "max_num_vertices": 20, "num_colors": 3, "edge_probability": 0.1},
    "arc_1d": {"min_size": 10, "max_size": 30, "num_train": 3},
    "boxnet": {"min_row_num": 1, "max_row_num": 4, "min_column_num": 2, "max_column_num": 4, "max_box_num": 1},
    "leg_counting": {"min_animals": 3, "max_animals": 10, "min_instances": 1, "max_instances": 15},
    "family_relationships": {"min_family_size": 4, "max_family_size": 8},
    "power_function": {"min_base": -1000.0, "max_base": 1000.0, "min_exponent": 0, "max_exponent": 8},
}
PAPER_CLASSES = {
    "graph_color_vertex20": "expansion",
    "arc_1d": "expansion",
    "boxnet": "expansion",
    "leg_counting": "shrinkage",
    "family_relationships": "shrinkage",
    "power_function": "shrinkage",
}
MINE = """
class Mine:
    name = "mine"
    def problems(self, *, count, seed): return []
    def score(self, problem, answer): return 0.0

TASKS = (Mine(),)
"""


def load(*names, params=None, folder=None):
    return load_tasks(names, params=params or {}, user_folder=folder)


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_a_task_of_the_paper_has_its_parameters_and_class(name):
    (task,) = load(name)
    assert isinstance(task, Task)
    assert isinstance(task, Described)
    assert isinstance(task, Normalises)
    assert task.params.items() >= PAPER_CONFIGURATIONS[name].items()
    assert task.paper_class == PAPER_CLASSES.get(name, "preservation")
    assert task_source(name, user_folder=None).startswith("built-in ")


def test_paper_stands_for_the_15_tasks_in_the_order_of_the_paper():
    assert [task.name for task in load("paper")] == list(PAPER_CONFIGURATIONS)
    assert len(PAPER_CONFIGURATIONS) == 15


def test_a_name_given_twice_is_one_task():
    assert expand(["boxnet", "paper", "boxnet"]) == ("boxnet", *(name for name in PAPER_TASKS if name != "boxnet"))
    assert [task.name for task in load("gcd", "dice", "gcd")] == ["gcd", "dice"]


def test_every_dataset_is_a_task_with_its_default_parameters():
    listed = list_tasks(None)
    assert [task.name for task in listed[:15]] == list(PAPER_TASKS)
    assert len(listed) == 15 + 106 - 10  # ten datasets are among the paper's fifteen tasks
    assert len({task.name for task in listed}) == len(listed)
    for task in listed:
        assert isinstance(task, Described)
        assert task.category
        assert "seed" not in task.params
    assert load("chain_sum")[0].params["min_terms"] == 2
    assert task_source("chain_sum", user_folder=None) == "reasoning-gym"
    assert load("chain_sum")[0].category == "arithmetic"


def test_the_tasks_of_the_paper_load_without_reasoning_gym():
    program = (
        "import sys; from rgsupport.registry import load_tasks\n"
        "load_tasks(['paper'], params={}, user_folder=None); print('reasoning_gym' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "False\n"


@pytest.mark.parametrize(
    ("names", "params", "message"),
    [
        (
            ["graph_colour"],
            {},
            "no task 'graph_colour'; did you mean graph_color or graph_color_hard or graph_color_vertex20?",
        ),
        (["zzzzzz"], {}, "no task 'zzzzzz'; `rgsupport tasks` lists them"),
        ([], {}, "no task was named; name some, or 'paper' for the paper's 15"),
        (["dice"], {"gcd": {}}, "parameters are set for 'gcd', which is not among the tasks dice"),
        (
            ["dice"],
            {"dice": {"num_dise": 3}},
            "task 'dice' has no parameter 'num_dise'; did you mean num_dice?; its parameters: num_dice, max_dice_size",
        ),
        (
            ["dice"],
            {"dice": {"num_dice": "six"}},
            "parameter 'num_dice' of task 'dice' is of type int, like 4, not 'six'",
        ),
        (
            ["dice"],
            {"dice": {"num_dice": 0}},
            "task 'dice' refuses its parameters (num_dice=0): num_dice must be gte 1",
        ),
        (
            ["dice"],
            {"dice": {"seed": 1}},
            "task 'dice' has no parameter 'seed'; its parameters: num_dice, max_dice_size",
        ),
    ],
)
def test_a_wrong_name_or_parameter_is_refused_with_what_would_be_right(names, params, message):
    with pytest.raises(UsageError) as error:
        load_tasks(names, params=params, user_folder=None)
    assert str(error.value) == message


def test_parameters_are_set_over_those_of_the_task():
    (task,) = load("graph_color_vertex15", params={"graph_color_vertex15": {"num_colors": 4}})
    assert task.params.items() >= {"num_colors": 4, "min_num_vertices": 15}.items()
    assert task.name == "graph_color_vertex15"


def test_a_users_file_gives_its_tasks(tmp_path):
    (tmp_path / "own.py").write_text(MINE)
    (task,) = load("mine", folder=tmp_path)
    assert task.score(None, "x") == 0.0
    assert task_source("mine", user_folder=tmp_path) == str(tmp_path / "own.py")
    assert "mine" in [task.name for task in list_tasks(tmp_path)]
    with pytest.raises(UsageError, match="no task 'mine'"):
        load("mine", folder=None)


def test_a_users_file_takes_the_place_of_the_built_in_one_of_the_same_name(tmp_path):
    (tmp_path / "dice.py").write_text(MINE.replace('"mine"', '"dice"'))
    (task,) = load("dice", folder=tmp_path)
    assert type(task).__name__ == "Mine"
    assert task_source("dice", user_folder=tmp_path) == str(tmp_path / "dice.py")


def test_a_copy_of_a_built_in_file_is_still_built_in(tmp_path):
    builtin = Path(__file__).parents[1] / "tasks" / "dice.py"
    (tmp_path / "dice.py").write_bytes(builtin.read_bytes())
    assert task_source("dice", user_folder=tmp_path) == "built-in dice.py"


def test_a_users_task_goes_before_the_dataset_of_the_same_name(tmp_path):
    (tmp_path / "own.py").write_text(MINE.replace('"mine"', '"gcd"'))
    assert type(load("gcd", folder=tmp_path)[0]).__name__ == "Mine"
    assert [task.name for task in list_tasks(tmp_path)].count("gcd") == 1


@pytest.mark.parametrize(
    "stranger",
    [
        "raise SystemExit('executed')",
        "def f():\n    TASKS = ()\nraise RuntimeError",
        "print 'Python 2'",
        "x = TASKS2 = 1/0",
    ],
)
def test_a_file_that_is_no_task_file_is_never_executed(tmp_path, stranger):
    (tmp_path / "deploy.py").write_text(stranger)
    (tmp_path / "own.py").write_text(MINE)
    assert load("mine", folder=tmp_path)[0].name == "mine"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("TASKS = (", "task file {} is not valid Python: '(' was never closed"),
        ("TASKS = ()\nimport no_such_module", "task file {} cannot be loaded: ModuleNotFoundError: No module named"),
        ("TASKS = ()\nraise SystemExit(3)", "task file {} cannot be loaded: SystemExit: 3"),
        ("TASKS = 3", "TASKS of {} is a int; it must be a tuple of tasks"),
        ("TASKS: tuple = (object(),)", "a task of {} has no name and no problems and no score (it is a object)"),
        (MINE.replace("def score", "def rate"), "a task of {} has no score (it is a Mine)"),
        (MINE.replace('"mine"', '"my task"'), "a task of {} has the name 'my task'; names are letters, digits,"),
        (MINE.replace('"mine"', '"paper"'), "a task of {} has the name 'paper'"),
        (MINE.replace('"mine"', "3"), "a task of {} has the name 3"),
        (MINE.replace("(Mine(),)", "(Mine(), Mine())"), "task 'mine' is defined twice: in {} and in {}"),
        (MINE.replace('"mine"', '"dice"'), "task 'dice' is defined twice: in built-in dice.py and in {}"),
    ],
)
def test_a_task_file_that_cannot_be_used_is_named_with_what_is_wrong(tmp_path, source, message):
    path = tmp_path / "own.py"
    path.write_text(source)
    with pytest.raises(UsageError) as error:
        load("gcd", folder=tmp_path)
    assert str(error.value).startswith(message.replace("{}", str(path)))
    assert "\n" not in str(error.value)


def test_parameters_of_a_task_that_has_none_are_refused(tmp_path):
    (tmp_path / "own.py").write_text(MINE)
    with pytest.raises(UsageError, match="task 'mine' has no parameters"):
        load("mine", params={"mine": {"size": 3}}, folder=tmp_path)


def test_a_digest_changes_with_the_file_of_the_task(tmp_path):
    (tmp_path / "own.py").write_text(MINE)
    before = task_digest("mine", user_folder=tmp_path)
    assert before == task_digest("mine", user_folder=tmp_path)
    (tmp_path / "own.py").write_text(MINE.replace("0.0", "1.0"))
    assert task_digest("mine", user_folder=tmp_path) != before
    assert load("mine", folder=tmp_path)[0].score(None, "x") == 1.0
    assert task_digest("dice", user_folder=tmp_path) != ""
    assert task_digest("gcd", user_folder=tmp_path) == ""


def test_a_folder_that_does_not_exist_holds_no_tasks(tmp_path):
    assert load("dice", folder=tmp_path / "nowhere")[0].name == "dice"


def test_tasks_with_a_checker_and_those_that_can_doubt_are_told_apart(tmp_path):
    (tmp_path / "mine.py").write_text(
        MINE.replace("TASKS = (Mine(),)", "")
        + """
class Doubting(Mine):
    name = "doubting"
    has_checker = False
    def check(self, problem, answer): raise AssertionError
    def doubt(self, problem): return ""

class Checking(Doubting):
    name = "checking"
    has_checker = True

TASKS = (Mine(), Doubting(), Checking())
"""
    )
    names = ("mine", "doubting", "checking", "dice", "sudoku")
    assert with_checker(names, user_folder=tmp_path) == {"checking", "dice"}
    assert with_doubts(names, user_folder=tmp_path) == {"doubting", "checking", "dice"}
