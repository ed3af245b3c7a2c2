"""The audit as a user calls it: known faults are found by kinds of probes, sound tasks have none, nothing stops it."""

import json

import pytest

from command import refusal, rgsupport

OWN = """
import os
from rgsupport.seeds import problem_id
from rgsupport.types import Problem


class Own:
    def __init__(self, name):
        self.name = name

    def problems(self, *, count, seed):
        if self.name == "broken":
            raise ValueError("no luck today")
        questions = [f"What is {i} + {seed}?" for i in range(min(count, 8))]
        return [
            Problem(self.name, problem_id(task=self.name, question=q), i, q, str(i + seed), "")
            for i, q in enumerate(questions)
        ]

    def score(self, problem, answer):
        if self.name == "deadly" and answer == problem.question:
            os._exit(3)
        return float(self.name == "generous" or answer == problem.reference)


TASKS = tuple(Own(name) for name in ("honest", "generous", "deadly", "broken"))
"""
# Tasks whose verifiers or references are known to be wrong, and in which words the audit says so.
KNOWN = {
    "game_of_life_halting": "accepts nonsense",
    "puzzle24": "accepts another question's answer",
    "propositional_logic": "accepts a line copied from the question",
    "polynomial_multiplication": "accepts an expression of the question",
    "simple_integration": "accepts an expression of the question",
    "syllogism": "(wrong reference)",
    "family_relationships": "(wrong reference)",
    # Found by the audit, and listed nowhere before: "0" is taken for 0.125, and "NaN" for any complex number.
    "coin_flip": "accepts nonsense",
    "complex_arithmetic": "accepts nonsense",
}
SOUND = ("dice", "prime_factorization", "palindrome_generation", "leg_counting", "arc_1d", "chain_sum", "maze", "ab")


def audited(*arguments, cwd):
    result = rgsupport("audit", *arguments, "--json", cwd=cwd)
    assert result.returncode in (0, 1), result.stderr
    return {found["task"]: found for found in json.loads(result.stdout)}, result.returncode


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    found, code = audited(
        "--tasks", ",".join([*KNOWN, *SOUND]), "--problems", "14", "--seed", "0", cwd=tmp_path_factory.mktemp("audit")
    )
    assert code == 1
    return found


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_fault_is_found_by_a_kind_of_probe(known, name):
    assert known[name]["verdict"] == "unsound"
    assert any(KNOWN[name] in reason for reason in known[name]["reasons"])


@pytest.mark.parametrize("name", SOUND)
def test_a_task_without_a_known_fault_is_sound(known, name):
    assert (known[name]["verdict"], known[name]["reasons"]) == ("sound", [])
    assert known[name]["suspect_references"] == []


def test_what_was_asked_of_a_task_is_counted(known):
    dice = known["dice"]
    assert (dice["problems"], dice["references"], dice["has_checker"]) == (14, 14, True)
    assert set(dice["probes"]) == {
        *("empty", "nonsense", "long", "echo", "line", "swap", "perturbed", "hedge", "words", "code", "endless"),
    }
    assert dice["probes"]["echo"] == {"asked": 14, "accepted": 0, "errors": 0, "refused": 0, "timeouts": 0}
    assert 60 <= dice["probes"]["swap"]["asked"] <= 14 * 5  # some references are the same
    assert dice["forms"]["boxed"] == {"accepted": 5, "asked": 5}
    assert known["puzzle24"]["probes"]["code"]["refused"] >= 1
    assert known["polynomial_multiplication"]["depends_on_hash"] is True


def test_the_six_wrong_references_of_the_evaluation_are_listed_and_the_ambiguous_powers(tmp_path):
    arguments = ("--tasks", "family_relationships,power_function", "--seed", "45", "--problems", "50")
    found, code = audited(*arguments, cwd=tmp_path)
    assert code == 1
    assert found["family_relationships"]["suspect_references"] == [2, 31, 33, 37, 40, 44]
    power = found["power_function"]
    assert power["verdict"] == "usable with guard"
    assert len(power["suspect_references"]) == 21
    assert {suspect["kind"] for suspect in power["suspects"]} == {"ambiguous question"}
    printed = rgsupport("audit", *arguments, cwd=tmp_path).stdout
    assert "suspect questions, by index: 2, 31, 33, 37, 40, 44" in printed
    assert "1 usable with guard, 1 unsound" in printed


def test_a_verifier_that_works_an_expression_out_is_found_though_most_of_them_take_too_long(tmp_path):
    found, _ = audited("--tasks", "intermediate_integration", "--problems", "2", "--seed", "0", cwd=tmp_path)
    assert "accepts an expression of the question" in found["intermediate_integration"]["reasons"][0]


def test_a_question_that_leaves_out_a_part_of_what_it_shows_is_suspect(tmp_path):
    hard = [f"--set=game_of_life_halting.grid_size_{axis}=50" for axis in "xy"]
    found, _ = audited("--tasks", "game_of_life_halting", "--problems", "2", *hard, cwd=tmp_path)
    assert {suspect["kind"] for suspect in found["game_of_life_halting"]["suspects"]} == {"elided question"}


def test_a_users_tasks_are_audited_and_none_stops_the_others(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/own.py").write_text(OWN)
    found, code = audited("--tasks", "broken,generous,deadly,honest", "--problems", "10", cwd=tmp_path)
    assert code == 1
    assert {name: item["verdict"] for name, item in found.items()} == {
        "broken": "unsound", "generous": "unsound", "deadly": "usable with guard", "honest": "sound"
    }  # fmt: skip
    assert "no luck today" in found["broken"]["reasons"][0]
    assert found["deadly"]["probes"]["echo"]["errors"] == found["deadly"]["problems"]
    assert rgsupport("audit", "--tasks", "honest,deadly", cwd=tmp_path).returncode == 0


def test_a_mistake_is_one_line(tmp_path):
    assert "did you mean dice" in refusal("audit", "--tasks", "dise", cwd=tmp_path, code=2)
    assert "num_dices" in refusal("audit", "--tasks", "dice", "--set", "dice.num_dices=3", cwd=tmp_path, code=2)
    assert "--problems" in refusal("audit", "--tasks", "dice", "--problems", "0", cwd=tmp_path, code=2)
