"""The main job as a user does it: the real command, the real miniature pair, real files."""

import json
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from math import comb
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command import done, refusal

TASKS = ("--tasks", "graph_color,dice", "--problems", "4")
ROLES = ("base", "rlvr")


def parquet(folder):
    """Read the parquet files of a folder as an outsider would: nothing of rgsupport."""
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


def keys(run, role, kind="completions"):
    frame = parquet(run / kind / role)
    return sorted(zip(frame["problem_id"], frame["sample_index"], strict=True))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def first(home):
    """Return what the main job prints in a folder of its own."""
    return done("run", *TASKS, "--k", "1,2,4", cwd=home)


@pytest.fixture(scope="module")
def run(home, first):
    assert first
    return home / "outputs" / "mini-base--mini-rlvr"


def test_the_main_job_says_which_models_it_uses_and_prints_both_tasks_with_a_class(first):
    assert "miniature pair" in first.splitlines()[0]
    assert "graph_color" in first
    assert "dice" in first
    assert re.search(r"preservation|expansion|shrinkage", first)


def test_every_sample_of_the_plan_is_there_once_with_its_verdict(run):
    problems = pl.read_parquet(run / "problems.parquet")
    expected = sorted((identity, index) for identity in problems["problem_id"] for index in range(4))
    for role in ROLES:
        assert keys(run, role) == expected
        assert keys(run, role, "verdicts") == expected


def test_nothing_unfinished_is_left_behind(run):
    assert not list(run.rglob("journal-*"))
    assert not list(run.rglob(".partial-*"))


def independent_pass_at_k(run, task, role, k):
    """Estimate pass@k with a few lines of numpy, from the files alone."""
    problems = pl.read_parquet(run / "problems.parquet").filter(pl.col("task") == task)
    verdicts = parquet(run / "verdicts" / role)
    values = []
    for identity in problems["problem_id"]:
        correct = (verdicts.filter(pl.col("problem_id") == identity)["lenient"] == "correct").to_numpy()
        n, c = len(correct), int(correct.sum())
        values.append(1 - comb(n - c, k) / comb(n, k))
    return float(np.mean(values))


def printed_curves(markdown):
    """Return {(task, role, k): text} of the pass@k tables of a Markdown report."""
    found = {}
    tables = [block for block in markdown.split("\n\n") if block.startswith("| k ")]
    for table in tables:
        header, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        for cells in lines:
            for heading, cell in list(zip(header, cells, strict=True))[1:]:
                _class, task, role = heading.split("<br>")
                found[task.replace("\\", ""), role.lower(), int(cells[0])] = cell.strip("*")
    return found


def test_the_printed_pass_at_k_equals_a_few_independent_lines_of_numpy(run):
    (path,) = (run / "tables").glob("*.md")
    printed = printed_curves(path.read_text())
    assert len(printed) == 2 * 2 * 3
    for (task, role, k), text in printed.items():
        assert text == f"{independent_pass_at_k(run, task, role, k):.3f}"


def test_the_same_command_samples_nothing_and_prints_the_same_bytes(home, run, first):
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*.parquet") if "tables" not in path.parts}
    assert done("run", *TASKS, "--k", "1,2,4", cwd=home) == first
    assert before == {path: path.stat().st_mtime_ns for path in run.rglob("*.parquet") if "tables" not in path.parts}


def test_each_stage_alone_gives_what_the_whole_line_gives(home, run, first, tmp_path):
    done("generate", "alone", *TASKS, cwd=tmp_path)
    done("sample", "alone", "--k", "1,2,4", cwd=tmp_path)
    done("verify", "alone", cwd=tmp_path)
    printed = done("analyze", "alone", cwd=tmp_path)
    assert done("report", "alone", cwd=tmp_path) == printed
    assert printed in first
    for role in ROLES:
        assert parquet(tmp_path / "alone/completions" / role).equals(parquet(run / "completions" / role))


def test_changed_sampling_is_refused_with_the_difference(home, run):
    line = refusal("run", *TASKS, "--k", "1,2,4", "--temperature", "0.7", "--seed", "45", cwd=home, code=2)
    assert "temperature is 0.6 in the run, 0.7 was asked" in line
    line = refusal("run", *TASKS, "--k", "1,2,4", "--seed", "46", cwd=home, code=2)
    assert "seed is 45 in the run, 46 was asked" in line
    line = refusal("run", *TASKS, "--k", "1,2,4", "--set", "dice.num_dice=2", cwd=home, code=2)
    assert "num_dice" in line
    line = refusal("run", *TASKS, "--k", "1,2,4", "--prompt", "simple", cwd=home, code=2)
    assert "system prompt" in line


def test_a_budget_that_was_not_sampled_is_refused_by_analyze(home, run):
    assert "k = 8" in refusal("analyze", run, "--k", "1,8", cwd=home, code=2)


def test_fewer_budgets_need_no_sampling(home, run):
    assert "K = 2" in done("analyze", run, "--k", "1,2", cwd=home).replace("K=2", "K = 2")


def test_a_larger_k_and_more_problems_and_tasks_top_up_what_is_there(home, run, first):
    old = {role: parquet(run / "completions" / role) for role in ROLES}
    frozen = pl.read_parquet(run / "problems.parquet")
    printed = done("run", "--tasks", "graph_color,dice,leg_counting", "--problems", "5", "--k", "1,2,4,8", cwd=home)
    problems = pl.read_parquet(run / "problems.parquet")
    assert problems.join(frozen, on=frozen.columns, how="semi", nulls_equal=True).height == frozen.height
    assert problems.height == 15
    expected = sorted((identity, index) for identity in problems["problem_id"] for index in range(8))
    for role in ROLES:
        assert keys(run, role) == expected
        new = parquet(run / "completions" / role)
        kept = new.join(old[role].select("problem_id", "sample_index"), on=["problem_id", "sample_index"], how="semi")
        assert kept.sort("problem_id", "sample_index").equals(old[role].sort("problem_id", "sample_index"))
    assert "leg_counting" in printed
    assert done("run", *TASKS, "--k", "1,2,4", cwd=home) == first


def test_the_record_tells_what_was_used(run):
    record = json.loads((run / "run.json").read_text())
    assert record["sampling"] == {"temperature": 0.6, "top_p": 0.95, "max_tokens": 32768, "logprobs": 0}
    assert record["tasks"]["graph_color"]["params"]["num_colors"] == 3
    assert record["models"]["base"]["facts"]["dtype"] == record["models"]["rlvr"]["facts"]["dtype"]
    assert record["versions"]["reasoning-gym"]


def test_pass_at_k_never_falls_as_k_grows(run):
    table = pl.read_csv(run / "tables" / "pass_at_k.csv")
    for _, curve in table.sort("k").group_by("task", "model", "verdict"):
        assert all(low <= high for low, high in pairwise(curve["pass_at_k"].drop_nulls()))


def test_the_readmes_own_task_runs_the_whole_line(tmp_path):
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    (source,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "sums.py").write_text(source)
    assert "What is" in done("tasks", "show", "sums", cwd=tmp_path)
    printed = done("run", "--tasks", "sums,dice_6", "--problems", "2", "--k", "1,2", cwd=tmp_path)
    assert "sums" in printed
    assert "dice_6" in printed


def test_the_list_of_tasks_has_every_name_whole_with_source_category_and_the_papers_class(tmp_path):
    listed = done("tasks", cwd=tmp_path)
    names = [line.split()[0] for line in listed.splitlines() if re.match(r" ?[a-z]", line)]
    assert len(names) - 1 == len(set(names)) - 1 >= 106 + 5
    assert {"graph_color_vertex20", "prime_factorization_hard", "advanced_geometry_hard", "zebra_puzzles"} <= set(names)
    assert re.search(r"leg_counting +built-in", listed)
    assert re.search(r"chain_sum +reasoning-gym +arithmetic", listed)
    assert "shrinkage" in listed


def test_a_task_is_shown_with_a_question_its_reference_and_its_parameters(tmp_path):
    shown = done("tasks", "show", "dice", "--set", "dice.num_dice=2", cwd=tmp_path)
    assert "What are the odds" in shown
    assert re.search(r"^\d+/\d+$", shown, flags=re.MULTILINE)
    assert "num_dice=2" in shown


def test_help_is_answered_without_loading_what_a_run_needs(tmp_path):
    script = (
        "import sys; from rgsupport import cli\n"
        "sys.argv = ['rgsupport', '--help']\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('torch', 'polars', 'transformers', 'scipy', 'reasoning_gym') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert result.stdout.splitlines()[-1] == "[]"


def test_an_incomplete_run_says_what_is_missing_and_prints_a_dash_for_what_would_need_it(home, run, first, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    gone = next((tmp_path / "run/completions/rlvr").glob("*.0-4.*"))
    for path in (tmp_path / "run").glob(f"*/rlvr/{gone.name.split('.')[0]}*"):
        path.unlink()
    printed = done("analyze", "run", cwd=tmp_path)
    assert re.search(r"Samples still missing from this plan: \d", printed)
    assert re.search(r"^ *4 .* -( |$)", printed, flags=re.MULTILINE)
