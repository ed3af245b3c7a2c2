"""Hostile answers to every dataset of Reasoning Gym whose verifier is known to execute, hang, overflow or raise.

Right answers stand between them. Nothing may be left behind, no hostile answer be correct, no right answer suffer.
"""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from rgsupport import codec
from rgsupport.jail import MAX_ANSWER, Jail, Job, Specification
from rgsupport.reasoning_gym import default_task
from rgsupport.types import Status
from right_answers import right_answer

LIMIT = 2.0  # seconds; the first answer to a symbolic dataset imports what it needs, on a busy machine, too
SYMBOLIC = ("countdown", "puzzle24", "polynomial_multiplication", "simple_integration", "intermediate_integration")
EXECUTE = ("binary_matrix", "n_queens", "spiral_matrix", "string_insertion", *SYMBOLIC)
RAISE = ("boxnet", "codeio", "game_of_life", "prime_factorization", "propositional_logic", "rubiks_cube", "composite")
OS = '__import__("os")'
SIGNAL = f"{OS}.kill({OS}.getppid(), {int(signal.SIGUSR1)})"
# To every dataset. Where the verifier executes it, each costs a worker, and a new one takes a second to start.
COSTLY = (f'{OS}.system("touch touched FOLDER/touched")', f"{OS}._exit(7)", SIGNAL, "9**9**9")
# To one dataset that executes each.
ROTATING = (
    "open('FOLDER/opened', 'w')",
    f"{OS}.kill({OS}.getpid(), 9)",
    f"{OS}.killpg(0, 9)",
    f"[{OS}.fork() for _ in range(100)]",
    '__import__("socket").socket()',
    '__import__("subprocess").Popen(["sleep", "1000"])',
    f'open("/proc/%d/environ" % {OS}.getppid()).read()',
    '__import__("shutil").rmtree("FOLDER")',
    '__import__("_thread").start_new_thread(print, ())',
)
# To one of the symbolic datasets each.
ENDLESS = ("10**10**10", "factorial(10**8)", "1e999999999", "1e-999999999", "+".join(f"(x+{n})**9" for n in range(900)))
CHEAP = (
    *("exit()", '__import__("sys").exit()', 'raise SystemExit("0")'),
    *("[0]*10**9", '"a"*10**10', "0," * (MAX_ANSWER // 2)),
    *('{"a":' * 1000 + "1" + "}" * 1000, "(" * 2000 + "p" + ")" * 2000, "[" * 4000 + "]" * 4000, "[" * MAX_ANSWER),
    *("1\n" * 4000, "U " * (MAX_ANSWER // 2), "U " * 200_000, "9" * MAX_ANSWER, "9" * (MAX_ANSWER + 1)),
    *("NaN", "None", "null", "5", "", " ", "\ud800", "\0", "36.", "2 x 2 x 3", "2^2 × 3", '{"a":1}', "[[1]]"),
    *('[{"Agent[0.5, 0.5]": 5}]', '[{"Agent[0.5, 0.5]": "move(box_red, square[-0.5, 0.5])"}]'),
)


class ClockedJail(Jail):
    """A jail that keeps which processes it started, where, and how long each worker was silent when it was stopped."""

    def __enter__(self):
        self.seen, self.silences = set(), []
        super().__enter__()
        self.folder = self._folder.name
        return self

    def _start(self):
        worker = super()._start()
        self.seen.add(worker.pid)
        return worker

    def _bury(self, worker, work, *, status=Status.ERROR, **rest):
        results = super()._bury(worker, work, status=status, **rest)
        if status is Status.TIMEOUT:
            self.silences.append(time.monotonic() - worker.since)
        return results


def answers_to(name):
    """Return hostile answers to a dataset; None stands for its right one."""
    if name not in EXECUTE:
        hostile = [*COSTLY, *ROTATING, *ENDLESS, *CHEAP]
        return [text for one in hostile for text in (None, one)] + [None]
    touch, leave, signals, endless = COSTLY
    mine = ROTATING[EXECUTE.index(name)]
    more = [ENDLESS[SYMBOLIC.index(name)], None] if name in SYMBOLIC else []
    cheap = [text for one in CHEAP for text in (one, None)]
    return [None, touch, leave, None, signals, mine, None, endless, None, *more, *cheap]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """Return (dataset, answer, whether it is the right one, result) of all, the folder attacked, the jail, signals."""
    folder = tmp_path_factory.mktemp("attacked")
    problems = {name: default_task(name).problems(count=1, seed=45)[0] for name in (*EXECUTE, *RAISE)}
    right = {name: right_answer(codec.decode(problem.entry)) for name, problem in problems.items()}
    asked = [(name, text) for name in problems for text in answers_to(name)]
    jobs = [
        Job(key, problems[name], right[name] if text is None else text.replace("FOLDER", str(folder)))
        for key, (name, text) in enumerate(asked)
    ]
    signals = []
    handler = signal.signal(signal.SIGUSR1, lambda number, _: signals.append(number))
    with ClockedJail(Specification(tuple(problems)), workers=2, time_limit=LIMIT) as jail:
        found = {result.key: result for result in jail.score(jobs)}
        running = {child.pid for child in psutil.Process().children(recursive=True)} & jail.seen
        assert running == set(jail.pids), "no worker that was replaced is left"
    signal.signal(signal.SIGUSR1, handler)
    results = [(name, text, found[key]) for key, (name, text) in enumerate(asked)]
    return results, folder, jail, signals


def test_no_hostile_answer_is_correct(attacked):
    results, *_ = attacked
    assert [(name, text[:60]) for name, text, r in results if text is not None and r.status is Status.CORRECT] == []


def test_the_right_answers_beside_them_are_right(attacked):
    results, *_ = attacked
    assert [(name, r) for name, text, r in results if text is None and r.status is not Status.CORRECT] == []


def test_every_dataset_was_asked_and_every_answer_got_one_result(attacked):
    results, *_ = attacked
    assert {name for name, _, _ in results} == {*EXECUTE, *RAISE}
    assert all(sum(text is not None for dataset, text, _ in results if dataset == name) >= 35 for name in EXECUTE)


def test_no_file_was_written_or_removed(attacked):
    _, folder, *_ = attacked
    assert list(folder.iterdir()) == []
    assert not Path("touched").exists()


def test_no_signal_reached_the_parent(attacked):
    *_, signals = attacked
    assert signals == []


def test_no_process_is_left_in_the_sessions_or_the_folder_of_the_jail(attacked):
    *_, jail, _ = attacked
    left = []
    for process in psutil.process_iter():
        try:
            groups = {os.getsid(process.pid), os.getpgid(process.pid)}
            if groups & jail.seen or process.cwd().startswith(jail.folder):
                left.append(process)
        except (psutil.Error, ProcessLookupError):  # it ended meanwhile, or is the system's
            continue
    assert left == []
    assert not Path(jail.folder).exists()


def test_what_hangs_is_stopped_within_a_second_of_the_limit(attacked):
    results, _, jail, _ = attacked
    late = [(name, text) for name, text, r in results if r.status is Status.TIMEOUT]
    assert {(name, "9**9**9") for name in EXECUTE[:4]} <= set(late)
    assert len(jail.silences) == len(late)
    assert max(jail.silences) <= LIMIT + 1


@pytest.mark.parametrize("name", EXECUTE)
def test_code_that_a_verifier_executes_is_refused_by_name(attacked, name):
    results, *_ = attacked
    details = {text: r.detail for dataset, text, r in results if dataset == name}
    assert details[COSTLY[0]] == "a verifier may not do this: os.system"
    assert details[SIGNAL] == "a verifier may not do this: os.kill"
    assert "exit code 7" in details[COSTLY[1]]


@pytest.mark.parametrize(
    ("name", "text", "status", "words"),
    [
        *((name, "exit()", Status.ERROR, "SystemExit") for name in EXECUTE[:4]),
        *((name, "[0]*10**9", Status.WRONG, "") for name in ("n_queens", "string_insertion")),
        ("propositional_logic", "(" * 2000 + "p" + ")" * 2000, Status.ERROR, "RecursionError"),
        ("codeio", '{"a":' * 1000 + "1" + "}" * 1000, Status.ERROR, "RecursionError"),
        ("prime_factorization", "2 x 2 x 3", Status.WRONG, ""),
        ("boxnet", "5", Status.WRONG, ""),
        ("rubiks_cube", "U " * 200_000, Status.ERROR, "400000 characters"),
        ("rubiks_cube", "9" * (MAX_ANSWER + 1), Status.ERROR, "10001 characters"),
    ],
)
def test_what_a_verifier_did_with_a_hostile_answer_is_told(attacked, name, text, status, words):
    results, *_ = attacked
    (result,) = [r for dataset, asked, r in results if (dataset, asked) == (name, text)]
    assert result.status is status
    assert words in result.detail
