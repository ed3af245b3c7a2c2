import itertools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.errors import RgsupportError
from rgsupport.jail import MAX_ANSWER, Ask, Jail, Job, Specification, protections
from rgsupport.jail._wire import Kind, Record, RecordReader, WireError, encode_record
from rgsupport.types import Problem, Status

FOLDER = Path(__file__).parent / "data" / "jail"
SPECIFICATION = Specification(("misbehaving",), user_folder=FOLDER)
PROBLEM = Problem("misbehaving", "0" * 16, 0, "What?", None, "{}")

CORRECT, WRONG, TIMEOUT, ERROR = Status.CORRECT, Status.WRONG, Status.TIMEOUT, Status.ERROR

OUTCOMES = {
    "hang": (TIMEOUT, "no score within"),
    "sleep": (TIMEOUT, "no score within"),
    "raise": (ERROR, "KeyError: 'no such colour'"),
    "unprintable": (ERROR, "cannot be described"),
    "exit": (ERROR, "SystemExit"),
    "interrupt": (ERROR, "KeyboardInterrupt"),
    "exit at once": (ERROR, "exit code 7"),
    "abort": (ERROR, f"signal {signal.SIGABRT:d}"),
    "memory": (ERROR, "MemoryError"),
    "recursion": (ERROR, "RecursionError"),
    "nan": (ERROR, "returned float, not a finite number"),
    "infinity": (ERROR, "returned float, not a finite number"),
    "text": (ERROR, "returned str, not a finite number"),
    "nothing": (ERROR, "returned NoneType, not a finite number"),
    "unknown": (ERROR, "KeyError"),
    "babble": (ERROR, "sent a record with a size, kind or text that cannot be"),
    "flood": (ERROR, "sent a"),
    "close pipes": (ERROR, "process"),
    "write": (ERROR, "open"),
    "touch": (ERROR, "os.system"),
    "remove": (ERROR, "os.remove"),
    "kill parent": (ERROR, "os.kill"),
    "process": (ERROR, "subprocess.Popen"),
    "fork": (ERROR, "os.fork"),
    # Where the kernel lets no thread start, none is left running.
    "thread": (CORRECT, "") if protections().seccomp else (ERROR, "a thread left running"),
    "network": (ERROR, "socket."),
    "raise limits": (ERROR, "resource.setrlimit"),
    "x" * (MAX_ANSWER + 1): (ERROR, "10001 characters"),
    "almost": (WRONG, ""),
    "rounded": (CORRECT, ""),
    "true": (CORRECT, ""),
    "chatter": (CORRECT, ""),
    "joined thread": (CORRECT, ""),
    "no secrets": (CORRECT, ""),
    "no input": (CORRECT, ""),
    "empty directory": (CORRECT, ""),
    "own session": (CORRECT, ""),
    "fixed hashes": (CORRECT, ""),
    "\0": (CORRECT, ""),
    "\ud800": (CORRECT, ""),
}
if sys.platform == "linux":
    OUTCOMES["few descriptors"] = (CORRECT, "")


def jobs_of(answers, *, ask=Ask.AS_IS):
    return [Job(key, PROBLEM, answer, ask) for key, answer in enumerate(answers)]


def is_running(pid):
    try:
        os.kill(pid, 0)
        # Where nobody reaps orphans, a dead one stays as a zombie.
        return not (sys.platform == "linux" and ") Z " in Path(f"/proc/{pid}/stat").read_text())
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.fixture(scope="module")
def jail():
    os.environ["RGSUPPORT_TEST_SECRET"] = "hunter2"
    with Jail(SPECIFICATION, time_limit=3.0) as jail:
        yield jail
    del os.environ["RGSUPPORT_TEST_SECRET"]


@pytest.fixture(scope="module")
def results(jail):
    """Results of every misbehaviour with good answers around each, all in one go."""
    answers = [answer for bad in OUTCOMES for answer in ("right", bad, "wrong")]
    results = {}
    for result in jail.score(jobs_of(answers)):
        assert result.key not in results
        results[result.key] = result
    assert sorted(results) == list(range(len(answers)))
    return [results[key] for key in range(len(answers))]


@pytest.mark.parametrize("place", range(len(OUTCOMES)), ids=[ascii(answer[:20]) for answer in OUTCOMES])
def test_whatever_a_verifier_does_is_a_status_of_that_answer(results, place):
    answer, (status, detail) = list(OUTCOMES.items())[place]
    result = results[3 * place + 1]
    assert (result.status, result.answer) == (status, answer)
    assert detail in result.detail
    assert (result.score is None) == (status in (ERROR, TIMEOUT))


def test_answers_beside_a_misbehaving_one_are_scored_as_if_it_were_not_there(results):
    assert {result.status for result in results[::3]} == {CORRECT}
    assert {result.status for result in results[2::3]} == {WRONG}


def test_partial_credit_keeps_its_score_and_is_wrong(results):
    result = results[3 * list(OUTCOMES).index("almost") + 1]
    assert (result.status, result.score) == (WRONG, 1 - 1e-6)


def test_nothing_a_verifier_tried_to_do_to_files_was_done(results):
    assert results
    assert sorted(path.name for path in FOLDER.glob("*.py")) == ["misbehaving.py"]
    assert not (FOLDER / "here").exists()
    assert not Path("here").exists()


def test_what_hangs_is_stopped_within_a_second_of_the_limit():
    with Jail(SPECIFICATION, workers=1, time_limit=0.5) as jail:
        times = {}
        for result in jail.score(jobs_of(["right", "hang", "right", "sleep"])):
            times[result.key] = time.monotonic()
    # A worker's start lies between the two, so only the first can be told from outside.
    assert times[1] - times[0] < 0.5 + 1.0


def test_a_forged_record_changes_no_other_answer(jail):
    answers = ["right", "forge", "right", "right", "wrong", "right"] * 3
    statuses = {result.key: result.status for result in jail.score(jobs_of(answers))}
    assert len(statuses) == len(answers)
    for key, answer in enumerate(answers):
        if answer != "forge":
            assert statuses[key] == Status(answer.replace("right", "correct"))


@pytest.mark.parametrize(
    ("answer", "status", "text", "detail"),
    [
        ("normalise: same", None, "normalise: same", ""),
        ("normalise: other", CORRECT, "right", ""),
        ("normalise: surrogate", CORRECT, "\ud800", ""),
        ("normalise: hang", TIMEOUT, "normalise: hang", "no score within"),
        ("normalise: raise", ERROR, "normalise: raise", "ValueError: unreadable"),
        ("normalise: number", ERROR, "normalise: number", "returned int, not a text"),
        ("normalise: endless", ERROR, "normalise: endless", "20000 characters"),
    ],
)
def test_normalising_happens_in_the_jail_and_an_unchanged_answer_is_not_scored(jail, answer, status, text, detail):
    (result,) = jail.score(jobs_of([answer], ask=Ask.NORMALISED))
    assert (result.status, result.answer) == (status, text)
    assert detail in result.detail


@pytest.mark.parametrize(
    ("answer", "status", "detail"),
    [
        ("right", CORRECT, ""),
        ("wrong", WRONG, ""),
        ("number", ERROR, "check returned int, not a bool"),
        ("hang", TIMEOUT, "no score within"),
        ("kill", ERROR, "exit code 7"),
        ("files", ERROR, "may not do this: open"),
        ("unknown", ERROR, "KeyError"),
    ],
)
def test_a_tasks_own_checker_is_asked_in_the_jail_too(jail, answer, status, detail):
    (result,) = jail.score(jobs_of([answer], ask=Ask.CHECKED))
    assert (result.status, result.answer) == (status, answer)
    assert detail in result.detail


@pytest.mark.parametrize(
    ("question", "status", "text"),
    [("fine", CORRECT, ""), ("doubted", WRONG, "wrong reference: it is not so"), ("number", ERROR, "")],
)
def test_a_doubt_comes_back_as_one_line_in_place_of_the_answer(jail, question, status, text):
    problem = replace(PROBLEM, question=question)
    (result,) = jail.score([Job(0, problem, "", Ask.DOUBT)])
    assert (result.status, result.answer) == (status, text)


def test_jobs_are_drawn_lazily_and_a_caller_may_stop_early(jail):
    drawn = 0

    def endless():
        nonlocal drawn
        for key in itertools.count():
            drawn = key + 1
            yield Job(key, PROBLEM, "right" if key < 100 else "sleep")

    scoring = jail.score(endless())
    taken = [next(scoring) for _ in range(50)]
    assert all(result.status is CORRECT for result in taken)
    assert drawn <= 50 + 2 * 2 * 256
    scoring.close()
    assert [result.status for result in jail.score(jobs_of(["right"]))] == [CORRECT]


def test_an_error_of_the_caller_leaves_the_jail_usable(jail):
    def broken():
        yield Job(0, PROBLEM, "right")
        raise LookupError

    with pytest.raises(LookupError):
        list(jail.score(broken()))
    assert [result.status for result in jail.score(jobs_of(["wrong"]))] == [WRONG]


def test_a_jail_scores_one_thing_at_a_time_and_only_while_open(jail):
    scoring = jail.score(jobs_of(["right"] * 1000))
    next(scoring)
    with pytest.raises(RuntimeError, match="one iterable"):
        next(jail.score(jobs_of(["right"])))
    scoring.close()
    with pytest.raises(RuntimeError, match="inside its context"):
        next(Jail(SPECIFICATION).score(jobs_of(["right"])))


def test_a_worker_killed_from_outside_costs_no_answer(jail):
    for pid in jail.pids:
        os.kill(pid, signal.SIGKILL)
    assert {result.status for result in jail.score(jobs_of(["right"] * 500))} == {CORRECT}
    scoring = jail.score(jobs_of(["right"] * 20_000))
    statuses = [next(scoring).status]
    for pid in jail.pids:
        os.kill(pid, signal.SIGKILL)
    statuses += [result.status for result in scoring]
    assert statuses == [CORRECT] * 20_000


def test_no_process_is_left_after_the_context(results):
    assert results
    with Jail(SPECIFICATION, time_limit=100, workers=3) as jail:
        scoring = jail.score(jobs_of(["right", *["hang"] * 100]))
        next(scoring)
        pids = jail.pids
        assert len(pids) == 3
        assert all(is_running(pid) for pid in pids)
    assert not any(is_running(pid) for pid in pids)


def test_workers_die_with_a_parent_that_is_killed(tmp_path):
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_jail import SPECIFICATION, Jail, jobs_of

with Jail(SPECIFICATION, time_limit=1000) as jail:
    scoring = jail.score(jobs_of(["right", *["hang"] * 100]))
    next(scoring)
    print(*jail.pids, flush=True)
    next(scoring)
"""
    # A killed parent leaves its empty directory behind: not among everybody's temporary files.
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert all(is_running(pid) for pid in pids)
        parent.kill()
    give_up = time.monotonic() + 60
    while any(is_running(pid) for pid in pids) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in pids)


def test_tasks_that_cannot_be_loaded_are_one_line(tmp_path):
    (tmp_path / "dies.py").write_text("import os\nTASKS = os._exit(3)\n")
    for names, folder, message in [
        (("graph_colour",), None, "cannot load its tasks: no task 'graph_colour'.*graph_color"),
        (("dies",), tmp_path, "end before they have loaded their tasks: .*exit code 3"),
    ]:
        with (
            Jail(Specification(names, user_folder=folder), workers=1) as jail,
            pytest.raises(RgsupportError, match=message) as caught,
        ):
            list(jail.score(jobs_of(["right"])))
        assert "\n" not in str(caught.value)


RECORDS = st.builds(
    Record,
    st.sampled_from(Kind),
    st.integers(0, 2**32 - 1),
    st.floats(allow_nan=False),
    st.none() | st.text(st.characters(), max_size=20),
    st.text(st.characters(), max_size=20),
)


@given(st.lists(RECORDS, max_size=5), st.integers(1, 40))
def test_records_survive_the_pipe_however_it_is_cut(records, size):
    data = b"".join(encode_record(record) for record in records)
    reader = RecordReader()
    read = [record for at in range(0, len(data), size) for record in reader.feed(data[at : at + size])]
    assert read == records


@given(st.binary(max_size=200))
def test_any_bytes_are_records_or_refused(data):
    reader = RecordReader()
    assert all(isinstance(record.kind, Kind) for record in reader.feed(data))


@pytest.mark.parametrize("rubbish", [b"\xff" * 100, encode_record(Record(Kind.SCORED, detail="x"))[:-1] + b"\xff"])
@pytest.mark.parametrize("size", [1, 10_000])
def test_what_is_no_record_does_not_undo_the_records_before_it(rubbish, size):
    good = [Record(Kind.READY), Record(Kind.UNCHANGED, 0)]
    data = b"".join(map(encode_record, good)) + rubbish
    reader = RecordReader()
    reader.check()
    found = [record for at in range(0, len(data), size) for record in reader.feed(data[at : at + size])]
    assert [record.kind for record in found] == [Kind.READY, Kind.UNCHANGED]
    assert reader.feed(encode_record(good[0])) == []
    with pytest.raises(WireError, match="size, kind or text"):
        reader.check()
