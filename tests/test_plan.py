"""`run --plan` as a user does it: the real command, the real miniature pair; then the run it was a plan of."""

import json
import shutil
from contextlib import contextmanager

import polars as pl
import pytest

from command import done, refusal
from rgsupport import settings
from rgsupport.errors import DriftError, RgsupportError, StoreError
from rgsupport.models import find
from rgsupport.seeds import sample_seed
from rgsupport.stages import plan as stage
from rgsupport.store import Run
from rgsupport.types import Completion, FinishReason
from rgsupport.watch import Silent

ASK = {"tasks": "graph_color,dice", "problems": "1", "k": "1,4,200"}
COMMAND = ("run", *(word for name, value in ASK.items() for word in (f"--{name}", value)), "--out", "run")
SAMPLES = 200
PILOT = 2  # of each problem: one in a hundred
ROLES = ("base", "rlvr")


def cells(printed, label):
    """Return the columns base, RLVR and total of a line, as numbers."""
    (line,) = [line for line in printed.splitlines() if line.strip().startswith(label)]
    return [None if cell == "-" else float(cell.strip("<%").replace(",", "")) for cell in line.split()[-3:]]


def samples(run, role):
    """Return everything sampled of a model, with its task, as an outsider would read it."""
    paths = sorted((run / "completions" / role).glob("*.parquet"))
    tasks = pl.read_parquet(run / "problems.parquet").select("task", "problem_id")
    return pl.concat([pl.read_parquet(path) for path in paths]).join(tasks, on="problem_id", validate="m:1")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def planned(home):
    """Return what a plan prints, after which the run folder holds no response."""
    printed = done(*COMMAND, "--plan", cwd=home)
    assert not list((home / "run").rglob("completions/*/*"))
    return printed


@pytest.fixture(scope="module")
def piloted(home, planned):
    """Return what a pilot prints, and the run folder as it was then."""
    printed = done(*COMMAND, "--plan", "--pilot", cwd=home)
    shutil.copytree(home / "run", home / "after-the-pilot")
    return printed, home / "after-the-pilot"


@pytest.fixture(scope="module")
def finished(home, piloted):
    """Return the run folder after the same command without `--plan`."""
    done(*COMMAND, cwd=home)
    return home / "run"


@pytest.fixture
def run(piloted, tmp_path):
    """Return a copy of the run after the pilot."""
    shutil.copytree(piloted[1], tmp_path / "run")
    return tmp_path / "run"


def test_a_plan_freezes_the_problems_and_samples_nothing(home, planned):
    assert cells(planned, "samples wanted") == [400, 400, 800]
    assert cells(planned, "samples on disk") == [0, 0, 0]
    assert cells(planned, "samples owed") == [400, 400, 800]
    assert cells(planned, "tokens expected") == [None, None, None]
    assert (home / "run" / "problems.parquet").is_file()
    assert "Free on the disk" in planned


def test_tokens_at_most_are_those_of_the_context_after_each_prompt(home, planned):
    from transformers import AutoTokenizer

    folder = find("mini-base").location
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    system = json.loads((home / "run" / "run.json").read_text())["system"]
    rooms = []
    for question in pl.read_parquet(home / "run" / "problems.parquet")["question"]:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        rooms.append(2048 - len(tokenizer.encode(text, add_special_tokens=False)))
    assert cells(planned, "tokens at most")[0] == SAMPLES * sum(rooms)


def test_a_pilot_samples_the_first_hundredth_of_every_problem(piloted):
    printed, folder = piloted
    for role in ROLES:
        taken = samples(folder, role).group_by("problem_id").agg(pl.col("sample_index").sort())
        assert taken["sample_index"].to_list() == [list(range(PILOT))] * 2
    assert cells(printed, "samples on disk") == [4, 4, 8]
    assert cells(printed, "samples owed") == [396, 396, 792]
    assert "the 8 samples on disk, 1.0% of the plan" in printed
    assert "tokens/s per process: base" in printed
    assert " and RLVR " in printed


def test_tokens_are_expected_task_by_task_from_the_means_of_the_pilot(piloted):
    printed, folder = piloted
    expected = []
    for role in ROLES:
        means = samples(folder, role).group_by("task").agg(pl.mean("n_tokens"))["n_tokens"]
        expected.append(sum(mean * (SAMPLES - PILOT) for mean in means))
    assert cells(printed, "tokens expected") == pytest.approx([*expected, sum(expected)], abs=0.51)


def test_the_same_command_without_plan_does_what_was_owed_and_keeps_the_pilot(piloted, finished):
    printed, after_pilot = piloted
    for place, role in enumerate(ROLES):
        everything, pilot = samples(finished, role), samples(after_pilot, role)
        assert everything.height == cells(printed, "samples wanted")[place]
        assert everything.height - pilot.height == cells(printed, "samples owed")[place]
        drawn = everything.join(pilot, on=["problem_id", "sample_index"], how="anti")
        assert drawn["n_tokens"].sum() <= cells(printed, "tokens at most")[place]
        for path in (after_pilot / "completions" / role).glob("*.parquet"):
            assert path.read_bytes() == (finished / "completions" / role / path.name).read_bytes()


def test_a_finished_run_owes_nothing(home, finished):
    printed = done(*COMMAND, "--plan", "--pilot", cwd=home)
    assert cells(printed, "samples owed") == [0, 0, 0]
    assert cells(printed, "tokens expected") == [0, 0, 0]
    assert "100.0% of the plan" in printed


def test_a_pilot_without_a_plan_is_refused(tmp_path):
    assert "--plan --pilot" in refusal(*COMMAND, "--pilot", cwd=tmp_path, code=2)


def in_process(run, *, pilot=False, watcher=None, **changes):
    asked = settings.resolve({**ASK, "problems": 1, "out": str(run), **changes})
    return stage.plan(Run(run), asked, watcher or Silent(), pilot=pilot)


def test_the_plan_that_was_asked_for_is_the_one_on_record_after_a_pilot(run):
    assert (Run(run).record().plan.ks, Run(run).record().plan.samples) == ((1, 4, 200), SAMPLES)


def test_a_pilot_that_fails_leaves_the_plan_that_was_asked_for(run):
    with pytest.raises(RgsupportError, match="cuda:63"):
        in_process(run, pilot=True, k="1,1000", engine="hf", device="cuda:63")
    assert (Run(run).record().plan.ks, Run(run).record().plan.samples) == ((1, 1000), 1000)


def test_what_the_run_would_refuse_the_plan_refuses(run):
    with pytest.raises(DriftError, match=r"temperature is 0\.6 in the run, 0\.7 was asked"):
        in_process(run, temperature=0.7)


def test_samples_that_an_interrupted_command_has_journaled_are_not_owed(run):
    before = {part.task: part for part in in_process(run).of("base")}
    identity = samples(run, "base").filter(pl.col("task") == "dice")["problem_id"][0]
    journal = Run(run).journal("base")
    for index, seed in ((7, sample_seed(run_seed=45, stream="base", problem_id=identity, sample_index=7)), (8, 1)):
        journal.append(Completion(identity, index, seed, "3", FinishReason.STOP, 5))
    after = {part.task: part for part in in_process(run).of("base")}
    assert after["dice"].owed == before["dice"].owed - 1  # the one with a foreign seed is not taken over
    assert after["graph_color"] == before["graph_color"]


def test_a_larger_budget_owes_only_what_is_added(run):
    assert {part.owed for part in in_process(run, k="1,300").parts} == {300 - PILOT}


def test_a_torn_shard_is_told_in_one_line(run):
    path = next((run / "completions" / "base").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StoreError, match="cannot read the samples in"):
        in_process(run)


class Recorder(Silent):
    """A watcher that keeps what it is told."""

    def __init__(self):
        self.told = []

    def note(self, line):
        self.told.append(line)

    @contextmanager
    def stage(self, title, *, total, unit):
        self.told.append((title, total, unit))
        yield self

    def advance(self, items, tokens=0):
        self.told.append((items, tokens))

    def skip(self, items):
        self.told.append(-items)


def timed(monkeypatch, events):
    """Return a stopwatch that saw progress (second, samples, tokens), and what it passed on."""
    now = [0]
    monkeypatch.setattr(stage.time, "monotonic", lambda: now[0])
    recorder = Recorder()
    stopwatch = stage.Stopwatch(recorder)
    with stopwatch.stage("sampling base (m)", total=9, unit="samples") as bar:
        for now[0], items, tokens in events:
            bar.advance(items, tokens)
        now[0] += 100
        bar.skip(1)
    stopwatch.note("a note")
    return stopwatch, recorder


def test_the_speed_is_taken_from_when_the_engine_is_ready_to_the_last_response(monkeypatch):
    events = [(1, 0, 0), (30, 0, 0), (32, 5, 100), (33, 0, 0), (40, 3, 100), (50, 0, 0)]
    stopwatch, recorder = timed(monkeypatch, events)
    assert stopwatch.speeds(processes=1) == {"base": 200 / (40 - 30)}
    assert stopwatch.speeds(processes=4) == {"base": 5.0}
    passed_on = [(items, tokens) for _, items, tokens in events]
    assert recorder.told == [("sampling base (m)", 9, "samples"), *passed_on, -1, "a note"]


def test_a_model_that_drew_nothing_has_no_speed(monkeypatch):
    stopwatch, _ = timed(monkeypatch, [(1, 0, 0)])
    assert stopwatch.speeds(processes=1) == {}
