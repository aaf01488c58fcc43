"""The cluster of preset `small` that the tests of the simulator share: one build, the one that `conic run` uses."""

from pathlib import Path

import pytest

from firmware_models.config import Config, load_preset
from sim.cluster import build_library


@pytest.fixture(scope="session")
def small() -> Config:
    """Preset `small`."""
    return load_preset("small")


@pytest.fixture(scope="session")
def library(small: Config) -> Path:
    """Its library."""
    return build_library(small)
