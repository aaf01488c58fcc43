"""`conic bench latency`: refusals, its verdict, and that preset small reaches its figures."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sim.cli.command.bench_latency
from sim.bench.core_speed import FIGURES as CORE
from sim.bench.core_speed import CoreSpeed, SpeedError, frequency, measured_speed, with_nanoseconds

Conic = Callable[..., Any]
FIGURES = {
    "trigger_cycles": 6, "reduce_hop_cycles": 30, "header_hop_cycles": 20, "doorbell_to_first_flit_cycles": 60,
    "data_width": 64,
    "triggers": {}, "doorbells": {"one": {"cycles": 60, "memory_reads": 1, "memory_cycles": 2, "stages": {"a": 0}}},
    "hops": [{"bytes": 8, "hop_cycles": 30, "header_hop_cycles": 20, "after_last_flit_cycles": 26, "trigger_cycles": 6,
              "stages": {"a": 0, "b": 30}}],
}


@pytest.mark.parametrize(("arguments", "message"), [
    (("--units", "3"), "--units: must be a power of two from 1 to 16, not 3"),
    (("--units", "17"), "--units: must be 1 to 16, not 17"),
    (("--preset", "large"), "preset must be one of"),
    *(
        (("--fmax", text), f"--fmax: must be megahertz above 0, 10,000 at most, not {text!r}")
        for text in ("0", "-1", "nan", "inf", "10001", "fast", "", "1_0_0 MHz")
    ),
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
    monkeypatch.setattr(sim.cli.command.bench_latency, "measure", lambda _config: FIGURES | worse)
    outcome = conic("bench", "latency", "--json")
    assert outcome.code == code
    assert json.loads(outcome.out)["preset"] == "small"
    assert conic("bench", "latency").code == code


def test_nanoseconds(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the clock that is said, to a tenth; it needs no file of figures."""
    monkeypatch.setattr(sim.cli.command.bench_latency, "measure", lambda _config: FIGURES)
    monkeypatch.setattr(sim.cli.command.bench_latency, "FIGURES", Path("nowhere.json"))
    report = json.loads(conic("bench", "latency", "--fmax", "130", "--json").out)
    assert {name: report[name] for name in report if name.endswith("_ns") or name.startswith("fmax")} == {
        "fmax_mhz": 130, "fmax_preset": None, "trigger_ns": 46.2, "reduce_hop_ns": 230.8, "header_hop_ns": 153.8,
        "doorbell_to_first_flit_ns": 461.5,
    }
    assert "reduce hop cycles: 30 (at most 30), 230.8 ns at 130.0 MHz" in conic("bench", "latency", "--fmax", "130").out


def test_the_measured_clock(conic: Conic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the preset under test if it has been placed, or else of the first one that has."""
    monkeypatch.setattr(sim.cli.command.bench_latency, "measure", lambda _config: FIGURES)
    rows = [{"preset": "board", "fmax_mhz": 100.0}, {"preset": "small", "fmax_mhz": 50.0}]
    path = tmp_path / "core.json"
    monkeypatch.setattr(sim.cli.command.bench_latency, "FIGURES", path)
    for shown, preset, trigger in ((rows, "small", 120.0), (rows[:1], "board", 60.0)):
        path.write_text(json.dumps(shown))
        report = json.loads(conic("bench", "latency", "--json").out)
        assert (report["fmax_preset"], report["trigger_ns"]) == (preset, trigger)


def test_no_measured_clock(conic: Conic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the file the cycles are reported all the same."""
    monkeypatch.setattr(sim.cli.command.bench_latency, "measure", lambda _config: FIGURES)
    monkeypatch.setattr(sim.cli.command.bench_latency, "FIGURES", tmp_path / "core.json")
    outcome = conic("bench", "latency", "--json")
    report = json.loads(outcome.out)
    assert (outcome.code, report["trigger_cycles"], report["trigger_ns"], report["fmax_mhz"]) == (0, 6, None, None)
    assert "core.json is not there; --fmax MHZ says a clock" in outcome.err
    assert "ns at" not in conic("bench", "latency").out


@pytest.mark.parametrize("text", [
    "[]", "{", "{}", "7", '[{"preset": "small"}]', '[{"fmax_mhz": 100}]', '[{"preset": "small", "fmax_mhz": -100}]',
    '[{"preset": "small", "fmax_mhz": null}]', '[{"preset": "small", "fmax_mhz": true}]',
])
def test_a_file_without_a_clock(conic: Conic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    """It is refused before anything is measured."""
    path = tmp_path / "core.json"
    path.write_text(text)
    monkeypatch.setattr(sim.cli.command.bench_latency, "FIGURES", path)
    monkeypatch.setattr(sim.cli.command.bench_latency, "measure", lambda _config: pytest.fail("measured"))
    outcome = conic("bench", "latency", "--json")
    assert outcome.code == 2
    assert f"{str(path)!r} is no file of `python -m fpga.core_figures`" in outcome.err.strip().splitlines()[-1]


def test_the_page_has_the_measured_clock() -> None:
    """Cycles measured again, or a core placed again, leave no nanoseconds behind."""
    report = json.loads((CORE.parent / "latency.json").read_text())
    again = with_nanoseconds(report, measured_speed(report["preset"]))
    assert report == again, "run `make bench`"
    assert math.isclose(report["trigger_ns"] * report["fmax_mhz"], 1000 * report["trigger_cycles"], rel_tol=0.01)


def test_frequency_is_a_number() -> None:
    assert frequency("104.5") == 104.5
    assert CoreSpeed(fmax_mhz=1000).nanoseconds(3) == 3
    with pytest.raises(SpeedError, match="not None"):
        frequency(None)


@pytest.mark.long
def test_reaches_its_figures(conic: Conic) -> None:
    outcome = conic("bench", "latency", "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report["trigger_cycles"] <= 6
    assert report["reduce_hop_cycles"] <= 30
    assert [row["hop_cycles"] for row in report["hops"]] == sorted(row["hop_cycles"] for row in report["hops"])
