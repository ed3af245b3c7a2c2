# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Keys and values of rows that stand at different positions of their texts."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.cache_utils import Cache

# The cache grows by so many positions, or by an eighth if that is more. Small steps keep what is read close together,
# which makes attention on a CPU a tenth faster; growing copies everything, so steps must not be tiny.
_LENGTH_STEP: Final = 64
_ALIGNMENT: Final = 16  # Attention kernels want masks whose width is a multiple of this


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a prompt leaves behind, computed once for all its samples.

    Attributes:
        keys: Per layer, [1, heads, length, key size].
        values: Per layer, [1, heads, length, value size].
        logits: [vocabulary], for the token after the prompt.
        length: Tokens of the prompt.
    """

    keys: list[Tensor]
    values: list[Tensor]
    logits: Tensor
    length: int

    @property
    def bytes_per_token(self) -> int:
        """Return the memory one token takes in a cache, in bytes, over all layers."""
        return sum(t.element_size() * t.shape[1] * t.shape[3] for t in (*self.keys, *self.values))


class SlotCache(Cache):
    """A transformers cache in which row i writes at its own position and attends to its own tokens only.

    The first `rows` rows are in use. Memory is reserved in steps of positions, and attention reads no further than the
    longest row in use. What lies beyond a row's end is finite and masked, so no row can influence another.
    """

    def __init__(self, like: Prefix, *, max_rows: int, max_tokens: int) -> None:
        """Make an empty cache for a model whose prompts leave prefixes of this shape.

        Args:
            like: Any prefix of the model.
            max_rows: Rows that are ever used at once.
            max_tokens: Rows times positions that memory is reserved for, unless the rows in use need more.
        """
        super().__init__(layers=[])
        self.rows = 0
        self._max_rows = max_rows
        self._max_tokens = max_tokens
        self._keys = [t.new_zeros((0, t.shape[1], 0, t.shape[3])) for t in like.keys]
        self._values = [t.new_zeros((0, t.shape[1], 0, t.shape[3])) for t in like.values]
        self._mask = like.keys[0].new_zeros((0, 1, 1, 0))
        self._row_index = torch.empty(0, dtype=torch.int64)
        self._positions = torch.empty(0, dtype=torch.int64)
        self._width = 0

    def _reserve(self, *, rows: int, length: int) -> None:
        """Make room for at least so many rows of so many positions, keeping the rows in use."""
        old_rows, old_length = self._mask.shape[0], self._mask.shape[3]
        if rows <= old_rows and length <= old_length:
            return
        new_length = old_length
        if length > old_length:
            new_length = -(-max(length, old_length + old_length // 8) // _LENGTH_STEP) * _LENGTH_STEP
        new_rows = max(rows, min(self._max_rows, self._max_tokens // new_length))
        for tensors in (self._keys, self._values):
            for layer, old in enumerate(tensors):
                # Layer by layer, so that no more than one layer exists twice; zeros, since garbage could be NaN.
                tensors[layer] = _resized(old, rows=new_rows, length=new_length, used=self.rows, dim=2, fill=0.0)
        self._mask = _resized(self._mask, rows=new_rows, length=new_length, used=self.rows, dim=3, fill=-torch.inf)
        self._row_index = torch.arange(new_rows, device=self._mask.device)

    def append(self, prefix: Prefix) -> None:
        """Start one more row, with this prompt behind it."""
        self._reserve(rows=self.rows + 1, length=prefix.length + 1)
        for tensors, new in ((self._keys, prefix.keys), (self._values, prefix.values)):
            for tensor, prompt in zip(tensors, new, strict=True):
                tensor[self.rows, :, : prefix.length] = prompt[0]
        self._mask[self.rows] = -torch.inf
        self._mask[self.rows, ..., : prefix.length] = 0
        self.rows += 1

    def remove(
        self, ended: NDArray[np.bool_], *, held: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Drop rows by moving rows from the end into the gaps.

        Args:
            ended: [rows in use], the rows to drop.
            held: [rows in use], the tokens each row holds.

        Returns:
            The rows that moved and where each moved to; the caller moves what it knows about rows alike.
        """
        left = self.rows - int(ended.sum())
        moved = np.flatnonzero(~ended[left:]) + left
        gaps = np.flatnonzero(ended[:left])
        self.rows = left
        if len(moved):
            length = int(held[moved].max())
            source, target = (torch.from_numpy(index).to(self._mask.device) for index in (moved, gaps))
            for tensor in (*self._keys, *self._values):
                tensor[target, :, :length] = tensor[source, :, :length]
            self._mask[target] = self._mask[source]
        return moved, gaps

    def step(self, positions: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Set where each row in use writes its next token; call it before the model.

        Args:
            positions: [rows in use], the tokens each row holds already.

        Returns:
            The attention mask, [rows, 1, 1, width], added to attention scores, and the position ids, [rows, 1].
        """
        length = int(positions.max()) + 1
        self._reserve(rows=self.rows, length=length)
        self._width = min(-(-length // _ALIGNMENT) * _ALIGNMENT, self._mask.shape[3])
        self._positions = torch.tensor(positions, device=self._mask.device)
        self._mask[self._row_index[: self.rows], 0, 0, self._positions] = 0
        return self._mask[: self.rows, :, :, : self._width], self._positions[:, None]

    # Any: the signature of transformers, whose models pass further arguments that this cache has no use for.
    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *args: Any,  # noqa: ANN401, ARG002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> tuple[Tensor, Tensor]:
        """Store one new key and value per row ([rows, heads, 1, size]) and return all that may be attended to."""
        rows = self._row_index[: self.rows]
        keys, values = self._keys[layer_idx], self._values[layer_idx]
        keys[rows, :, self._positions] = key_states[:, :, 0]
        values[rows, :, self._positions] = value_states[:, :, 0]
        return keys[: self.rows, :, : self._width], values[: self.rows, :, : self._width]

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002
        """Return how many positions stand before the new one; models use it to see that a cache is not empty."""
        return self._width - 1


def _resized(old: Tensor, *, rows: int, length: int, used: int, dim: int, fill: float) -> Tensor:
    """Return a tensor of so many rows and, in dimension `dim`, positions, with the used rows copied."""
    shape = list(old.shape)
    shape[0], shape[dim] = rows, length
    new = old.new_full(shape, fill) if fill else old.new_zeros(shape)
    if used:
        new.narrow(dim, 0, old.shape[dim])[:used] = old[:used]
    return new
