"""Several processes per model over one plan."""

import subprocess
import time

import polars as pl
import pytest

from command import RGSUPPORT, done, environment, refusal
from rgsupport import settings
from rgsupport.stages.sample import _environments

TASK = ("run", "--tasks", "dice", "--problems", "5", "--k", "1,2,4", "--out", "run")


def completions(folder, role):
    frames = [pl.read_parquet(path) for path in sorted((folder / "run/completions" / role).glob("*.parquet"))]
    return pl.concat(frames).sort("problem_id", "sample_index")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return folder, done(*TASK, cwd=folder)


def test_two_processes_draw_the_samples_that_one_draws(alone, tmp_path):
    folder, printed = alone
    assert done(*TASK, "--workers", "2", cwd=tmp_path) == printed
    for role in ("base", "rlvr"):
        assert completions(tmp_path, role).equals(completions(folder, role))
    assert (tmp_path / "run/logs/sample-base-1.log").is_file()
    assert not list((tmp_path / "run").rglob("journal-*"))


def test_a_run_that_two_processes_left_unfinished_is_finished_by_one(alone, tmp_path):
    folder, printed = alone
    process = subprocess.Popen(
        [RGSUPPORT, *TASK, "--workers", "2"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 300
    while not any(path.stat().st_size for path in tmp_path.glob("run/completions/base/journal-*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert done(*TASK, cwd=tmp_path) == printed
    assert completions(tmp_path, "base").equals(completions(folder, "base"))


def environments(**given):
    return _environments(settings.resolve({"tasks": "dice", **given}))


def test_each_gpu_gets_a_process_that_sees_it_alone():
    assert [seen["CUDA_VISIBLE_DEVICES"] for seen in environments(gpus="0,2,3")] == ["0", "2", "3"]
    assert {seen["CUDA_DEVICE_ORDER"] for seen in environments(gpus="0,2,3")} == {"PCI_BUS_ID"}


def test_gpus_that_share_a_model_are_seen_by_one_process():
    seen = environments(gpus="0,1,2,3", tensor_parallel=2, engine="vllm")
    assert [part["CUDA_VISIBLE_DEVICES"] for part in seen] == ["0,1", "2,3"]


def test_without_gpus_named_nothing_is_hidden_and_workers_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    (single,) = environments()
    assert "CUDA_VISIBLE_DEVICES" not in single
    assert "OMP_NUM_THREADS" not in single
    assert [part["OMP_NUM_THREADS"] for part in environments(workers=4)] == ["2"] * 4


def test_gpus_that_are_not_there_are_refused_with_a_way_out(tmp_path):
    line = refusal(*TASK, "--gpus", "99", cwd=tmp_path, code=2, CUDA_VISIBLE_DEVICES="")
    assert "--gpus 99" in line
