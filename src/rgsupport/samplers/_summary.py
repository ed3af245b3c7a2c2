"""What is kept of the log-probabilities an engine returns."""

import numpy as np
from numpy.typing import NDArray

from rgsupport.entropy import token_entropy_bounds
from rgsupport.types import LogprobSummary


def summarise(drawn: NDArray[np.float64], top: NDArray[np.float64], *, vocabulary: int | None) -> LogprobSummary | None:
    """Return the summary of one completion, None if it has no tokens.

    Args:
        drawn: [positions] natural log-probability of each token that was drawn.
        top: [positions, K] log-probabilities of the most probable tokens; -inf where fewer are known.
        vocabulary: Number of tokens the model knows; None leaves the entropy out.

    Raises:
        ValueError: A log-probability is no finite number, or the most probable ones are no part of a distribution.
    """
    if len(drawn) == 0:
        return None
    if not np.isfinite(drawn).all():
        msg = "the log-probability of a drawn token is not a finite number"
        raise ValueError(msg)
    low = high = None
    if vocabulary is not None:
        bounds = token_entropy_bounds(top, vocabulary=vocabulary)
        low, high = float(bounds.low.mean()), float(bounds.high.mean())
    return LogprobSummary(float(drawn.sum()), float(drawn.mean()), low, high)
