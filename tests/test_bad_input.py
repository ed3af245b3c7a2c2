"""Every mistake of a user gets one line with the value and the way out, and the exit code that design promises."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from command import RGSUPPORT, done, environment, refusal, rgsupport

SMALL = ("--problems", "2", "--k", "1,2")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "no task named"),
        (["run", "--tasks", "graph_colour"], "did you mean graph_color"),
        (["run", "--tasks", "dice", "--k", "4,2"], "try --k 2,4"),
        (["run", "--tasks", "dice", "--k", "0"], "'0'"),
        (["run", "--tasks", "dice", "--k", ""], "--k"),
        (["run", "--tasks", "dice", "--k", "1,8", "--samples", "4"], "k = 8"),
        (["run", "--tasks", "dice", "--temperature", "0"], "--temperature 0"),
        (["run", "--tasks", "dice", "--problems", "many"], "many"),
        (["run", "--tasks", "dice", "--no-such-option"], "--no-such-option"),
        (["run", "--tasks", "dice", "--base", "./nowhere", "--rlvr", "mini-rlvr"], "./nowhere"),
        (["run", "--tasks", "dice", "--base", "mini-base"], "--rlvr is missing"),
        (["run", "--tasks", "dice", "--set", "dice.num_dices=3"], "num_dice"),
        (["run", "--tasks", "dice", "--set", "dice.num_dice=zero"], "zero"),
        (["run", "--tasks", "dice", "--set", "leg_counting.min_animals=3"], "leg_counting"),
        (["run", "--tasks", "dice", "--prompt", "defualt"], "defualt"),
        (["run", "--tasks", "dice", "--config", "nowhere.toml"], "nowhere.toml"),
        (["run", "--tasks", "dice", "--device", "tpu"], "tpu"),
        (["run", "--tasks", "dice", "--dtype", "float7"], "float7"),
        (["run", "--tasks", "dice", "--k", "9" * 5000], "--k"),
        (["run", "--tasks", "dice", "--problems", "9" * 30], "--problems"),
        (["analyze", "."], "is not a run"),
        (["sample", "nowhere"], "is not a run"),
        (["tasks", "show", "dise"], "did you mean dice"),
    ],
)
def test_a_mistake_gets_one_line_with_the_value_and_exit_code_2(tmp_path, arguments, words):
    more = SMALL if arguments[0] == "run" and "--k" not in arguments and "--problems" not in arguments else ()
    assert words in refusal(*arguments, *more, cwd=tmp_path, code=2)


def test_a_task_with_too_few_questions_says_how_many_there_are(tmp_path):
    line = refusal(
        "run", "--tasks", "coin_flip", "--set", "coin_flip.min_trials=2", "--set", "coin_flip.max_trials=2",
        "--problems", "5000", "--k", "1", cwd=tmp_path, code=2,
    )  # fmt: skip
    assert "--problems" in line


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a folder with a finished run in `run`."""
    home = tmp_path_factory.mktemp("finished")
    done("run", "--tasks", "dice", *SMALL, "--out", "run", cwd=home)
    return home


@pytest.fixture
def run(finished, tmp_path):
    """Return a copy of the finished run that a test may damage."""
    shutil.copytree(finished / "run", tmp_path / "run")
    return tmp_path / "run"


AGAIN = ("run", "--tasks", "dice", *SMALL, "--out", "run")


def tear(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit(path):
    frame = pl.read_parquet(path)
    frame.with_columns(pl.lit("edited").alias(frame.columns[-1]), strict=False).write_parquet(path)


@pytest.mark.parametrize("damage", [tear, edit])
@pytest.mark.parametrize("name", ["problems.parquet", "verdicts/rlvr/*.parquet"])
def test_a_torn_or_edited_file_is_named_with_the_way_out(run, name, damage):
    path = next(run.glob(name))
    damage(path)
    line = refusal(*AGAIN, cwd=run.parent, code=1)
    assert path.name in line


def test_a_torn_completion_is_named_when_it_is_verified_again(run):
    path = next(run.glob("completions/base/*.parquet"))
    tear(path)
    shutil.rmtree(run / "verdicts")
    assert path.name in refusal("verify", "run", cwd=run.parent, code=1)


def test_deleting_the_named_file_and_running_again_mends_the_run(run, finished):
    expected = done(*AGAIN, cwd=finished)
    for name in ("completions/base/*.parquet", "verdicts/base/*.parquet"):
        for path in run.glob(name):
            path.unlink()
    assert done(*AGAIN, cwd=run.parent) == expected


def test_an_edited_record_is_named(run):
    (run / "run.json").write_text("{")
    assert "run.json" in refusal(*AGAIN, cwd=run.parent, code=1)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("seed", "x"),
        ("tasks", {}),
        ("plan", {"tasks": ["nope"], "problems": 2, "ks": [1, 2], "samples": 2}),
        ("plan", {"tasks": ["dice", "dice"], "problems": 2, "ks": [1, 2], "samples": 2}),
        ("plan", {"tasks": ["dice"], "problems": "2", "ks": [1, 2], "samples": 2}),
        ("plan", {"tasks": ["dice"], "problems": 2, "ks": [10**12], "samples": 2}),
        ("models", None),
    ],
)
def test_a_part_of_the_record_that_does_not_fit_is_named(run, part, value):
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, part: value}))
    assert "run.json" in refusal("analyze", "run", cwd=run.parent, code=1)


def test_a_changed_seed_in_the_record_is_no_way_to_other_tables(run):
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "seed": 46}))
    before = (run / "tables/pass_at_k.csv").read_bytes()
    assert "does not belong to this run" in refusal("analyze", "run", cwd=run.parent, code=1)
    assert (run / "tables/pass_at_k.csv").read_bytes() == before


def test_responses_without_a_verdict_are_no_missing_samples(run):
    shutil.rmtree(run / "verdicts/rlvr")
    assert "rgsupport verify run" in refusal("analyze", "run", cwd=run.parent, code=2)
    done("verify", "run", cwd=run.parent)
    done("analyze", "run", cwd=run.parent)


def test_missing_problems_are_named_with_the_way_out(run):
    (run / "problems.parquet").unlink()
    assert "problems.parquet is missing" in refusal("analyze", "run", cwd=run.parent, code=1)


def test_an_edited_provenance_is_named(run):
    path = run / "tables/provenance.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "base": 5}))
    assert "provenance.json" in refusal("report", "run", cwd=run.parent, code=1)


OWN_TASK = """
from rgsupport.seeds import problem_id
from rgsupport.types import Problem

class Own:
    name = "own"
    {more}

    def problems(self, *, count, seed):
        {body}
        return [
            Problem("own", problem_id(task="own", question=q), i, q, None, "{{}}")
            for i, q in enumerate(map(str, range(count)))
        ]

    def score(self, problem, answer):
        return 1.0

TASKS = (Own(),)
"""


@pytest.mark.parametrize(
    ("body", "words", "code"),
    [
        ("raise ValueError('first line\\nsecond line')", "ValueError: first line second line", 2),
        ("return None", "task 'own' cannot make problems", 2),
        ("return [1]", "task 'own' cannot make problems", 2),
        ("import sys; sys.exit(0)", "SystemExit", 2),
        ("import os; os._exit(0)", "ended with exit code 0", 1),
        ("return [Problem('own', problem_id(task='own', question='q'), 2**70, 'q', None, '')]", "index", 2),
        ("return [Problem('own', problem_id(task='own', question='q'), 0, 'q', None, None)]", "entry is None", 2),
    ],
)
def test_a_users_task_that_makes_no_problems_is_named_with_the_reason(tmp_path, body, words, code):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/own.py").write_text(OWN_TASK.format(more="", body=body))
    assert words in refusal("generate", "run", "--tasks", "own", "--problems", "1", cwd=tmp_path, code=code)


def test_a_users_task_is_missed_by_name_where_its_folder_is_not(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/own.py").write_text(OWN_TASK.format(more="", body="pass"))
    done("run", "--tasks", "own", *SMALL, "--out", "run", cwd=tmp_path)
    (tmp_path / "elsewhere").mkdir()
    line = refusal("analyze", tmp_path / "run", cwd=tmp_path / "elsewhere", code=2)
    assert "own.py" in line


@pytest.mark.parametrize("text", ["[params]\ndice = 5", "[params]\ndice = [1]", "problems = " + "[" * 50_000])
def test_a_configuration_of_the_wrong_shape_is_one_line(tmp_path, text):
    (tmp_path / "run.toml").write_text(text)
    assert "run.toml" in refusal("run", "--tasks", "dice", "--config", "run.toml", cwd=tmp_path, code=2)


@pytest.mark.parametrize("name", ["x" * 300, "~nouser/x"])
def test_a_model_name_that_no_file_system_takes_is_one_line(tmp_path, name):
    refusal("run", "--tasks", "dice", "--base", name, "--rlvr", "mini-rlvr", cwd=tmp_path, code=2)


def test_a_refused_command_leaves_the_plan_as_it_was(run):
    before = json.loads((run / "run.json").read_text())
    assert "top_p is" in refusal(*AGAIN, "--top-p", "0.5", "--samples", "9", cwd=run.parent, code=2)
    assert json.loads((run / "run.json").read_text()) == before


def test_a_changed_model_in_the_same_place_is_refused(run):
    record = json.loads((run / "run.json").read_text())
    record["models"]["base"]["fingerprint"] = "0" * 16
    (run / "run.json").write_text(json.dumps(record))
    assert "content of the base model" in refusal(*AGAIN, cwd=run.parent, code=2)


def test_a_foreign_file_among_the_completions_is_named(run):
    (run / "completions/base/mine.parquet").write_bytes(b"")
    assert "mine.parquet" in refusal(*AGAIN, cwd=run.parent, code=1)


def test_a_folder_that_is_no_run_is_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/thesis.tex").write_text("mine")
    assert "thesis.tex" in refusal(*AGAIN, cwd=tmp_path, code=1)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.tex"]


def test_a_file_in_place_of_the_run_is_named(tmp_path):
    (tmp_path / "run").write_text("mine")
    assert "run is a file" in refusal(*AGAIN, cwd=tmp_path, code=2)


def test_a_model_whose_context_is_too_short_is_named_before_anything_is_sampled(tmp_path):
    short = tmp_path / "short"
    shutil.copytree(Path(__import__("rgsupport").__file__).parent / "mini" / "base", short)
    config = json.loads((short / "config.json").read_text())
    (short / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 16}))
    line = refusal(*AGAIN, "--base", "mini-base", "--rlvr", "short", cwd=tmp_path, code=2)
    assert "16 tokens" in line
    assert "dice" in line
    assert not list((tmp_path / "run").glob("completions/*/*"))


def test_two_models_that_would_be_cut_at_different_lengths_are_refused_with_a_length_that_fits_both(tmp_path):
    short = tmp_path / "short"
    shutil.copytree(Path(__import__("rgsupport").__file__).parent / "mini" / "base", short)
    config = json.loads((short / "config.json").read_text())
    (short / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 300}))
    line = refusal(*AGAIN, "--base", "mini-base", "--rlvr", "short", cwd=tmp_path, code=2)
    room = line.split("--max-tokens ")[-1].split()[0]
    done(*AGAIN, "--base", "mini-base", "--rlvr", "short", "--max-tokens", room, cwd=tmp_path)


def test_ctrl_c_keeps_what_was_finished_and_exits_with_130(tmp_path):
    command = ["run", "--tasks", "dice", "--problems", "40", "--k", "1,2,4,8,16,32,64,128", "--out", "run"]
    process = subprocess.Popen(
        [RGSUPPORT, *command],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    while not any(path.stat().st_size for path in tmp_path.glob("run/completions/base/journal-*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1].startswith("rgsupport: stopped")
    assert "Traceback" not in errors
    shorter = ["run", "--tasks", "dice", "--problems", "20", "--k", "1,2,4,8,16", "--out", "run"]
    assert "samples of an interrupted command were kept" in rgsupport(*shorter, cwd=tmp_path).stderr


@pytest.fixture
def small_disk(tmp_path):
    """Return a prefix of a command that runs it where `tmp_path/disk` is a disk of 300 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size=300k tmpfs {disk} && exec "$@"'
    prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    if sys.platform != "linux" or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a small disk needs Linux and the right to mount in a namespace of one's own")
    return prefix


def test_a_full_disk_ends_the_command_with_one_line_and_keeps_what_was_finished(small_disk, tmp_path):
    keep = tmp_path / "kept"
    options = "--tasks dice --problems 30 --k 1,2,4,8,16"
    command = f"{RGSUPPORT} run {options} --out disk/run; code=$?; cp -r disk/run {keep}; exit $code"
    result = subprocess.run(
        [*small_disk, "sh", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert result.returncode == 1, result.stderr
    assert "the disk is full" in result.stderr
    assert "Traceback" not in result.stderr
    assert list(keep.iterdir())
    recovered = rgsupport("run", *options.split(), "--out", keep, cwd=tmp_path)
    assert recovered.returncode == 0, recovered.stderr
