"""The examples in docstrings run and are true."""

import doctest
import importlib
import pkgutil

import pytest

import rgsupport

MODULES = [module.name for module in pkgutil.walk_packages(rgsupport.__path__, "rgsupport.")]


@pytest.mark.parametrize("name", [name for name in MODULES if "builtin_tasks" not in name])
def test_the_examples_of_a_module_are_true(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
