# pyright: reportUnknownMemberType=false
"""Continuous batching: rows that end make room for the next requests while the others go on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rgsupport.errors import EngineError
from rgsupport.samplers._draw import draw, logprobs_and_entropies, uniforms
from rgsupport.samplers._hf_cache import Prefix, SlotCache
from rgsupport.types import Request, SamplingParams

_KEPT_PREFIXES: Final = 4


class Forward(Protocol):
    """The two ways in which a batch uses its model."""

    def prefill(self, token_ids: tuple[int, ...]) -> Prefix:
        """Compute a prompt."""
        ...

    def decode(self, token_ids: Tensor, cache: SlotCache, *, mask: Tensor, positions: Tensor) -> Tensor:
        """Feed one token per row ([rows, 1]) and return the logits of the next, [rows, vocabulary]."""
        ...


@dataclass(frozen=True, slots=True)
class Ended:
    """A request with all its new tokens, the stop token included."""

    request: Request
    token_ids: list[int]
    stopped: bool
    """Whether the last token is a stop token; otherwise a limit cut the text."""
    logprob: float
    """Sum of the log-probabilities of the new tokens, before temperature and top-p; 0 where none were asked for."""
    entropy: float
    """Sum of the entropies of the distributions they were drawn from, likewise."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a batch.

    Attributes:
        rows: Most rows in flight.
        tokens: Most rows times positions that may have to be held, should every row reach its limit.
        context_length: Positions of the model, prompt and new tokens together.
    """

    rows: int
    tokens: int
    context_length: int


# Of each row: the seed of its random stream, tokens of its prompt, tokens in all so far, tokens at which it is cut.
_ROW: Final = np.dtype([("seed", np.uint64), ("prompt", np.int64), ("length", np.int64), ("end", np.int64)])


class Batch:
    """Rows in flight: repeat `fill`, `draw`, `advance` until it stays empty.

    Rows 0 to n - 1 are in flight. Before `draw` the logits of each one's next token are known.
    """

    def __init__(self, model: Forward, *, is_stop: NDArray[np.bool_], limits: Limits, params: SamplingParams) -> None:
        """Make an empty batch.

        Args:
            model: What computes logits.
            is_stop: [vocabulary], true for the tokens that end a text.
            limits: What bounds the batch.
            params: How tokens are drawn.
        """
        self._model = model
        self._is_stop = is_stop
        self._limits = limits
        self._params = params
        self._requests: list[Request] = []
        self._waiting: Request | None = None
        self._rows = np.zeros(limits.rows, dtype=_ROW)
        # Untouched pages cost nothing, so the widest buffer is as good as one that grows.
        self._drawn = np.empty((limits.rows, min(params.max_tokens, limits.context_length)), dtype=np.int32)
        self._sums = np.zeros((limits.rows, 2))  # of each row: log-probabilities and entropies so far
        self._logits: Tensor | None = None
        self._cache: SlotCache | None = None
        self._prefixes: dict[tuple[int, ...], Prefix] = {}

    def __len__(self) -> int:
        return len(self._requests)

    @torch.inference_mode()
    def fill(self, source: Iterator[Request]) -> None:
        """Start requests of the source while there is room."""
        logits = [] if self._logits is None else [self._logits]
        while len(self) < self._limits.rows and (request := self._next(source)) is not None:
            prefix = self._prefix(request)
            if self._cache is None:
                self._cache = SlotCache(prefix, max_rows=self._limits.rows, max_tokens=self._limits.tokens)
            self._cache.append(prefix)
            self._rows[len(self)] = (request.seed, prefix.length, prefix.length, self._end(request))
            self._sums[len(self)] = 0
            self._requests.append(request)
            logits.append(prefix.logits[None])
        if len(logits) > 1 or self._logits is None:
            self._logits = torch.cat(logits) if logits else None

    @torch.inference_mode()
    def draw(self) -> list[Ended]:
        """Draw every row's next token and take out the rows that end with it."""
        assert self._logits is not None
        rows = self._rows[: len(self)]
        n_drawn = rows["length"] - rows["prompt"]
        uniform = torch.from_numpy(uniforms(rows["seed"], n_drawn.astype(np.uint64))).to(self._logits.device)
        tokens = draw(self._logits, uniform, temperature=self._params.temperature, top_p=self._params.top_p)
        drawn = tokens.cpu().numpy()
        if drawn.min() < 0:
            request = self._requests[int(drawn.argmin())]
            msg = f"the model returns no probabilities (NaN or infinity) for problem {request.problem_id}; try float32"
            raise EngineError(msg)
        if self._params.logprobs:
            self._sums[: len(self)] += logprobs_and_entropies(self._logits, tokens).cpu().numpy()
        self._drawn[np.arange(len(self)), n_drawn] = drawn
        rows["length"] += 1
        stopped = self._is_stop[drawn]
        ended = stopped | (rows["length"] >= rows["end"])
        if not ended.any():
            return []
        completed = [self._ended(row, stopped=bool(stopped[row])) for row in np.flatnonzero(ended).tolist()]
        self._remove(ended)
        return completed

    @torch.inference_mode()
    def advance(self) -> None:
        """Feed the last tokens to the model, so that the logits of the next are known."""
        self._logits = None
        if not self._requests:
            return
        assert self._cache is not None
        rows = self._rows[: len(self)]
        last = self._drawn[np.arange(len(self)), rows["length"] - rows["prompt"] - 1]
        mask, positions = self._cache.step(rows["length"] - 1)
        token_ids = torch.tensor(last[:, None], dtype=torch.int64, device=mask.device)
        self._logits = self._model.decode(token_ids, self._cache, mask=mask, positions=positions)

    def _ended(self, row: int, *, stopped: bool) -> Ended:
        """Return what became of a row."""
        n_drawn = int(self._rows["length"][row] - self._rows["prompt"][row])
        logprob, entropy = self._sums[row].tolist()
        return Ended(self._requests[row], self._drawn[row, :n_drawn].tolist(), stopped, logprob, entropy)

    def _remove(self, ended: NDArray[np.bool_]) -> None:
        """Close the gaps that the ended rows leave."""
        assert self._cache is not None
        # The last token drawn has not been through the model yet.
        moved, gaps = self._cache.remove(ended, held=self._rows["length"][: len(self)] - 1)
        self._rows[gaps] = self._rows[moved]
        self._sums[gaps] = self._sums[moved]
        if len(moved):
            width = int((self._rows["length"] - self._rows["prompt"])[gaps].max())
            self._drawn[gaps, :width] = self._drawn[moved, :width]
        for source, target in zip(moved.tolist(), gaps.tolist(), strict=True):
            self._requests[target] = self._requests[source]
        del self._requests[self._cache.rows :]

    def _next(self, source: Iterator[Request]) -> Request | None:
        """Return the next request, or None if there is none or memory might not suffice for it yet."""
        request = self._waiting or next(source, None)
        self._waiting = None
        if request is None or not self._requests:
            return request
        longest = max(self._end(request), int(self._rows["end"][: len(self)].max()))
        if (len(self) + 1) * longest > self._limits.tokens:
            self._waiting = request
            return None
        return request

    def _end(self, request: Request) -> int:
        """Return the length, prompt included, at which a text is cut."""
        return min(len(request.token_ids) + self._params.max_tokens, self._limits.context_length)

    def _prefix(self, request: Request) -> Prefix:
        """Return the request's prompt, computed unless one of the last few requests had the same."""
        token_ids = request.token_ids
        if not 0 < len(token_ids) < self._limits.context_length:
            msg = (
                f"the prompt of problem {request.problem_id} has {len(token_ids)} tokens; "
                f"the model takes 1 to {self._limits.context_length - 1}"
            )
            raise EngineError(msg)
        if token_ids not in self._prefixes:
            self._prefixes[token_ids] = self._model.prefill(token_ids)
            if len(self._prefixes) > _KEPT_PREFIXES:
                del self._prefixes[next(iter(self._prefixes))]
        return self._prefixes[token_ids]
