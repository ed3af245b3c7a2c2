"""`rgsupport doctor`: each thing that can be amiss is made so, and the line that says what to do is looked for."""

import json
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from command import done, refusal, rgsupport
from rgsupport.doctor import Level, _machine, as_json, examine, understand
from rgsupport.doctor._jail import check_jail, describe
from rgsupport.doctor._machine import (
    TorchBuild,
    check_engine,
    check_gpus,
    check_memory,
    check_vllm,
    judge_gpus,
    judge_torch,
)
from rgsupport.doctor._models import check_models, lacking
from rgsupport.doctor._places import check_disk, check_folder
from rgsupport.doctor._servers import check_servers
from rgsupport.engines import Engine
from rgsupport.errors import UsageError
from rgsupport.hardware import Gpu
from rgsupport.jail import Protections, protections
from rgsupport.models import find
from test_hardware import TWO, install_nvidia_smi

HF = Engine(name="hf", device="cpu")
SECRET = "sk-not-to-be-shown"
GIB = 1 << 30
H200 = Gpu(0, "NVIDIA H200", 140 * GIB, 139 * GIB, "570.86")
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}


def levels(checks):
    return [str(check.level) for check in checks]


def only(checks, level):
    """Return the one finding of a level, which has a remedy."""
    (check,) = [check for check in checks if check.level == level]
    assert check.remedy
    return check


def models(base, rlvr="mini-rlvr", *, engine=HF, offline=True, allow_unequal=()):
    return list(check_models({"base": str(base), "rlvr": str(rlvr)}, engine, allow_unequal, offline=offline))


@pytest.fixture
def folder(tmp_path):
    """Return a copy of a model that a test may damage."""
    return shutil.copytree(find("mini-base").location, tmp_path / "model")


def test_a_machine_that_can_run_has_no_problem_and_exit_code_0(tmp_path):
    lines = done("doctor", cwd=tmp_path, **NO_GPU).splitlines()
    assert all(line.startswith(("ok ", "note ", "         to do:")) for line in lines[:-1])
    assert lines[-1].startswith("0 problems, ")
    for topic in (
        "python",
        "torch",
        "vllm",
        "GPUs",
        "engine",
        "base model",
        "rlvr model",
        "memory",
        "disk",
        "run folder",
    ):
        assert any(topic in line for line in lines), topic
    assert not list(tmp_path.iterdir())


def test_every_problem_is_told_with_what_to_do_and_the_exit_code_is_1(tmp_path):
    (tmp_path / "file").touch()
    result = rgsupport(
        "doctor", "--base", "./nowhere", "--rlvr", "owner/no-such-model", "--out", "file/run", "--gpus", "900",
        "--json",
        cwd=tmp_path, **NO_GPU,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (1, "")
    told = json.loads(result.stdout)
    problems = {check["topic"]: check for check in told["checks"] if check["level"] == "problem"}
    assert problems.keys() == {"base model", "rlvr model", "run folder", "--gpus"}
    assert told["problems"] == 4
    assert all(check["remedy"] for check in problems.values())
    assert "./nowhere" in problems["base model"]["found"]
    assert "hf download owner/no-such-model" in problems["rlvr model"]["remedy"]


def test_a_mistake_in_the_question_is_one_line_with_exit_code_2(tmp_path):
    assert "did you mean vllm" in refusal("doctor", "--engine", "vlm", cwd=tmp_path, code=2)


def test_a_file_of_options_is_understood_and_the_command_line_wins(tmp_path):
    asked = understand({"base": "a", "rlvr": "b", "engine": "hf", "out": "~/x", "tasks": ["dice"], "k": None})
    assert (asked.models, asked.engine.name) == ({"base": "a", "rlvr": "b"}, "hf")
    assert "~" not in str(asked.out)
    (tmp_path / "study.toml").write_text('base = "a/b"\nrlvr = "./nowhere"\nengine = "hf"\n')
    result = rgsupport("doctor", "--config", "study.toml", "--base", "mini-base", cwd=tmp_path, **NO_GPU)
    assert result.returncode == 1
    assert "./nowhere" in result.stdout
    assert "a/b" not in result.stdout


def test_a_look_that_fails_unexpectedly_is_a_problem_and_the_others_go_on(folder, tmp_path):
    (folder / "model.safetensors.index.json").write_text("[")
    asked = understand({"base": str(folder), "engine": "hf", "out": str(tmp_path)})
    checks = list(examine(asked))
    assert only(checks, Level.PROBLEM).topic == "models"
    assert "JSONDecodeError" in only(checks, Level.PROBLEM).found
    assert checks[-1].topic == "run folder"
    assert json.loads(as_json(checks))["problems"] == 1


# Packages, GPUs, torch, memory


@pytest.mark.parametrize(("at_least", "level"), [("0.0.1", "ok"), ("9999.1", "problem")])
def test_a_package_that_is_too_old_comes_with_the_command_that_mends_it(at_least, level, monkeypatch):
    monkeypatch.setattr(_machine.metadata, "requires", lambda _: [f"polars>={at_least}", "x>=1; extra == 'vllm'"])
    check = list(_machine.check_packages())[-1]
    assert (check.topic, check.level) == ("polars", level)
    assert ("pip install --upgrade 'polars>=9999.1'" in check.remedy) == (level == "problem")


def test_a_missing_package_is_a_problem(monkeypatch):
    monkeypatch.setattr(_machine.metadata, "requires", lambda _: ["no-such-package>=1.0"])
    assert "not installed" in only(_machine.check_packages(), "problem").found


def test_our_own_requirements_are_met_and_shown():
    checks = list(_machine.check_packages())
    assert set(levels(checks)) == {"ok"}
    assert pl.__version__ in {check.found for check in checks}


def test_vllm_is_missed_where_it_was_asked_for_or_would_help(tmp_path, monkeypatch):
    monkeypatch.setattr(_machine, "has_module", lambda _: False)
    assert "--engine hf" in only(check_vllm(Engine(name="vllm")), "problem").remedy
    assert levels(check_vllm(HF)) == ["ok"]
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO)
    assert "pip install vllm" in only(check_vllm(HF), "note").remedy


def test_gpus_that_are_not_there_are_a_problem(tmp_path, monkeypatch):
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO)
    check = only(check_gpus(Engine(name="vllm", gpus=(3,))), "problem")
    assert check.found == "--gpus 3: this machine has the GPUs 0, 1"
    assert levels(check_gpus(Engine(name="vllm", gpus=(0,)))) == ["ok", "note"]  # of the second little is free


def test_what_the_gpus_mean_for_a_run():
    (check,) = judge_gpus([H200], hidden_by=None, needed=True)
    assert (check.level, check.found) == ("ok", "NVIDIA H200, 149 GB of 150 GB free, driver 570.86")
    busy = Gpu(1, "NVIDIA H200", 140 * GIB, 69 * GIB, "570.86")
    assert "--gpus" in only(judge_gpus([H200, busy], hidden_by=None, needed=True), "note").remedy
    assert levels(judge_gpus([Gpu(0, "NVIDIA GB10", None, None, "580")], hidden_by=None, needed=True)) == ["ok"]
    assert "nvidia-smi" in only(judge_gpus([], hidden_by=None, needed=True), "note").remedy
    assert "unset CUDA_VISIBLE_DEVICES" in only(judge_gpus([], hidden_by="", needed=True), "note").remedy
    assert levels(judge_gpus([], hidden_by=None, needed=False)) == ["ok"]


def test_a_torch_that_cannot_use_the_gpus_is_a_problem():
    without = judge_torch(TorchBuild("2.13.0+cpu", None, 0), n_gpus=2, needed=True)
    assert (without.level, "pip install torch" in without.remedy) == ("problem", True)
    too_new = judge_torch(TorchBuild("2.13.0", "13.0", 0), n_gpus=2, needed=True)
    assert (too_new.level, "driver" in too_new.remedy) == ("problem", True)
    assert judge_torch(TorchBuild("2.13.0", "13.0", 2), n_gpus=2, needed=True).level == "ok"
    assert judge_torch(TorchBuild("2.13.0+cpu", None, 0), n_gpus=0, needed=True).level == "ok"
    assert judge_torch(TorchBuild("2.13.0+cpu", None, 0), n_gpus=2, needed=False).level == "ok"


def test_more_gpus_than_this_torch_sees_are_noticed_for_real(tmp_path, monkeypatch):
    many = "".join(f"{index}, NVIDIA H200, 143771, 143125, 570.86\n" for index in range(64))
    install_nvidia_smi(tmp_path, monkeypatch, prints=many)
    assert "64" in only(_machine.check_torch(Engine(name="hf")), "problem").found


def test_a_torch_that_cannot_be_imported_is_a_problem_with_its_last_words(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "libcudart.so.12" in only(_machine.check_torch(HF), "problem").found


def test_the_engine_is_named_with_where_it_runs(tmp_path, monkeypatch):
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO)
    assert only(check_engine(Engine(name="vllm")), "note").remedy.startswith("--gpus 0,1 ")
    assert [check.found for check in check_engine(Engine(name="vllm", gpus=(0, 1)))] == ["vllm on GPUs 0, 1"]
    assert [check.found for check in check_engine(HF)] == ["hf on cpu"]


@pytest.mark.parametrize(("free", "level"), [(3e9, "note"), (5e9, "ok")])
def test_little_memory_is_noted(free, level, monkeypatch):
    monkeypatch.setattr(_machine, "available_memory", lambda: free)
    assert levels(check_memory()) == [level]


# Places


@pytest.mark.parametrize(("free", "level"), [(0.9e9, "problem"), (19e9, "note"), (21e9, "ok")])
def test_room_on_the_disk_is_judged_where_the_run_would_lie(free, level, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or type("Usage", (), {"free": free}))
    assert levels(check_disk(tmp_path / "not" / "yet")) == [level]
    assert asked == [tmp_path]


def test_a_folder_is_tried_and_nothing_is_left_behind(tmp_path):
    assert levels(check_folder(tmp_path / "not" / "yet")) == ["ok"]
    assert not list(tmp_path.iterdir())


def test_a_run_below_a_file_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    assert "is a file" in only(check_folder(tmp_path / "file" / "run"), "problem").found


def test_a_folder_that_takes_no_files_is_a_problem():
    assert "cannot write" in only(check_folder(_machine.Path("/proc/no/run")), "problem").found


def test_a_file_system_without_hard_links_is_noted(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr("os.link", refuse)
    assert "no hard links" in only(check_folder(tmp_path), "note").found


# Models


def test_the_miniature_pair_is_complete_and_equal():
    checks = models("mini-base")
    assert levels(checks) == ["ok", "ok", "ok"]
    assert "context 2,048 tokens" in checks[0].found
    assert "float32" in checks[0].found


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_says_which(folder, name):
    (folder / name).unlink()
    assert name.removeprefix("model") in only(models(folder), "problem").found


def test_every_file_of_the_index_has_to_be_there(folder):
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    assert lacking(folder, weights=True) == ["model-2.safetensors"]
    assert lacking(folder, weights=False) == []


def test_a_pointer_of_git_lfs_is_no_weights(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    assert "git lfs pull" in only(models(folder), "problem").found


def test_training_leftovers_are_no_weights(folder):
    (folder / "model.safetensors").rename(folder / "training_args.bin")
    assert lacking(folder, weights=True) == ["weights (*.safetensors)"]


def test_a_server_needs_no_weights_here(folder):
    (folder / "model.safetensors").unlink()
    engine = Engine(name="openai", servers=("http://localhost:1/v1",))
    assert levels(models(folder, engine=engine)) == ["ok", "ok", "ok"]


def test_unequal_templates_are_a_problem_unless_they_are_allowed(folder):
    (folder / "chat_template.jinja").write_text("{{ bos_token }}{{ messages[-1].content }}")
    assert "--allow-unequal template" in only(models(folder), "problem").remedy
    assert levels(models(folder, allow_unequal=("template",))) == ["ok", "ok", "ok"]


def test_unequal_contexts_are_noted(folder):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "max_position_embeddings": 1024}))
    check = only(models(folder), "note")
    assert check.found == "contexts differ: base holds 1,024 tokens, RLVR 2,048"
    assert "--max-tokens" in check.remedy


def test_a_model_that_does_not_fit_into_memory_is_a_problem(monkeypatch):
    monkeypatch.setattr("rgsupport.doctor._models.available_memory", lambda: 1_000_000)
    assert {check.found for check in models("mini-base") if check.level == "problem"} == {
        "its weights take 3.7 MB as float32, but 1.0 MB of memory are free"
    }


def cache(tmp_path, monkeypatch, source, *, names):
    """Make a hub cache that holds some files of owner/name."""
    snapshot = tmp_path / "models--owner--name" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    for name in names:
        shutil.copy(source / name, snapshot)
    (tmp_path / "models--owner--name" / "refs").mkdir()
    (tmp_path / "models--owner--name" / "refs" / "main").write_text("a" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))


def test_a_hub_model_in_the_cache_is_as_good_as_a_folder(folder, tmp_path, monkeypatch):
    cache(tmp_path, monkeypatch, folder, names=[path.name for path in folder.iterdir()])
    checks = models("owner/name")
    assert levels(checks) == ["ok", "ok", "ok"]
    assert "complete in the local cache" in checks[0].found


def test_a_hub_model_that_is_partly_in_the_cache_says_what_is_missing(folder, tmp_path, monkeypatch):
    cache(tmp_path, monkeypatch, folder, names=["config.json", "tokenizer.json"])
    check = only(models("owner/name"), "problem")
    assert "only partly in the local cache: weights (*.safetensors) missing" in check.found


def test_a_hub_model_that_is_not_cached_is_fetched_by_a_run_that_may(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    check = only(models("owner/name@v2", offline=False), "note")
    assert "hf download owner/name --revision v2" in check.remedy
    assert "HF_HUB_OFFLINE" in only(models("owner/name", offline=True), "problem").found


# Servers


class Server(BaseHTTPRequestHandler):
    """A server that lists one model, to those who have the key."""

    def do_GET(self):
        if self.path == "/moved/models":
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['Host']}/v1/models")
            self.end_headers()
            return
        allowed = self.headers["Authorization"] == f"Bearer {SECRET}"
        body = b'{"data": [{"id": "owner/name"}]}' if self.path == "/v1/models" else b"<html>"
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def serving():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def served(path, *, base="owner/name", rlvr="owner/name"):
    with serving() as url:
        engine = Engine(name="openai", servers=(url + path,), api="chat")
        return list(check_servers({"base": base, "rlvr": rlvr}, engine))


def shown(checks):
    return " ".join(f"{check.found} {check.remedy}" for check in checks)


def test_a_server_that_has_the_models_is_well_and_the_key_is_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    checks = served("/v1")
    assert levels(checks) == ["ok", "ok"]
    assert "has owner/name" in checks[1].found
    assert SECRET not in shown(checks)


def test_a_server_that_lacks_a_model_is_a_problem(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert "no model other/name, which would be rlvr" in only(served("/v1", rlvr="other/name"), "problem").found


def test_a_server_that_refuses_us_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "export OPENAI_API_KEY" in only(served("/v1"), "problem").remedy


def test_a_redirect_is_not_followed_with_the_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert "HTTP 302" in only(served("/moved"), "problem").found


def test_a_server_that_is_none_of_ours_is_noted(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert "/v1" in only(served("/other"), "note").remedy


def test_a_key_that_cannot_be_sent_is_a_problem_and_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{SECRET}\n")
    checks = served("/v1")
    assert [check.topic for check in checks if check.level == "problem"] == ["API key", "server"]
    assert SECRET not in shown(checks)


def test_a_server_that_does_not_answer_is_a_problem_with_what_starts_one():
    with serving() as url:
        pass
    engine = Engine(name="openai", servers=(f"{url}/v1",), api="chat")
    assert "vllm serve" in only(check_servers({"base": "a"}, engine), "problem").remedy


def test_options_that_contradict_each_other_are_refused():
    with pytest.raises(UsageError, match="--server belongs to the openai engine"):
        understand({"engine": "hf", "server": "http://localhost:1/v1"})


@pytest.mark.parametrize(
    ("found", "level", "words"),
    [
        (Protections(landlock=7, seccomp=True, address_space=True), Level.OK, "Landlock 7 and seccomp"),
        (Protections(landlock=3, seccomp=True, address_space=True), Level.NOTE, "version 3 of 6"),
        (Protections(landlock=None, seccomp=True, address_space=True), Level.NOTE, "files are read and written"),
        (Protections(landlock=7, seccomp=False, address_space=True), Level.NOTE, "no processes and no network"),
        (Protections(landlock=None, seccomp=False, address_space=False), Level.NOTE, "a memory limit"),
    ],
)
def test_what_does_not_lock_the_scoring_processes_down_is_noted(found, level, words):
    (check,) = describe(found)
    assert check.level is level
    assert words in check.found
    assert bool(check.remedy) == (level is Level.NOTE)


def test_what_locks_them_down_on_this_machine_is_told():
    (check,) = check_jail()
    assert check == next(iter(describe(protections())))
