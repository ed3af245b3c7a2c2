"""Reasoning Gym datasets as tasks; the only module that imports Reasoning Gym, and only when it is needed (2 s).

Three things are settled here that Reasoning Gym leaves open:

- A dataset's items may depend on the global random generators; they are seeded anew before every item.
- Its questions repeat; indices 0, 1, 2, ... are drawn until enough distinct questions are found, so problem i of a task
  is dataset[index] of `reasoning_gym.create_dataset(name, seed=seed, size=SIZE)`.
- An item may be more than its JSON (tuples, integer keys, fractions), and its verifier may read the whole item; it is
  stored without loss, and scored by a dataset with the parameters it was made with.
"""

# Reasoning Gym has no type annotations on what is used here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rgsupport import codec
from rgsupport.errors import UsageError, one_line
from rgsupport.parameters import as_plain, resolve
from rgsupport.seeds import problem_id
from rgsupport.types import Problem

SIZE = 10_000
"""Size every dataset is made with, whatever is asked for: the items of acre depend on it, and two others end there."""

_SCORING_SIZE = 10
"""Size of a dataset that only scores; no verifier depends on it, and acre makes all its items when it is made."""

_REPEATS = 2000
"""Consecutive repeated questions after which a dataset is taken to have no more."""

_FAILURES = 20
"""Consecutive indices at which a generator may raise; knight_swap does now and then."""

_RUNS_PROGRAMS = frozenset({"codeio"})
"""Datasets that make items by running bundled programs; what these read (clock, addresses) can differ every time."""

_COMPOSITE_MIX = [{"name": "leg_counting", "weight": 1.0}, {"name": "chain_sum", "weight": 1.0}]
"""The datasets `composite` mixes unless told otherwise; Reasoning Gym gives it no default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningGymTask:
    """A dataset of Reasoning Gym with fixed parameters, its verifier and a normaliser of answers.

    Attributes:
        name: The name used with `--tasks`.
        dataset: Name of the Reasoning Gym dataset.
        overrides: Parameters that differ from the dataset's defaults.
        normaliser: Brings an answer into the form the verifier reads; it must never make a wrong answer right.
        paper_class: preservation, expansion or shrinkage, as the paper's figures 2-4 place the task.
        rejects: What the verifier raises on a text it cannot read; such a text scores 0.
        checker: Tells whether an answer is right without the dataset's verifier, None if there is no such checker.
        guesser: Draws a guess from what the question shows, without reasoning; None if there is no such guesser.
        odds: Returns the exact probability that a guess is right; there is one if there is a guesser.
        doubter: Returns why a problem cannot be judged (`kind: detail`), empty if it can; asked before the checker.
    """

    name: str
    dataset: str
    overrides: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    normaliser: Callable[[str], str] = str.strip
    paper_class: str | None = None
    rejects: tuple[type[Exception], ...] = ()
    checker: Callable[[Problem, str], bool] | None = None
    doubter: Callable[[Problem], str] | None = None
    guesser: Callable[[Problem, random.Random], str] | None = None
    odds: Callable[[Problem], float] | None = None

    @property
    def category(self) -> str:
        """Reasoning Gym's category of the dataset, such as `arithmetic`."""
        dataset_class, _ = _datasets()[self.dataset]
        parts = dataset_class.__module__.split(".")  # reasoning_gym.<category>.<file>
        return parts[1] if len(parts) > 2 else "other"

    @property
    def params(self) -> dict[str, object]:
        """Every parameter with its resolved value, in plain JSON types."""
        config = _config(self)
        names = [item.name for item in fields(config) if item.name not in ("seed", "size")]
        return {name: as_plain(getattr(config, name)) for name in names}

    def with_params(self, overrides: Mapping[str, object]) -> "ReasoningGymTask":
        """Return the task with some parameters changed.

        Raises:
            UsageError: The dataset has no such parameter, or refuses the value.
        """
        changed = replace(self, overrides={**self.overrides, **overrides})
        _config(changed)
        return changed

    def normalise(self, answer: str) -> str:
        """Return the answer in the verifier's form, or unchanged when it cannot be read."""
        return self.normaliser(answer)

    @property
    def has_checker(self) -> bool:
        """Whether the task has a checker of its own."""
        return self.checker is not None

    def check(self, problem: Problem, answer: str) -> bool:
        """Tell whether an answer is right, by the task's own checker.

        Raises:
            TypeError: The task has none.
        """
        if self.checker is None:
            msg = f"task {self.name!r} has no checker of its own"
            raise TypeError(msg)
        return self.checker(problem, answer)

    def doubt(self, problem: Problem) -> str:
        """Return why a problem or its reference cannot be trusted (`kind: detail`), empty if nothing says so."""
        if self.doubter is not None and (reason := self.doubter(problem)):
            return reason
        reference = problem.reference
        if self.checker is None or reference is None or self.checker(problem, reference):
            return ""
        return f"wrong reference: the task's own checker rejects {reference!r}"

    @property
    def has_guesser(self) -> bool:
        """Whether the task has a guesser."""
        return self.guesser is not None and self.odds is not None

    def guess(self, problem: Problem, rng: random.Random) -> str:
        """Return a guess.

        Raises:
            TypeError: The task has no guesser.
        """
        if self.guesser is None:
            msg = f"task {self.name!r} has no guesser"
            raise TypeError(msg)
        return self.guesser(problem, rng)

    def chance(self, problem: Problem) -> float:
        """Return the probability that a guess is right.

        Raises:
            TypeError: The task has no guesser.
        """
        if self.odds is None:
            msg = f"task {self.name!r} has no guesser"
            raise TypeError(msg)
        return self.odds(problem)

    def problems(self, *, count: int, seed: int) -> tuple[Problem, ...]:
        """Return the first `count` distinct questions of the dataset made with this seed.

        The global generators of `random` and NumPy are left seeded. Some datasets also depend on the hash seed of the
        process and some print or write files: `rgsupport.generation.generate` calls this where none of that matters.

        Raises:
            UsageError: The dataset has fewer distinct questions within reach, or cannot make any with its parameters.
        """
        found = tuple(islice(self._distinct(seed), count))
        if len(found) < count:
            msg = (
                f"task {self.name!r} has only {len(found)} distinct questions within reach of seed {seed}, "
                f"and {count} were asked for: ask for {len(found)} or fewer (--problems)"
            )
            raise UsageError(msg)
        return found

    def prepare(self) -> None:
        """Load the verifier, so that no answer has to wait for it."""
        _verifier(self.dataset, codec.encode(dict(self.overrides)))

    def score(self, problem: Problem, answer: str) -> float:
        """Return the score the dataset's own verifier gives to an answer; 1 is correct."""
        entry = codec.decode(problem.entry)
        try:
            return float(_verifier(self.dataset, codec.encode(dict(self.overrides))).score_answer(answer, entry))
        except self.rejects:
            return 0.0

    def _distinct(self, seed: int) -> Iterator[Problem]:
        """Yield the distinct questions until they seem exhausted."""
        dataset = _make(self, seed=seed, size=SIZE)
        twice = self.dataset in _RUNS_PROGRAMS
        seen: set[str] = set()
        repeats = failures = 0
        for index in range(SIZE):
            try:
                entry = (
                    _draw_twice(dataset, index=index, seed=seed) if twice else _draw(dataset, index=index, seed=seed)
                )
                failures = 0
            except (Exception, SystemExit) as error:  # bundled programs may even call exit()
                failures += 1
                if failures < _FAILURES:
                    continue
                msg = f"task {self.name!r} cannot make problems with its parameters: {one_line(error)}"
                raise UsageError(msg) from error
            if entry["question"] in seen:
                repeats += 1
                if repeats == _REPEATS:
                    return
                continue
            seen.add(entry["question"])
            repeats = 0
            yield self._freeze(dataset, entry, index=index)

    def _freeze(self, dataset: Any, entry: dict[str, Any], *, index: int) -> Problem:  # noqa: ANN401
        """Return the problem of an item, after checking that what is stored is the item, and scores as it does.

        Raises:
            ValueError: The stored item differs or scores its reference differently: a defect, never the user's doing.
        """
        question, reference = entry["question"], entry["answer"]
        problem = Problem(
            task=self.name,
            id=problem_id(task=self.name, question=question),
            index=index,
            question=question,
            reference=reference,
            entry=codec.encode(entry),
        )
        if not codec.same(codec.decode(problem.entry), entry):
            msg = f"item {index} of {self.dataset} is not stored without loss"
            raise ValueError(msg)
        if reference is not None:
            stored, live = self.score(problem, reference), float(dataset.score_answer(reference, entry))
            if stored != live:
                msg = f"item {index} of {self.dataset} scores its reference {live}, and {stored} once stored"
                raise ValueError(msg)
        return problem


def default_task(dataset: str) -> ReasoningGymTask:
    """Return the task of a dataset with its default parameters, under the dataset's name."""
    overrides: dict[str, object] = {"datasets": _COMPOSITE_MIX} if dataset == "composite" else {}
    return ReasoningGymTask(name=dataset, dataset=dataset, overrides=overrides)


def dataset_names() -> tuple[str, ...]:
    """Return the names of all datasets, sorted."""
    return tuple(sorted(_datasets()))


def system_prompts() -> dict[str, str]:
    """Return Reasoning Gym's system prompts by name; its evaluation uses `default`."""
    from reasoning_gym.utils import SYSTEM_PROMPTS

    return dict(SYSTEM_PROMPTS)


def system_prompt(name: str) -> str | None:
    """Return the system prompt a user means: one of Reasoning Gym's by name, none for `none`, or a file's text.

    Raises:
        UsageError: There is neither a prompt nor a readable text file of that name.
    """
    if name == "none":
        return None
    prompts = system_prompts()
    if name in prompts:
        return prompts[name]
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        known = ", ".join((*prompts, "none"))
        msg = f"no system prompt {name!r}: neither one of {known}, nor a text file ({one_line(error)})"
        raise UsageError(msg) from error


def _datasets() -> dict[str, tuple[Any, Any]]:
    """Return the class and the configuration class of every dataset."""
    import reasoning_gym  # registers them
    from reasoning_gym.factory import DATASETS

    assert reasoning_gym
    return DATASETS


def _config(task: ReasoningGymTask, *, seed: int = 0, size: int = _SCORING_SIZE) -> Any:  # noqa: ANN401
    """Return the validated configuration of a task's dataset."""
    _, config_class = _datasets()[task.dataset]
    given = dict(task.overrides)
    if task.dataset == "composite":
        given = {name: _mix(value, task=task.name) if name == "datasets" else value for name, value in given.items()}
    return resolve(config_class, given, task=task.name, fixed={"seed": seed, "size": size})


def _make(task: ReasoningGymTask, *, seed: int, size: int) -> Any:  # noqa: ANN401
    """Return a task's dataset."""
    dataset_class, _ = _datasets()[task.dataset]
    config = _config(task, seed=seed, size=size)
    try:
        return dataset_class(config=config)
    except Exception as error:
        msg = f"task {task.name!r} cannot be made with its parameters: {one_line(error)}"
        raise UsageError(msg) from error


@cache
def _verifier(dataset: str, overrides: str) -> Any:  # noqa: ANN401
    """Return a dataset that scores entries made with the encoded overrides; one per process."""
    task = ReasoningGymTask(name=dataset, dataset=dataset, overrides=codec.decode(overrides))
    return _make(task, seed=0, size=_SCORING_SIZE)


def _draw(dataset: Any, *, index: int, seed: int) -> dict[str, Any]:  # noqa: ANN401
    """Return one item; what it takes from the global generators is a function of seed and index alone."""
    random.seed(seed + index)
    np.random.seed((seed + index) % 2**32)
    return dataset[index]


def _draw_twice(dataset: Any, *, index: int, seed: int) -> dict[str, Any]:  # noqa: ANN401
    """Return one item that can be stored and is the same when drawn again.

    Raises:
        ValueError: It is not the same; UnknownTypeError if it cannot be stored.
    """
    first = _draw(dataset, index=index, seed=seed)
    codec.encode(first)
    ballast = [object() for _ in range(10_000)]  # other addresses the second time, so other orders of sets
    again = _draw(dataset, index=index, seed=seed)
    del ballast
    if (first["question"], first["answer"]) != (again["question"], again["answer"]):
        msg = f"item {index} differs each time it is made"
        raise ValueError(msg)
    return first


def _mix(specs: Any, *, task: str) -> list[Any]:  # noqa: ANN401
    """Return what `composite` mixes, from plain tables with `name` and, if wanted, `weight` and `config`."""
    from reasoning_gym.composite import DatasetSpec

    try:
        return [DatasetSpec(spec["name"], spec.get("weight", 1.0), spec.get("config", {})) for spec in specs]
    except (AttributeError, KeyError, TypeError) as error:
        msg = f"parameter 'datasets' of task {task!r} is of type list, like {_COMPOSITE_MIX!r}, not {specs!r}"
        raise UsageError(msg) from error
