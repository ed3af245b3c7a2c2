"""What one look found."""

from dataclasses import dataclass
from enum import StrEnum

from rgsupport.errors import RgsupportError


class Level(StrEnum):
    """How a run will fare with what was found."""

    OK = "ok"
    """It needs nothing."""
    NOTE = "note"
    """It works, but a person should know."""
    PROBLEM = "problem"
    """It will fail."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one look found.

    Attributes:
        level: How bad it is.
        topic: What was looked at.
        found: What was found there.
        remedy: What to do about it; empty where nothing needs doing.
    """

    level: Level
    topic: str
    found: str
    remedy: str = ""


def ok(topic: str, found: str) -> Check:
    """Return a finding that needs nothing."""
    return Check(Level.OK, topic, found)


def note(topic: str, found: str, *, remedy: str) -> Check:
    """Return a finding that a person should know."""
    return Check(Level.NOTE, topic, found, remedy)


def problem(topic: str, found: str, *, remedy: str) -> Check:
    """Return a finding with which a run will fail."""
    return Check(Level.PROBLEM, topic, found, remedy)


def refusal(topic: str, error: RgsupportError, *, otherwise: str) -> Check:
    """Return a problem that the run itself would be refused for.

    Args:
        topic: What was looked at.
        error: Its refusal; what follows the last semicolon is the way out.
        otherwise: The way out of one that names none.
    """
    found, _, remedy = str(error).rpartition("; ")
    return problem(topic, found or remedy, remedy=remedy if found else otherwise)


def size(count: float) -> str:
    """Return a number of bytes in words.

    >>> size(4_100_000), size(3.1e9), size(150e9)
    ('4.1 MB', '3.1 GB', '150 GB')
    """
    gigabytes = count / 1e9
    if gigabytes < 1:
        return f"{count / 1e6:.1f} MB"
    return f"{gigabytes:.1f} GB" if gigabytes < 100 else f"{gigabytes:,.0f} GB"
