"""One cause for every question that is found or lost, and the causes add up."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counts import problem_table, solved, task_table, verdict_table
from rgsupport import schemas
from rgsupport.attribution import attribute
from rgsupport.jail import Jail, Specification
from rgsupport.outcomes import outcomes
from rgsupport.registry import load_tasks
from rgsupport.shards import completions_frame
from rgsupport.support import analyze
from rgsupport.types import Cause, Completion, FinishReason, Problem, Status
from rgsupport.verification import ScoreCache, verify

PROBLEMS = problem_table({"a": "dice", "b": "dice", "c": "arc_1d"})
WRONG, RIGHT = Status.WRONG, Status.CORRECT


def sides(base, rlvr, *, problems=PROBLEMS, strict=({}, {}), checked=({}, {}), with_checker=()):
    """Outcomes of both models from {problem: lenient statuses}; other verdicts are the same unless given."""
    frames = []
    for place, (model, statuses) in enumerate((("base", base), ("rlvr", rlvr))):
        verdicts = verdict_table(statuses, strict={**statuses, **strict[place]}, checked={**statuses, **checked[place]})
        frames.append(outcomes(verdicts, problems, checked=with_checker, model=model))
    return pl.concat(frames)


def causes(frame, suspects=(), verdict="lenient"):
    found = attribute(frame, suspects).filter(verdict=verdict)
    return {
        problem: (label, cause) for problem, label, cause in found.select("problem_id", "label", "cause").iter_rows()
    }


def test_a_question_is_the_models_when_its_answers_are_wrong_and_the_other_is_right_more_than_once():
    assert causes(sides({"a": solved(2, 4)}, {"a": solved(0, 4)})) == {"a": ("S", "model")}
    assert causes(sides({"a": solved(0, 4)}, {"a": solved(4, 4)})) == {"a": ("E", "model")}


def test_a_single_success_may_be_luck():
    assert causes(sides({"a": solved(1, 4)}, {"a": solved(0, 4)})) == {"a": ("S", "one_sample")}


def test_what_both_or_neither_solve_needs_no_cause():
    assert causes(sides({"a": solved(1, 4), "b": solved(0, 4)}, {"a": solved(3, 4), "b": solved(0, 4)})) == {}


@pytest.mark.parametrize(
    ("statuses", "cause"),
    [
        ([Status.TRUNCATED] * 3 + [WRONG], "truncation"),
        ([Status.PROMPT_TOO_LONG] * 4, "truncation"),
        ([Status.NO_ANSWER] * 3 + [WRONG], "no_answer"),
        ([Status.TIMEOUT, Status.TIMEOUT, Status.ERROR, WRONG], "failure"),
        ([Status.NO_ANSWER] * 2 + [WRONG] * 2, "model"),
        ([Status.TRUNCATED, Status.NO_ANSWER, WRONG, WRONG], "model"),
    ],
)
def test_what_became_of_most_samples_of_the_losing_side_is_the_cause(statuses, cause):
    assert causes(sides({"a": solved(2, 4)}, {"a": statuses})) == {"a": ("S", cause)}


def test_a_right_answer_in_another_form_is_the_formats():
    lost = sides({"a": solved(2, 4)}, {"a": solved(0, 4)}, strict=({}, {"a": solved(1, 4)}))
    assert causes(lost) == {"a": ("S", "format")}
    read = sides({"a": solved(2, 4)}, {"a": solved(0, 4)}, checked=({}, {"a": solved(1, 4)}), with_checker=["dice"])
    assert causes(read) == {"a": ("S", "format")}
    # Under strict nothing was lost, so nothing is attributed there.
    assert causes(lost, verdict="strict") == {}


def test_a_success_that_the_checker_does_not_find_right_and_a_suspect_question_are_the_verifiers():
    wrong = sides({"a": solved(2, 4)}, {"a": solved(0, 4)}, checked=({"a": solved(0, 4)}, {}), with_checker=["dice"])
    assert causes(wrong) == {"a": ("S", "verifier")}
    frame = sides({"a": solved(2, 4)}, {"a": [Status.NO_ANSWER] * 4})
    assert causes(frame, suspects=["a"]) == {"a": ("S", "verifier")}


STATUSES = st.lists(st.sampled_from(list(Status)), min_size=3, max_size=3)
TABLES = st.fixed_dictionaries({"a": STATUSES, "b": STATUSES, "c": STATUSES})


@settings(max_examples=25)
@given(TABLES, TABLES, TABLES, TABLES, st.sets(st.sampled_from("abc")))
def test_the_causes_add_up_to_the_realised_counts_of_every_verdict(base, rlvr, strict, checked, suspects):
    frame = sides(base, rlvr, strict=(strict, {}), checked=({}, checked), with_checker=["dice", "arc_1d"])
    found = analyze(frame, task_table("dice", "arc_1d"), [3], suspects=suspects)
    schemas.check(found.attribution, schemas.ATTRIBUTION, source="attribution")
    support = found.support.filter(scope="task")
    assert set(support["kind"]) == {"realised"}
    for task, verdict, *counts in support.select("name", "verdict", "E", "S").iter_rows():
        here = found.attribution.filter(task=task, verdict=verdict)
        assert [here.filter(label=label).height for label in "ES"] == counts


def test_six_wrong_references_are_the_whole_shrinkage_of_the_published_table():
    """A trained model that always says what is true, and a base model that guesses among the relation words."""
    (task,) = load_tasks(["family_relationships"], params={}, user_folder=None)
    problems = task.problems(count=50, seed=45)
    n = 1024
    wrong = {problem.id for problem in problems if task.doubt(problem)}
    assert len(wrong) == 6
    # At k = 1024 a guesser among twenty words has said the reference, and the truth, many times over.
    guesses = [WRONG] * (n - n // 20) + [RIGHT] * (n // 20)
    base = {problem.id: guesses for problem in problems}
    rlvr = {problem.id: solved(0 if problem.id in wrong else n, n) for problem in problems}
    truth = {problem.id: solved(n, n) for problem in problems}
    table = problem_table({problem.id: "family_relationships" for problem in problems})
    frame = sides(base, rlvr, problems=table, checked=({}, truth), with_checker=["family_relationships"])
    found = analyze(frame, task_table("family_relationships"), [1, n], suspects=wrong)
    counts = found.support.filter(scope="task", verdict="lenient", k=n).select("P", "E", "S", "O").row(0)
    assert counts == (44, 0, 6, 0)
    lenient = found.attribution.filter(verdict="lenient")
    assert lenient.select("label", "cause").rows() == [("S", Cause.VERIFIER)] * 6
    kept = frame.filter(~pl.col("problem_id").is_in(list(wrong)))
    without = analyze(kept, task_table("family_relationships"), [1, n])
    assert without.support.filter(scope="task", verdict="lenient", k=n)["S"].to_list() == [0]


FAULTY = '''
class Faulty:
    """Its verifier takes the reference for right, word by word; of question 0 the reference is wrong."""

    name = "faulty"
    has_checker = True

    def problems(self, *, count, seed): return ()

    def score(self, problem, answer):
        return float(answer == problem.reference)

    def check(self, problem, answer):
        truth = str(2 * problem.index)
        return answer in (truth, truth + " apples")

    def doubt(self, problem): return ""


TASKS = (Faulty(),)
'''
# Question -> what the base and the RLVR model answer, four times each, and why the RLVR model is found not to solve it.
INJECTED = {
    0: (["<answer>wrong</answer>"] * 4, ["<answer>0</answer>"] * 4, "stop", "verifier"),
    1: (["<answer>2</answer>"] * 4, ["<answer>2 apples</answer>"] * 4, "stop", "format"),
    2: (["<answer>4</answer>"] * 4, ["It is 4."] * 4, "stop", "no_answer"),
    3: (["<answer>6</answer>"] * 4, ["Let me think: 3 and 3"] * 4, "length", "truncation"),
    4: (["<answer>8</answer>", *["<answer>9</answer>"] * 3], ["<answer>7</answer>"] * 4, "stop", "one_sample"),
    5: (["<answer>10</answer>"] * 4, ["<answer>11</answer>"] * 4, "stop", "model"),
    6: (["<answer>12</answer>"] * 4, ["<answer>12</answer>"] * 4, "stop", None),
}


def test_injected_faults_are_each_attributed_to_their_cause(tmp_path):
    (tmp_path / "faulty.py").write_text(FAULTY)
    questions = {f"{i:016}": Problem("faulty", f"{i:016}", i, f"{i} + {i}?", str(2 * i), "{}") for i in INJECTED}
    questions[f"{0:016}"] = replace(questions[f"{0:016}"], reference="wrong")
    table = problem_table(dict.fromkeys(questions, "faulty"))
    frames = []
    with Jail(Specification(("faulty",), user_folder=tmp_path), workers=1) as jail:
        for place, model in enumerate(("base", "rlvr")):
            made = [
                Completion(f"{i:016}", index, 7, text, FinishReason(case[2] if place else "stop"), 5)
                for i, case in INJECTED.items()
                for index, text in enumerate(case[place])
            ]
            verdicts = verify(
                completions_frame(made), questions, thinking=False, checked=["faulty"], jail=jail, cache=ScoreCache()
            )
            frames.append(outcomes(verdicts, table, checked=["faulty"], model=model))
    found = analyze(pl.concat(frames), task_table("faulty"), [4])
    lenient = found.attribution.filter(verdict="lenient")
    assert dict(lenient.select("problem_id", "cause").iter_rows()) == {
        f"{i:016}": case[3] for i, case in INJECTED.items() if case[3] is not None
    }
    assert set(lenient["label"]) == {"S"}
