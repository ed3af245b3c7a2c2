"""Questions that cannot be judged are told before sampling, listed in the tables, and left out on request."""

import json

import polars as pl
import pytest

from command import done, refusal, rgsupport

FILE = '''
from rgsupport.types import Problem


class Sums:
    """3: a wrong reference; 4: the verifier raises on its reference; 5: it takes any answer; 6: only what is asked."""

    name = "sums"
    has_checker = True

    def problems(self, *, count, seed):
        references = ["0", "2", "4", "7", "8", "10", "12"]
        questions = [f"What is {i} + {i}?" for i in range(count)]
        return [Problem("sums", self.id(q), i, q, references[i], "{}") for i, q in enumerate(questions)]

    def id(self, question):
        from rgsupport.seeds import problem_id

        return problem_id(task="sums", question=question)

    def score(self, problem, answer):
        if problem.index == 4:
            raise ValueError("cannot read")
        if problem.index == 5 or (problem.index == 6 and answer == problem.question):
            return 1.0
        return float(answer == problem.reference)

    def check(self, problem, answer):
        return answer == str(2 * problem.index)

    def doubt(self, problem):
        return "" if self.check(problem, problem.reference) else f"wrong reference: {problem.reference} is not the sum"


TASKS = (Sums(),)
'''
RUN = ("run", "--tasks", "sums", "--problems", "7", "--k", "1,2", "--max-tokens", "40")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "tasks").mkdir()
    (home / "tasks" / "sums.py").write_text(FILE)
    return home


@pytest.fixture(scope="module")
def first(home):
    result = rgsupport(*RUN, cwd=home)
    assert result.returncode == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def run(home, first):
    assert first
    return home / "outputs" / "mini-base--mini-rlvr"


def test_a_run_names_its_suspect_questions_and_the_way_to_leave_them_out(first):
    (line,) = [line for line in first.stderr.splitlines() if "suspect" in line]
    assert line.startswith("sums: 4 of 7 questions are suspect (")
    assert "wrong reference" in line
    assert ": 3, 4, 5, 6; --exclude-suspect leaves them out" in line


def test_each_suspect_question_has_the_kind_and_the_detail_of_its_fault(run):
    (path,) = (run / "audit").glob("suspects-*.parquet")
    assert pl.read_parquet(path).select("index", "kind", "detail").rows() == [
        (3, "wrong reference", "7 is not the sum"),
        (4, "the verifier rejects its reference", "ValueError: cannot read"),
        (5, "the verifier accepts nonsense", "it accepts banana"),
        (6, "the verifier accepts nonsense", "it accepts the question itself"),
    ]


def test_the_tables_count_them_unless_they_are_left_out_and_say_which(home, run, first):
    assert "Suspect questions: 4, counted as any other." in " ".join(first.stdout.split())
    assert pl.read_parquet(run / "tables/outcomes.parquet")["problem_id"].n_unique() == 7
    printed = done("analyze", run, "--exclude-suspect", cwd=home)
    assert "Suspect questions: 4, left out of every table." in " ".join(printed.split())
    outcomes = pl.read_parquet(run / "tables/outcomes.parquet")
    problems = pl.read_parquet(run / "problems.parquet").filter(pl.col("problem_id").is_in(outcomes["problem_id"]))
    assert problems["index"].to_list() == [0, 1, 2]
    assert set(outcomes["verdict"]) == {"lenient", "strict", "checked"}
    assert pl.read_parquet(run / "tables/pass_at_k.parquet")["n_problems"].unique().to_list() == [3]
    assert json.loads((run / "tables/provenance.json").read_text())["excluded"] is True
    assert done("run", *RUN[1:], "--exclude-suspect", cwd=home).endswith(printed)
    assert done("analyze", run, cwd=home) in first.stdout


def test_the_questions_are_looked_at_once_and_again_when_the_verifier_changed(home, run, first):
    assert "suspect (" not in rgsupport(*RUN, cwd=home).stderr
    path = home / "tasks" / "sums.py"
    path.write_text(FILE.replace("problem.index == 5 or", "problem.index < 6 or"))
    again = rgsupport(*RUN, cwd=home)
    path.write_text(FILE)
    assert "sums: 7 of 7 questions are suspect" in again.stderr
    assert len(list((run / "audit").glob("suspects-*.parquet"))) == 2


def test_a_task_of_which_no_question_is_left_is_refused(home, run, first):
    path = home / "tasks" / "sums.py"
    path.write_text(FILE.replace("problem.index == 5 or", "problem.index < 6 or"))
    line = refusal(*RUN, "--exclude-suspect", cwd=home, code=2)
    path.write_text(FILE)
    assert "every question of sums is suspect" in line
