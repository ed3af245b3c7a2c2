"""Identities and seeds: everything random in a run is a function of the run seed and of what it is for."""

import hashlib


def problem_id(*, task: str, question: str) -> str:
    """Return the identity of a problem: 16 hex digits, a hash of the task's name and the question.

    The name belongs to it because two tasks may share a question (the same number to factorise in an easy and a hard
    task) and must not share samples.

    >>> problem_id(task="dice", question="What are the odds?")
    'fc5db83497e55d86'
    """
    return hashlib.sha256(f"{task}\0{question}".encode()).hexdigest()[:16]


def sample_seed(*, run_seed: int, stream: str, problem_id: str, sample_index: int) -> int:
    """Return the 63-bit seed of one sample.

    Args:
        run_seed: Seed of the run.
        stream: The model's role; the streams of two models are independent, as the products of P/E/S/O require.
        problem_id: Identity of the problem.
        sample_index: Which sample of the problem, from 0.
    """
    key = f"{run_seed}\0{stream}\0{problem_id}\0{sample_index}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1
