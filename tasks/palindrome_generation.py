"""Palindromes from given letters.

    Your task is, given a list of letters, to form a valid palindrome. [...] Your output should be a single string, with
    no spaces or punctuation. Now, form a valid palindrome using the following letters: h, a, h

Any palindrome of exactly these letters is right, such as hah. The normaliser takes away white space (the paper's
appendix B.3) and what merely surrounds the answer. The checker also reads letters that are set apart by commas or
hyphens, and takes capital letters for small ones.
The guesser writes the letters in any order.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from random import Random

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_MAX_CHARS = 1000
_ASKED = re.compile(r"the following letters: ((?:\w, )*\w)\s*\Z")
_LABEL = re.compile(r"(?:the )?(?:answer|palindrome)(?: is)?\s*:\s*", re.IGNORECASE)
_APART = re.compile(r"\w(?:[\s,-]+\w)+")


def normalise(answer: str) -> str:
    """Return the answer without white space, quotes around it and a full stop at its end.

    >>> normalise('"h a h".')
    'hah'
    """
    return "".join(unwrap(answer).split())


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer is a palindrome of exactly the letters of the question.

    Raises:
        ValueError: The question lists no letters.
    """
    letters = _letters(problem)
    if len(answer) > _MAX_CHARS:
        return False
    text = unwrap(answer)
    label = _LABEL.match(text)
    text = unwrap(text[label.end() :]) if label else text
    word = (re.sub(r"[\s,-]+", "", text) if _APART.fullmatch(text) else "".join(text.split())).lower()
    return word == word[::-1] and Counter(word) == Counter(letters)


def doubt(problem: Problem) -> str:
    """Return why no answer can be right: the letters form no palindrome; empty if they form one."""
    odd = [letter for letter, count in sorted(Counter(_letters(problem)).items()) if count % 2]
    return f"impossible question: {', '.join(odd)} occur an odd number of times" if len(odd) > 1 else ""


def _letters(problem: Problem) -> list[str]:
    asked = _ASKED.search(problem.question)
    if not asked:
        msg = "the question does not list letters"
        raise ValueError(msg)
    return asked.group(1).lower().split(", ")


def guess(problem: Problem, rng: Random) -> str:
    """Return the letters in any order."""
    letters = _letters(problem)
    rng.shuffle(letters)
    return "".join(letters)


def odds(problem: Problem) -> float:
    """Return the share of orders that are palindromes: the orders of one half, of all orders."""
    counts = Counter(_letters(problem)).values()
    if sum(count % 2 for count in counts) > 1:
        return 0.0
    return _orders([count // 2 for count in counts]) / _orders(counts)


def _orders(counts: Iterable[int]) -> int:
    numbers = list(counts)
    return math.factorial(sum(numbers)) // math.prod(map(math.factorial, numbers))


TASKS = (
    ReasoningGymTask(
        name="palindrome_generation",
        dataset="palindrome_generation",
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        doubter=doubt,
        paper_class="preservation",
    ),
)
