"""The whole line with a real server."""

import json
import subprocess
import time
from importlib.resources import files

import polars as pl
import pytest

from command import RGSUPPORT, done, environment, refusal
from vllm_server import VllmServer

pytestmark = pytest.mark.vllm

SECRET = "sk-this-must-never-be-stored"
MODELS = ("--base", "mini-base", "--rlvr", "mini-base")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = VllmServer(files("rgsupport") / "mini" / "base", folder=tmp_path_factory.mktemp("server"))
    made.start()
    yield made
    made.kill()


def command(server, *more):
    return (
        "run",
        "--server",
        server.url,
        *MODELS,
        "--tasks",
        "dice",
        "--problems",
        "20",
        "--k",
        "1,2,4",
        "--max-tokens",
        "100",
        *more,
    )


@pytest.fixture(scope="module")
def run(server, tmp_path_factory):
    """Return a run that was killed while it sampled, then finished by the same command."""
    folder = tmp_path_factory.mktemp("home")
    run = folder / "outputs/mini-base--mini-base"
    process = subprocess.Popen(
        [RGSUPPORT, *command(server)],
        cwd=folder,
        env=environment(OPENAI_API_KEY=SECRET),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 300
    while not any(path.stat().st_size > 2000 for path in run.glob("completions/base/journal-*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    done(*command(server), cwd=folder, OPENAI_API_KEY=SECRET)
    return run


def test_nothing_is_lost_or_there_twice_when_the_command_is_killed(run):
    problems = pl.read_parquet(run / "problems.parquet")["problem_id"]
    expected = sorted((problem, index) for problem in problems for index in range(4))
    for role in ("base", "rlvr"):
        frame = pl.concat([pl.read_parquet(path) for path in (run / "completions" / role).glob("*.parquet")])
        assert sorted(frame.select("problem_id", "sample_index").rows()) == expected
        assert set(frame["finish_reason"]) <= {"stop", "length"}
        assert (frame["n_tokens"] > 0).all()
    assert not list(run.rglob("journal-*"))


def test_the_record_says_what_the_server_is_and_does_not_honour_and_never_holds_the_key(run, server):
    facts = json.loads((run / "run.json").read_text())["models"]["base"]["facts"]
    assert facts["engine"] == "openai"
    assert facts["server"] == server.url
    assert facts["not_honoured"] == []
    assert "0.32" in facts["versions"]
    for path in run.parent.parent.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_the_same_command_again_samples_nothing(run, server):
    before = sorted((path, path.stat().st_mtime_ns) for path in run.glob("completions/*/*"))
    done(*command(server), cwd=run.parent.parent)
    assert sorted((path, path.stat().st_mtime_ns) for path in run.glob("completions/*/*")) == before


def test_a_model_that_is_not_served_and_a_server_that_is_not_there_are_one_line(server, tmp_path):
    more = ("--problems", "1", "--k", "1", "--tasks", "dice")
    asked = ("run", *more, "--base", "mini-rlvr", "--rlvr", "mini-rlvr")
    assert "mini/base" in refusal(*asked, "--server", server.url, cwd=tmp_path, code=1)
    line = refusal(*asked, "--server", "http://127.0.0.1:9/v1", "--out", "other", cwd=tmp_path, code=1)
    assert "http://127.0.0.1:9/v1" in line


def test_a_chat_server_gets_messages_and_needs_no_tokenizer_of_ours(server, tmp_path):
    name = str(files("rgsupport") / "mini" / "base")
    asked = ("run", "--server", server.url, "--api", "chat", "--base", name, "--rlvr", name, "--tasks", "dice")
    done(*asked, "--problems", "2", "--k", "1,2", "--max-tokens", "60", "--out", "run", cwd=tmp_path)
    facts = json.loads((tmp_path / "run/run.json").read_text())["models"]["base"]["facts"]
    assert facts["api"] == "chat"
    assert "template" not in facts
