"""The arithmetic of a plan, against numbers computed by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.planning import ASSUMED_SPEED, Forecast, Part, pilot_samples, smallest_detectable, total

# 50 problems x 1,000 samples of which 10 each are on disk, in files of 4,000 bytes and 2,000 per sample: 30 tokens a
# sample; the plan's blocks of 256 leave 4 files per problem.
PART = Part(
    role="base",
    task="dice",
    wanted=50_000,
    owed=49_500,
    shards_owed=200,
    tokens_at_most=49_500 * 2_000,
    seen=500,
    seen_tokens=15_000,
    seen_truncated=25,
    seen_bytes=50 * 4_000 + 500 * 2_000,
    seen_shards=50,
)
UNSEEN = Part(role="rlvr", task="dice", wanted=50_000, owed=50_000, shards_owed=200, tokens_at_most=10**8)


def forecast(*parts, **changes):
    facts = {"engine": "vllm", "on_gpu": True, "processes": 4, "gpus_per_process": 2, "free_bytes": 10**12}
    return Forecast(**{"parts": parts, "ks": (1, 2), **facts, **changes})


def test_what_is_owed_is_as_long_and_as_large_as_what_is_on_disk():
    assert PART.tokens_per_sample == 30
    assert PART.truncated_share == 0.05
    assert PART.expected_tokens == 49_500 * 30
    assert PART.expected_bytes == 200 * 4_000 + 49_500 * 2_000


def test_without_samples_on_disk_nothing_is_expected():
    assert UNSEEN.tokens_per_sample is None
    assert UNSEEN.truncated_share is None
    assert UNSEEN.expected_tokens is None
    assert UNSEEN.expected_bytes is None
    assert UNSEEN.bytes_at_most == 200 * 4_000 + 1.25 * 10**8


def test_what_is_not_owed_costs_nothing():
    done = Part(role="base", task="dice", wanted=5, owed=0, shards_owed=0, tokens_at_most=0)
    assert done.expected_tokens == done.expected_bytes == done.bytes_at_most == 0


def test_gpu_hours_of_a_timed_pilot_count_every_gpu_of_a_process():
    timed = forecast(PART, speeds={"base": 5_000.0})
    assert timed.is_timed
    assert timed.hours("base") == pytest.approx(2 * 1_485_000 / 5_000 / 3600)
    assert forecast(PART, speeds={"base": 5_000.0}, on_gpu=False).hours("base") == pytest.approx(
        1_485_000 / 5_000 / 3600
    )


def test_gpu_hours_without_a_timed_pilot_are_at_the_assumed_speed():
    measured = forecast(PART)
    assert measured.is_measured
    assert not measured.is_timed
    assert measured.hours("base") == pytest.approx(1_485_000 / ASSUMED_SPEED / 3600)


def test_one_unmeasured_part_makes_the_whole_an_upper_bound():
    mixed = forecast(PART, UNSEEN, speeds={"base": 5_000.0})
    assert not mixed.is_measured
    assert not mixed.is_timed
    assert mixed.hours("base") == pytest.approx(49_500 * 2_000 / ASSUMED_SPEED / 3600)
    assert mixed.hours("rlvr") == pytest.approx(10**8 / ASSUMED_SPEED / 3600)


def test_the_share_of_the_plan_that_was_seen_is_of_both_models():
    assert forecast(PART, UNSEEN).seen_share == 500 / 100_000


def test_a_model_that_owes_nothing_needs_no_speed():
    done = Part(role="rlvr", task="dice", wanted=50_000, owed=0, shards_owed=0, tokens_at_most=0, seen=1, seen_tokens=9)
    timed = forecast(PART, done, speeds={"base": 5_000.0})
    assert timed.is_timed
    assert timed.hours("rlvr") == 0


@given(st.lists(st.one_of(st.none(), st.integers(0, 10**12)), max_size=5))
def test_a_total_is_known_only_if_every_part_is(values):
    assert total(values) == (None if None in values else sum(values))


@given(st.integers(1, 10**9))
def test_a_pilot_is_one_percent_and_never_nothing_or_more_than_everything(samples):
    size = pilot_samples(samples)
    assert 1 <= size <= samples
    assert size == 1 or samples - 100 < 100 * size <= samples


@given(st.integers(1, 10**7))
def test_k_samples_all_miss_the_smallest_detectable_probability_5_times_in_100(k):
    p = smallest_detectable(k)
    assert 0 < p < 1
    assert math.exp(k * math.log1p(-p)) == pytest.approx(0.05, rel=1e-6)
    assert smallest_detectable(k + 1) < p


@pytest.mark.parametrize("k", [1024, 16384, 10**6])
def test_for_large_k_the_smallest_detectable_probability_is_minus_ln_005_over_k(k):
    assert smallest_detectable(k) == pytest.approx(-math.log(0.05) / k, rel=2 / k)
