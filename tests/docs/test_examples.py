"""The examples in docstrings do what they show."""

import doctest
import importlib
import pkgutil

import pytest

import firmware_models
import sim

MODULES = sorted(
    module.name for package in (firmware_models, sim)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
