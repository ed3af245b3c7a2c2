# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Draw the next token of many rows at once, each row from its own random stream."""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Most distributions at temperature 0.6 keep a handful of tokens; rows that need more are sorted whole.
_FIRST_LOOK: Final = 64

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)


def mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each 64-bit word scrambled by the finaliser of SplitMix64, a bijection that looks random.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014), with Stafford's variant 13.
    """
    words = words + _GAMMA
    words = (words ^ (words >> np.uint64(30))) * _FIRST_FACTOR
    words = (words ^ (words >> np.uint64(27))) * _SECOND_FACTOR
    return words ^ (words >> np.uint64(31))


def uniforms(seeds: NDArray[np.uint64], counts: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return number `counts[i]` of the stream of `seeds[i]`: uniform in [0, 1), in steps of 2**-53."""
    # With XOR between the rounds, streams share single values by chance but never run in parallel; seeds are scrambled
    # once more than counts, since otherwise seed 2 at count 1 would be seed 1 at count 2.
    return (mix(mix(mix(seeds)) ^ mix(counts)) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw(logits: Tensor, uniform: Tensor, *, temperature: float, top_p: float) -> Tensor:
    """Draw one token per row by inverting the cumulative distribution.

    Args:
        logits: [rows, vocabulary], any float dtype.
        uniform: [rows] float64 in [0, 1), on the device of the logits; unused at temperature 0.
        temperature: Logits are divided by it; 0 takes the most probable token, the first one of a tie.
        top_p: Only the fewest most probable tokens whose probabilities reach top_p are drawn from, in (0, 1].

    Returns:
        [rows] int64; -1 where the logits hold NaN or +inf, of which no distribution can be made.
    """
    peak, best = logits.max(dim=-1)
    usable = peak.isfinite()
    if temperature == 0:
        return torch.where(usable, best, -1)
    # The peak goes first, so that no temperature overflows; every row's largest weight is 1.
    weights = logits.float().sub(peak[:, None]).div_(temperature).exp_()
    tokens = _from_all(weights, uniform) if top_p >= 1 else _from_top(weights, uniform, top_p)
    return torch.where(usable, tokens, -1)


def logprobs_and_entropies(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return what the model itself, at temperature 1 and without top-p, says of the tokens that were drawn.

    Args:
        logits: [rows, vocabulary], any float dtype.
        tokens: [rows] int64.

    Returns:
        [rows, 2] float64: the log-probability of the row's token, and the entropy of the row's distribution, in nats.
    """
    logs = logits.float().log_softmax(dim=-1)
    entropies = torch.special.entr(logs.exp()).sum(dim=-1, dtype=torch.float64)
    return torch.stack([logs.gather(-1, tokens[:, None])[:, 0].double(), entropies], dim=-1)


def _from_all(weights: Tensor, uniform: Tensor) -> Tensor:
    """Draw in proportion to the weights, without sorting them."""
    cumulative = weights.cumsum(-1, dtype=torch.float64)
    return _first_above(cumulative, uniform * cumulative[:, -1])


def _from_top(weights: Tensor, uniform: Tensor, top_p: float) -> Tensor:
    """Draw from the smallest set of largest weights that holds `top_p` of the mass."""
    needed = top_p * weights.sum(-1, dtype=torch.float64)
    n_looked_at = min(_FIRST_LOOK, weights.shape[-1])
    values, order = weights.topk(n_looked_at)
    cumulative = values.cumsum(-1, dtype=torch.float64)
    tokens = order.gather(-1, _pick(cumulative, uniform, needed)[:, None])[:, 0]
    if n_looked_at == weights.shape[-1]:
        return tokens
    short = (cumulative[:, -1] < needed).nonzero()[:, 0]
    if len(short):
        values, order = weights[short].sort(dim=-1, descending=True, stable=True)
        cumulative = values.cumsum(-1, dtype=torch.float64)
        tokens[short] = order.gather(-1, _pick(cumulative, uniform[short], needed[short])[:, None])[:, 0]
    return tokens


def _pick(cumulative: Tensor, uniform: Tensor, needed: Tensor) -> Tensor:
    """Return the rank drawn: [rows], from the shortest prefix of each row whose mass reaches `needed`."""
    # Rounding may leave the whole row a hair short of `needed` when top_p is close to 1: then all of it is kept.
    last_kept = _first_at_least(cumulative, needed).clamp_(max=cumulative.shape[-1] - 1)
    mass = cumulative.gather(-1, last_kept[:, None])[:, 0]
    return _first_above(cumulative, uniform * mass)


def _first_above(cumulative: Tensor, target: Tensor) -> Tensor:
    """Return per row the first position whose cumulative weight exceeds the target; zero weights are never it."""
    # u <= 1 - 2**-53 makes u * mass < mass in float64, so a position exists; the clamp is for rows of NaN.
    found = torch.searchsorted(cumulative, target[:, None], right=True)[:, 0]
    return found.clamp_(max=cumulative.shape[-1] - 1)


def _first_at_least(cumulative: Tensor, target: Tensor) -> Tensor:
    """Return per row the first position whose cumulative weight reaches the target."""
    return torch.searchsorted(cumulative, target[:, None])[:, 0]
