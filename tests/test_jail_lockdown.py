"""What the kernel refuses a verifier, also when it goes round Python and its hooks."""

import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from rgsupport.jail import Jail, Job, Protections, Specification, protections
from rgsupport.types import Problem, Status

FOLDER = Path(__file__).parent / "data" / "lockdown"
HOLDS = protections()

if HOLDS.landlock is None or HOLDS.seccomp is False:
    pytest.skip(f"this machine's kernel does not lock processes down: {HOLDS}", allow_module_level=True)

THWARTED = (
    *("fork", "fork bomb", "execute", "signal the parent", "ask for the parent", "signal a bystander"),
    *("signal everyone", "signal a thread of the parent", "trace the parent", "leave the group"),
    *("leave the namespaces", "write here", "write to tmp", "write to memory", "write to the terminal"),
    *("write beside the task", "write at home", "remove", "rename", "link", "make a folder", "open up", "cut"),
    *("share memory", "a file in memory", "slow down others", "read a secret", "read accounts"),
    *("read the parent's environment", "read the parent's memory", "a socket", "a unix socket", "a packet socket"),
    *("io_uring", "much memory", "no secret in the environment"),
    *("lift the limits", "take privileges", "read a secret in another thread"),
)
WRITTEN = (Path("/tmp/rgsupport-attack"), Path("/dev/shm/rgsupport-attack"), FOLDER / "here.py", Path("here"))
READ = ("read what Python needs", "read what lies beside the task")
FATAL = {"leave at once": "exit code 7", "kill itself": "signal 9"}
if platform.machine() == "x86_64":
    FATAL["another set of numbers"] = "signal 31"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Result of every attack with good answers around each; what was to be harmed is as before."""
    folder = tmp_path_factory.mktemp("home")
    secret = folder / "token"
    secret.write_text("hunter2")
    secret.chmod(0o600)
    for path in WRITTEN:
        path.unlink(missing_ok=True)
    os.environ["RGSUPPORT_TEST_SECRET"] = "hunter2"
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    before = processes()
    at = {"folder": str(folder), "secret": str(secret), "bystander": bystander.pid}
    problem = Problem("attacks", "0" * 16, 0, json.dumps(at), None, "{}")
    answers = [answer for attack in (*THWARTED, *FATAL) for answer in ("right", attack, "wrong")]
    answers += READ
    with Jail(Specification(("attacks",), user_folder=FOLDER), time_limit=5.0) as jail:
        found = {r.key: r for r in jail.score([Job(key, problem, answer) for key, answer in enumerate(answers)])}
    after = processes()
    is_alive = bystander.poll() is None
    bystander.kill()
    bystander.wait()
    del os.environ["RGSUPPORT_TEST_SECRET"]
    assert is_alive
    assert after <= before
    assert [path.name for path in folder.iterdir()] == ["token"]
    assert (secret.read_text(), secret.stat().st_mode & 0o777) == ("hunter2", 0o600)
    return {answer: found[key] for key, answer in enumerate(answers) if answer not in ("right", "wrong")}, found


def processes():
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize("attack", THWARTED)
def test_what_a_verifier_tries_through_the_c_library_is_refused(results, attack):
    by_attack, _ = results
    assert by_attack[attack].status is Status.CORRECT, by_attack[attack].detail


@pytest.mark.parametrize("attack", FATAL)
def test_a_verifier_that_ends_its_process_or_calls_by_other_numbers_costs_its_own_answer(results, attack):
    by_attack, _ = results
    assert by_attack[attack].status is Status.ERROR
    assert FATAL[attack] in by_attack[attack].detail


def test_the_answers_beside_an_attack_are_scored_as_if_it_were_not_there(results):
    _, found = results
    n_attacks = len(THWARTED) + len(FATAL)
    assert [found[3 * place].status for place in range(n_attacks)] == [Status.CORRECT] * n_attacks
    assert [found[3 * place + 2].status for place in range(n_attacks)] == [Status.WRONG] * n_attacks


@pytest.mark.parametrize("what", READ)
def test_what_python_and_the_tasks_need_can_be_read(results, what):
    by_attack, _ = results
    assert by_attack[what].status is Status.CORRECT, by_attack[what].detail


def test_nothing_was_written_anywhere(results):
    assert results
    assert [path for path in WRITTEN if path.exists()] == []


def test_no_connection_reaches_a_server_that_waits_for_it(tmp_path):
    (tmp_path / "caller.py").write_text(
        "import socket\n"
        "class Caller:\n"
        "    name = 'caller'\n"
        "    def problems(self, *, count, seed): return ()\n"
        "    def score(self, problem, answer):\n"
        "        socket.create_connection(('127.0.0.1', int(answer)), timeout=2).close()\n"
        "        return 1.0\n"
        "TASKS = (Caller(),)\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        problem = Problem("caller", "0" * 16, 0, "", None, "{}")
        with Jail(Specification(("caller",), user_folder=tmp_path), workers=1) as jail:
            (result,) = jail.score([Job(0, problem, str(server.getsockname()[1]))])
        with pytest.raises(TimeoutError):
            server.accept()
    assert result.status is Status.ERROR
    assert "socket." in result.detail


def test_the_protections_that_are_told_are_those_that_a_process_really_got():
    assert Protections(landlock=HOLDS.landlock, seccomp=True, address_space=True) == HOLDS
    assert HOLDS.landlock >= 1
