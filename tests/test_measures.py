import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln

from counts import VECTORS, number
from rgsupport.estimators import pass_at_k
from rgsupport.measures import SupportCounts, classify, support_cells, support_counts, support_metrics
from rgsupport.types import SupportClass

METRICS = ("SRR", "NDR", "SDS", "NSCR")
shares = st.floats(0, 1)


@st.composite
def pairs_of_counts(draw, largest=12):
    """(base n, base c, rlvr n, rlvr c) of a few problems."""
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        base_n, rlvr_n = draw(st.integers(4, largest)), draw(st.integers(4, largest))
        rows.append((base_n, draw(st.integers(0, base_n)), rlvr_n, draw(st.integers(0, rlvr_n))))
    return np.array(rows)


def test_expected_counts_and_metrics_equal_the_reference_numbers():
    for row in VECTORS["expected_support"]:
        base, rlvr = np.array(row["base_nc"]), np.array(row["rlvr_nc"])
        counts = support_counts(*base.T, *rlvr.T, row["k"])
        np.testing.assert_allclose(counts, [number(row[cell]) for cell in "PESO"], rtol=1e-12)
        np.testing.assert_allclose(support_metrics(counts), [number(row[name]) for name in METRICS], rtol=1e-12)


def test_rates_with_denominator_zero_are_undefined_and_never_zero():
    for row in VECTORS["support_edge"]:
        counts = SupportCounts(*(np.float64(row[cell]) for cell in "PESO"))
        np.testing.assert_allclose(support_metrics(counts), [number(row[name]) for name in METRICS], rtol=1e-12)


@given(st.tuples(*[st.integers(0, 500)] * 4))
def test_the_dynamic_score_equals_its_closed_form_and_every_rate_its_range(counts):
    p, e, s, _ = counts
    srr, ndr, sds, nscr = (float(m) for m in support_metrics(SupportCounts(*map(np.float64, counts))))
    assert math.isnan(sds) == (math.isnan(srr) or math.isnan(ndr))
    for rate, low in ((srr, 0), (ndr, 0), (sds, 0), (nscr, -1)):
        assert math.isnan(rate) or low <= rate <= 1
    if p:
        assert sds == pytest.approx(2 * p * e / (p * p + 2 * p * e + e * s), rel=1e-12)


@given(pairs_of_counts(), st.integers(1, 4))
def test_the_four_counts_add_up_to_the_problems_and_their_sums_to_both_coverages(rows, k):
    base_n, base_c, rlvr_n, rlvr_c = rows.T
    p, e, s, o = support_counts(base_n, base_c, rlvr_n, rlvr_c, k)
    assert p + e + s + o == pytest.approx(len(rows), rel=1e-12)
    assert p + s == pytest.approx(float(pass_at_k(base_n, base_c, k).sum()), abs=1e-12)
    assert p + e == pytest.approx(float(pass_at_k(rlvr_n, rlvr_c, k).sum()), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1))
def test_expected_counts_at_k_equal_to_n_are_the_realised_counts(rows):
    base, rlvr = np.array(rows).T
    counts = support_counts(6, base, 6, rlvr, 6)
    realised = [
        np.sum((base > 0) & (rlvr > 0)),
        np.sum((base == 0) & (rlvr > 0)),
        np.sum((base > 0) & (rlvr == 0)),
        np.sum((base == 0) & (rlvr == 0)),
    ]
    assert list(counts) == realised


def test_expected_counts_are_the_mean_over_all_choices_of_k_samples():
    base, rlvr, k = [1, 0, 0, 0, 1], [0, 1, 0, 0], 2
    outcomes = [(any(b), any(r)) for b in itertools.combinations(base, k) for r in itertools.combinations(rlvr, k)]
    means = [outcomes.count(which) / len(outcomes) for which in ((1, 1), (0, 1), (1, 0), (0, 0))]
    np.testing.assert_allclose(support_counts([5], [2], [4], [1], k), means, rtol=1e-14)


def test_a_budget_above_the_samples_of_one_problem_leaves_all_counts_undefined():
    assert np.isnan(support_counts([4, 2], [1, 1], [4, 4], [1, 1], 3)).all()


def test_a_column_of_budgets_gives_a_row_of_counts():
    counts = support_counts([4, 4], [1, 0], [4, 4], [2, 1], [[1], [2], [4]])
    for i, k in enumerate((1, 2, 4)):
        alone = support_counts([4, 4], [1, 0], [4, 4], [2, 1], k)
        assert [count[i] for count in counts] == list(alone)


@pytest.mark.parametrize("row", VECTORS["identical_beta"], ids=lambda row: f"{row['a']}-{row['b']}-{row['k']}")
def test_identical_models_shrink_and_expand_by_pass_at_2k_minus_pass_at_k(row):
    """Both models share the success rate of a problem, drawn from Beta(a, b): the expectation over all counts."""
    a, b, k = row["a"], row["b"], row["k"]
    n = k + 3
    c = np.arange(n + 1)
    log_choose = -betaln(c + 1, n - c + 1) - math.log(n + 1)
    both = c[:, np.newaxis] + c
    weights = np.exp(log_choose[:, np.newaxis] + log_choose + betaln(a + both, b + 2 * n - both) - betaln(a, b))
    base, rlvr = np.broadcast_arrays(pass_at_k(n, c, k)[:, np.newaxis], pass_at_k(n, c, k))
    found = [float((weights * cell).sum()) for cell in support_cells(base, rlvr)]
    expected = [number(row[cell]) for cell in "PEEO"]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert float((weights * base).sum()) == pytest.approx(number(row["pass_at_k"]), rel=1e-10)


@given(n=st.integers(1, 5), data=st.data())
def test_split_halves_of_one_model_shrink_and_expand_by_pass_at_2k_minus_pass_at_k(n, data):
    c = data.draw(st.integers(0, 2 * n))
    is_correct = [i < c for i in range(2 * n)]
    shrunk = expanded = 0
    for half in itertools.combinations(range(2 * n), n):
        first = any(is_correct[i] for i in half)
        second = any(is_correct[i] for i in range(2 * n) if i not in half)
        shrunk += first and not second
        expanded += second and not first
    splits = math.comb(2 * n, n)
    expected = float(pass_at_k(2 * n, c, 2 * n) - pass_at_k(2 * n, c, n))
    assert shrunk / splits == pytest.approx(expected, abs=1e-14)
    assert expanded == shrunk


@pytest.mark.parametrize(
    ("base", "rlvr", "name", "reason"),
    [
        ((0.3, 1.0), (0.9, 1.0), "preservation", "full_coverage"),
        ((0.3, 0.9996), (0.9, 0.9999), "preservation", "full_coverage"),  # both print as 1.000
        ((0.3, 0.9994), (0.9, 0.9999), "expansion", ""),
        ((0.3, 0.9999), (0.9, 0.9994), "shrinkage", ""),
        ((0.2, 0.64), (0.3, 0.64), "preservation", "tie_below_full"),
        ((0.2, 0.1 + 0.2), (0.3, 0.3), "preservation", "tie_below_full"),  # equal but for rounding
        ((0.0, 0.0), (0.0, 0.0), "preservation", "no_success"),
        ((0.1, 0.5), (0.3, 0.52), "expansion", ""),
        ((0.3, 0.5), (0.1, 0.52), "expansion", "base_leads_at_1"),
        ((0.3, 0.5), (0.3, 0.52), "expansion", "base_leads_at_1"),
        ((0.1, 0.52), (0.3, 0.5), "shrinkage", ""),
        ((0.3, 0.52), (0.1, 0.5), "shrinkage", "no_rlvr_lead_at_1"),
        ((0.1 + 0.2, 0.52), (0.3, 0.5), "shrinkage", "no_rlvr_lead_at_1"),
    ],
)
def test_the_class_is_what_the_captions_say_taken_literally(base, rlvr, name, reason):
    found = classify(base_1=base[0], base_K=base[1], rlvr_1=rlvr[0], rlvr_K=rlvr[1])
    assert found == (SupportClass(name), reason)


@given(shares, shares, shares, shares)
def test_the_mirrored_pair_of_models_has_the_mirrored_class(base_1, base_k, rlvr_1, rlvr_k):
    mirrored = {"preservation": "preservation", "expansion": "shrinkage", "shrinkage": "expansion"}
    here = classify(base_1=base_1, base_K=base_k, rlvr_1=rlvr_1, rlvr_K=rlvr_k)
    there = classify(base_1=rlvr_1, base_K=rlvr_k, rlvr_1=base_1, rlvr_K=base_k)
    assert there.name == mirrored[here.name]


def test_the_papers_reasoning_gym_tables_read_literally_at_their_printed_budget_of_16():
    assert len(VECTORS["nominal_class_of_paper_tables"]) == 15
    for row in VECTORS["nominal_class_of_paper_tables"]:
        (base_1, base_16), (rlvr_1, rlvr_16) = row["base"], row["rlvr"]
        found = classify(base_1=base_1, base_K=base_16, rlvr_1=rlvr_1, rlvr_K=rlvr_16)
        assert found.name == row["class_at_16"], row["task"]
