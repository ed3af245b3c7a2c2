"""What is known of this machine's GPUs; `nvidia-smi` is a real program here, one that prints what a machine printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.errors import UsageError
from rgsupport.hardware import Gpu, default_engine, gpus, has_module, parse_gpus, require_gpus, visible

MIB = 1 << 20
TWO = "0, NVIDIA H200, 143771, 143125, 570.86.15\n1, NVIDIA H200, 143771, 512, 570.86.15\n"


def install_nvidia_smi(folder, monkeypatch, *, prints, code=0):
    """Put a program of that name first on the search path."""
    (folder / "listing").write_text(prints)
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n/bin/cat {folder / 'listing'}\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_a_listing_gives_every_gpu_with_its_memory_in_bytes():
    assert parse_gpus(TWO) == (
        Gpu(0, "NVIDIA H200", 143771 * MIB, 143125 * MIB, "570.86.15"),
        Gpu(1, "NVIDIA H200", 143771 * MIB, 512 * MIB, "570.86.15"),
    )


@pytest.mark.parametrize("word", ["[N/A]", "[Not Supported]", "[Insufficient Permissions]", "[Unknown Error]"])
def test_a_gpu_that_does_not_tell_its_memory_is_a_gpu_all_the_same(word):
    assert parse_gpus(f"0, NVIDIA GB10, {word}, {word}, 580.95.05\n") == (
        Gpu(0, "NVIDIA GB10", None, None, "580.95.05"),
    )


@pytest.mark.parametrize(
    "line",
    [
        "",
        "No devices were found",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error",
        "  MIG 1g.18gb     Device  0: (UUID: MIG-6cc9a1b3)",
        "0, NVIDIA H200, 143771",
        "x, NVIDIA H200, 143771, 143125, 570.86",
        "²3, NVIDIA H200, 143771, 143125, 570.86",
        "1" * 5000 + ", NVIDIA H200, 143771, 143125, 570.86",
    ],
)
def test_lines_that_describe_no_gpu_are_left_out(line):
    assert parse_gpus(f"{line}\n") == ()
    assert parse_gpus(f"{line}\n{TWO}") == parse_gpus(TWO)


@given(st.text())
def test_no_text_breaks_the_parser(text):
    assert all(gpu.index >= 0 for gpu in parse_gpus(text))


def test_the_gpus_are_those_that_the_program_lists(tmp_path, monkeypatch):
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO)
    assert gpus() == parse_gpus(TWO)


def test_without_the_program_or_when_it_fails_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus() == ()
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO, code=9)
    assert gpus() == ()


@pytest.mark.parametrize(
    ("setting", "indices"),
    [(None, [0, 1]), ("0", [0]), (" 1 , 0 ", [0, 1]), ("", []), ("-1", []), ("7", []), ("GPU-8932f937,MIG-1", [0, 1])],
)
def test_numbers_in_cuda_visible_devices_hide_the_other_gpus(setting, indices):
    assert [gpu.index for gpu in visible(parse_gpus(TWO), setting)] == indices


def test_a_module_is_found_without_being_imported():
    assert has_module("this")  # it would print a poem
    assert not has_module("no_such_module")


def test_without_a_gpu_the_engine_is_hf_even_if_vllm_is_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "vllm.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert default_engine() == "hf"


def test_with_a_gpu_and_vllm_the_engine_is_vllm(tmp_path, monkeypatch):
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO)
    (tmp_path / "vllm.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert default_engine() == "vllm"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert default_engine() == "hf"


def test_gpus_that_are_there_pass_and_none_asked_for_never_looks(tmp_path, monkeypatch):
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO)
    require_gpus((1, 0))
    monkeypatch.setenv("PATH", "")
    require_gpus(())


def test_a_gpu_that_is_not_there_is_refused_with_those_that_are(tmp_path, monkeypatch):
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO)
    with pytest.raises(UsageError, match=r"^--gpus 3: this machine has the GPUs 0, 1$"):
        require_gpus((0, 3))


def test_a_gpu_that_is_hidden_is_refused_with_what_hides_it(tmp_path, monkeypatch):
    install_nvidia_smi(tmp_path, monkeypatch, prints=TWO)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with pytest.raises(UsageError, match=r"the GPUs 1 .CUDA_VISIBLE_DEVICES=1 hides others"):
        require_gpus((0,))


def test_on_a_machine_without_gpus_the_refusal_names_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"--gpus 0: this machine has no NVIDIA GPU.*leave --gpus out.*--workers N"):
        require_gpus((0,))
