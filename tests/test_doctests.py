"""The examples in docstrings run and are true."""

import doctest
import importlib
import pkgutil

import pytest

import rgsupport

NAMES = [module.name for module in pkgutil.walk_packages(rgsupport.__path__, "rgsupport.")]
MODULES = [
    pytest.param(name, marks=[pytest.mark.vllm, pytest.mark.filterwarnings("ignore::DeprecationWarning")])
    if name == "rgsupport.samplers.vllm_engine"
    else name
    for name in NAMES
    if "builtin_tasks" not in name
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
