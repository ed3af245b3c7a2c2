import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counts import VECTORS
from rgsupport.entropy import token_entropy_bounds
from rgsupport.samplers._summary import summarise


def entropy(probabilities):
    return -sum(p * math.log(p) for p in probabilities if p > 0)


@pytest.mark.parametrize("row", VECTORS["token_entropy_bounds"], ids=lambda row: row["vocab"])
def test_the_bounds_equal_the_reference_numbers(row):
    top = np.log([float(p) for p in row["top_probs"]])
    low, high = token_entropy_bounds(top, vocabulary=row["vocab"])
    assert low == pytest.approx(float(row["lower"]), rel=1e-12)
    assert high == pytest.approx(float(row["upper"]), rel=1e-12)


distributions = st.lists(st.floats(0.01, 1), min_size=2, max_size=12).map(
    lambda weights: sorted((weight / sum(weights) for weight in weights), reverse=True)
)


def heads(p):
    """Return log-probabilities [K = 1 to V, V]: in row K - 1 the first K of p, -inf behind them."""
    known = np.tri(len(p)).astype(bool)
    return np.where(known, np.log(p), -np.inf)


@given(distributions)
def test_the_entropy_lies_between_the_bounds_which_narrow_with_every_known_token(p):
    low, high = token_entropy_bounds(heads(p), vocabulary=len(p))
    truth = entropy(p)
    assert (low <= truth + 1e-9).all()
    assert (high >= truth - 1e-9).all()
    assert (low <= high).all()
    assert (np.diff(low) >= -1e-9).all()
    assert (np.diff(high) <= 1e-9).all()
    assert low[-1] == pytest.approx(truth)
    assert high[-1] == pytest.approx(truth)


@given(distributions, st.data())
def test_the_bounds_are_reached_by_the_most_and_the_least_even_tail(p, data):
    n_known = data.draw(st.integers(1, len(p) - 1))
    low, high = (float(x) for x in token_entropy_bounds(np.log(p[:n_known]), vocabulary=len(p)))
    q, left = p[n_known - 1], sum(p[n_known:])
    even = [left / (len(p) - n_known)] * (len(p) - n_known)
    heaped = []
    while left > 0:  # as many tokens as possible as probable as can be
        heaped.append(min(q, left))
        left -= heaped[-1]
    assert high == pytest.approx(entropy([*p[:n_known], *even]), abs=1e-9)
    assert low == pytest.approx(entropy([*p[:n_known], *heaped]), abs=1e-9)


@given(st.lists(distributions, min_size=1, max_size=4), st.integers(1, 3), st.randoms(use_true_random=False))
def test_many_positions_at_once_in_any_order_give_what_each_gives_alone(positions, n_known, random):
    tops = np.full((len(positions), 3), -np.inf)
    for top, p in zip(tops, positions, strict=True):
        top[:n_known] = np.log([*p, *[1e-9] * 3])[:n_known]
        random.shuffle(top)
    together = token_entropy_bounds(tops, vocabulary=20)
    for place, top in enumerate(tops):
        alone = token_entropy_bounds(top[np.isfinite(top)], vocabulary=20)
        assert (alone.low, alone.high) == pytest.approx((together.low[place], together.high[place]), abs=1e-12)


def test_no_distribution_with_this_head_has_an_entropy_outside_and_some_reach_the_bounds():
    head, steps, n_tail = [0.4, 0.2], 40, 4
    low, high = (float(x) for x in token_entropy_bounds(np.log(head), vocabulary=len(head) + n_tail))
    found = []
    for parts in itertools.combinations_with_replacement(range(steps // 2 + 1), n_tail):
        tail = [part / steps * 0.4 for part in parts]  # in hundredths, none above 0.2
        if math.isclose(sum(tail), 0.4):
            found.append(entropy([*head, *tail]))
    assert low - 1e-12 <= min(found) < low + 1e-9
    assert high - 1e-9 < max(found) <= high + 1e-12


def test_a_tail_that_is_rounding_is_none():
    low, high = token_entropy_bounds(np.log([0.5, 0.5 - 1e-10]), vocabulary=1000)
    assert low == high == pytest.approx(math.log(2))
    low, high = token_entropy_bounds(np.log([0.5, 0.5 + 1e-7]), vocabulary=1000)
    assert low == high == pytest.approx(math.log(2))


@pytest.mark.parametrize("decimals", [3, 4, 6])
@pytest.mark.parametrize("steepness", [1.0, 2.0, 4.0])
def test_mass_that_rounding_leaves_over_is_not_taken_for_a_tail(steepness, decimals):
    logs = -steepness * np.arange(1000)
    logs -= np.log(np.exp(logs).sum())
    truth = entropy(np.exp(logs).tolist())
    low, high = token_entropy_bounds(np.round(logs[:20], decimals), vocabulary=1000)
    assert low <= high
    assert low <= truth + 2 * 10.0**-decimals
    assert high >= truth - 2 * 10.0**-decimals


def test_a_token_of_next_to_no_probability_is_as_good_as_none():
    for smallest in (-740.0, -9999.0, -math.inf):
        low, high = token_entropy_bounds([math.log(0.5), math.log(0.5), smallest], vocabulary=10)
        assert low == high == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    "top",
    [
        *([], [[]], [math.nan], [-math.inf], [[0.0], [-math.inf]], [-1.0, -2.0, -3.0]),
        *([math.log(0.7)] * 2, [0.1], [1e4], [math.inf]),  # more than everything
        *([math.log(0.4)], [math.log(0.9), math.log(0.05)]),  # even with the heaviest tail less than everything
    ],
)
def test_what_is_no_head_of_a_distribution_is_refused(top):
    with pytest.raises(ValueError, match=r"log-probabilities|most probable"):
        token_entropy_bounds(top, vocabulary=2)


def test_a_summary_adds_up_the_drawn_tokens_and_averages_over_positions():
    drawn = np.log([0.5, 0.25])
    top = np.log([[0.5, 0.25], [0.25, 0.25]])
    bounds = token_entropy_bounds(top, vocabulary=5)
    summary = summarise(drawn, top, vocabulary=5)
    assert summary.cumulative == pytest.approx(math.log(1 / 8))
    assert summary.mean == pytest.approx(math.log(1 / 8) / 2)
    assert summary.entropy_low == pytest.approx(bounds.low.mean())
    assert summary.entropy_high == pytest.approx(bounds.high.mean())


def test_a_summary_of_an_unknown_vocabulary_has_no_entropy_and_one_of_nothing_is_none():
    top = np.log([[0.5, 0.25]])
    assert summarise(top[:, 0], top, vocabulary=None).entropy_low is None
    assert summarise(np.empty(0), np.empty((0, 3)), vocabulary=9) is None
    with pytest.raises(ValueError, match="not a finite number"):
        summarise(np.array([-math.inf]), top, vocabulary=9)
