"""SIGKILL at ten random moments, each followed by the same command: nothing lost, nothing twice, the same tables."""

import random
import signal
import subprocess
import time

import polars as pl

from command import RGSUPPORT, done, environment

COMMAND = ("run", "--tasks", "graph_color,dice", "--problems", "3", "--k", "1,2,4,8")


def stored(run, kind):
    return {
        role: pl.concat([pl.read_parquet(path) for path in sorted((run / kind / role).glob("*.parquet"))])
        for role in ("base", "rlvr")
    }


def test_ten_kills_change_nothing(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    undisturbed.mkdir()
    killed.mkdir()
    started = time.monotonic()
    expected = done(*COMMAND, cwd=undisturbed)
    duration = time.monotonic() - started
    # Early moments first: a command that comes to its end leaves nothing for the next kills to disturb.
    generator = random.Random(20)
    moments = sorted(generator.uniform(0.02, 0.6) * duration for _ in range(10))
    ended_by_kill = 0
    for moment in moments:
        process = subprocess.Popen(
            [RGSUPPORT, *COMMAND], cwd=killed, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            ended_by_kill += 1
    assert ended_by_kill >= 3  # on a busy machine the later ones come to their end first
    assert done(*COMMAND, cwd=killed) == expected
    for kind in ("completions", "verdicts"):
        one, other = (stored(folder / "outputs/mini-base--mini-rlvr", kind) for folder in (undisturbed, killed))
        for role in ("base", "rlvr"):
            assert other[role].select("problem_id", "sample_index").is_unique().all()
            assert sorted(other[role].drop("text", strict=False).rows()) == sorted(
                one[role].drop("text", strict=False).rows()
            )
