"""The study of algorithms, its table, and what ``--algorithm auto`` makes of it."""

import importlib
import json
from importlib import resources
from typing import Any

import pytest

from firmware_models.schedule import algorithm_names, collective_names, default_algorithm
from sim.selection import TABLE, choose
from sim.study.algorithms import COLLECTIVES, claims, crossovers


def row(algorithm: str, nodes: int, size: int, cycles: int, **more: Any) -> dict[str, Any]:
    return {"kind": "algorithm", "collective": "allreduce", "algorithm": algorithm, "nodes": nodes, "bytes": size,
            "cycles": cycles, "mismatched_bits": 0, **more}


ROWS = [
    row("recursive-doubling", 4, 64, 100), row("ring", 4, 64, 300),
    row("recursive-doubling", 4, 8192, 1100), row("ring", 4, 8192, 900),
    row("recursive-doubling", 16, 64, 200), row("reduce-multicast", 16, 64, 150),
]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of a few rows."""
    monkeypatch.setattr(importlib.import_module("sim.selection.choose"), "_rows", lambda: ROWS)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("nodes", "size", "multicast", "algorithm"), [
    (4, 64, True, "recursive-doubling"),
    (4, 700, True, "recursive-doubling"),  # 64 times eleven: nearer to 64 than to 8,192 as a ratio
    (4, 1000, True, "ring"),
    (4, 1 << 20, True, "ring"),
    (7, 1 << 20, True, "ring"),  # nearer to 4 nodes than to 16
    (9, 64, True, "reduce-multicast"),
    (9, 64, False, "recursive-doubling"),
])
def test_the_nearest_point(nodes: int, size: int, multicast: bool, algorithm: str) -> None:
    assert choose("allreduce", nodes=nodes, size=size, multicast=multicast) == algorithm


@pytest.mark.usefixtures("table")
def test_what_was_not_measured() -> None:
    assert choose("scatter", nodes=4, size=64) == default_algorithm("scatter")
    assert choose("broadcast", nodes=4, size=64, multicast=False) == "binomial"


def test_crossovers() -> None:
    """The lines 100 to 1,100 and 300 to 900 over 64 to 8,192 bytes meet where both gaps are nought: at a half."""
    assert list(crossovers(ROWS[:4])) == [("allreduce", "4", "recursive-doubling", "ring", "4,128 B")]


def test_claims_can_fail() -> None:
    assert [claim["holds"] for claim in claims(ROWS)] == [True, True]
    assert [claim["holds"] for claim in claims([ROWS[0] | {"mismatched_bits": 1}, ROWS[1]])] == [False, True]
    assert [claim["holds"] for claim in claims(ROWS[2:4])] == [True, False]


def test_the_table() -> None:
    """All algorithms of all collectives with a choice, each right; the choice can be built for everybody."""
    content = json.loads((resources.files("sim.selection") / TABLE).read_text())
    rows = content["rows"]
    assert content["command"] == "conic study algorithms --preset small"
    assert {(each["collective"], each["algorithm"]) for each in rows} == {
        (collective, algorithm) for collective in COLLECTIVES for algorithm in algorithm_names(collective)
    }
    assert all(claim["holds"] for claim in content["claims"])
    for collective in collective_names():
        assert choose(collective, nodes=32, size=1 << 20) in algorithm_names(collective)
    for collective in COLLECTIVES:
        assert len(algorithm_names(collective)) > 1
