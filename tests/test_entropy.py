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


@given(distributions)
def test_the_entropy_lies_between_the_bounds_which_narrow_with_every_known_token(p):
    low, high = token_entropy_bounds(
        [np.log(p[:k] + [0] * (len(p) - k), where=np.array(p[:k] + [0] * (len(p) - k)) > 0,
                out=np.full(len(p), -np.inf)) for k in range(1, len(p) + 1)],
        vocabulary=len(p),
    )  # fmt: skip
    truth = entropy(p)
    assert (low <= truth + 1e-9).all()
    assert (high >= truth - 1e-9).all()
    assert (np.diff(low) >= -1e-9).all()
    assert (np.diff(high) <= 1e-9).all()
    assert low[-1] == pytest.approx(truth)
    assert high[-1] == pytest.approx(truth)


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


@pytest.mark.parametrize(
    "top", [[], [[]], [math.nan], [-math.inf], [[0.0], [-math.inf]], [math.log(0.7)] * 2, [-1.0, -2.0, -3.0]]
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
