"""Palindromes from given letters.

    Your task is, given a list of letters, to form a valid palindrome. [...] Your output should be a single string, with
    no spaces or punctuation. Now, form a valid palindrome using the following letters: h, a, h

Any palindrome of exactly these letters is right, such as hah. The normaliser takes away white space (the paper's
appendix B.3) and what merely surrounds the answer.
"""

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask


def normalise(answer: str) -> str:
    """Return the answer without white space, quotes around it and a full stop at its end.

    >>> normalise('"h a h".')
    'hah'
    """
    return "".join(unwrap(answer).split())


TASKS = (
    ReasoningGymTask(
        name="palindrome_generation",
        dataset="palindrome_generation",
        normaliser=normalise,
        paper_class="preservation",
    ),
)
