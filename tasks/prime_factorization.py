r"""Prime factorisation of a number: 2..1000 by default, 1000..5000 in the hard variant.

    Find the prime factorization of 656. Write the factors separated by × (Example: for 12 the answer would be:
    2 × 2 × 3)

Reference: 2 × 2 × 2 × 2 × 41. The verifier raises on anything but numbers and ×; the normaliser reads other signs of
multiplication, powers, and the right side of an equation (the paper's appendix B.3). The checker multiplies the
factors and tests each for being a prime.
The guesser draws a number of factors that may fit, and each of them among the primes up to the number.
"""

import math
import re
from collections import Counter
from functools import cache
from random import Random

from rgsupport.latex import plain, sides, unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_MAX_CHARS = 500
_MAX_FACTORS = 64
_FACTOR = re.compile(r"\(?\s*([0-9]{1,12})\s*(?:\^\s*(?:\{\s*([1-9][0-9]?)\s*\}|([1-9][0-9]?)))?\s*\)?")
_SEPARATOR = re.compile(r"[*xX,]")
_PRODUCT = re.compile(r"[0-9]{1,12}(?: × [0-9]{1,12})*")
_ASKED = re.compile(r"Find the prime factorization of ([0-9]{1,12})\.")


def normalise(answer: str) -> str:
    r"""Return a product of whole numbers with every factor written out.

    Of a chain of equations the last side counts, or the one before if the last is the number itself again.

    >>> normalise(r"36 = 2^2 \times 3^{2}"), normalise("2*2*3*3 = 36"), normalise("a prime")
    ('2 × 2 × 3 × 3', '2 × 2 × 3 × 3', 'a prime')
    """
    if len(answer) > _MAX_CHARS:
        return answer
    factors = [_factors(unwrap(side)) for side in sides(plain(unwrap(answer)).replace("**", "^"))]
    last = factors.pop()
    if last and len(last) == 1 and factors and factors[-1] and math.prod(factors[-1]) == last[0]:
        last = factors[-1]
    return " × ".join(map(str, last)) if last else answer


def _factors(text: str) -> list[int]:
    """Return the factors of a product of whole numbers and powers; empty if the text is something else."""
    factors: list[int] = []
    for part in _SEPARATOR.split(text):
        power = _FACTOR.fullmatch(part.strip())
        if not power:
            return []
        base, *exponents = power.groups()
        factors += [int(base)] * int(next(filter(None, exponents), 1))
    return factors if len(factors) <= _MAX_FACTORS else []


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer is a product of primes that gives the number of the question.

    Raises:
        ValueError: The question names no number.
    """
    number = _number(problem)
    product = normalise(answer[: _MAX_CHARS + 1])
    if len(answer) > _MAX_CHARS or not _PRODUCT.fullmatch(product):
        return False
    factors = [int(factor) for factor in product.split(" × ")]
    # The product comes first: no factor larger than the number is tried.
    return math.prod(factors) == number and all(_is_prime(factor) for factor in factors)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def guess(problem: Problem, rng: Random) -> str:
    """Return one to log2(n) primes, each of them any up to n."""
    number = _number(problem)
    primes = _primes(number)
    return " × ".join(str(rng.choice(primes)) for _ in range(rng.randint(1, number.bit_length() - 1)))


def odds(problem: Problem) -> float:
    """Return the chance of the right number of factors, times that of the right ones in any order."""
    number = _number(problem)
    primes = _primes(number)
    rest, factors = number, list[int]()
    for prime in primes:
        while rest % prime == 0:
            rest //= prime
            factors.append(prime)
    orders = math.factorial(len(factors)) // math.prod(map(math.factorial, Counter(factors).values()))
    return orders / len(primes) ** len(factors) / (number.bit_length() - 1)


def _number(problem: Problem) -> int:
    asked = _ASKED.match(problem.question)
    if not asked:
        msg = "the question does not name a number to factorise"
        raise ValueError(msg)
    return int(asked.group(1))


@cache
def _primes(largest: int) -> list[int]:
    return [number for number in range(2, largest + 1) if _is_prime(number)]


def _task(name: str, **overrides: int) -> ReasoningGymTask:
    return ReasoningGymTask(
        name=name,
        dataset="prime_factorization",
        overrides=overrides,
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        paper_class="preservation",
        rejects=(ValueError,),
    )


TASKS = (
    _task("prime_factorization"),
    _task("prime_factorization_hard", min_value=1000, max_value=5000),
)
