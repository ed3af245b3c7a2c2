"""The errors a user can fix: one line that says what is wrong, with the value, and the way out.

A bad response is data (a status in a table), never one of these. Anything else that is raised is a defect of rgsupport.
"""

import difflib
from collections.abc import Iterable


class RgsupportError(Exception):
    """A problem the user can mend; the command line prints it as one line, without a traceback.

    Attributes:
        exit_code: Exit status of the command: 2 for a mistake in what was asked, 1 for a failure while doing it.
    """

    exit_code = 1


class UsageError(RgsupportError):
    """What was asked for cannot be done as asked: an unknown name, a value out of range, a contradiction."""

    exit_code = 2


class DriftError(UsageError):
    """What was asked for differs from what the run directory was made with."""


class StoreError(RgsupportError):
    """A file of the run directory is torn, foreign, edited or cannot be written."""


class EngineError(RgsupportError):
    """A model could not be loaded, or its engine died."""


def one_line(error: BaseException) -> str:
    """Return what an exception says as one line, or its name if it says nothing.

    >>> one_line(ValueError("no  such colour")), one_line(KeyError())
    ('no such colour', 'KeyError')
    """
    return " ".join(str(error).split()) or type(error).__name__


def nearest(name: str, known: Iterable[str], *, limit: int = 3) -> str:
    """Return a hint naming the known names most like `name`, empty when none is near.

    >>> nearest("graph_colour", ["dice", "graph_color"])
    '; did you mean graph_color?'
    >>> nearest("xyz", ["dice", "graph_color"])
    ''
    """
    matches = difflib.get_close_matches(name, list(known), n=limit, cutoff=0.6)
    return f"; did you mean {' or '.join(matches)}?" if matches else ""
