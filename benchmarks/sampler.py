"""How fast does rgsupport sample with vLLM, beside the bare engine, and does its memory stay flat?

    python benchmarks/sampler.py [--model FOLDER] [--problems 50] [--samples 64] [--max-tokens 64] [--rounds 3]
    python benchmarks/sampler.py --memory 200000 --max-tokens 4

Both draw the same requests (same prompts, seeds and parameters) from the same loaded engine, with as many in flight.
`bare` does nothing but await them: an asyncio loop around `AsyncLLM.generate` that throws the outputs away. `rgsupport`
is the whole inner loop of `rgsupport sample`: decoding, journal, sealed parquet shards. The two take turns within one
run, since a machine's speed drifts; printed are completions and new tokens per second and the ratio of the medians.

With --memory N the resident memory of the sampling process (the engine has processes of its own) is printed while N
completions are drawn.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from statistics import median

import polars as pl
import psutil

from rgsupport.engines import Engine
from rgsupport.generation import generate
from rgsupport.loading import open_sampler
from rgsupport.models import find
from rgsupport.prompting import Prompts, build_prompts
from rgsupport.samplers.vllm_engine import VllmSampler
from rgsupport.sampling import Sealer, requests
from rgsupport.shards import missing
from rgsupport.store import ModelRecord, Plan, Record, Run
from rgsupport.types import BASE, Completion, Problem, Request, SamplingParams

TASKS = ("graph_color", "dice", "prime_factorization", "leg_counting")
_MIB = 1 << 20


def plan(problems: list[Problem], *, samples: int, params: SamplingParams, folder: Path) -> Sealer:
    """Return a run that owes all samples, in an empty folder."""
    record = Record(
        seed=45,
        tasks={},
        plan=Plan(TASKS, problems=len(problems), ks=(1,), samples=samples),
        sampling=params,
        models={BASE: ModelRecord("model", None, "fingerprint")},
    )
    return Sealer(Run(folder), record, BASE, missing([p.id for p in problems], samples=samples, have=[]))


def bare(sampler: VllmSampler, asked: list[Request], params: SamplingParams) -> int:
    """Await every request and throw its output away; return the number of new tokens."""

    async def work(source: Iterator[Request]) -> int:
        n_tokens = 0
        for number, request in source:
            prompt = {"prompt_token_ids": list(request.token_ids)}
            async for output in sampler._engine.generate(prompt, sampler._params(request, params), f"bare-{number}"):
                n_tokens += len(output.outputs[0].token_ids)
        return n_tokens

    async def all_of_them() -> int:
        source = iter(enumerate(asked))
        return sum(await asyncio.gather(*(work(source) for _ in range(sampler._window))))

    return sampler._loop.run(all_of_them())


def ours(sampler: VllmSampler, sealer: Sealer, prompts: Prompts, params: SamplingParams) -> Iterator[Completion]:
    """Draw what a run owes, journal it and seal its shards, as `rgsupport sample` does."""
    for completion in sampler.sample(requests(sealer, prompts.of), params):
        sealer.add(completion)
        yield completion
    sealer.close()


def timed(draw: Callable[[], int], *, n_requests: int) -> tuple[float, float]:
    """Return completions and tokens per second."""
    started = time.perf_counter()
    n_tokens = draw()
    seconds = time.perf_counter() - started
    return n_requests / seconds, n_tokens / seconds


def compare(sampler: VllmSampler, problems: list[Problem], prompts: Prompts, options: argparse.Namespace) -> None:
    """Time both, in turn."""
    params = SamplingParams(max_tokens=options.max_tokens)
    speeds: dict[str, list[tuple[float, float]]] = {"bare": [], "rgsupport": []}
    for round_ in range(options.rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            sealer = plan(problems, samples=options.samples, params=params, folder=Path(folder))
            asked = list(requests(sealer, prompts.of))
            draws = {
                "bare": lambda asked=asked: bare(sampler, asked, params),
                "rgsupport": lambda sealer=sealer: sum(c.n_tokens for c in ours(sampler, sealer, prompts, params)),
            }
            order = list(draws) if round_ % 2 else list(draws)[::-1]
            for name in order:
                speed = timed(draws[name], n_requests=len(asked))
                if round_:  # the first round fills the prefix cache
                    speeds[name].append(speed)
                    print(f"{name:10} {speed[0]:9.1f} completions/s {speed[1]:11.0f} tokens/s", flush=True)
    ratio = median(speed[1] for speed in speeds["rgsupport"]) / median(speed[1] for speed in speeds["bare"])
    print(f"tokens/s, rgsupport / bare, medians of {options.rounds} rounds: {ratio:.3f}")


def watch_memory(sampler: VllmSampler, problems: list[Problem], prompts: Prompts, options: argparse.Namespace) -> None:
    """Print resident memory while so many completions are drawn."""
    params = SamplingParams(max_tokens=options.max_tokens)
    samples = -(-options.memory // len(problems))
    process = psutil.Process()
    held: dict[int, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        sealer = plan(problems, samples=samples, params=params, folder=Path(folder))
        started = time.perf_counter()
        for count, _ in enumerate(ours(sampler, sealer, prompts, params), start=1):
            if count % 20_000 == 0:
                held[count] = process.memory_info().rss
                rate = count / (time.perf_counter() - started)
                print(f"{count:9,} completions, {held[count] / _MIB:8.1f} MiB resident, {rate:7.1f}/s", flush=True)
    first, *_, last = held.values()
    print(f"growth from {min(held):,} to {max(held):,} completions: {(last - first) / 1e6:.1f} MB")


def main() -> None:
    """Load the model once, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(files("rgsupport") / "mini" / "base"), help="folder or hub name")
    parser.add_argument("--problems", type=int, default=50, help="prompts")
    parser.add_argument("--samples", type=int, default=64, help="samples of each prompt")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=None, help="sequences computed together")
    parser.add_argument("--memory", type=int, default=0, metavar="N", help="watch memory over N completions instead")
    parser.add_argument("--eager", action="store_true", help="no CUDA graphs, no compilation; starts faster")
    options = parser.parse_args()
    made = generate(
        TASKS, params={}, user_folder=None, count=-(-options.problems // len(TASKS)), seed=45, on_problem=None
    )
    problems = made[: options.problems]
    frame = pl.DataFrame({name: [getattr(p, at) for p in problems] for name, at in
                          (("task", "task"), ("problem_id", "id"), ("question", "question"))})  # fmt: skip
    model = find(options.model)
    engine = Engine(
        name="vllm", batch_size=options.batch_size, options={"enforce_eager": True} if options.eager else {}
    )
    prompts = build_prompts(model, frame, system="", engine=engine)
    params = SamplingParams(max_tokens=options.max_tokens)
    with open_sampler(model, BASE, engine, prompts, params, note=print) as sampler:
        assert isinstance(sampler, VllmSampler)
        print(sampler.describe())
        (watch_memory if options.memory else compare)(sampler, problems, prompts, options)


if __name__ == "__main__":
    main()
