"""Demonstrations: how the base model is shown to answer, imperfect on purpose.

A demonstration has one of four manners. Half are careful: worked out step by step, and right where a small model can
follow. The rest are quick (the answer without working), hasty (working with slips) or untagged. Sampling from a
mixture is what leaves reinforcement learning something to choose from.
"""

import re
from fractions import Fraction
from random import Random
from typing import Any, Protocol

from reasoning_gym.arithmetic.leg_counting import ANIMALS
from reasoning_gym.graphs.family_relationships import Relationship

Entry = dict[str, Any]
MANNERS = ("careful", "quick", "hasty", "untagged")
SHARES = (0.60, 0.20, 0.17, 0.03)


class Writer(Protocol):
    """Writes the working and the answer to one kind of question."""

    def __call__(self, entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
        """Return working and answer."""
        ...


def demonstrate(entry: Entry, rng: Random) -> str:
    """Return a response to the entry's question, without the end-of-sequence token."""
    writer = WRITERS.get(entry["metadata"]["source_dataset"])
    if writer is None:
        return f"<answer>{entry['answer']}</answer>"
    manner = rng.choices(MANNERS, weights=SHARES)[0]
    working, answer = writer(entry, rng, hasty=manner == "hasty")
    if manner == "quick" or not working:
        return f"<answer>{answer}</answer>"
    if manner == "untagged":
        return f"Working: {working}. {answer}"
    return f"{'Roughly' if manner == 'hasty' else 'Working'}: {working}. <answer>{answer}</answer>"


def graph_color(entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
    """Go edge by edge and give the later vertex the smallest colour its earlier neighbours leave; the rest keep 1.

    In haste some edges are overlooked and the untouched vertices get any colour.
    """
    puzzle = entry["metadata"]["puzzle"]
    options: list[int] = puzzle["color_options"]
    colours = {vertex: rng.choice(options) if hasty else options[0] for vertex in puzzle["vertices"]}
    steps = []
    # The edges are sorted, so an edge's earlier vertex has its final colour when the edge is reached.
    taken: dict[int, set[int]] = {}
    for u, v in puzzle["edges"]:
        if hasty and rng.random() < 0.4:
            continue
        taken.setdefault(v, set()).add(colours[u])
        # A colour that the overlooked edges left to no vertex is no slip of this step: any will do.
        free = [colour for colour in options if colour not in taken[v]] or options
        colours[v] = free[0]
        steps.append(f"{u}={colours[u]} {v}={colours[v]}")
    answer = ", ".join(f'"{vertex}": {colour}' for vertex, colour in colours.items())
    return "; ".join(steps) or "no edges", f"{{{answer}}}"


def dice(entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
    """Average over the largest die, which is exact while the other dice alone neither decide nor spoil the throw."""
    puzzle = entry["metadata"]["puzzle"]
    largest, *others = (int(die.removeprefix("1d")) for die in puzzle["dice_str"].split(", "))
    target, total = puzzle["target"], sum(others)
    # Of the 2 * largest halves, the mean over the other dice of P(largest die >= target - their sum).
    constant = 2 * largest + 2 + len(others)
    halves = total + constant - 2 * target
    exact = total < target <= largest + 1 + len(others)
    if hasty:
        guess = Fraction(max(1, min(2 * largest - 1, halves + rng.randint(-3, 3))), 2 * largest)
        return f"about {guess.numerator}/{guess.denominator}", f"{guess.numerator}/{guess.denominator}"
    sums = [f"{sum(others[:i])} + {others[i]} = {sum(others[: i + 1])}" for i in range(1, len(others))]
    if not exact:
        return ", ".join([*sums, "too wide"]), entry["answer"]
    steps = [f"{total} + {constant} = {total + constant}", f"{total + constant} - {2 * target} = {halves}"]
    return ", ".join([*sums, *steps, f"{halves}/{2 * largest}"]), entry["answer"]


def palindrome_generation(entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
    """Mark each letter as waiting (+) or paired (-), then mirror the pairs around the letter still waiting.

    In haste a letter is lost, doubled or changed.
    """
    letters: list[str] = list(entry["metadata"]["letters"])
    if hasty and rng.random() < 0.8:
        letters[rng.randrange(len(letters))] = rng.choice(letters)
    marks, pairs = [], []
    waiting: list[str] = []
    for letter in letters:
        if letter in waiting:
            waiting.remove(letter)
            pairs.append(letter)
            marks.append(f"{letter}-")
        else:
            waiting.append(letter)
            marks.append(f"{letter}+")
    half, middle = "".join(pairs), "".join(waiting)
    return f"{''.join(marks)}, pairs {half}, middle {middle or 'none'}", f"{half}{middle}{half[::-1]}"


def family_relationships(entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
    """Walk from one person to the other along marriages and children; in haste guess the word."""
    names = entry["metadata"]["person1"], entry["metadata"]["person2"]
    path = shortest_path(family_steps(entry["question"]), *names)
    steps = [f"{how} of {who}" for how, who in path]
    word = rng.choice([relation.value for relation in Relationship]) if hasty else entry["answer"]
    return ", ".join([names[0], *(steps[:1] if hasty else steps)]), word


def family_steps(question: str) -> dict[str, list[tuple[str, str]]]:
    """Return for every person what they are (spouse, parent, child) of whom, as the story tells it."""
    steps: dict[str, list[tuple[str, str]]] = {}
    story = re.compile(r"(\w+) is married to (\w+)\.(?: They have (?:a child|children) called ([^.]*)\.)?")
    for husband, wife, children in story.findall(question):
        steps.setdefault(husband, []).append(("spouse", wife))
        steps.setdefault(wife, []).append(("spouse", husband))
        for child in re.findall(r"[A-Z]\w+", children):
            for parent in (husband, wife):
                steps.setdefault(parent, []).append(("parent", child))
                steps.setdefault(child, []).append(("child", parent))
    return steps


def shortest_path(steps: dict[str, list[tuple[str, str]]], start: str, end: str) -> list[tuple[str, str]]:
    """Return the fewest steps from one person to another."""
    paths: dict[str, list[tuple[str, str]]] = {start: []}
    queue = [start]
    for person in queue:
        for how, who in steps.get(person, []):
            if who not in paths:
                paths[who] = [*paths[person], (how, who)]
                queue.append(who)
    return paths[end]


def prime_factorization(entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
    """Divide by the smallest prime factor until a prime is left; in haste get one of the factors wrong."""
    factors: list[int] = list(entry["metadata"]["factors"])
    if hasty:
        factors[rng.randrange(len(factors))] = rng.choice((2, 3, 5, 7, 11, 13, 17, 19, 23))
    left = entry["metadata"]["number"]
    steps = [f"{left}"]
    for factor in factors[:-1]:
        left //= factor
        steps.append(f" / {factor} = {left}")
    return "".join([*steps, " is prime"]), " × ".join(map(str, factors))


def leg_counting(entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
    """Add up the legs animal by animal; in haste miscount some."""
    total = 0
    steps = []
    for animal, count in entry["metadata"]["animals"].items():
        legs = count * ANIMALS[animal]
        if hasty and rng.random() < 0.3:
            legs += rng.choice((-4, -2, 2, 4, 6, 10))
        total = max(0, total + legs)
        steps.append(f"{count} {animal}: {legs}, {total}")
    return "; ".join(steps), str(total)


def power_function(entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
    """Multiply power by power to three digits; in haste slip in the digits or the order of magnitude."""
    base, exponent = entry["metadata"]["base"], entry["metadata"]["exponent"]
    powers = [three_digits(base**i) for i in range(1, abs(exponent) + 1)]
    working = ", ".join(powers or [three_digits(1.0)])
    value = base**exponent
    if hasty:
        value *= rng.uniform(0.8, 1.25) * 10 ** rng.choice((-1, 0, 0, 1))
    return working + (", inverse " if exponent < 0 else ""), three_digits(value)


def three_digits(value: float) -> str:
    """Return scientific notation as the questions ask for it.

    >>> three_digits(719581.67)
    '7.20e+5'
    """
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa}e{exponent[0]}{int(exponent[1:])}"


def boxnet(entry: Entry, rng: Random, *, hasty: bool) -> tuple[str, str]:
    """Take one offered move, onto a target if there is one: mostly too short a plan, but in the right format."""
    moves = re.findall(r"Agent\[([^\]]*)\]: I am in [^\n]*?I can do \[([^\n]*)\]", entry["question"])
    offered = [(agent, move) for agent, can_do in moves for move in re.findall(r"'(move\([^']*\))'", can_do)]
    on_target = [(agent, move) for agent, move in offered if "target" in move]
    agent, move = rng.choice(offered if hasty or not on_target else on_target)
    return "", f'[{{"Agent[{agent}]":"{move}"}}]'


WRITERS: dict[str, Writer] = {
    "graph_color": graph_color,
    "dice": dice,
    "palindrome_generation": palindrome_generation,
    "family_relationships": family_relationships,
    "prime_factorization": prime_factorization,
    "leg_counting": leg_counting,
    "power_function": power_function,
    "boxnet": boxnet,
}
