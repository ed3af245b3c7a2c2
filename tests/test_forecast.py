"""What `run --plan` prints of a forecast."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from rgsupport.forecast import print_forecast
from rgsupport.planning import Forecast, Part


def printed(forecast):
    console = Console(file=io.StringIO(), width=100)
    print_forecast(console, forecast)
    return console.file.getvalue()


def line(text, beginning):
    (found,) = [line.strip() for line in text.splitlines() if line.strip().startswith(beginning)]
    return found.removeprefix(beginning).split()


def part(role, *, owed, seen=0):
    return Part(
        role=role, task="dice", wanted=72_000_100, owed=owed, shards_owed=300_000, tokens_at_most=owed * 1_000,
        seen=seen, seen_tokens=seen * 500, seen_truncated=seen // 4, seen_bytes=seen * 600, seen_shards=0,
    )  # fmt: skip


BARE = Forecast(
    parts=(part("base", owed=72_000_000), part("rlvr", owed=36_000_000)),
    ks=(1, 1024),
    engine="vllm",
    on_gpu=True,
    processes=2,
    gpus_per_process=1,
    free_bytes=10**12,
)
PILOT = replace(
    BARE,
    parts=(part("base", owed=72_000_000, seen=100), part("rlvr", owed=36_000_000, seen=100)),
    speeds={"base": 10_000.0, "rlvr": 5_000.0},
)


def test_without_a_pilot_everything_is_at_most_and_nothing_is_expected():
    text = printed(BARE)
    assert line(text, "samples owed") == ["72,000,000", "36,000,000", "108,000,000"]
    assert line(text, "samples on disk") == ["100", "36,000,100", "36,000,200"]
    assert line(text, "tokens at most") == ["72,000,000,000", "36,000,000,000", "108,000,000,000"]
    assert line(text, "tokens expected") == ["-", "-", "-"]
    assert line(text, "GPU-hours at most") == ["800", "400", "1,200"]
    assert "at an assumed 25,000 tokens/s per GPU (a 1.5B model on an H200)" in text
    assert line(text, "GB on disk at most") == ["91.2", "46.2", "137"]
    assert "tokens/sample" not in text


def test_with_a_pilot_everything_is_expected_at_its_speed():
    text = printed(PILOT)
    assert line(text, "tokens expected") == ["36,000,000,000", "18,000,000,000", "54,000,000,000"]
    assert line(text, "GPU-hours expected") == ["1,000", "1,000", "2,000"]
    assert line(text, "GB on disk expected") == ["44.4", "22.8", "67.2"]
    assert "base 10,000 and RLVR 5,000. With 2 at a time that is 1,000 hours" in " ".join(text.split())
    assert line(text, "dice") == ["500.0", "25.0%", "500.0", "25.0%"]
    assert "assumed" not in text


def test_samples_on_disk_without_a_timed_pilot_give_expected_tokens_at_the_assumed_speed():
    text = printed(replace(PILOT, speeds={}))
    assert line(text, "GPU-hours expected") == ["400", "200", "600"]
    assert "at an assumed 25,000 tokens/s per GPU" in text


def test_a_server_has_no_gpu_hours():
    assert line(printed(replace(PILOT, engine="openai", on_gpu=False)), "GPU-hours expected") == ["-", "-", "-"]
    assert line(printed(replace(BARE, engine="openai", on_gpu=False)), "GPU-hours at most") == ["-", "-", "-"]


def test_every_budget_has_the_smallest_probability_it_detects():
    text = printed(BARE)
    assert line(text, "1 ") == ["0.95"]
    assert line(text, "1,024") == ["0.00292"]


@pytest.mark.parametrize("forecast", [BARE, PILOT])
def test_everything_fits_into_100_columns(forecast):
    assert max(map(len, printed(forecast).splitlines())) <= 100
