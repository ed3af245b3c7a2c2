"""What docs/verifiers.md says of Reasoning Gym 0.1.25 is so; a newer version may have mended it."""

from importlib.metadata import version
from pathlib import Path

import pytest
import reasoning_gym

from task_under_test import problems, task

if version("reasoning-gym") != "0.1.25":
    pytest.skip("docs/verifiers.md is about reasoning-gym 0.1.25", allow_module_level=True)

DOCS = (Path(__file__).parents[1] / "docs" / "verifiers.md").read_text(encoding="utf-8")


def item(name, *, seed, index):
    dataset = reasoning_gym.create_dataset(name, seed=seed, size=500)
    return dataset, dataset[index]


@pytest.mark.parametrize("index", [2, 31, 33, 37, 40, 44])
def test_a_reference_of_family_relationships_is_the_word_for_the_other_side(index):
    _, entry = item("family_relationships", seed=45, index=index)
    (line,) = [line for line in DOCS.splitlines() if line.startswith(f"| {index} |")]
    _, _, _, asked, reference, right, _ = [cell.strip() for cell in line.split("|")]
    assert reference == entry["answer"]
    first, second = asked.removeprefix("What is ").rstrip("?").split(" to ")
    assert f"{first} to {second}?" in entry["question"]
    problem = next(p for p in problems("family_relationships") if p.index == index)
    assert task("family_relationships").check(problem, right)
    assert not task("family_relationships").check(problem, reference)


def test_a_syllogism_that_is_invalid_is_called_valid():
    _, entry = item("syllogism", seed=0, index=11)
    assert "1. All ants are dolphins\n2. Some dolphins are not spiders" in entry["question"]
    assert entry["answer"] == "Yes"


def test_a_power_of_a_negative_number_has_no_brackets():
    _, entry = item("power_function", seed=45, index=2)
    assert "Compute -296.3075^6." in entry["question"]
    assert float(entry["answer"]) == pytest.approx(6.77e14, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "index", "answer"),
    [
        ("game_of_life_halting", 0, "banana"),
        ("puzzle24", 0, "6*4*1*1"),
        ("propositional_logic", 5, "¬(P ↔ S)"),
        ("simple_integration", 0, "integrate(-45*X**8 - 4*X**5 + 12*X**2, X)"),
        ("coin_flip", 2, "0"),
        ("complex_arithmetic", 0, "NaN"),
        ("gsm_symbolic", 0, "-28080"),
    ],
)
def test_a_wrong_answer_is_accepted(name, index, answer):
    dataset, entry = item(name, seed=0, index=index)
    assert answer in DOCS
    assert entry["answer"] != answer
    assert dataset.score_answer(answer, entry) == 1.0


def test_the_question_is_worked_out_by_its_verifier_and_words_beside_it_are_passed_over():
    dataset, entry = item("polynomial_multiplication", seed=0, index=0)
    product = entry["question"].split("\n")[0].split(": ")[1]
    assert dataset.score_answer(f"expand({product})", entry) == 1.0
    dataset, entry = item("letter_jumble", seed=0, index=1)
    assert dataset.score_answer(f"{entry['answer']} extra words", entry) == pytest.approx(1, abs=1e-12)
