"""`conic soak`: refusals, the answer, and the exit code of a failure."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sim.cli.command.soak
from sim.soak.episode import Coverage, SoakError

Conic = Callable[..., Any]


@pytest.mark.parametrize(("arguments", "message"), [
    (("--operations", "0"), "--operations: must be at least 1, not 0"),
    (("--nodes", "1"), "--nodes: must be 2 to 64, not 1"),
    (("--nodes", "9"), "--nodes: must be at most 8 (switch.radix), not 9"),
    (("--operations", "100", "--episode", "2"), "--episode: must be 0 to 1 of 100 operations, not 2"),
    (("--waves", "x.fst"), "--waves: needs --episode, for a waveform of everything would fill the disk"),
])
def test_refusals(conic: Conic, arguments: tuple[str, ...], message: str) -> None:
    outcome = conic("soak", *arguments)
    assert outcome.code == 2
    assert outcome.err.strip().splitlines()[-1] == f"conic soak: {message}"


def test_nodes_without_a_route(conic: Conic, tmp_path: Path) -> None:
    config = tmp_path / "two_routes.yaml"
    config.write_text("base: small\nswitch: {table_entries: 2}\n")
    outcome = conic("soak", "--nodes", "3", "--config", str(config))
    assert outcome.code == 2
    assert outcome.err.strip() == "conic soak: --nodes: must be at most 2 (switch.table_entries), not 3"


def test_a_few_operations(conic: Conic) -> None:
    outcome = conic("soak", "--operations", "4", "--nodes", "3", "--seed", "7", "--json")
    assert outcome.code == 0, outcome.err
    assert "seed 7" in outcome.err
    report = json.loads(outcome.out)
    assert (report["operations"], report["nodes"], report["seed"], report["mismatches"]) == (4, 3, 7, 0)
    assert sum(report["algorithms"].values()) == 4
    assert "scan distance-doubling" in {*report["algorithms"], *report["not_covered"]}


def test_a_table(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    covered = Coverage(operations=2)
    covered.boundaries.update({"flit -1": 2})
    monkeypatch.setattr(sim.cli.command.soak, "soak", lambda *_config, **_options: covered)
    outcome = conic("soak")
    assert outcome.code == 0
    assert "flit -1" in outcome.out
    assert "not covered: " in outcome.out


def test_a_failure(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_config: Any, **_options: Any) -> Coverage:
        raise SoakError("episode 3, after 12 operations: something\nagain, with a waveform: conic soak --seed 1")

    monkeypatch.setattr(sim.cli.command.soak, "soak", broken)
    outcome = conic("soak")
    assert outcome.code == 1
    assert outcome.err.strip().endswith("again, with a waveform: conic soak --seed 1")
