"""Reinforcement learning with verifiable rewards: group-relative policy gradient, on-policy, starting from the base."""

import copy
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import torch
from evaluate import Score, reward, scorer
from model import Model
from pretrain import IGNORED, Example, encode_prompt, pad
from sampler import Settings, sample
from sources import ITEMS_PER_SOURCE, RL_SEED, SOURCES, stream
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast

Weighted = tuple[Example, float]
"""A prompt with a sampled completion, and its advantage."""

DRAWS_PER_STEP = 4
QUESTIONS_PER_DRAW = 4
SAMPLES = 16
LEARNING_RATE = 4e-4
EXAMPLES_PER_FORWARD = 16
SETTINGS = Settings(temperature=1.0, top_p=1.0, max_tokens=160)


def advantages(rewards: Tensor) -> Tensor:
    """Return rewards (questions, samples) standardised within each question; 0 where all samples fared alike."""
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-6)


def collect(
    model: Model, tokenizer: PreTrainedTokenizerFast, entries: list[dict[str, Any]], *, score: Score, seed: int
) -> tuple[list[Weighted], float]:
    """Return the sampled answers to a task's questions that carry an advantage, and the mean reward of all."""
    prompts = [encode_prompt(tokenizer, entry["question"]) for entry in entries]
    generator = torch.Generator().manual_seed(seed)
    drawn = sample(
        model, prompts, samples=SAMPLES, settings=SETTINGS, eos_id=tokenizer.eos_token_id, generator=generator
    )
    rewards = torch.tensor(
        [
            [reward(text, entry, score) for text in tokenizer.batch_decode(completions, skip_special_tokens=True)]
            for entry, completions in zip(entries, drawn, strict=True)
        ]
    )
    weighted = [
        ((prompt, completion), weight)
        for prompt, completions, weights in zip(prompts, drawn, advantages(rewards).tolist(), strict=True)
        for completion, weight in zip(completions, weights, strict=True)
        if weight != 0
    ]
    return weighted, rewards.mean().item()


def gradients(model: Model, batch: list[Weighted], *, n_tokens: float, pad_id: int) -> tuple[Tensor, ...]:
    """Return the gradient of -sum(advantage * log-probability of the completion) / n_tokens for every parameter."""
    inputs, targets = pad([example for example, _ in batch], pad_id=pad_id)
    chosen = targets != IGNORED
    weights = torch.tensor([weight for _, weight in batch])[:, None].expand(targets.shape)[chosen]
    surprise = cross_entropy(model.logits(model(inputs)[chosen]), targets[chosen], reduction="none")
    return torch.autograd.grad((weights * surprise).sum() / n_tokens, list(model.parameters()))


def train(base: Model, tokenizer: PreTrainedTokenizerFast, *, seconds: float, seed: int, threads: int) -> Model:
    """Return a copy of the base trained for about the given time."""
    model = copy.deepcopy(base)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.0)
    rng = Random(seed)
    sources = [source for source in SOURCES if source.rl_share]
    streams = [stream(source, first_seed=RL_SEED + i * ITEMS_PER_SOURCE) for i, source in enumerate(sources)]
    scores = [scorer(source.dataset, source.params) for source in sources]
    start, step = time.monotonic(), 0
    recent: dict[str, list[float]] = {source.dataset: [] for source in sources}
    with ThreadPoolExecutor(threads) as pool:
        while (elapsed := time.monotonic() - start) < seconds:
            tasks = rng.choices(range(len(sources)), weights=[s.rl_share for s in sources], k=DRAWS_PER_STEP)
            jobs = [
                pool.submit(
                    collect,
                    model,
                    tokenizer,
                    [next(streams[task]) for _ in range(QUESTIONS_PER_DRAW)],
                    score=scores[task],
                    seed=rng.getrandbits(63),
                )
                for task in tasks
            ]
            weighted: list[Weighted] = []
            for task, job in zip(tasks, jobs, strict=True):
                examples, mean_reward = job.result()
                weighted += examples
                recent[sources[task].dataset].append(mean_reward)
            step += 1
            if weighted:
                update(model, optimiser, weighted, pool=pool, pad_id=tokenizer.pad_token_id)
            if step % 20 == 0:
                means = ", ".join(f"{name} {sum(r[-8:]) / max(1, len(r[-8:])):.2f}" for name, r in recent.items())
                print(f"RLVR step {step}, {elapsed:.0f} s, recent rewards: {means}", flush=True)
    return model


def update(
    model: Model, optimiser: torch.optim.Optimizer, weighted: list[Weighted], *, pool: ThreadPoolExecutor, pad_id: int
) -> None:
    """Take one step; with one update per batch of fresh samples PPO's ratio is 1 and its objective is the plain one."""
    weighted = sorted(weighted, key=lambda item: -len(item[0][0]) - len(item[0][1]))
    n_tokens = sum(len(completion) for (_, completion), _ in weighted)
    # Questions that all samples pass or all fail give no gradient but count in the mean, so they do not raise the step.
    n_tokens *= DRAWS_PER_STEP * QUESTIONS_PER_DRAW * SAMPLES / len(weighted)
    parts = [
        pool.submit(gradients, model, weighted[i : i + EXAMPLES_PER_FORWARD], n_tokens=n_tokens, pad_id=pad_id)
        for i in range(0, len(weighted), EXAMPLES_PER_FORWARD)
    ]
    for weight, *grads in zip(model.parameters(), *(part.result() for part in parts), strict=True):
        weight.grad = torch.stack(grads).sum(0)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
