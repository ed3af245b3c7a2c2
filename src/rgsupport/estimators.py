"""Counts -> pass@k and confidence intervals; numpy in, numpy out."""

# scipy ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Beyond it the chance that k samples all miss is below exp(-40), less than half a unit in the last place of 1.
LARGEST_LOG = 40.0
# Wilson's interval is too narrow with fewer successes or failures than this.
FEW = 5


class Interval(NamedTuple):
    """A confidence interval for every element; NaN where there is nothing to estimate from."""

    low: FloatArray
    high: FloatArray


def pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """Estimate, without bias, the chance that at least one of k samples of a problem is correct.

    The share of the k-subsets of the n samples that hold a correct one, 1 - C(n - c, k) / C(n, k) (Chen et al. 2021,
    arXiv 2107.03374). It is evaluated as 1 - prod_{j < min(c, k)} (1 - max(c, k) / (n - j)) in logarithms, with a
    relative error below 1e-12 up to n = 1e6. Repeated (n, c) are evaluated once.

    >>> pass_at_k(4, 1, [1, 2, 4, 5]).round(3).tolist()
    [0.25, 0.5, 1.0, nan]

    Args:
        n: Samples of each problem, integers >= 0.
        c: Correct samples of each problem, integers in [0, n].
        k: Budgets, integers >= 1; the three are broadcast against each other.

    Returns:
        float64 in [0, 1] of the common shape; NaN where k > n: no unbiased estimate exists there.

    Raises:
        ValueError: A count is out of its range or not an integer.
    """
    n, c, k = _checked(n, c, k)
    # abs, not minus: minus would make a negative zero of c = 0.
    estimate = np.abs(np.expm1(_on_unique(_log_miss, n, c, k)))
    # c / n to the last bit, so that no rounded pass@1 depends on the route through logarithms.
    share = np.divide(c, n, out=np.full(np.broadcast(n, c).shape, np.nan), where=n > 0)
    return np.where(k == 1, share, estimate)


def pass_at_k_variance(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """Estimate, without bias, the variance of `pass_at_k` of a problem over repeated samplings.

    q_k^2 - q_2k with q_k = 1 - pass@k. It is evaluated as q_k^2 (1 - q_2k / q_k^2) with the ratio as a product, because
    the difference would lose all digits where both terms are near 1.

    >>> pass_at_k_variance([4, 4, 4], [1, 2, 2], [1, 2, 3]).round(4).tolist()
    [0.0625, 0.0278, nan]

    Args:
        n: Samples of each problem.
        c: Correct samples of each problem, in [0, n].
        k: Budgets >= 1; the three are broadcast against each other.

    Returns:
        float64 >= 0 of the common shape; NaN where n < 2k. Values below exp(-80) are 0.

    Raises:
        ValueError: A count is out of its range or not an integer.
    """
    return _on_unique(_variance, *_checked(n, c, k))


def wilson(x: npt.ArrayLike, n: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval for a proportion.

    >>> [side.round(3).tolist() for side in wilson([0, 25], 50)]
    [[0.0, 0.366], [0.071, 0.634]]

    Args:
        x: Successes in [0, n]; fractions are allowed.
        n: Trials; NaN is returned where 0.
        confidence: Coverage in (0, 1).

    Raises:
        ValueError: x lies outside [0, n], or confidence outside (0, 1).
    """
    x, n = _proportion(x, n)
    z = special.ndtri(1 - _tail(confidence))
    return Interval(low=_wilson_low(x, n, z), high=1 - _wilson_low(n - x, n, z))


def clopper_pearson(x: npt.ArrayLike, n: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Clopper and Pearson's exact interval for a proportion; it never covers less than it says.

    >>> [side.round(3).tolist() for side in clopper_pearson([0, 25], 50)]
    [[0.0, 0.355], [0.071, 0.645]]

    Args:
        x: Successes in [0, n].
        n: Trials; NaN is returned where 0.
        confidence: Coverage in (0, 1).

    Raises:
        ValueError: x lies outside [0, n], or confidence outside (0, 1).
    """
    x, n = _proportion(x, n)
    tail = _tail(confidence)
    # The beta distribution has no parameter 0: those ends of the interval are 0 and 1 themselves.
    low = np.where(x > 0, special.betaincinv(np.maximum(x, 0.5), n - x + 1, tail), 0.0)
    high = np.where(x < n, special.betaincinv(x + 1, np.maximum(n - x, 0.5), 1 - tail), 1.0)
    return Interval(low=np.where(np.isnan(n), np.nan, low), high=np.where(np.isnan(n), np.nan, high))


def coverage_interval(
    covered: npt.ArrayLike, problems: npt.ArrayLike, *, realised: npt.ArrayLike, confidence: float = 0.95
) -> Interval:
    """Return an interval for the pass@k of a task over the population its problems were drawn from.

    Where k = n, every problem is either solved or not: Wilson, and Clopper-Pearson where fewer than five problems were
    solved, or fewer than five were not, for there Wilson is too narrow. Where k < n the per-problem estimates are
    fractions: Wilson on their sum. That is conservative, because a variable in [0, 1] with mean p has a variance of at
    most p (1 - p), and unlike a normal or bootstrap interval it keeps a width when every estimate is near 0 or 1.

    >>> [side.round(3).tolist() for side in coverage_interval([49, 25, 49], 50, realised=[True, True, False])]
    [[0.894, 0.366, 0.895], [0.999, 0.634, 0.996]]

    Args:
        covered: Sum of the per-problem pass@k, in [0, problems].
        problems: Number of problems.
        realised: Whether k = n for all of them.
        confidence: Coverage in (0, 1).

    Raises:
        ValueError: covered lies outside [0, problems], or confidence outside (0, 1).
    """
    covered, problems = _proportion(covered, problems)
    is_few = np.asarray(realised, dtype=np.bool_) & (np.minimum(covered, problems - covered) < FEW)
    approximate = wilson(covered, problems, confidence)
    exact = clopper_pearson(covered, problems, confidence)
    return Interval(
        low=np.where(is_few, exact.low, approximate.low), high=np.where(is_few, exact.high, approximate.high)
    )


def _checked(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike) -> tuple[IntArray, IntArray, IntArray]:
    n, c, k = _integers("n", n), _integers("c", c), _integers("k", k)
    if np.any(k < 1):
        msg = f"k must be at least 1, got {k.min()}"
        raise ValueError(msg)
    all_n, all_c = np.broadcast_arrays(n, c)
    wrong = (all_c < 0) | (all_c > all_n)
    if wrong.any():
        msg = f"c must lie between 0 and n, got c = {all_c[wrong][0]} of n = {all_n[wrong][0]}"
        raise ValueError(msg)
    return n, c, k


def _integers(name: str, values: npt.ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        msg = f"{name} must be integers, got {array.dtype}"
        raise ValueError(msg)
    return array.astype(np.int64)


def _on_unique(
    function: Callable[[IntArray, IntArray, IntArray], FloatArray], n: IntArray, c: IntArray, k: IntArray
) -> FloatArray:
    """Evaluate on each (n, c) once for every k, when that table is no larger than the result."""
    shape = np.broadcast(n, c, k).shape
    base = int(n.max(initial=0)) + 1
    codes, code_of = np.unique(n * base + c, return_inverse=True)
    budgets, budget_of = np.unique(k, return_inverse=True)
    if codes.size * budgets.size > np.prod(shape):
        return function(*np.broadcast_arrays(n, c, k))
    pairs = codes[:, np.newaxis]
    table = function(*np.broadcast_arrays(pairs // base, pairs % base, budgets))
    return table[code_of.reshape(np.broadcast(n, c).shape), budget_of.reshape(k.shape)]


def _log_miss(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    """Return log(C(n - c, k) / C(n, k)), the chance that k samples all miss; -inf below -40, NaN where k > n."""
    log_miss = np.where(k <= n, -np.inf, np.nan)
    # The ratio is symmetric in c and k and its logarithm at most -c k / n: sqrt(40 n) factors are the most ever needed.
    can_miss = (k <= n - c) & (c * k.astype(np.float64) <= LARGEST_LOG * n)

    def term(j: int, counts: IntArray) -> FloatArray:
        n, more = counts
        return -more / (n - j)

    n, c, k = n[can_miss], c[can_miss], k[can_miss]
    log_miss[can_miss] = _sum_log1p(term, np.stack([n, np.maximum(c, k)]), terms=np.minimum(c, k))
    return log_miss


def _variance(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    """Return q_k^2 - q_2k, NaN where n < 2k."""
    log_miss = _log_miss(n, c, k)
    log_ratio = np.full(n.shape, -np.inf)  # of q_2k to q_k^2; 2k samples cannot all miss where 2k > n - c
    can_miss = (2 * k <= n - c) & (log_miss > -np.inf)

    def term_of_c(j: int, counts: IntArray) -> FloatArray:
        n, _, k = counts
        return -((k / (n - k - j)) ** 2)

    def term_of_k(j: int, counts: IntArray) -> FloatArray:
        n, c, k = counts
        return -(c * k) / ((n - k - j) * (n - c - j))

    # The ratio is a product over c factors as well as over k factors; the shorter one is taken.
    for chosen, term, terms in ((can_miss & (c <= k), term_of_c, c), (can_miss & (c > k), term_of_k, k)):
        counts = np.stack([n[chosen], c[chosen], k[chosen]])
        log_ratio[chosen] = _sum_log1p(term, counts, terms=terms[chosen])
    variance = np.exp(2 * log_miss) * np.abs(np.expm1(log_ratio))
    return np.where(2 * k <= n, variance, np.nan)


def _sum_log1p(term: Callable[[int, IntArray], FloatArray], counts: IntArray, *, terms: IntArray) -> FloatArray:
    """Return sum_{j < terms[i]} log1p(term(j, counts[:, i])) for every i."""
    order = np.argsort(-terms, kind="stable")  # the longest sums first: those still open at j are a prefix
    longest = counts[:, order]
    n_open = np.searchsorted(-terms[order], -np.arange(terms.max(initial=0)), side="left")
    sums = np.zeros(terms.shape)
    for j, end in enumerate(n_open):
        sums[:end] += np.log1p(term(j, longest[:, :end]))
    total = np.empty_like(sums)
    total[order] = sums
    return total


def _proportion(x: npt.ArrayLike, n: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both as float64 of one shape, n = NaN where 0."""
    x, n = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(n, dtype=np.float64))
    wrong = (x < 0) | (x > n)
    if wrong.any():
        msg = f"successes must lie between 0 and the trials, got {x[wrong][0]} of {n[wrong][0]}"
        raise ValueError(msg)
    return x, np.where(n > 0, n, np.nan)


def _tail(confidence: float) -> float:
    if not 0 < confidence < 1:
        msg = f"confidence must lie between 0 and 1, got {confidence}"
        raise ValueError(msg)
    return (1 - confidence) / 2


def _wilson_low(x: FloatArray, n: FloatArray, z: float) -> FloatArray:
    # The two ends are the roots of a quadratic: from the larger root and their product, small ends keep their digits.
    larger = (x + z**2 / 2 + z * np.sqrt(x * (n - x) / n + z**2 / 4)) / (n + z**2)
    return x * (x / n) / (n + z**2) / larger
