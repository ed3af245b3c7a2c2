"""Tiny random models of several architectures, made once for all tests of the engines."""

from pathlib import Path

import pytest

from random_models import save_all


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds one model folder per architecture."""
    folder = tmp_path_factory.mktemp("models")
    save_all(folder)
    return folder
