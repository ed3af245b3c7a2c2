"""Measure a model on held-out questions: `python examples/mini_pair/evaluate.py FOLDER --samples 64`."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import reasoning_gym
import torch
from model import Model, load
from pretrain import encode_prompt
from reasoning_gym.utils import extract_answer
from sampler import Settings, sample
from sources import EVALUATION_SEED, PAPER_TASKS, SOURCES, evaluation_items
from transformers import AutoTokenizer, PreTrainedTokenizerFast

QUESTIONS_AT_ONCE = 10
Score = Callable[[str, dict[str, Any]], float]


def scorer(dataset: str, params: dict[str, Any]) -> Score:
    """Return Reasoning Gym's verifier of a dataset."""
    return reasoning_gym.create_dataset(dataset, seed=EVALUATION_SEED, size=1, **params).score_answer


def reward(text: str, entry: dict[str, Any], score: Score) -> float:
    """Return 1 for a fully right tagged answer, else 0; a partial score is a failure."""
    answer = extract_answer(text)
    if answer is None:
        return 0.0
    try:
        return float(score(answer, entry) == 1.0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        # Some verifiers raise on an answer they cannot read ("2 × x", a bare number for a plan).
        return 0.0


def pass_at_k(n: int, c: np.ndarray, k: int) -> float:
    """Return the mean over questions of 1 - C(n - c, k) / C(n, k) (Chen et al. 2021)."""
    i = np.arange(k)
    return float(np.mean([1 - np.prod(np.clip(n - count - i, 0, None) / (n - i)) for count in c]))


def measure(
    model: Model, tokenizer: PreTrainedTokenizerFast, task: str, *, problems: int, samples: int, settings: Settings
) -> dict[str, float]:
    """Return pass@k, the share of answered samples and the mean length of a task."""
    dataset, params = PAPER_TASKS[task]
    score = scorer(dataset, params)
    items = evaluation_items(task, problems)
    generator = torch.Generator().manual_seed(EVALUATION_SEED)
    correct, answered, lengths = [], [], []
    for first in range(0, problems, QUESTIONS_AT_ONCE):
        batch = items[first : first + QUESTIONS_AT_ONCE]
        prompts = [encode_prompt(tokenizer, item["question"]) for item in batch]
        drawn = sample(
            model, prompts, samples=samples, settings=settings, eos_id=tokenizer.eos_token_id, generator=generator
        )
        for item, completions in zip(batch, drawn, strict=True):
            texts = tokenizer.batch_decode(completions, skip_special_tokens=True)
            correct.append(sum(reward(text, item, score) for text in texts))
            answered += [extract_answer(text) is not None for text in texts]
            lengths += [len(completion) for completion in completions]
    c = np.array(correct)
    found = {f"pass@{k}": pass_at_k(samples, c, k) for k in (1, 4, 16, 64, 256) if k <= samples}
    return {**found, "answered": float(np.mean(answered)), "tokens": float(np.mean(lengths))}


def main() -> None:
    """Print a line per task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", default=",".join(dict.fromkeys(s.dataset for s in SOURCES if s.rl_share)))
    parser.add_argument("--problems", type=int, default=50)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--temperature", type=float, default=0.6)
    parser.add_argument("--top-p", type=float, default=0.95)
    parser.add_argument("--max-tokens", type=int, default=300)
    options = parser.parse_args()
    model, tokenizer = load(options.folder), AutoTokenizer.from_pretrained(options.folder)
    settings = Settings(temperature=options.temperature, top_p=options.top_p, max_tokens=options.max_tokens)
    for task in options.tasks.split(","):
        start = time.monotonic()
        found = measure(model, tokenizer, task, problems=options.problems, samples=options.samples, settings=settings)
        figures = "  ".join(f"{name} {value:.3f}" for name, value in found.items())
        print(f"{task:24s}{figures}  ({time.monotonic() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
