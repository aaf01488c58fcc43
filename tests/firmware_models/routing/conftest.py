"""Networks and groups that the tests of routing share."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from firmware_models.routing.network import Groups, Network
from firmware_models.routing.topology import parse_topology

SMALL = ("fat-tree:4", "torus:4x3:2", "dragonfly:a=3,p=2,h=1", "random:switches=12,ports=6,terminals=2,seed=3",
         "bluelight:planes=3,leaves=3,terminals=2,middles=2,tops=2,paths=2")
"""One of each kind, small enough for a reference that tries everything."""


@pytest.fixture
def data() -> Path:
    """Dumps of a real OpenSM on simulated fabrics."""
    return Path(__file__).parent / "data"


@pytest.fixture(params=SMALL)
def network(request: pytest.FixtureRequest) -> Network:
    return parse_topology(request.param)


@pytest.fixture
def some_groups() -> Callable[..., Groups]:
    """Makes random groups of a network."""
    return _some_groups


def _some_groups(network: Network, seed: int, n_groups: int = 24) -> Groups:
    """Random groups of 1 to 6 endpoints, now and then a switch among them."""
    print(f"seed {seed}")
    generator = np.random.default_rng(seed)
    members = []
    for _ in range(n_groups):
        n_endpoints = len(network.attach) if generator.random() < 0.3 else network.n_terminals
        members.append(generator.choice(n_endpoints, generator.integers(1, 7), replace=False))
    return Groups.of(members)
