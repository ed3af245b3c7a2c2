"""A program: make items again with Reasoning Gym itself and compare them with stored problems.

Called with a JSON file of problems, in a process with the hash seed under which they were made. It prints one line of
JSON per problem that differs, and nothing if none does.
"""

import contextlib
import io
import json
import random
import sys
import warnings
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import reasoning_gym

from rgsupport import codec
from rgsupport.reasoning_gym import SIZE, default_task
from rgsupport.types import Problem
from right_answers import right_answer

WRONG = ("", "0", "no such answer", "[]", "{}")


@cache
def dataset_of(task, *, seed):
    overrides = {}
    if task == "composite":
        spec = reasoning_gym.composite.DatasetSpec
        overrides = {"datasets": [spec("leg_counting", 1.0, {}), spec("chain_sum", 1.0, {})]}
    return reasoning_gym.create_dataset(task, seed=seed, size=SIZE, **overrides)


def live_item(problem, *, seed):
    dataset = dataset_of(problem.task, seed=seed)
    random.seed(seed + problem.index)
    np.random.seed(seed + problem.index)
    return dataset, dataset[problem.index]


def scores(score, answers):
    found = []
    for answer in answers:
        try:
            found.append(score(answer))
        except Exception as error:  # noqa: BLE001 - what it raises is what is compared
            found.append(type(error).__name__)
    return found


def difference(problem, *, seed):
    dataset, item = live_item(problem, seed=seed)
    if not codec.same(codec.decode(problem.entry), item) or (problem.question, problem.reference) != (
        item["question"],
        item["answer"],
    ):
        return "not the item"
    answers = (right_answer(item), *WRONG)
    # The item is copied for every answer: some verifiers write into it.
    stored = scores(lambda answer: default_task(problem.task).score(problem, answer), answers)
    live = scores(lambda answer: dataset.score_answer(answer, deepcopy(item)), answers)
    if stored != live:
        return f"stored {stored}, live {live}"
    return None if stored[0] >= 1 - 1e-9 else f"the right answer scores {stored[0]}: {answers[0]!r:.200}"


def main():
    warnings.simplefilter("ignore")
    stored = json.loads(Path(sys.argv[1]).read_text())
    for fields in stored["problems"]:
        problem = Problem(**fields)
        with contextlib.redirect_stdout(io.StringIO()):
            found = difference(problem, seed=stored["seed"])
        if found:
            sys.stdout.write(json.dumps({"task": problem.task, "index": problem.index, "difference": found}) + "\n")


if __name__ == "__main__":
    main()
