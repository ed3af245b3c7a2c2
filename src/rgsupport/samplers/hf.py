# pyright: reportUnknownMemberType=false
"""`HfSampler`: a model of transformers on any device, decoded in batches that refill as texts end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import sysconf
from typing import Final, Self, cast

import numpy as np
import torch
import transformers
from transformers import PreTrainedTokenizerBase

from rgsupport.errors import EngineError, UsageError
from rgsupport.samplers import _hf_load as load
from rgsupport.samplers._hf_batch import Batch, Ended, Limits
from rgsupport.samplers._hf_model import CausalModel
from rgsupport.types import Completion, FinishReason, LogprobSummary, Request, SamplingParams

_ROWS_ON_CPU: Final = 256
_ROWS_ON_GPU: Final = 512

# Shares of the free GPU memory, or of the machine's memory, that keys and values may take.
_GPU_SHARE: Final = 0.6
_CPU_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class HfSampler:
    """A loaded model. Satisfies `protocols.Sampler`.

    A completion depends on its prompt, seed and parameters; what else is in flight matters only through floating-point
    ties. The same requests in the same order give the same bytes. Of the model's `generation_config.json` nothing but
    the end-of-sequence tokens is read.
    """

    model: CausalModel
    tokenizer: PreTrainedTokenizerBase
    name: str
    """What was asked for: a folder or a name of the hub."""
    revision: str | None
    """Commit of the hub; None for a folder."""
    context_length: int
    """Most tokens of a text, prompt and new ones together."""
    stop_ids: tuple[int, ...]
    """Tokens that end a text, ascending."""
    limits: Limits
    """What bounds a batch."""

    @classmethod
    def load(
        cls,
        model: str,
        *,
        revision: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        batch_size: int | None = None,
    ) -> Self:
        """Load a model.

        Args:
            model: A folder saved by transformers, or a name of the Hugging Face hub.
            revision: Branch, tag or commit of the hub.
            device: cpu, cuda or cuda:N; by default CUDA if there is one.
            dtype: float32, bfloat16 or float16; by default the model's own on CUDA and float32 on the CPU.
            batch_size: Most texts in flight, whatever memory they take; by default as many as memory surely holds, up
                to 256 on the CPU and 512 on CUDA.

        Raises:
            UsageError: An argument is not one of the above, or the folder holds no model.
            EngineError: The model cannot be loaded, or its architecture does not work with this engine.
        """
        if batch_size is not None and batch_size < 1:
            msg = f"batch size {batch_size} is too small; it must be at least 1"
            raise UsageError(msg)
        source, where = load.find(model), load.device_of(device)
        tokenizer = load.load_tokenizer(source, revision=revision)
        loaded = load.load_model(source, revision=revision, dtype=load.dtype_of(dtype, where), device=where)
        causal = CausalModel(loaded)
        context = load.context_length(loaded.config, tokenizer)
        return cls(
            model=causal,
            tokenizer=tokenizer,
            name=model,
            revision=getattr(loaded.config, "_commit_hash", None),
            context_length=context,
            stop_ids=load.stop_ids(loaded, tokenizer, vocabulary=causal.vocabulary),
            limits=_limits(causal, where, context=context, batch_size=batch_size),
        )

    def sample(self, requests: Iterable[Request], params: SamplingParams) -> Iterator[Completion]:
        """Yield each request's completion when it ends, in the order they end.

        Raises:
            EngineError: A prompt does not fit into the context, the model's numbers overflow, or memory is exhausted.
        """
        is_stop = np.zeros(self.model.vocabulary, dtype=np.bool_)
        is_stop[list(self.stop_ids)] = True
        source = iter(requests)
        batch = Batch(self.model, is_stop=is_stop, limits=self.limits, params=params)
        try:
            batch.fill(source)
            while len(batch):
                for ended in batch.draw():
                    yield self._completion(ended, with_logprobs=params.logprobs > 0)
                batch.advance()
                batch.fill(source)
        except torch.OutOfMemoryError as error:
            msg = f"out of GPU memory with a batch size of {self.limits.rows}; choose a smaller one"
            raise EngineError(msg) from error

    def describe(self) -> dict[str, str | int | float | list[int]]:
        """Return the facts that were resolved when the model was loaded, as they belong into the record of a run."""
        return {
            "engine": "hf",
            "architecture": type(self.model.model).__name__,
            "revision": self.revision or "",
            "device": str(self.model.model.device),
            "dtype": str(self.model.model.dtype).removeprefix("torch."),
            "batch_size": self.limits.rows,
            "context_length": self.context_length,
            "stop_ids": list(self.stop_ids),
            "vocabulary": self.model.vocabulary,
            "versions": f"torch {torch.__version__}, transformers {transformers.__version__}",
        }

    def _completion(self, ended: Ended, *, with_logprobs: bool) -> Completion:
        """Return an ended text, decoded."""
        token_ids = ended.token_ids[:-1] if ended.stopped else ended.token_ids
        decoded = self.tokenizer.decode(token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Completion(
            problem_id=ended.request.problem_id,
            sample_index=ended.request.sample_index,
            seed=ended.request.seed,
            text=cast("str", decoded),  # one text is decoded, not a list
            finish_reason=FinishReason.STOP if ended.stopped else FinishReason.LENGTH,
            n_tokens=len(ended.token_ids),
            logprobs=_summary(ended) if with_logprobs else None,
        )


def _summary(ended: Ended) -> LogprobSummary:
    # The whole vocabulary is at hand, so both bounds are the entropy itself.
    n_tokens = len(ended.token_ids)
    entropy = ended.entropy / n_tokens
    return LogprobSummary(ended.logprob, ended.logprob / n_tokens, entropy, entropy)


def _limits(model: CausalModel, device: torch.device, *, context: int, batch_size: int | None) -> Limits:
    """Return how many texts, and tokens of them, may be held."""
    if device.type == "cuda":
        memory = _GPU_SHARE * torch.cuda.mem_get_info(device)[0]
        rows = batch_size or _ROWS_ON_GPU
    else:
        memory = _CPU_SHARE * sysconf("SC_PAGE_SIZE") * sysconf("SC_PHYS_PAGES")
        rows = batch_size or _ROWS_ON_CPU
    tokens = rows * context if batch_size else int(memory / model.bytes_per_token)
    return Limits(rows=rows, tokens=tokens, context_length=context)
