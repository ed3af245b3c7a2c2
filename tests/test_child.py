import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress

import pytest

from rgsupport import child
from rgsupport.errors import EngineError, UsageError

SERVE = """
from rgsupport import child
from rgsupport.errors import UsageError
import gc, io, os, sys, time, warnings

def main(job, emit):
    {body}

child.serve(main)
"""


def call(folder, module, **job):
    return child.Call(module, job, folder / f"{module}.log", {"PYTHONPATH": str(folder)})


@pytest.fixture
def module(tmp_path):
    """Return a function that makes a child module with a body and runs it."""

    def start(body, **job):
        (tmp_path / "a_child_of_ours.py").write_text(SERVE.format(body=textwrap.indent(body, "    ").strip()))
        return child.run(call(tmp_path, "a_child_of_ours", **job))

    return start


def test_messages_arrive_in_order_and_the_job_as_it_was_given(module):
    messages = module("for i in range(job['n']): emit({'i': i, 'text': '\\ud800é\\n'})", n=3)
    assert [message["i"] for message in messages] == [0, 1, 2]


def test_what_libraries_print_never_mixes_with_messages(module, tmp_path):
    body = "print('noise'); os.write(1, b'more noise'); sys.stderr.write('and more'); emit({'ok': True})"
    assert list(module(body)) == [{"ok": True}]
    assert "more noise" in (tmp_path / "a_child_of_ours.log").read_text()


def test_a_users_mistake_in_the_child_is_raised_with_its_class_and_text(module):
    with pytest.raises(UsageError, match=r"^no task 'x'$"):
        list(module("raise UsageError(\"no task 'x'\")"))


def test_a_defect_of_the_child_is_an_engine_error_with_its_last_line_and_the_log(module, tmp_path):
    with pytest.raises(EngineError, match=r"ZeroDivisionError: division by zero") as error:
        list(module("1 / 0"))
    assert str(tmp_path / "a_child_of_ours.log") in str(error.value)
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
        for message in child.run(child.Call("sleeper", {{}}, Path("child.log"), path)):
            print(message["pid"], flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, cwd=tmp_path)
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until_gone(pid)


WITH_A_CHILD_OF_ITS_OWN = """
import subprocess
own = subprocess.Popen(["sleep", "600"])
emit({"pid": own.pid})
"""


@pytest.mark.parametrize("end", ["time.sleep(600)", "os.kill(os.getpid(), 9)", "return", "1 / 0"])
def test_what_a_child_started_is_gone_when_its_messages_end_however_they_end(module, end):
    messages = module(WITH_A_CHILD_OF_ITS_OWN + end)
    pid = next(messages)["pid"]
    if end == "time.sleep(600)":
        messages.close()
    else:
        with suppress(EngineError):
            list(messages)
    wait_until_gone(pid)


def test_what_a_child_started_dies_with_our_death(tmp_path):
    body = textwrap.indent(WITH_A_CHILD_OF_ITS_OWN + "time.sleep(600)", "    ").strip()
    (tmp_path / "sleeper.py").write_text(SERVE.format(body=body))
    parent = textwrap.dedent(f"""
        from pathlib import Path
        from rgsupport import child
        for message in child.run(child.Call("sleeper", {{}}, Path("child.log"), {{"PYTHONPATH": {str(tmp_path)!r}}})):
            print(message["pid"], flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, cwd=tmp_path)
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until_gone(pid)


def several(folder, bodies):
    for name, body in bodies.items():
        (folder / f"{name}.py").write_text(SERVE.format(body=textwrap.indent(body, "    ").strip()))
    return child.run_all([call(folder, name) for name in bodies])


def test_children_that_run_together_tell_their_messages_with_their_place(tmp_path):
    waits = "emit({'i': 0}); emit({'i': 1})"
    told = list(several(tmp_path, {"child_one": waits, "child_two": waits}))
    assert sorted((place, message["i"]) for place, message in told) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_child_that_fails_does_not_end_the_others(tmp_path):
    told = list(several(tmp_path, {"child_one": "1 / 0", "child_two": "time.sleep(1); emit({'i': 1})"}))
    (failure,) = [message for place, message in told if place == 0]
    assert isinstance(failure, EngineError)
    assert [message for place, message in told if place == 1] == [{"i": 1}]


def test_closing_the_messages_of_several_children_ends_them_all(tmp_path):
    body = "emit({'pid': os.getpid()}); time.sleep(600)"
    messages = several(tmp_path, {"child_one": body, "child_two": body})
    pids = [next(messages)[1]["pid"] for _ in range(2)]
    messages.close()
    assert not any(map(is_running, pids))


CUT_A_MESSAGE = """
(pipe,) = [f for f in gc.get_objects() if isinstance(f, io.FileIO) and f.mode == "wb" and f.fileno() > 2]
emit({"i": 1})
pipe.write(b'{"i": ')
os._exit(3)
"""


def test_a_message_that_a_death_cut_ends_in_an_obituary(module):
    with pytest.raises(EngineError, match="ended with exit code 3"):
        list(module(CUT_A_MESSAGE))


def test_the_death_of_one_of_several_children_is_told_whatever_it_left_in_its_pipe(tmp_path):
    told = list(several(tmp_path, {"child_one": CUT_A_MESSAGE, "child_two": "emit({'i': 1})"}))
    assert any(place == 0 and isinstance(message, EngineError) for place, message in told)
    assert (1, {"i": 1}) in told
