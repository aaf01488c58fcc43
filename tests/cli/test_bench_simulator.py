"""`conic bench simulator` and `conic bench scale`: refusals to the letter, and a run of each that CI can afford."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sim.bench.torus import torus

Conic = Callable[..., Any]


@pytest.mark.parametrize(("arguments", "message"), [
    (("simulator", "--nodes", "1"), "--nodes: must be 2 to 16384, not 1"),
    (("simulator", "--threads", "0"), "--threads: must be 1 to 1024, not 0"),
    (("simulator", "--nodes", "8"), "--flat-nodes: must be among --nodes 8, not 4"),
    (("simulator", "--preset", "large"),
     "preset must be one of ecpix5_85f, paper, small, ulx3s_85f, versa_ecp5_5g, not 'large'"),
    (("scale", "--nodes", "20000"), "--nodes: must be 2 to 16384, not 20000"),
])
def test_refused(arguments: tuple[str, ...], message: str, conic: Conic) -> None:
    outcome = conic("bench", *arguments)
    assert outcome.code == 2
    assert outcome.err.strip().splitlines()[-1] == f"conic bench {arguments[0]}: {message}"


def test_scale(conic: Conic) -> None:
    """256 nodes on 64 switches: a barrier and an allreduce of 8 bytes, no bit wrong."""
    outcome = conic("bench", "scale", "--nodes", "256", "--json")
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)["rows"]
    assert [(row["collective"], row["nodes"], row["switches"]) for row in rows] == [
        ("barrier", 256, 64), ("allreduce", 256, 64),
    ]
    assert all(row["cycles"] > 100 and row["bytes_a_node"] > 10_000 for row in rows)


@pytest.mark.long
def test_simulator(conic: Conic) -> None:
    """Both engines beside the flat design under cocotb; as fast as is required, or the command ends with 1."""
    outcome = conic("bench", "simulator", "--nodes", "4", "--no-rest", "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert [row["engine"] for row in report["rows"]] == [
        "lanes", "lanes", "lanes, all", "verilator", "verilator", "cocotb",
    ]
    assert report["speedup_over_cocotb"] >= 10
    cycles = {row["engine"]: row["cycles"] for row in report["rows"]}
    assert cycles["lanes"] == cycles["lanes, all"] == cycles["verilator"]
    assert report["speedup_over_verilator"] > 1


def test_torus_has_room() -> None:
    for nodes in range(2, 300):
        width, height = (int(side) for side in torus(nodes)[len("torus:"):-len(":4")].split("x"))
        assert 4 * width * height >= nodes
        assert 3 <= width <= height + 1
