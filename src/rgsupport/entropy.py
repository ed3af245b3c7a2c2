"""Bounds of a token distribution's entropy from its most probable tokens; numpy in, numpy out, nats."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# A tail lighter than this is rounding.
_NO_TAIL = 1e-9
# Known probabilities that miss a distribution by more than this are not a matter of rounding.
_TOLERANCE = 1e-3


class Bounds(NamedTuple):
    """A lower and an upper bound, arrays of one shape."""

    low: FloatArray
    high: FloatArray


def token_entropy_bounds(top: npt.ArrayLike, *, vocabulary: int) -> Bounds:
    """Return bounds of the entropy of distributions of which only the most probable tokens are known.

    With head entropy h = -sum p ln p over the known probabilities, tail mass r = 1 - sum p and smallest known
    probability q, no token of the tail is above q. So the entropy is lowest when the tail is floor(r / q) tokens of q
    and one of the remainder, and highest when its V - K tokens are alike: h - r ln(r / (V - K)). Both are h where r is
    at most 1e-9. A tail of V - K tokens weighs no more than (V - K) q; what r has above that is rounding of the known
    log-probabilities and is left out. The entropy of the renormalised head would be biased low and is not used.

    Args:
        top: [..., K] natural log-probabilities of the K most probable tokens, in any order; -inf where fewer are known.
        vocabulary: Number of tokens V there are.

    Returns:
        Two arrays of the shape of `top` without its last axis, nats.

    Raises:
        ValueError: A position has no known token, more than `vocabulary`, a NaN, more probability than 1, or less than
            `vocabulary` tokens of which none is above the smallest known one can make up for.
    """
    logs = np.asarray(top, dtype=np.float64)
    if logs.ndim == 0 or logs.shape[-1] == 0 or np.isnan(logs).any():
        msg = f"log-probabilities must be numbers, at least one per position, got shape {logs.shape}"
        raise ValueError(msg)
    # A log-probability above 0 must not overflow before it is refused.
    p = np.exp(np.minimum(logs, 1.0))
    n_known = (p > 0).sum(axis=-1)
    if (n_known == 0).any() or (n_known > vocabulary).any():
        msg = f"the most probable tokens of a position have no probability, or outnumber the {vocabulary} there are"
        raise ValueError(msg)
    q = np.where(p > 0, p, np.inf).min(axis=-1)
    n_unknown = vocabulary - n_known
    tail, heaviest = 1 - p.sum(axis=-1), n_unknown * q
    if (tail < -_TOLERANCE).any() or (tail > heaviest + _TOLERANCE).any():
        msg = f"the most probable tokens of a position are no part of a distribution over {vocabulary} tokens"
        raise ValueError(msg)
    head = _entropy(p)
    r = np.clip(tail, 0.0, heaviest)
    has_tail = r > _NO_TAIL
    n_full = np.floor(np.divide(r, q, out=np.zeros_like(q), where=has_tail))
    rest = np.maximum(r - n_full * q, 0.0)
    low = n_full * _entropy(q[..., None]) + _entropy(rest[..., None])
    share = np.divide(r, n_unknown, out=np.ones_like(q), where=has_tail)
    high = -r * np.log(share)
    low = np.minimum(low, high)  # where a tail has one shape only, the two differ by rounding
    return Bounds(head + np.where(has_tail, low, 0.0), head + np.where(has_tail, high, 0.0))


def _entropy(p: FloatArray) -> FloatArray:
    """Return -sum p ln p over the last axis; probabilities of zero add nothing."""
    return -(p * np.log(p, out=np.zeros_like(p), where=p > 0)).sum(axis=-1)
