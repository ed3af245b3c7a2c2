"""The whole line on vLLM, for real: killed in the middle, then resumed."""

import json
import signal
import subprocess
import time

import polars as pl
import psutil
import pytest

from command import RGSUPPORT, done, environment

pytestmark = pytest.mark.vllm

COMMAND = (
    *(
        "run",
        "--engine",
        "vllm",
        "--tasks",
        "graph_color,dice",
        "--problems",
        "20",
        "--k",
        "1,2,4",
        "--batch-size",
        "64",
    ),
    *("--max-tokens", "150", "--logprobs", "3"),
    *("--engine-option", "enforce_eager=true", "--engine-option", "cpu_cache_gib=1"),
)
ROLES = ("base", "rlvr")


def journaled(run):
    """Return how many completions lie in the journal of the base model."""
    return sum(path.read_bytes().count(b"\n") for path in run.glob("completions/base/journal-*"))


def wait_for(condition, *, process):
    deadline = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, "the command ended early"
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)


def descendants(pid):
    return psutil.Process(pid).children(recursive=True)


def all_gone(processes):
    deadline = time.monotonic() + 30
    while any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with a run that was killed while it sampled, then finished by the same command."""
    folder = tmp_path_factory.mktemp("home")
    run = folder / "outputs/mini-base--mini-rlvr"
    process = subprocess.Popen(
        [RGSUPPORT, *COMMAND], cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: journaled(run) > 20, process=process)
    started = descendants(process.pid)
    assert any("EngineCore" in child.name() for child in started)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all_gone(started), "an engine lives on and holds its memory"
    saved = journaled(run) + sum(pl.read_parquet(path).height for path in run.glob("completions/base/*.parquet"))
    assert 20 < saved < 160
    (folder / "resumed.txt").write_text(done(*COMMAND, cwd=folder))
    (folder / "saved.txt").write_text(str(saved))
    return folder


@pytest.fixture(scope="module")
def run(home):
    return home / "outputs/mini-base--mini-rlvr"


def completions(run, role):
    return pl.concat([pl.read_parquet(path) for path in sorted((run / "completions" / role).glob("*.parquet"))])


def test_every_sample_is_there_once_with_its_own_seed_whatever_was_killed(run):
    problems = pl.read_parquet(run / "problems.parquet")["problem_id"]
    expected = sorted((problem, index) for problem in problems for index in range(4))
    seeds = set()
    for role in ROLES:
        frame = completions(run, role)
        assert sorted(frame.select("problem_id", "sample_index").rows()) == expected
        seeds |= set(frame["seed"])
    assert len(seeds) == 2 * len(expected)
    assert not list(run.rglob("journal-*"))


def test_the_tables_show_both_tasks_with_a_class(home):
    printed = (home / "resumed.txt").read_text()
    assert "graph_color" in printed
    assert "dice" in printed
    assert "Class of each task" in printed


def test_log_probabilities_were_kept_with_bounds_of_the_entropy(run):
    for role in ROLES:
        frame = completions(run, role)
        assert frame["cumulative_logprob"].null_count() == 0
        assert frame.filter(pl.col("entropy_low") > pl.col("entropy_high") + 1e-12).height == 0
        assert ((frame["cumulative_logprob"] / frame["n_tokens"] - frame["mean_logprob"]).abs() < 1e-6).all()


def test_what_the_engine_really_used_is_recorded_and_equal_for_both_models(run):
    facts = [json.loads((run / "run.json").read_text())["models"][role]["facts"] for role in ROLES]
    for known in facts:
        assert known["engine"] == "vllm"
        assert known["dtype"] == "float32"
        assert known["logprobs"] == 3
        assert known["bos"] == "one"
    assert facts[0] == facts[1]


def test_the_same_command_again_samples_nothing_and_prints_the_same(home):
    assert done(*COMMAND, cwd=home) == (home / "resumed.txt").read_text()


def test_a_larger_k_with_another_engine_is_refused_with_the_difference(home):
    asked = (
        *("run", "--engine", "hf", "--tasks", "graph_color,dice", "--problems", "20"),
        *("--k", "1,2,4,8", "--max-tokens", "150"),
    )
    result = subprocess.run(
        [RGSUPPORT, *asked, "--logprobs", "3"], cwd=home, env=environment(), capture_output=True, text=True, check=False
    )
    assert result.returncode == 2, result.stderr
    assert "engine is vllm in the run, hf was asked" in result.stderr
