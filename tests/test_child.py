import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from rgsupport import child
from rgsupport.errors import EngineError, UsageError

SERVE = """
from rgsupport import child
from rgsupport.errors import UsageError
import os, sys, time, warnings

def main(job, emit):
    {body}

child.serve(main)
"""


@pytest.fixture
def module(tmp_path):
    """Return a function that makes a child module with a body and runs it."""

    def start(body, **job):
        (tmp_path / "a_child_of_ours.py").write_text(SERVE.format(body=textwrap.indent(body, "    ").strip()))
        return child.run(
            "a_child_of_ours",
            job,
            log=tmp_path / "child.log",
            environment={"PYTHONPATH": str(tmp_path), "SECRET_X": "1"},
        )

    return start


def test_messages_arrive_in_order_and_the_job_as_it_was_given(module):
    messages = module("for i in range(job['n']): emit({'i': i, 'text': '\\ud800é\\n'})", n=3)
    assert [message["i"] for message in messages] == [0, 1, 2]


def test_what_libraries_print_never_mixes_with_messages(module, tmp_path):
    body = "print('noise'); os.write(1, b'more noise'); sys.stderr.write('and more'); emit({'ok': True})"
    assert list(module(body)) == [{"ok": True}]
    assert "more noise" in (tmp_path / "child.log").read_text()


def test_a_users_mistake_in_the_child_is_raised_with_its_class_and_text(module):
    with pytest.raises(UsageError, match=r"^no task 'x'$"):
        list(module("raise UsageError(\"no task 'x'\")"))


def test_a_defect_of_the_child_is_an_engine_error_with_its_last_line_and_the_log(module, tmp_path):
    with pytest.raises(EngineError, match=r"ZeroDivisionError: division by zero") as error:
        list(module("1 / 0"))
    assert str(tmp_path / "child.log") in str(error.value)
    assert "\n" not in str(error.value)


def test_a_killed_child_is_an_engine_error_that_names_the_signal(module):
    messages = module("emit({'pid': os.getpid()}); time.sleep(60)")
    os.kill(next(messages)["pid"], signal.SIGKILL)
    with pytest.raises(EngineError, match="SIGKILL"):
        next(messages)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_gone(pid):
    deadline = time.monotonic() + 20
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} lives on"
        time.sleep(0.05)


def test_closing_the_messages_ends_the_child(module):
    messages = module("emit({'pid': os.getpid()}); time.sleep(60)")
    pid = next(messages)["pid"]
    messages.close()
    assert not is_running(pid)


def test_a_child_dies_with_its_parent(tmp_path):
    (tmp_path / "sleeper.py").write_text(SERVE.format(body="emit({'pid': os.getpid()}); time.sleep(60)"))
    parent = textwrap.dedent(f"""
        from pathlib import Path
        from rgsupport import child
        path = {{"PYTHONPATH": {str(tmp_path)!r}}}
        for message in child.run("sleeper", {{}}, log=Path("child.log"), environment=path):
            print(message["pid"], flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, cwd=tmp_path)
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until_gone(pid)
