"""`conic bench latency`: refusals, its verdict, and that preset small reaches its figures."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import sim.cli.bench_latency

Conic = Callable[..., Any]
FIGURES = {
    "trigger_cycles": 6, "reduce_hop_cycles": 30, "doorbell_to_first_flit_cycles": 60, "data_width": 64,
    "triggers": {}, "doorbells": {"one": {"cycles": 60, "memory_reads": 1, "memory_cycles": 2, "stages": {"a": 0}}},
    "hops": [{"bytes": 8, "hop_cycles": 30, "header_hop_cycles": 20, "after_last_flit_cycles": 26, "trigger_cycles": 6,
              "stages": {"a": 0, "b": 30}}],
}


@pytest.mark.parametrize(("arguments", "message"), [
    (("--units", "3"), "n_cous must be a power of two, not 3"),
    (("--units", "17"), "--units: must be 1 to 16, not 17"),
    (("--preset", "large"), "preset must be one of"),
])
def test_refusals(conic: Conic, arguments: tuple[str, ...], message: str) -> None:
    outcome = conic("bench", "latency", *arguments)
    assert outcome.code == 2
    assert message in outcome.err.strip().splitlines()[-1]


@pytest.mark.parametrize(("worse", "code"), [
    ({}, 0), ({"trigger_cycles": 7}, 1), ({"reduce_hop_cycles": 31}, 1), ({"doorbell_to_first_flit_cycles": 1000}, 0),
])
def test_verdict(conic: Conic, monkeypatch: pytest.MonkeyPatch, worse: dict[str, int], code: int) -> None:
    """A figure above its bar fails; what has no bar does not."""
    monkeypatch.setattr(sim.cli.bench_latency, "measure", lambda _config: FIGURES | worse)
    outcome = conic("bench", "latency", "--json")
    assert outcome.code == code
    assert json.loads(outcome.out)["preset"] == "small"
    assert conic("bench", "latency").code == code


@pytest.mark.long
def test_reaches_its_figures(conic: Conic) -> None:
    outcome = conic("bench", "latency", "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report["trigger_cycles"] <= 6
    assert report["reduce_hop_cycles"] <= 30
    assert [row["hop_cycles"] for row in report["hops"]] == sorted(row["hop_cycles"] for row in report["hops"])
