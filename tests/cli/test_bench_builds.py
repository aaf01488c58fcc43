"""`conic bench builds`: what it prints and writes of what it has measured; a whole run is long."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from sim.bench import builds
from sim.cli.command.bench import command
from sim.cluster.lanes.machine import ENVIRONMENT, isas_of_this_machine
from sim.environment.engine import Engine


def test_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def instructions(_progress: Any) -> Iterator[dict[str, Any]]:
        yield {"isa": "portable", "cycles": 12_345, "node_cycles_per_second": 67_890}

    asked = []
    monkeypatch.setattr(builds, "_from_nothing", lambda *case: asked.append(case) or 1.26)
    monkeypatch.setattr(builds, "_instructions", instructions)
    outcome = CliRunner().invoke(command, ["builds", "--verilator", "--json"], standalone_mode=False)
    report = json.loads(outcome.stdout)
    assert outcome.return_value == 0
    # Verilator takes hours for switches of 64 ports.
    assert [case[1:] for case in asked if case[0] is Engine.VERILATOR] == [("small", "star:4"), ("paper", "star:4")]
    assert [case[1:] for case in asked if case[0] is Engine.LANES] == list(builds.CASES)
    assert report["builds"][0] == {"preset": "small", "topology": "star:4", "engine": "lanes", "seconds": 1.3}
    printed = CliRunner().invoke(command, ["builds"], standalone_mode=False).stdout
    assert all(text in printed for text in ("star:64", "1.3", "67,890", "12,345"))


def test_what_ends_badly_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "CASES", (("no-such-preset", "star:4"),))
    with pytest.raises(builds.BenchmarkError, match="no-such-preset on star:4 ended with 2"):
        builds.measure([Engine.LANES], lambda *_: None)


@pytest.mark.long
def test_all_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "CASES", ())
    rows = builds.measure([Engine.LANES], lambda *_: None)["instructions"]
    assert [row["isa"] for row in rows] == [isa.name for isa in isas_of_this_machine()]
    assert len({row["cycles"] for row in rows}) == 1


def test_instructions_that_the_machine_has_not(conic: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "sse")
    outcome = conic("run", "barrier", "--algorithm", "dissemination", "--nodes", "2")
    assert outcome.code == 2
    assert outcome.err.strip().endswith("on this machine, not 'sse'")
    assert "Traceback" not in outcome.err
