"""Settings of every test."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Several processes test at the same time: one thread each, which sleeps while it waits, and no engine bound to a core.
os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}

# A slow or busy machine is no failure, and the same tests run everywhere.
settings.register_profile(
    "rgsupport", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rgsupport")


# Files that take long, the longest first, so that no process is left with one of them at the end.
SLOW = (
    "test_vllm_engine",
    "test_openai",
    "test_vllm_line",
    "test_openai_line",
    "test_bad_input",
    "test_whole_line",
    "test_workers",
    "test_kill",
    "test_plan",
    "test_doctor",
    "test_mini_pair",
    "test_sampling",
    "test_generation",
    "test_models",
    "test_hf",
)


def pytest_collection_modifyitems(items):
    rank = {name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(SLOW)))
    if find_spec("vllm") is None:
        for item in items:
            if item.get_closest_marker("vllm"):
                item.add_marker(pytest.mark.skip(reason="vLLM is not installed here"))


@pytest.fixture(scope="session")
def readme():
    """Return the text of the README."""
    return (Path(__file__).parent.parent / "README.md").read_text()
