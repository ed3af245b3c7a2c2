"""How fast is the hf engine, beside `model.generate` of transformers in batches?

    python benchmarks/hf_sampler.py [--model FOLDER] [--problems 24] [--samples 32] [--rounds 3] [--threads 1]

Both draw the same samples of the same Reasoning Gym questions from the same loaded model (by default the miniature base
model) with the paper's parameters: temperature 0.6, top_p 0.95. `generate` gets the requests sorted by the length of
their prompts and is timed at several batch sizes, of which the fastest counts. The two take turns within one run, since
a machine's speed drifts. Two cases:

- natural: a text ends where the model ends it. `generate` waits for the longest text of each batch.
- fixed: no stop token, every text has --tokens tokens, so that no slot is ever refilled or wasted.

Printed are new tokens per second of wall time, per second of CPU time (steadier on a busy machine), and the ratios of
the medians.
"""

import argparse
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import reasoning_gym
import torch

import rgsupport
from rgsupport.samplers.hf import HfSampler
from rgsupport.types import Request, SamplingParams

TASKS = ("graph_color", "dice", "prime_factorization", "leg_counting")
BATCH_SIZES = (64, 256)


@dataclass(frozen=True, slots=True)
class Speed:
    """New tokens per second."""

    wall: float
    cpu: float


def make_requests(sampler: HfSampler, *, problems: int, samples: int) -> list[Request]:
    """Return `samples` requests for each of the first questions of the tasks."""
    source = random.Random(0)
    datasets = [reasoning_gym.create_dataset(task, size=problems, seed=45) for task in TASKS]
    requests: list[Request] = []
    for i in range(problems):
        question = datasets[i % len(TASKS)][i]["question"]
        if sampler.tokenizer.chat_template:
            chat = [{"role": "user", "content": question}]
            question = sampler.tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        ids = tuple(sampler.tokenizer(question, add_special_tokens=not sampler.tokenizer.chat_template)["input_ids"])
        requests += [Request(f"problem{i}", j, source.getrandbits(63), ids) for j in range(samples)]
    return requests


def generate(
    sampler: HfSampler, requests: list[Request], params: SamplingParams, *, batch_size: int, fixed: bool
) -> int:
    """Sample with `model.generate`; return the number of new tokens, those after a text's end left out."""
    model, pad = sampler.model.model, sampler.stop_ids[0]
    requests = sorted(requests, key=lambda request: len(request.token_ids))
    n_tokens = 0
    for start in range(0, len(requests), batch_size):
        prompts = [request.token_ids for request in requests[start : start + batch_size]]
        width = max(map(len, prompts))
        ids = torch.tensor([[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        new = model.generate(
            ids.to(model.device),
            attention_mask=mask.to(model.device),
            do_sample=True,
            temperature=params.temperature,
            top_p=params.top_p,
            top_k=0,
            max_new_tokens=params.max_tokens,
            min_new_tokens=params.max_tokens if fixed else None,
            eos_token_id=list(sampler.stop_ids),
            pad_token_id=pad,
        )[:, width:]
        stopped = torch.isin(new, torch.tensor(sampler.stop_ids, device=new.device))
        ended_before = stopped.cumsum(-1) - stopped.long() > 0
        n_tokens += int((~ended_before).sum())
    return n_tokens


def ours(sampler: HfSampler, requests: list[Request], params: SamplingParams, *, fixed: bool) -> int:
    """Sample with the hf engine; return the number of new tokens."""
    chosen = replace(sampler, stop_ids=()) if fixed else sampler
    return sum(completion.n_tokens for completion in chosen.sample(requests, params))


def timed(work: Callable[[], int]) -> Speed:
    """Return how fast work makes tokens."""
    wall, cpu = time.perf_counter(), time.process_time()
    n_tokens = work()
    return Speed(n_tokens / (time.perf_counter() - wall), n_tokens / (time.process_time() - cpu))


def compare(sampler: HfSampler, requests: list[Request], params: SamplingParams, *, rounds: int, fixed: bool) -> None:
    """Print the speeds of one case."""
    mine: list[Speed] = []
    theirs: dict[int, list[Speed]] = {batch_size: [] for batch_size in BATCH_SIZES}
    for _ in range(rounds):
        mine.append(timed(lambda: ours(sampler, requests, params, fixed=fixed)))
        for size, speeds in theirs.items():
            speeds.append(timed(lambda size=size: generate(sampler, requests, params, batch_size=size, fixed=fixed)))
    for clock in ("wall", "cpu"):
        our_speed = median(getattr(speed, clock) for speed in mine)
        their_speeds = {size: median(getattr(speed, clock) for speed in speeds) for size, speeds in theirs.items()}
        best = max(their_speeds, key=their_speeds.__getitem__)
        print(
            f"{'fixed' if fixed else 'natural':8} {clock:4}  hf engine {our_speed:8.0f}  "
            f"generate {their_speeds[best]:8.0f} (batch {best})  ratio {our_speed / their_speeds[best]:.2f}"
        )


def main() -> None:
    """Parse, load, compare."""
    parser = argparse.ArgumentParser(description="Speed of the hf engine beside model.generate.")
    parser.add_argument("--model", default=str(Path(rgsupport.__file__).parent / "mini" / "base"))
    parser.add_argument("--problems", type=int, default=24)
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64, help="new tokens of each text in the fixed case")
    parser.add_argument("--max-tokens", type=int, default=512, help="limit of a text in the natural case")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sampler = HfSampler.load(options.model)
    requests = make_requests(sampler, problems=options.problems, samples=options.samples)
    print(f"{sampler.describe()}\n{len(requests)} requests, {options.threads} threads; new tokens per second:")
    natural = SamplingParams(max_tokens=options.max_tokens)
    compare(sampler, requests, natural, rounds=options.rounds, fixed=False)
    compare(sampler, requests, replace(natural, max_tokens=options.tokens), rounds=options.rounds, fixed=True)


if __name__ == "__main__":
    main()
