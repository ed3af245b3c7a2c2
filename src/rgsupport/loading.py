"""Load a model into the engine that was asked for."""

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager

from rgsupport.engines import Engine
from rgsupport.errors import UsageError
from rgsupport.models import Model
from rgsupport.prompting import Prompts
from rgsupport.protocols import Sampler
from rgsupport.types import ROLES, ModelRole, SamplingParams

_LEAST_TEMPERATURE = 0.01
"""Lower temperatures above 0 are raised to it by vLLM."""


@contextmanager
def open_sampler(
    model: Model,
    role: ModelRole,
    engine: Engine,
    prompts: Prompts,
    params: SamplingParams,
    *,
    note: Callable[[str], None],
) -> Generator[Sampler]:
    """Hold a model for as long as the context lasts.

    Args:
        model: Which model.
        role: Its role, which decides what server it is asked from.
        engine: How to hold it; it has a name.
        prompts: What it will be asked.
        params: How it will be sampled.
        note: Told in one line what a person should know while it works.

    Raises:
        UsageError: An option is wrong, or the engine is not installed.
        EngineError: The model cannot be loaded.
    """
    if engine.name == "vllm":
        from rgsupport.samplers.vllm_engine import VllmSampler

        if 0 < params.temperature < _LEAST_TEMPERATURE:
            msg = f"--temperature {params.temperature} is taken for {_LEAST_TEMPERATURE} by vllm; give that, or 0"
            raise UsageError(msg)
        assert prompts.context_length is not None
        with closing(
            VllmSampler.load(
                model.location,
                revision=model.revision,
                dtype=str(prompts.facts["dtype"]),
                batch_size=engine.batch_size,
                tensor_parallel=engine.tensor_parallel,
                # No longer than needed, so that a small GPU can hold a model of a huge context.
                context_length=min(prompts.context_length, prompts.longest + params.max_tokens),
                longest_prompt=prompts.longest,
                stop_ids=prompts.stop_ids,
                logprobs=params.logprobs,
                options=engine.options,
                note=note,
            )
        ) as sampler:
            yield sampler
    elif engine.name == "openai":
        from rgsupport.samplers.openai import OpenAISampler

        with closing(
            OpenAISampler.load(
                server=engine.servers[ROLES.index(role) % len(engine.servers)],
                model=model.location,
                api=engine.api,
                batch_size=engine.batch_size,
                options=engine.options,
                vocabulary=prompts.vocabulary,
            )
        ) as sampler:
            yield sampler
    else:
        from rgsupport.samplers.hf import HfSampler

        yield HfSampler.load(
            model.location,
            revision=model.revision,
            device=engine.device,
            dtype=str(prompts.facts["dtype"]),
            batch_size=engine.batch_size,
        )
