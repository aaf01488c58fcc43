"""Patterns: the numbers of groups of the paper, who is in them, and what is refused."""

import numpy as np
import pytest

from firmware_models.routing.network import RoutingError
from firmware_models.routing.pattern import parse_pattern


@pytest.mark.parametrize(("name", "processes", "count"), [
    ("125x128", 1, 253), ("20x25x32", 1, 1940), ("128x32x40", 4, 10_496), ("random:groups=30,size=5,seed=2", 1, 30),
])
def test_counts(name: str, processes: int, count: int) -> None:
    assert len(parse_pattern(name, n_terminals=40_960, processes_per_terminal=processes)) == count


@pytest.mark.parametrize("order", ["first", "last"])
def test_rows(order: str) -> None:
    """Every process is in one row of every dimension; the fastest dimension's rows are neighbours."""
    groups = parse_pattern("3x4x5", n_terminals=60, order=order)
    sizes = (3, 4, 5) if order == "first" else (5, 4, 3)
    assert [len(group) for group in groups.members] == [size for size in sizes for _ in range(60 // size)]
    assert np.array_equal(np.bincount(np.concatenate(groups.members)), np.full(60, 3))
    assert groups.members[0].tolist() == list(range(sizes[0]))
    second, third = 60 // sizes[0], 60 // sizes[0] + 60 // sizes[1]
    assert groups.members[second].tolist() == [sizes[0] * k for k in range(sizes[1])]
    assert groups.members[third].tolist() == [sizes[0] * sizes[1] * k for k in range(sizes[2])]


def test_processes_share_terminals() -> None:
    groups = parse_pattern("4x2", n_terminals=2, processes_per_terminal=4)
    assert [group.tolist() for group in groups.members] == [[0], [1]] + [[0, 1]] * 4


@pytest.mark.parametrize(("name", "message"), [
    ("5x5", r"pattern '5x5' must have 1 to 16 processes \(16 terminals × 1\), not 25"),
    ("0x5", "must have 1 to 16 processes"), ("ring", "pattern must be one of AxB, AxBxC, random:"),
    ("random:groups=0,size=4", "groups must be at least 1"), ("random:groups=3,size=17", "size 2 to 16"),
    ("9999999x9999999x9999999", "must have 1 to 16 processes"),
])
def test_refused(name: str, message: str) -> None:
    with pytest.raises(RoutingError, match=message):
        parse_pattern(name, n_terminals=16)
