# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false, reportUnknownParameterType=false
"""`VllmSampler`: a model in vLLM's asynchronous engine, one request per sample, always enough of them in flight."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self, cast

import numpy as np
import torch
import transformers

from rgsupport.errors import EngineError, UsageError, one_line
from rgsupport.samplers import _hf_load as load
from rgsupport.samplers._async import EventLoop
from rgsupport.samplers._summary import summarise
from rgsupport.samplers._survive import Died, aborted, survive
from rgsupport.types import Completion, FinishReason, LogprobSummary, Request, SamplingParams

try:
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    import vllm
    from vllm import AsyncEngineArgs
    from vllm.platforms import current_platform
    from vllm.sampling_params import RequestOutputKind
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError
except ImportError as error:
    _msg = (
        f"the vllm engine cannot be loaded ({one_line(error)}): `pip install vllm` in this environment, or take "
        "--engine hf"
    )
    raise UsageError(_msg) from error

_ROWS_ON_CPU: Final = 256
_ROWS_ON_GPU: Final = 512
_CPU_CACHE_GIB: Final = 4
_MIN_BATCHED_TOKENS: Final = 2048
_TRIES: Final = 3  # of a request that fails by itself
_MAX_LOGPROBS: Final = 20
_PAUSES: Final = (0.0, 5.0, 30.0)  # seconds before an engine is started again


class VllmSampler:
    """A model in vLLM. Satisfies `protocols.Sampler`.

    Every sample is a request of its own with its own seed. Twice as many requests as the engine computes at a time are
    in flight, so that it never waits for one. Of the model's `generation_config.json` nothing but the end-of-sequence
    tokens is read. An engine that dies is started again and what was in flight is asked again; a request that is alone
    with the engine when that dies, and has seen three of its deaths, is given up.
    """

    def __init__(
        self, arguments: "AsyncEngineArgs", *, stop_ids: tuple[int, ...], logprobs: int, note: Callable[[str], None]
    ) -> None:
        """Start the engine; `load` knows with which arguments."""
        self._arguments = arguments
        self.stop_ids = stop_ids
        self._logprobs = logprobs
        self._note = note
        self._tokenizer = load.load_tokenizer(arguments.model, revision=arguments.revision)
        self._loop = EventLoop()
        self._n_asked = 0
        self._dead = False
        self._started: AsyncLLM | None = self._start()

    @classmethod
    def load(
        cls,
        model: str,
        *,
        revision: str | None,
        dtype: str,
        batch_size: int | None,
        tensor_parallel: int,
        context_length: int,
        longest_prompt: int,
        stop_ids: tuple[int, ...],
        logprobs: int,
        options: Mapping[str, Any],
        note: Callable[[str], None],
    ) -> Self:
        """Load a model.

        Args:
            model: A folder, or a name of the hub.
            revision: Branch, tag or commit of the hub.
            dtype: One of `engines.DTYPES`.
            batch_size: Requests that the engine computes at a time; 512, on a CPU 256, when None.
            tensor_parallel: GPUs that share the model.
            context_length: Most tokens of a text, prompt and new ones together.
            longest_prompt: Tokens of the longest prompt that will be asked.
            stop_ids: Tokens that end a text.
            logprobs: Most probable tokens per position that will be asked for.
            options: Of `engines.ENGINE_OPTIONS`.
            note: Told in one line when the engine had to be started again.

        Raises:
            EngineError: The engine does not start.
        """
        on_cpu = current_platform.is_cpu()
        rest: dict[str, Any] = {"enable_prefix_caching": True, **options}
        os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(rest.pop("cpu_cache_gib", _CPU_CACHE_GIB))
        if on_cpu:
            # A seed per request ends vLLM's CPU engine when a prompt is computed in pieces.
            rest.setdefault("enable_chunked_prefill", False)
            rest.setdefault("max_num_batched_tokens", max(_MIN_BATCHED_TOKENS, longest_prompt, context_length))
        rows = batch_size or (_ROWS_ON_CPU if on_cpu else _ROWS_ON_GPU)
        arguments = AsyncEngineArgs(
            model=model,
            revision=revision,
            tokenizer_revision=revision,
            dtype=cast("Any", dtype),
            max_model_len=context_length,
            max_num_seqs=rows,
            tensor_parallel_size=tensor_parallel,
            # Otherwise top-k, penalties and the like are taken from the model's folder, unasked.
            generation_config="vllm",
            max_logprobs=max(_MAX_LOGPROBS, logprobs),
            disable_log_stats=True,
            **rest,
        )
        return cls(arguments, stop_ids=stop_ids, logprobs=logprobs, note=note)

    def sample(self, requests: Iterable[Request], params: SamplingParams) -> Iterator[Completion]:
        """Yield each request's completion when it ends, in the order they end.

        Raises:
            EngineError: The engine does not start again, or dies again and again without finishing anything.
        """
        return survive(_Attempts(self, params), iter(requests))

    def describe(self) -> dict[str, object]:
        """Return the facts that were resolved when the model was loaded, as they belong into the record of a run."""
        config = self._engine.vllm_config
        return {
            "engine": "vllm",
            "architecture": ", ".join(config.model_config.architectures),
            "device": current_platform.device_name,
            "dtype": str(config.model_config.dtype).removeprefix("torch."),
            "kv_cache_dtype": str(config.cache_config.cache_dtype),
            "quantization": str(config.model_config.quantization or "none"),
            "batch_size": config.scheduler_config.max_num_seqs,
            "context_length": config.model_config.max_model_len,
            "tensor_parallel": config.parallel_config.tensor_parallel_size,
            "prefix_caching": bool(config.cache_config.enable_prefix_caching),
            "chunked_prefill": bool(config.scheduler_config.enable_chunked_prefill),
            "stop_ids": list(self.stop_ids),
            "vocabulary": self._vocabulary,
            "versions": f"vllm {vllm.__version__}, torch {torch.__version__}, transformers {transformers.__version__}",
        }

    def close(self) -> None:
        """End the engine and its processes."""
        self._loop.run(self._end())
        self._loop.close()

    @property
    def _vocabulary(self) -> int:
        return self._engine.model_config.get_vocab_size()

    @property
    def _window(self) -> int:
        return 2 * self._engine.vllm_config.scheduler_config.max_num_seqs

    def _start(self) -> "AsyncLLM":
        async def start() -> AsyncLLM:
            return AsyncLLM.from_engine_args(self._arguments)

        try:
            return self._loop.run(start())
        except Exception as error:  # vLLM raises whatever went wrong in any of its parts
            msg = f"the vllm engine does not start with {self._arguments.model}: {one_line(error)[:500]}"
            raise EngineError(msg) from error

    @property
    def _engine(self) -> "AsyncLLM":
        assert self._started is not None
        return self._started

    async def _end(self) -> None:
        engine, self._started = self._started, None
        if engine is not None:
            engine.shutdown()
            await asyncio.sleep(0.1)  # its tasks on this loop end

    def _restart(self) -> None:
        self._note("the vllm engine died; it is started again and loses nothing that was finished")
        self._loop.run(self._end())
        for pause in _PAUSES:  # the memory of a GPU is not free at once
            time.sleep(pause)
            with suppress(EngineError):
                self._started = self._start()
                break
        else:
            self._started = self._start()
        self._dead = False

    def _attempt(self, source: Iterator[Request], params: SamplingParams) -> Iterator[Completion | Died]:
        """Yield what becomes of the requests of a source; stop drawing from it when the engine dies."""

        async def ask(request: Request) -> Completion | Died:
            return await self._ask(request, params)

        for answer in self._loop.stream(self._while_alive(source), ask, window=self._window):
            self._dead = self._dead or isinstance(answer, Died)
            yield answer

    def _while_alive(self, source: Iterator[Request]) -> Iterator[Request]:
        while not self._dead and (request := next(source, None)) is not None:
            yield request

    async def _ask(self, request: Request, params: SamplingParams) -> Completion | Died:
        for _ in range(_TRIES):
            try:
                output = await self._output(request, params)
            except EngineDeadError:
                return Died(request)
            except EngineGenerateError:  # of this request alone, unless the engine went with it
                if self._engine.errored:
                    return Died(request)
            except Exception as error:
                msg = f"vllm refuses the prompt of problem {request.problem_id}: {one_line(error)[:300]}"
                raise EngineError(msg) from error
            else:
                return self._completion(request, output)
        return aborted(request)

    async def _output(self, request: Request, params: SamplingParams) -> Any:  # noqa: ANN401 - vLLM's CompletionOutput
        self._n_asked += 1
        prompt: Any = {"prompt_token_ids": list(request.token_ids)}
        outputs = [
            output async for output in self._engine.generate(prompt, self._params(request, params), str(self._n_asked))
        ]
        return outputs[-1].outputs[0]

    def _params(self, request: Request, params: SamplingParams) -> "vllm.SamplingParams":
        return vllm.SamplingParams(
            n=1,
            seed=request.seed,
            temperature=params.temperature,
            top_p=params.top_p,
            max_tokens=params.max_tokens,
            stop_token_ids=list(self.stop_ids),
            logprobs=params.logprobs or None,
            flat_logprobs=True,
            detokenize=False,  # done once, when all tokens are there
            output_kind=RequestOutputKind.FINAL_ONLY,
            skip_clone=True,
        )

    def _completion(self, request: Request, output: Any) -> Completion:  # noqa: ANN401 - vLLM's CompletionOutput
        reason = _REASONS[output.finish_reason]
        token_ids = list(output.token_ids)
        ended = reason is FinishReason.STOP and token_ids and token_ids[-1] in self.stop_ids
        decoded = self._tokenizer.decode(
            token_ids[:-1] if ended else token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return Completion(
            problem_id=request.problem_id,
            sample_index=request.sample_index,
            seed=request.seed,
            text=cast("str", decoded),  # one text is decoded, not a list
            finish_reason=reason,
            n_tokens=len(token_ids),
            logprobs=self._summary(output.logprobs) if output.logprobs else None,
        )

    def _summary(self, logprobs: Any) -> LogprobSummary | None:  # noqa: ANN401 - vLLM's FlatLogprobs
        starts = np.asarray(logprobs.start_indices)
        # Of each position first the token that was drawn, then the most probable ones.
        table = np.asarray(logprobs.logprobs, dtype=np.float64).reshape(len(starts), -1)
        try:
            return summarise(table[:, 0], table[:, 1:], vocabulary=self._vocabulary)
        except ValueError as error:
            msg = f"the model returns no probabilities: {error}; try --dtype float32"
            raise EngineError(msg) from error


# Words of vLLM; a new one is a KeyError, not a guess.
_REASONS: Final = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "abort": FinishReason.ABORT,
    "error": FinishReason.ABORT,
}


@dataclass(frozen=True, slots=True)
class _Attempts:
    """The engine as `survive` wants it, at some parameters."""

    sampler: VllmSampler
    params: SamplingParams

    def attempt(self, source: Iterator[Request]) -> Iterator[Completion | Died]:
        return self.sampler._attempt(source, self.params)  # pyright: ignore[reportPrivateUsage] - two halves of one

    def restart(self) -> None:
        self.sampler._restart()  # pyright: ignore[reportPrivateUsage]

    def works(self) -> bool:
        harmless = Request("a request that can do no harm", 0, 1, self.sampler.stop_ids[:1])
        one_token = _Attempts(self.sampler, replace(self.params, max_tokens=1))
        return not any(isinstance(answer, Died) for answer in one_token.attempt(iter([harmless])))
