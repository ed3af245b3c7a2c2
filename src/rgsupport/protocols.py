"""`Task` and `Sampler`: what a user may plug in. Nothing needs to be inherited; having the members is enough."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Protocol, runtime_checkable

from rgsupport.types import Completion, Problem, Request, SamplingParams


@runtime_checkable
class Task(Protocol):
    """A named source of problems together with their verifier."""

    @property
    def name(self) -> str:
        """The name used with `--tasks` and in every table."""
        ...

    def problems(self, *, count: int, seed: int) -> Sequence[Problem]:
        """Return `count` distinct problems; the same seed gives the same list, and a smaller count a prefix of it.

        It is called in a child process with a fixed hash seed. Fewer are returned only if the task has no more.
        """
        ...

    def score(self, problem: Problem, answer: str) -> float:
        """Return the verifier's score of an answer: 1 is correct, anything lower is not.

        It is called with a model's text in a worker process that is killed when it takes too long. It may raise: that
        answer then has the status `error`.
        """
        ...


@runtime_checkable
class Normalises(Protocol):
    """A task that brings an answer into the form its verifier reads, before the lenient verdict."""

    def normalise(self, answer: str) -> str:
        """Return the answer in the verifier's form, or unchanged when it cannot be read."""
        ...


@runtime_checkable
class Checks(Protocol):
    """A task that may have a checker of its own: a second opinion that does not use the verifier."""

    @property
    def has_checker(self) -> bool:
        """Whether there is a checker; without one `check` is never called."""
        ...

    def check(self, problem: Problem, answer: str) -> bool:
        """Tell whether an answer is right. It is called as `score` is, and may raise as `score` may."""
        ...

    def doubt(self, problem: Problem) -> str:
        """Return in one line why the problem or its reference cannot be trusted; empty if nothing speaks against it.

        The line is `kind: detail`; tables group by the kind.
        """
        ...


@runtime_checkable
class Guesses(Protocol):
    """A task that knows how often a guesser is right, who knows the form of an answer and does no reasoning."""

    @property
    def has_guesser(self) -> bool:
        """Whether there is a guesser; without one the other members are never called."""
        ...

    def guess(self, problem: Problem, rng: Random) -> str:
        """Return a guess, drawn by this generator alone."""
        ...

    def chance(self, problem: Problem) -> float:
        """Return the probability that the verifier finds a guess correct, exactly, in [0, 1]."""
        ...


@runtime_checkable
class Described(Protocol):
    """A task that tells where it comes from; tasks without it are listed with their file only."""

    @property
    def dataset(self) -> str:
        """Name of the Reasoning Gym dataset."""
        ...

    @property
    def category(self) -> str:
        """Group under which tables pool the task."""
        ...

    @property
    def params(self) -> Mapping[str, object]:
        """Every parameter with its resolved value."""
        ...

    @property
    def paper_class(self) -> str | None:
        """Class the paper gives the task: preservation, expansion or shrinkage; None if it is not in the paper."""
        ...


@runtime_checkable
class Configurable(Protocol):
    """A task whose parameters a user can change."""

    def with_params(self, overrides: Mapping[str, object]) -> Task:
        """Return the task with some parameters changed, under the same name.

        Raises:
            UsageError: There is no such parameter, or its value is refused.
        """
        ...


@runtime_checkable
class Prepares(Protocol):
    """A task whose verifier needs something large or slow to load."""

    def prepare(self) -> None:
        """Load it. Called once in every worker process, before the time limit of an answer runs."""
        ...


class Sampler(Protocol):
    """An engine that holds one model."""

    def sample(self, requests: Iterable[Request], params: SamplingParams) -> Iterator[Completion]:
        """Yield each request's completion when it ends, in the order they end.

        Requests are drawn lazily, a bounded number ahead. The completion of a request depends on its prompt, seed and
        parameters; what else is in flight may matter only through floating-point ties. A prompt that leaves no room for
        a response is never asked for.
        """
        ...

    def describe(self) -> Mapping[str, object]:
        """Return what was resolved when the model was loaded, JSON values, as it belongs into the record of a run.

        At least `engine`; and of the facts in which two models must not differ (`settings.COMPARED`) those it knows.
        """
        ...
