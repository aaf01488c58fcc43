"""`conic study nic-*`: a small grid on the RTL, in processes, gone on with, refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.collective import run_collective
from sim.host import load_host
from sim.study.nic import grid as nic_grid
from sim.study.nic import measure as nic_measure

Conic = Callable[..., Any]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of a few points."""
    monkeypatch.setattr(nic_grid, "cases", lambda _is_quick: iter([(1, 256), (8, 128)]))
    others = [("eager to 8 KiB", 1, 256), ("PCIe × 0.25", 1, 256), ("memory × 0.25", 1, 256)]
    others += [("PCIe of 8 lanes", 32, 256)]  # more jobs than the points have: left out
    monkeypatch.setattr(nic_grid, "changes", lambda _is_quick: iter(others))


@pytest.mark.usefixtures("few")
def test_a_small_grid(conic: Conic, tmp_path: Path) -> None:
    """Rows are the same in one process and in two, and each is what the operation gives alone."""
    common = ["study", "nic-reduce", "--preset", "small", "--nodes", "2", "--json"]
    found = []
    for processes in ("1", "2"):
        folder = tmp_path / processes
        answer = json.loads(conic(*common, "--processes", processes, "--output-dir", str(folder)).out)
        found.append([{**each, "seconds": None} for each in answer["results"]])
        assert all(claim["holds"] for claim in answer["claims"][:2])
        assert (folder / "index.html").read_text().count("<svg") == 2
    assert found[0] == found[1]
    points = [each for each in found[0] if each["kind"] == "point"]
    assert [(each["jobs"], each["bytes"], each["way"]) for each in points] == [
        (1, 256, "offloaded"), (1, 256, "host-based"), (8, 128, "offloaded"), (8, 128, "host-based"),
    ]
    setting = nic_measure.Setting(
        collective="reduce", algorithm="rabenseifner", preset="small", topology="star:2", nodes=2, seed=0,
        host=load_host("paper"), memory_bytes=0,
    )
    for point in points[2:]:
        alone = run_collective(setting.request(jobs=8, size=128, way=point["way"]))
        assert alone.sha256 == point["sha256"]
        # NICs that have been up for longer meet their memories and each other in other cycles.
        assert abs(alone.cycles - point["cycles"]) < 0.02 * alone.cycles
    # Gone on with; and refused for another host, by the name of what differs.
    rows = str(tmp_path / "1" / "rows.jsonl")
    again = json.loads(conic(*common, "--results", rows, "--output-dir", str(tmp_path), "--limit", "1s").out)
    assert [{**each, "seconds": None} for each in again["results"]] == found[0]
    other = conic(*common, "--results", rows, "--host", "server", "--output-dir", str(tmp_path))
    assert other.code == 2
    assert "has rows for host.cpu.cores 32, not 64" in other.err
    taken = conic(*common, "--limit", "0.1s", "--output-dir", str(tmp_path / "none"))
    assert (taken.code, taken.out) == (2, "")
    assert "--limit: must be at least about" in taken.err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("flags", "message"), [
    (["nic-reduce", "--part", "jobs=2"], "--part must be one of jobs=1, jobs=8, jobs=32, hosts, not 'jobs=2'"),
    (["nic-reduce", "--host", "none"], "host must be one of paper, server, not 'none'"),
    (["nic-reduce", "--preset", "none"], "preset must be one of"),
    (["nic-reduce", "--limit", "soon"], "must be a time above 0 as in 90s, 10min or 2h, not 'soon'"),
    (["reproducibility", "--nodes", "2"], "--nodes must be at least 3, for two operands have one sum, not 2"),
    (["reproducibility", "--part", "ring"], "--part must be one of allreduce recursive-doubling, allreduce"),
    (["noise", "--part", "loud"], "--part must be one of none, 1 of 16 late by 20 µs, "),
    (["pulses", "--part", "mtu"], "--part must be one of as it is, 1 packet a peer, "),
    (["pulses", "--limit", "1s"], "--limit: must be at least about"),
    (["mft", "--nodes", "4"], "--nodes: must be left out for mft"),
    (["algorithms", "--nodes", "4"], "--nodes: must be left out for algorithms, which has several numbers of nodes"),
    (["algorithms", "--host", "paper"], "--host: must be left out for algorithms, which measures NICs alone"),
    (["faults", "--host", "server"], "--host: must be left out for faults, which measures NICs alone"),
    (["mft", "--scheduler", "tcp://127.0.0.1:1"], "--scheduler: must be left out for mft"),
    (["nic-reduce", "--scheduler", "far://away"], "--scheduler: must be the address of a Dask scheduler, as tcp://"),
])
def test_bad_input(flags: list[str], message: str, conic: Conic, tmp_path: Path) -> None:
    outcome = conic("study", *flags, "--output-dir", str(tmp_path))
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
