"""Support counts of two models, their metrics and the nominal class of a task; numpy in, numpy out."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rgsupport.estimators import FloatArray, pass_at_k
from rgsupport.types import SupportClass

# pass@k from here on prints as 1.000.
FULL_COVERAGE = 1 - 5e-4
# Means of equal counts differ by rounding; differences between real counts are larger by many orders.
ROUNDING = 1e-12


class SupportCounts(NamedTuple):
    """How many problems each pair of models solves (paper 3.1); fractions where counts are expected ones."""

    P: FloatArray
    """Preserved: both solve it."""
    E: FloatArray
    """Expanded: only the RLVR model solves it."""
    S: FloatArray
    """Shrunk: only the base model solves it."""
    O: FloatArray  # noqa: E741
    """Out of support: neither solves it."""


class SupportMetrics(NamedTuple):
    """The paper's metrics (3.2); NaN where undefined."""

    SRR: FloatArray
    """Support retention rate P / (P + S), in [0, 1]."""
    NDR: FloatArray
    """Net discovery rate E / (P + E), in [0, 1]."""
    SDS: FloatArray
    """Support dynamic score, the harmonic mean of SRR and NDR, in [0, 1]."""
    NSCR: FloatArray
    """Net support change rate (E - S) / (P + E + S), in [-1, 1]."""


class Classification(NamedTuple):
    """The nominal class of a task and, where it needs one, the reason or a reservation."""

    name: SupportClass
    reason: str


def support_cells(base: FloatArray, rlvr: FloatArray) -> SupportCounts:
    """Return the chance of each outcome of a problem, from the pass@k of both models.

    The two models are sampled independently, so the products are unbiased at every k <= n. At k = n they are 0 or 1.
    """
    return SupportCounts(P=base * rlvr, E=(1 - base) * rlvr, S=base * (1 - rlvr), O=(1 - base) * (1 - rlvr))


def support_counts(
    base_n: npt.ArrayLike, base_c: npt.ArrayLike, rlvr_n: npt.ArrayLike, rlvr_c: npt.ArrayLike, k: npt.ArrayLike
) -> SupportCounts:
    """Count the problems that are preserved, expanded, shrunk and out of support at a budget of k samples.

    Expected counts: what an experiment with k samples of each problem shows on average. At k = n they are the realised
    counts.

    >>> [float(count) for count in support_counts([2, 2, 2], [1, 0, 2], [2, 2, 2], [1, 1, 0], 2)]
    [1.0, 1.0, 1.0, 0.0]

    Args:
        base_n: Samples of the base model on each problem, along the last axis.
        base_c: Correct samples of the base model.
        rlvr_n: Samples of the RLVR model.
        rlvr_c: Correct samples of the RLVR model.
        k: Budget, or a column of budgets.

    Returns:
        Counts that sum to the number of problems; NaN where k > n for some problem.
    """
    cells = support_cells(pass_at_k(base_n, base_c, k), pass_at_k(rlvr_n, rlvr_c, k))
    return SupportCounts(*(np.asarray(cell.sum(axis=-1)) for cell in cells))


def support_metrics(counts: SupportCounts) -> SupportMetrics:
    """Return SRR, NDR, SDS and NSCR of support counts.

    A rate with denominator zero is undefined (the paper has no such case): NaN, never 0. SDS is undefined where SRR or
    NDR is, and 0 where both are 0.

    >>> [round(float(metric), 3) for metric in support_metrics(SupportCounts(*map(np.float64, (1355, 5, 56, 131))))]
    [0.96, 0.004, 0.007, -0.036]
    """
    preserved, expanded, shrunk, _ = (np.asarray(count, dtype=np.float64) for count in counts)
    retention = _ratio(preserved, preserved + shrunk)
    discovery = _ratio(expanded, preserved + expanded)
    both = retention + discovery
    return SupportMetrics(
        SRR=retention,
        NDR=discovery,
        SDS=np.where(both == 0, 0.0, _ratio(2 * retention * discovery, both)),
        NSCR=_ratio(expanded - shrunk, preserved + expanded + shrunk),
    )


def classify(*, base_1: float, base_K: float, rlvr_1: float, rlvr_K: float) -> Classification:  # noqa: N803
    """Return the nominal class of a task: what the paper's captions say, taken literally, at the largest budget K.

    Preservation where both models solve everything (pass@K prints as 1.000) or neither is ahead, expansion where the
    RLVR model is ahead, shrinkage where the base model is. How far the evidence supports it is another question.

    >>> classify(base_1=0.1, base_K=0.9, rlvr_1=0.5, rlvr_K=0.8)
    Classification(name=<SupportClass.SHRINKAGE: 'shrinkage'>, reason='')

    Args:
        base_1: pass@1 of the base model.
        base_K: Its pass@K.
        rlvr_1: pass@1 of the RLVR model.
        rlvr_K: Its pass@K.
    """
    lead = rlvr_K - base_K
    leads_at_1 = rlvr_1 - base_1 > ROUNDING
    if min(base_K, rlvr_K) >= FULL_COVERAGE:
        return Classification(SupportClass.PRESERVATION, "full_coverage")
    if abs(lead) <= ROUNDING:
        return Classification(SupportClass.PRESERVATION, "no_success" if max(base_K, rlvr_K) == 0 else "tie_below_full")
    if lead > 0:
        return Classification(SupportClass.EXPANSION, "" if leads_at_1 else "base_leads_at_1")
    return Classification(SupportClass.SHRINKAGE, "" if leads_at_1 else "no_rlvr_lead_at_1")


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    return np.divide(numerator, denominator, out=np.full(denominator.shape, np.nan), where=denominator != 0)
