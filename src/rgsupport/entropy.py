"""Bounds of a token distribution's entropy from its most probable tokens; numpy in, numpy out, nats."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# A tail lighter than this is rounding.
_NO_TAIL = 1e-9


class Bounds(NamedTuple):
    """A lower and an upper bound, arrays of one shape."""

    low: FloatArray
    high: FloatArray


def token_entropy_bounds(top: npt.ArrayLike, *, vocabulary: int) -> Bounds:
    """Return bounds of the entropy of distributions of which only the most probable tokens are known.

    With head entropy h = -sum p ln p over the known probabilities, tail mass r = 1 - sum p and smallest known
    probability q, no token of the tail is above q. So the entropy is lowest when the tail is floor(r / q) tokens of q
    and one of the remainder, and highest when its V - K tokens are alike: h - r ln(r / (V - K)). Both are h where r is
    at most 1e-9. The entropy of the renormalised head would be biased low and is not used.

    Args:
        top: [..., K] natural log-probabilities of the K most probable tokens, in any order; -inf where fewer are known.
        vocabulary: Number of tokens V there are.

    Returns:
        Two arrays of the shape of `top` without its last axis, nats.

    Raises:
        ValueError: A position has no known token, more than `vocabulary`, a NaN, or more probability than one.
    """
    logs = np.asarray(top, dtype=np.float64)
    if logs.ndim == 0 or logs.shape[-1] == 0 or np.isnan(logs).any():
        msg = f"log-probabilities must be numbers, at least one per position, got shape {logs.shape}"
        raise ValueError(msg)
    p = np.exp(logs)
    n_known = (p > 0).sum(axis=-1)
    if (n_known == 0).any() or (n_known > vocabulary).any() or (p.sum(axis=-1) > 1 + 1e-3).any():
        msg = f"the most probable tokens of a position have no probability, more than 1, or outnumber {vocabulary}"
        raise ValueError(msg)
    head = -np.where(p > 0, p * np.where(p > 0, logs, 0.0), 0.0).sum(axis=-1)
    tail = np.maximum(1 - p.sum(axis=-1), 0.0)
    has_tail = (tail > _NO_TAIL) & (n_known < vocabulary)
    r = np.where(has_tail, tail, 1.0)
    q = np.where(p > 0, p, np.inf).min(axis=-1)
    n_full = np.floor(r / q)
    rest = np.maximum(r - n_full * q, 0.0)
    low = -n_full * q * np.log(q) - np.where(rest > 0, rest * np.log(np.where(rest > 0, rest, 1.0)), 0.0)
    high = -r * np.log(r / np.maximum(vocabulary - n_known, 1))
    # Rounded log-probabilities may leave a tail that is heavier than its tokens can be; then both bounds are the upper.
    low = np.minimum(low, high)
    return Bounds(head + np.where(has_tail, low, 0.0), head + np.where(has_tail, high, 0.0))
