import json
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

from rgsupport.errors import StoreError, UsageError
from rgsupport.schemas import PROBLEMS
from rgsupport.seeds import problem_id
from rgsupport.store import ModelRecord, Plan, Record, Run, TaskRecord, planned_problems, task_table
from rgsupport.types import BASE, RLVR, SamplingParams

RECORD = Record(
    seed=45,
    tasks={
        "dice": TaskRecord({}, {"num_dice": 4}, "logic", "preservation", "built in"),
        "own": TaskRecord({}, {}, "", None, "x"),
    },
    plan=Plan(("own", "dice"), problems=2, ks=(1, 2), samples=2),
    sampling=SamplingParams(),
    prompt="default",
    system="Think.",
    models={
        BASE: ModelRecord("mini-base", None, "abc", facts={"dtype": "float32"}),
        RLVR: ModelRecord("mini-rlvr", None, "def"),
    },
    versions={"polars": "2"},
)


def problems(*names):
    rows = [
        (name, position, problem_id(task=name, question=f"{position}?"), position, f"{position}?", None, "{}")
        for name in names
        for position in range(3)
    ]
    return pl.DataFrame(rows, schema=PROBLEMS.columns, orient="row")


def test_a_record_is_read_as_it_was_written(tmp_path):
    run = Run(tmp_path)
    run.write_record(RECORD)
    assert run.record() == RECORD


def test_a_record_before_sampling_is_read_as_it_was_written(tmp_path):
    run = Run(tmp_path)
    fresh = replace(RECORD, sampling=None, prompt=None, system=None, models={})
    run.write_record(fresh)
    assert run.record() == fresh


def test_a_folder_without_a_record_is_no_run(tmp_path):
    with pytest.raises(UsageError, match="is not a run"):
        Run(tmp_path).record()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 99}', '{"format": 1, "plan": 3}', "\x00"])
def test_a_damaged_record_is_an_error_of_one_line_that_names_the_file(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(StoreError) as error:
        Run(tmp_path).record()
    assert str(tmp_path / "run.json") in str(error.value)
    assert "\n" not in str(error.value)


def test_a_record_with_a_key_of_another_version_is_refused(tmp_path):
    run = Run(tmp_path)
    run.write_record(RECORD)
    stored = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**stored, "shards": 3}))
    with pytest.raises(StoreError, match="shards"):
        run.record()


def test_a_folder_with_other_files_is_never_taken_for_a_new_run(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(StoreError, match=r"thesis\.tex"), Run(tmp_path).locked():
        pass


def test_two_commands_cannot_write_to_one_run(tmp_path):
    run = Run(tmp_path / "run")
    with run.locked():
        take = f"with Run(Path({str(run.path)!r})).locked(): pass"
        script = f"from pathlib import Path; from rgsupport.store import Run\n{take}"
        second = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert "another command is at work" in second.stderr
    with run.locked():
        pass


def test_a_question_that_was_edited_is_found_even_in_a_well_formed_file(tmp_path):
    run = Run(tmp_path)
    run.write_problems(problems("dice").with_columns(question=pl.lit("another question")))
    with pytest.raises(StoreError, match="was edited"):
        run.problems()


def test_the_plan_takes_the_first_problems_of_its_tasks_in_its_order():
    planned = planned_problems(problems("dice", "own", "left_out"), RECORD.plan)
    assert planned["task"].to_list() == ["own", "own", "dice", "dice"]
    assert planned["position"].to_list() == [0, 1, 0, 1]


def test_the_task_table_has_the_plans_order():
    assert task_table(RECORD).rows() == [("own", "", None), ("dice", "logic", "preservation")]
