import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counts import VECTORS, number
from rgsupport.estimators import clopper_pearson, coverage_interval, pass_at_k, pass_at_k_variance, wilson


def exact_pass_at_k(n, c, k):
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


@st.composite
def samples(draw, largest=60):
    n = draw(st.integers(1, largest))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


def test_pass_at_k_equals_the_reference_numbers():
    n, c, k = (np.array([row[name] for row in VECTORS["pass_at_k"]]) for name in "nck")
    expected = np.array([number(row["pass_at_k"]) for row in VECTORS["pass_at_k"]])
    assert np.isnan(expected).any()
    assert n.max() == 1_000_000
    np.testing.assert_allclose(pass_at_k(n, c, k), expected, rtol=1e-12, atol=0)


def test_variance_equals_the_reference_numbers():
    for row in VECTORS["variance"]:
        found = pass_at_k_variance(row["n"], row["c"], row["k"])
        np.testing.assert_allclose(found, number(row["variance"]), rtol=1e-12, atol=0)


def test_pass_at_k_equals_the_share_of_k_subsets_with_a_correct_sample():
    for c, n in itertools.combinations_with_replacement(range(9), 2):
        is_correct = [i < c for i in range(n)]
        for k in range(1, n + 1):
            subsets = list(itertools.combinations(is_correct, k))
            share = sum(any(subset) for subset in subsets) / len(subsets)
            assert pass_at_k(n, c, k) == pytest.approx(share, rel=1e-14)


@given(samples(largest=400))
def test_pass_at_k_equals_the_exact_fraction(counts):
    assert float(pass_at_k(*counts)) == pytest.approx(float(exact_pass_at_k(*counts)), rel=1e-13)


@given(n=st.integers(1, 12), k=st.integers(1, 12), p=st.fractions(0, 1, max_denominator=50))
def test_pass_at_k_is_unbiased(n, k, p):
    weights = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    if k <= n:
        estimates = [Fraction(float(pass_at_k(n, c, k))) for c in range(n + 1)]
        expectation = sum(w * e for w, e in zip(weights, estimates, strict=True))
        assert float(abs(expectation - (1 - (1 - p) ** k))) < 1e-14
    else:
        assert np.isnan(pass_at_k(n, range(n + 1), k)).all()


@given(n=st.integers(2, 12), k=st.integers(1, 6), p=st.fractions(0, 1, max_denominator=50))
def test_the_variance_estimate_is_unbiased(n, k, p):
    if 2 * k > n:
        assert np.isnan(pass_at_k_variance(n, range(n + 1), k)).all()
        return
    weights = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    found = sum(w * Fraction(float(pass_at_k_variance(n, c, k))) for c, w in enumerate(weights))
    truth = sum(w * exact_pass_at_k(n, c, k) ** 2 for c, w in enumerate(weights)) - (1 - (1 - p) ** k) ** 2
    assert float(abs(found - truth)) < 1e-14


@given(samples(largest=300))
def test_the_variance_is_the_exact_difference_to_all_digits(counts):
    n, c, k = counts
    k = (k + 1) // 2
    if 2 * k <= n:
        exact = (1 - exact_pass_at_k(n, c, k)) ** 2 - (1 - exact_pass_at_k(n, c, 2 * k))
        assert float(pass_at_k_variance(n, c, k)) == pytest.approx(float(exact), rel=1e-11, abs=1e-34)


def test_the_variance_keeps_its_digits_where_both_terms_are_near_one():
    assert float(pass_at_k_variance(1_000_000, 1, 1)) == pytest.approx(1e-12, rel=1e-12)


@given(samples())
def test_pass_at_k_is_symmetric_in_the_correct_samples_and_the_budget(counts):
    n, c, k = counts
    if c:
        assert pass_at_k(n, c, k) == pytest.approx(float(pass_at_k(n, k, c)), rel=1e-14)


@given(n=st.integers(1, 300), share=st.floats(0, 1))
def test_pass_at_k_rises_and_flattens_with_k(n, share):
    curve = pass_at_k(n, round(share * n), np.arange(1, n + 1))
    steps = np.diff(curve, prepend=0)
    assert (steps >= -1e-15).all()
    assert (np.diff(steps) <= 1e-14).all()


@given(n=st.integers(1, 10**6), k=st.integers(1, 10**6))
def test_no_success_is_exactly_zero_and_full_success_exactly_one(n, k):
    expected = [0, 1, 1] if k <= n else [np.nan, np.nan, np.nan]
    found = pass_at_k(n, [0, n, max(n - k + 1, 0)], k)
    np.testing.assert_array_equal(found, expected)
    assert not np.signbit(found[0])


@given(n=st.integers(1, 10**6), share=st.floats(0, 1))
def test_pass_at_1_is_the_share_of_correct_samples_to_the_last_bit(n, share):
    c = round(share * n)
    assert pass_at_k(n, c, 1) == c / n


@given(st.lists(samples(), min_size=1, max_size=30))
def test_every_shape_gives_what_each_element_gives_alone(rows):
    n, c, k = np.array(rows).T
    alone = [float(pass_at_k(*row)) for row in rows]
    np.testing.assert_array_equal(pass_at_k(n, c, k), alone)
    grid = pass_at_k(n[:, np.newaxis], c[:, np.newaxis], k)
    assert grid.shape == (len(rows), len(rows))
    np.testing.assert_array_equal(grid.diagonal(), alone)
    np.testing.assert_array_equal(pass_at_k(n, c, k[:1]), pass_at_k(n, c, k[0]))


def test_a_problem_without_samples_has_no_estimate():
    assert np.isnan(pass_at_k(0, 0, 1))
    assert np.isnan(pass_at_k([0, 0, 4], [0, 0, 1], 2)).tolist() == [True, True, False]
    assert pass_at_k([], [], 2).shape == (0,)


@pytest.mark.parametrize(
    ("n", "c", "k", "message"),
    [
        (4, 5, 1, "got c = 5 of n = 4"),
        (4, -1, 1, "got c = -1 of n = 4"),
        (4, [1, 2], [1, 0], "k must be at least 1, got 0"),
        (4, 0.5, 1, "c must be integers, got float64"),
    ],
)
def test_impossible_counts_are_refused_with_their_value(n, c, k, message):
    for estimate in (pass_at_k, pass_at_k_variance):
        with pytest.raises(ValueError, match=message):
            estimate(n, c, k)


def test_wilson_and_clopper_pearson_equal_the_reference_numbers():
    for row in VECTORS["wilson_cp"]:
        x, n, confidence = row["x"], row["N"], row["conf"]
        np.testing.assert_allclose(wilson(x, n, confidence), [float(end) for end in row["wilson"]], rtol=1e-12, atol=0)
        ends = [float(end) for end in row["clopper_pearson"]]
        np.testing.assert_allclose(clopper_pearson(x, n, confidence), ends, rtol=1e-9, atol=0)


def binomial_tail(n, p, counts):
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in counts)


@given(n=st.integers(1, 40), share=st.floats(0, 1), confidence=st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_ends_where_the_binomial_tails_are_half_of_the_rest(n, share, confidence):
    x = round(share * n)
    low, high = (float(end) for end in clopper_pearson(x, n, confidence))
    tail = (1 - confidence) / 2
    assert low == 0 if x == 0 else binomial_tail(n, low, range(x, n + 1)) == pytest.approx(tail, rel=1e-8)
    assert high == 1 if x == n else binomial_tail(n, high, range(x + 1)) == pytest.approx(tail, rel=1e-8)


@given(n=st.integers(1, 5000), share=st.floats(0, 1))
def test_wilson_ends_solve_the_score_equation_for_fractions_too(n, share):
    x = share * n
    z = 1.959963984540054
    low, high = (float(end) for end in wilson(x, n))
    assert 0 <= low <= x / n + 1e-12
    assert x / n - 1e-12 <= high <= 1
    for end in (low, high):
        assert (x / n - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / n, rel=1e-6, abs=1e-12)


def test_intervals_mirror_when_successes_and_failures_change_places():
    x = np.arange(18)
    for interval in (wilson, clopper_pearson):
        here, there = interval(x, 17), interval(17 - x, 17)
        np.testing.assert_allclose(here.low, 1 - there.high, rtol=0, atol=1e-12)
        assert (here.low[0], here.high[-1]) == (0, 1)


def test_intervals_without_trials_are_undefined_and_impossible_ones_refused():
    for interval in (wilson, clopper_pearson):
        assert np.isnan(interval(0, 0)).all()
        with pytest.raises(ValueError, match=r"got 3\.0 of 2\.0"):
            interval(3, 2)
        with pytest.raises(ValueError, match=r"confidence must lie between 0 and 1, got 95"):
            interval(1, 2, 95)


def test_a_realised_coverage_near_its_ends_gets_the_exact_interval_and_every_other_wilsons():
    covered = np.array([0, 4, 5, 25, 45, 46, 50])
    found = coverage_interval(covered, 50, realised=True)
    exact, approximate = clopper_pearson(covered, 50), wilson(covered, 50)
    for i, x in enumerate(covered):
        expected = exact if min(x, 50 - x) < 5 else approximate
        assert (found.low[i], found.high[i]) == (expected.low[i], expected.high[i])
    np.testing.assert_array_equal(coverage_interval(covered, 50, realised=False), approximate)


@pytest.mark.parametrize(("alpha", "beta", "k"), [(2, 3, 16), (1, 9, 4), (0.3, 30, 16)])
def test_the_interval_of_expected_coverage_covers_at_least_as_often_as_it_says(alpha, beta, k):
    """The problems have success rates from a beta law; the mean pass@k of that law is known."""
    rng = np.random.default_rng(20250714)
    n_problems, n = 50, 64
    misses = np.cumprod((beta + np.arange(k)) / (alpha + beta + np.arange(k)))[-1]
    rates = rng.beta(alpha, beta, size=(2000, n_problems))
    covered = pass_at_k(n, rng.binomial(n, rates), k).sum(axis=1)
    low, high = coverage_interval(covered, n_problems, realised=False)
    assert np.mean((low <= 1 - misses) & (1 - misses <= high)) >= 0.95
