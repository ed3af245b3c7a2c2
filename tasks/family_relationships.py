"""What one member of a family is to another.

    John is married to Isabella. They have a child called Edward. Edward is married to Victoria.

    What is Isabella to Edward? Respond only with the word that describes their relationship.

Reference: mother. Some references are wrong in Reasoning Gym 0.1.25: of an in-law, and of a niece or nephew, they give
the word for the other side (6 of the first 50 questions of seed 45). The normaliser takes away an article, quotes and
a full stop; it knows no synonyms. The checker rebuilds the family from the story and accepts every word, also a common
synonym, for what the one truly is to the other. Sexes are those of the first names in Reasoning Gym's lists, of others
that of whoever is not the spouse's; where neither tells, both words are right.
The guesser draws one of 23 words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_MAX_CHARS = 200

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


_MALE_NAMES = (
    "James John Robert Michael William David Richard Joseph Thomas Charles Peter Daniel Matthew Christopher Andrew "
    "George Edward Benjamin Henry Samuel Alexander Oliver Jack Harry Jacob Noah Ethan Lucas Mason Logan Sebastian "
    "Theodore Owen Liam Aiden Kai Jayden Zion Phoenix Atlas Axel Ryder Finn"
)
_FEMALE_NAMES = (
    "Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Emma Lisa Anna Margaret Victoria "
    "Charlotte Sophia Isabella Olivia Ava Mia Emily Abigail Amelia Eleanor Grace Alice Lucy Chloe Sophie Lily Hannah "
    "Zoe Luna Nova Aria Willow Aurora Sage River Winter Sky Rain"
)
_MALE, _FEMALE = frozenset(_MALE_NAMES.split()), frozenset(_FEMALE_NAMES.split())
# A relation -> the words for a woman and for a man.
_WORDS = {
    "parent": ("mother mom mum mama mommy mummy", "father dad papa daddy"),
    "child": ("daughter", "son"),
    "spouse": ("wife", "husband"),
    "sibling": ("sister", "brother"),
    "grandparent": ("grandmother grandma granny", "grandfather grandpa granddad grandad"),
    "grandchild": ("granddaughter", "grandson"),
    "parent's sibling": ("aunt auntie", "uncle"),
    "sibling's child": ("niece", "nephew"),
    "cousin": ("cousin", "cousin"),
    "spouse's parent": ("mother-in-law", "father-in-law"),
    "child's spouse": ("daughter-in-law", "son-in-law"),
    "sibling by marriage": ("sister-in-law", "brother-in-law"),
}
_GUESSES = tuple(dict.fromkeys(words.split()[0] for pair in _WORDS.values() for words in pair))
_MARRIAGE = re.compile(r"(.+?) is married to (.+)")
_CHILDREN = re.compile(r"They have (?:a child|children) called (.+)")
_ASKED = re.compile(r"(?:What is|How is|What relation is) (.+?) (?:related )?to (.+?)\? ")
_SAID = re.compile(r"(?:(?:the|an?|his|her|their)\s+)?([a-z]+(?:[\s-]+in[\s-]+law)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Family:
    """Who is married to whom, and whose children they are, by name."""

    spouse: dict[str, str] = field(default_factory=dict[str, str])
    parents: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def children(self, names: set[str]) -> set[str]:
        return {child for child, parents in self.parents.items() if parents & names}

    def parents_of(self, names: set[str]) -> set[str]:
        return {parent for name in names for parent in self.parents.get(name, ())}

    def spouses(self, names: set[str]) -> set[str]:
        return {self.spouse[name] for name in names if name in self.spouse}

    def siblings(self, names: set[str]) -> set[str]:
        return self.children(self.parents_of(names)) - names

    def is_female(self, name: str) -> bool | None:
        """Tell the sex of a person; None where neither the name nor the spouse's tells."""
        for known, is_other in ((name, False), (self.spouse.get(name), True)):
            if known in _MALE or known in _FEMALE:
                return (known in _FEMALE) != is_other
        return None

    def relations(self, first: str, second: str) -> Iterator[str]:
        """Yield everything that the first person is to the second."""
        of = {second}
        spouses, parents, siblings = self.spouses(of), self.parents_of(of), self.siblings(of)
        uncles = self.siblings(parents)
        related = {
            "parent": parents,
            "child": self.children(of),
            "spouse": spouses,
            "sibling": siblings,
            "grandparent": self.parents_of(parents),
            "grandchild": self.children(self.children(of)),
            "parent's sibling": uncles | self.spouses(uncles),
            "sibling's child": self.children(siblings | self.siblings(spouses)),
            "cousin": self.children(uncles),
            "spouse's parent": self.parents_of(spouses),
            "child's spouse": self.spouses(self.children(of)),
            "sibling by marriage": self.siblings(spouses) | self.spouses(siblings | self.siblings(spouses)) - of,
        }
        yield from (relation for relation, people in related.items() if first in people)


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer is a word for what the first person is to the second.

    Raises:
        ValueError: The question is no story with marriages and children.
    """
    first, second, family = _read(problem.question)
    if len(answer) > _MAX_CHARS:
        return False
    said = _SAID.fullmatch(_word(unwrap(answer), first, second))
    if not said:
        return False
    word = "-".join(said.group(1).lower().replace("-", " ").split())
    is_female = family.is_female(first)
    sexes = ((0, True), (1, False))
    return any(
        word in _WORDS[relation][place].split()
        for relation in family.relations(first, second)
        for place, sex in sexes
        if is_female in (None, sex)
    )


def _word(text: str, first: str, second: str) -> str:
    """Return the word of a whole sentence about the two, or the text."""
    for start, end in ((f"{first} is {second}'s ", ""), (f"{first} is the ", f" of {second}")):
        if text.startswith(start) and text.endswith(end):
            return text[len(start) : len(text) - len(end)]
    return text


def _read(question: str) -> tuple[str, str, _Family]:
    story, _, asked = question.partition("\n\n")
    people = _ASKED.match(asked + " ")
    family = _Family()
    couple: tuple[str, str] | None = None
    for sentence in story.rstrip(".").split(". "):
        marriage, children = _MARRIAGE.fullmatch(sentence), _CHILDREN.fullmatch(sentence)
        if marriage:
            one, other = couple = (marriage.group(1), marriage.group(2))
            family.spouse.update({one: other, other: one})
        elif children and couple:
            names = children.group(1).replace(" and ", ", ").split(", ")
            family.parents.update(dict.fromkeys(names, frozenset(couple)))
        else:
            people = None
    if not people:
        msg = "the question is not a story of marriages and children and what one is to another"
        raise ValueError(msg)
    return people.group(1), people.group(2), family


def guess(problem: Problem, rng: Random) -> str:  # noqa: ARG001 - it looks at no question
    """Return any word for a relation."""
    return rng.choice(_GUESSES)


def odds(problem: Problem) -> float:
    """Return one over the words there are, if the reference is one of them."""
    return (problem.reference in _GUESSES) / len(_GUESSES)


TASKS = (
    ReasoningGymTask(
        name="family_relationships",
        dataset="family_relationships",
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        paper_class="shrinkage",
    ),
)
