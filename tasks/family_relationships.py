"""What one member of a family is to another.

    John is married to Isabella. They have a child called Edward. Edward is married to Victoria.

    What is Isabella to Edward? Respond only with the word that describes their relationship.

Reference: mother. Some references are wrong in Reasoning Gym 0.1.25: of an in-law, and of a niece or nephew, they give
the word for the other side (6 of the first 50 questions of seed 45). The normaliser takes away an article, quotes and
a full stop; it knows no synonyms.
"""

import re

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask

_WORD = re.compile(r"(?:(?:the|an?)\s+)?([a-z]+)(?:[\s-]+in[\s-]+law)?", re.IGNORECASE)


def normalise(answer: str) -> str:
    """Return a word for a relationship in the verifier's spelling.

    >>> normalise("The Mother in law."), normalise("not the mother")
    ('mother-in-law', 'not the mother')
    """
    text = unwrap(answer)
    word = _WORD.fullmatch(text)
    if not word:
        return answer
    return word.group(1).lower() + ("-in-law" if word.end() > word.end(1) else "")


TASKS = (
    ReasoningGymTask(
        name="family_relationships",
        dataset="family_relationships",
        normaliser=normalise,
        paper_class="shrinkage",
    ),
)
