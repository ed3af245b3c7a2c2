"""The frozen values of a run, in order of appearance."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

LARGEST = 10**9
"""Bound of every count a user may ask for; far beyond any budget, small enough for every integer column."""

ModelRole = Literal["base", "rlvr"]
VerdictKind = Literal["strict", "lenient"]

BASE: ModelRole = "base"
RLVR: ModelRole = "rlvr"
ROLES: tuple[ModelRole, ...] = (BASE, RLVR)
VERDICT_KINDS: tuple[VerdictKind, ...] = ("lenient", "strict")


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


@dataclass(frozen=True, slots=True)
class Request:
    """One sample that is owed."""

    problem_id: str
    sample_index: int
    seed: int
    """63-bit seed of this sample alone (`seeds.sample_seed`)."""
    token_ids: tuple[int, ...]
    """The prompt; requests of one problem share the same tuple and follow each other, so that it is computed once."""


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
