"""Settings of every test."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A slow or busy machine is no failure, and the same tests run everywhere.
settings.register_profile(
    "rgsupport", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rgsupport")


def pytest_collection_modifyitems(items):
    if find_spec("vllm") is None:
        for item in items:
            if item.get_closest_marker("vllm"):
                item.add_marker(pytest.mark.skip(reason="vLLM is not installed here"))


@pytest.fixture(scope="session")
def readme():
    """Return the text of the README."""
    return (Path(__file__).parent.parent / "README.md").read_text()
