"""Where the training questions come from: Reasoning Gym generators, with the evaluation questions left out."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import reasoning_gym
from reasoning_gym.utils import SYSTEM_PROMPTS

SYSTEM_PROMPT: str = SYSTEM_PROMPTS["default"]

EVALUATION_SEED = 45
HELD_OUT_ITEMS = 200
# Item i of a Reasoning Gym dataset is drawn from Random(seed + i), so seeds must lie further apart than any index used.
SUPERVISED_SEED = 100_000_000
RL_SEED = 200_000_000
ITEMS_PER_SOURCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """A Reasoning Gym dataset with its parameters.

    Attributes:
        dataset: Name in Reasoning Gym.
        share: Share of the demonstrations.
        params: Parameters other than the defaults.
        rl_share: Share of the questions of reinforcement learning; most go where the base can already succeed.
    """

    dataset: str
    share: float
    params: dict[str, Any] = field(default_factory=dict)
    rl_share: float = 0.0


# The default configuration of seven tasks, easier relatives as a curriculum, and a little of every other paper task,
# so that the model knows how short its answers are.
SOURCES = (
    Source("graph_color", 0.26, rl_share=0.35),
    Source("dice", 0.09, rl_share=0.04),
    Source("dice", 0.05, {"num_dice": 3}),
    Source("dice", 0.02, {"num_dice": 2}),
    Source("palindrome_generation", 0.13, rl_share=0.15),
    Source("family_relationships", 0.14, rl_share=0.20),
    Source("prime_factorization", 0.12, rl_share=0.20),
    Source("leg_counting", 0.06, rl_share=0.03),
    Source("leg_counting", 0.05, {"min_animals": 2, "max_animals": 4}),
    Source("power_function", 0.03, rl_share=0.03),
    Source("power_function", 0.01, {"max_exponent": 2}),
    Source("prime_factorization", 0.008, {"min_value": 1000, "max_value": 5000}),
    Source("graph_color", 0.004, {"min_num_vertices": 15, "max_num_vertices": 15}),
    Source("graph_color", 0.004, {"min_num_vertices": 20, "max_num_vertices": 20}),
    Source("graph_color", 0.004, {"min_num_vertices": 10, "max_num_vertices": 20, "num_colors": 4}),
    Source("advanced_geometry", 0.006),
    Source("advanced_geometry", 0.006, {"min_coord": -100, "max_coord": 100}),
    Source("arc_1d", 0.006),
    Source("boxnet", 0.006),
)

# The 15 tasks of the paper (section 3.1 of arXiv 2507.14843), whose evaluation questions no training may touch.
PAPER_TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "dice": ("dice", {}),
    "prime_factorization": ("prime_factorization", {}),
    "prime_factorization_hard": ("prime_factorization", {"min_value": 1000, "max_value": 5000}),
    "palindrome_generation": ("palindrome_generation", {}),
    "advanced_geometry": ("advanced_geometry", {}),
    "advanced_geometry_hard": ("advanced_geometry", {"min_coord": -100, "max_coord": 100}),
    "graph_color": ("graph_color", {}),
    "graph_color_hard": ("graph_color", {"min_num_vertices": 10, "max_num_vertices": 20, "num_colors": 4}),
    "graph_color_vertex15": ("graph_color", {"min_num_vertices": 15, "max_num_vertices": 15}),
    "graph_color_vertex20": ("graph_color", {"min_num_vertices": 20, "max_num_vertices": 20}),
    "arc_1d": ("arc_1d", {}),
    "boxnet": ("boxnet", {}),
    "leg_counting": ("leg_counting", {}),
    "family_relationships": ("family_relationships", {}),
    "power_function": ("power_function", {}),
}


def evaluation_items(task: str, count: int) -> list[dict[str, Any]]:
    """Return the first `count` evaluation entries of a paper task."""
    dataset, params = PAPER_TASKS[task]
    items = reasoning_gym.create_dataset(dataset, seed=EVALUATION_SEED, size=count, **params)
    return [items[i] for i in range(count)]


@cache
def held_out_questions() -> frozenset[str]:
    """Return the text of every evaluation question: no training example may have one of them."""
    return frozenset(item["question"] for task in PAPER_TASKS for item in evaluation_items(task, HELD_OUT_ITEMS))


def stream(source: Source, *, first_seed: int) -> Iterator[dict[str, Any]]:
    """Yield the training entries of a source, in order, without the evaluation questions."""
    assert first_seed > EVALUATION_SEED + ITEMS_PER_SOURCE, f"seed {first_seed} reaches into the evaluation items"
    items = reasoning_gym.create_dataset(source.dataset, seed=first_seed, size=ITEMS_PER_SOURCE, **source.params)
    held_out = held_out_questions()
    for i in range(ITEMS_PER_SOURCE):
        entry = items[i]
        if entry["question"] not in held_out:
            yield entry


def mixture(*, first_seed: int, rng: Random) -> Iterator[dict[str, Any]]:
    """Yield training entries of all sources in proportion to their shares."""
    streams = [stream(source, first_seed=first_seed + i * ITEMS_PER_SOURCE) for i, source in enumerate(SOURCES)]
    shares = [source.share for source in SOURCES]
    while True:
        yield next(rng.choices(streams, weights=shares)[0])


def messages(question: str) -> list[dict[str, str]]:
    """Return the chat that rgsupport builds around a question."""
    return [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": question}]
