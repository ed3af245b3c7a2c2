"""The frozen values of a run, in order of appearance."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

LARGEST = 10**9
"""Bound of every count a user may ask for; far beyond any budget, small enough for every integer column."""

ModelRole = Literal["base", "rlvr"]
VerdictKind = Literal["strict", "lenient", "checked"]

BASE: ModelRole = "base"
RLVR: ModelRole = "rlvr"
ROLES: tuple[ModelRole, ...] = (BASE, RLVR)
VERDICT_KINDS: tuple[VerdictKind, ...] = ("lenient", "strict", "checked")


@dataclass(frozen=True, slots=True)
class Problem:
    """One question of a task, frozen at generation."""

    task: str
    id: str
    """First 16 hex digits of the SHA-256 of task and question (`seeds.problem_id`)."""
    index: int
    """Index in the source at which the question was found; gaps are repeated questions."""
    question: str
    reference: str | None
    """The source's own answer; None where it keeps none."""
    entry: str
    """What the verifier needs, encoded by the task without loss (JSON text)."""


class FinishReason(StrEnum):
    """Why a completion ended."""

    STOP = "stop"
    """The model ended it (an end-of-sequence token)."""
    LENGTH = "length"
    """The token limit or the end of the context cut it."""
    PROMPT_TOO_LONG = "prompt_too_long"
    """The prompt leaves no room for a response in the model's context; nothing was sampled."""
    ABORT = "abort"
    """The engine gave it up."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a completion is drawn; everything else is neutral (no top-k, no penalties). Defaults: the paper's, 4.1."""

    temperature: float = 0.6
    """Logits are divided by it; 0 takes the most probable token."""
    top_p: float = 0.95
    """Share of the probability mass that is sampled from, in (0, 1]."""
    max_tokens: int = 32768
    """Most new tokens per completion; the end of the model's context may cut it earlier."""
    logprobs: int = 0
    """Most probable tokens per position from which an engine bounds the entropy (`LogprobSummary`); 0 asks for none."""


@dataclass(frozen=True, slots=True)
class Request:
    """One sample that is owed."""

    problem_id: str
    sample_index: int
    seed: int
    """63-bit seed of this sample alone (`seeds.sample_seed`)."""
    token_ids: tuple[int, ...]
    """The prompt; requests of one problem share the same tuple and follow each other, so that it is computed once.
    Empty where only a server knows the tokenizer."""
    text: str = ""
    """The prompt as text, for a server that takes no token ids."""
    messages: tuple[tuple[str, str], ...] = ()
    """The prompt as (role, content) pairs, for a server that applies its own chat template."""


@dataclass(frozen=True, slots=True)
class LogprobSummary:
    """What is kept of a completion's log-probabilities, in nats.

    They are the model's own: at temperature 1 and before top-p, whatever the completion was drawn with.
    """

    cumulative: float
    """Sum over the new tokens, the end-of-sequence token included."""
    mean: float
    """The sum divided by the number of tokens."""
    entropy_low: float | None
    """Lower bound of the entropy of the next-token distribution, averaged over positions; None where the engine does
    not tell how large the vocabulary is."""
    entropy_high: float | None
    """Upper bound, likewise; both are the entropy itself where the engine sees the whole vocabulary."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled response."""

    problem_id: str
    sample_index: int
    seed: int
    text: str
    """Decoded new tokens, special tokens left out."""
    finish_reason: FinishReason
    n_tokens: int
    """New tokens, the end-of-sequence token included."""
    logprobs: LogprobSummary | None = None
    """Where they were asked for and there is at least one token."""


class Status(StrEnum):
    """What became of a completion under one kind of verdict; exactly one holds."""

    CORRECT = "correct"
    """The verifier's score was at least 1 - 1e-9."""
    WRONG = "wrong"
    """An answer was found and scored lower; partial credit is failure."""
    NO_ANSWER = "no_answer"
    """The model ended its response without an answer."""
    TRUNCATED = "truncated"
    """The token limit cut the response before an answer."""
    PROMPT_TOO_LONG = "prompt_too_long"
    """The prompt did not fit into the model's context."""
    TIMEOUT = "timeout"
    """The verifier did not finish within its time limit."""
    ERROR = "error"
    """The verifier raised or died, or the engine aborted the response."""


class Found(StrEnum):
    """Where the lenient extraction found the answer, in order of preference."""

    TAG = "tag"
    BOXED = "boxed"
    AFTER_THINK = "after_think"


class SupportClass(StrEnum):
    """Nominal class of a task at its largest budget."""

    PRESERVATION = "preservation"
    EXPANSION = "expansion"
    SHRINKAGE = "shrinkage"


class Cause(StrEnum):
    """Why one model solves a question and the other does not, as far as the samples tell; exactly one is named."""

    VERIFIER = "verifier"
    """The question cannot be judged, or the task's own checker finds none of the successes right."""
    FORMAT = "format"
    """The model that does not solve it does so under another verdict: its answer is there, in another form."""
    TRUNCATION = "truncation"
    """Most of its samples were cut before an answer, or its prompt did not fit."""
    NO_ANSWER = "no_answer"
    """Most of its samples ended without an answer."""
    FAILURE = "failure"
    """On most of its samples the verifier or the engine failed."""
    ONE_SAMPLE = "one_sample"
    """Its answers are wrong, and the other model was right in a single sample, which may be luck."""
    MODEL = "model"
    """Its answers are wrong, and the other model was right more than once."""
