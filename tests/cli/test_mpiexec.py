"""`conic mpiexec`: refusals, the answer, exit codes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sim.cli.command.mpiexec
from firmware_models.schedule import algorithm_names, collective_names
from sim.host import load_host
from sim.mpi.host_model import Host, HostModel
from sim.mpi.message import Wire
from sim.mpi.run import Program, ProgramResult
from sim.mpi.standing import Standing, StandingCallback
from sim.mpi.tally import Tally
from sim.mpi.timeline import Timeline

Conic = Callable[..., Any]
COLLECTIVES = (
    "broadcast, reduce, allreduce, barrier, allgather, reduce-scatter, scatter, gather, alltoall, scan, exscan"
)


@pytest.mark.parametrize(("arguments", "message"), [
    (("true",), "-n: is required"),
    (("-n", "4"), "PROGRAM: is required"),
    (("-n", "0", "true"), "-n: must be 1 to 64, not 0"),
    (("-np", "65", "true"), "-n: must be 1 to 64, not 65"),
    (("-n", "2", "true", ":"), "PROGRAM behind ':': is required"),
    (("-n", "2", "true", ":", "-n", "2"), "PROGRAM behind ':': is required"),
    (("-n", "2", "true", ":", "-n", "two", "true"), "-n behind ':': must be 1 to 64, not 'two'"),
    (("-n", "2", "true", ":", "-np", "0", "true"), "-n behind ':': must be 1 to 64, not '0'"),
    (("-n", "2", "true", ":", "-n"), "-n behind ':': must be 1 to 64, not ''"),
    (("-n", "60", "true", ":", "-n", "5", "true"), "-n: must be 1 to 64 in all, not 65"),
    (("-n", "2", "true", ":", "-host", "h", "true"), "options behind ':': must be -n, -np or -env, not '-host'"),
    (("-n", "2", "true", ":", "-env", "A"), "-env behind ':': must have a name and a value"),
    (("-n", "2", "true", ":", "-env", "A=1", "1", "true"),
     "-env behind ':': must be a name without '=', then a value, not 'A=1'"),
    (("-n", "2", "-genv", "", "1", "true"), "-genv: must be a name without '=', then a value, not ''"),
    (("-n", "2", "-wdir", "no-such-folder", "true"), "-wdir: Directory 'no-such-folder' does not exist."),
    (("-n", "2", "--ranks", "3", "true"), "--ranks: must be given once, not 2 times"),
    (("-n", "2", "--algorithm", "bcast=binomial", "--algorithm", "broadcast=binomial", "true"),
     "--algorithm: broadcast must be given once, not twice"),
    (("-n", "2", "--compute-scale", "0", "true"),
     "--compute-scale: does nothing without --clock simulated; leave it out"),
    (("-n", "2", "true", ":", "-n", "1", "no-such-program"),
     "PROGRAM: must be a program that can be run, not 'no-such-program'"),
    (("-n", "2", "no-such-program"), "PROGRAM: must be a program that can be run, not 'no-such-program'"),
    (("-n", "2", "--patience", "-1", "true"), "--patience: must be a number of at least 0, not '-1'"),
    (("-n", "2", "--work-patience", "soon", "true"), "--work-patience: must be a number of at least 0, not 'soon'"),
    (("-n", "2", "--disturb", "-1", "true"), "--disturb: must be at least 0, not -1"),
    (("-n", "2", "--frequency", "0", "true"), "--frequency: must be a number above 0, not '0'"),
    (("-n", "2", "--compute-scale", "x", "true"), "--compute-scale: must be a number of at least 0, not 'x'"),
    (("-n", "2", "--check", "openmpi", "true"), "--check: must be mpich, not 'openmpi'"),
    (("-n", "2", "--clock", "wall", "true"), "--clock: must be one of machine, simulated, not 'wall'"),
    (("-n", "2", "--algorithm", "ring", "true"),
     f"--algorithm: must be COLLECTIVE=ALGORITHM with one of {COLLECTIVES}, not 'ring'"),
    (("-n", "2", "--algorithm", "bcast=ring", "true"),
     "--algorithm: of broadcast must be one of binomial, double-binary-tree, multicast, not 'ring'"),
    (("-n", "4", "--topology", "star:3", "true"), "nodes must be 2 to 3, the terminals of 'star:3', not 4"),
    (("-n", "2", "--preset", "ulx3s_85f", "true"),
     "nic.p2p must be true for what a message takes to be measured, not False"),
    (("-n", "2", "--preset", "large", "true"),
     "preset must be one of ecpix5_85f, paper, small, ulx3s_85f, versa_ecp5_5g, not 'large'"),
])
def test_refusals(conic: Conic, arguments: tuple[str, ...], message: str) -> None:
    outcome = conic("mpiexec", *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.strip().splitlines()[-1] == f"conic mpiexec: {message}"


def result(**other: Any) -> ProgramResult:
    """Result of a program with one allreduce."""
    tally = Tally(8)
    tally.add("Allreduce", 4096, 2, "ring", 1000, by_hosts=lambda: 3456, received=lambda: 4096)
    tally.add_passed("Scan", "the reduce unit has no such operator of that type", 2)
    timeline = Timeline("simulated")
    timeline.add("Allreduce", (0, 1), (0.0, 2e-6), (5e-6, 6e-6), by="NICs")
    model = HostModel(Host.of(load_host("server")), Wire(150, (128, 2048), (170, 500)), 500e6)
    report = {**tally.report(), "host_model": model.as_dict(), "timeline": timeline.report()}
    return ProgramResult(**{"code": 0, "error": None, "events": [], "report": report} | other)


def test_a_table(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim.cli.command.mpiexec, "run_program", lambda _program, **_options: result())
    outcome = conic("mpiexec", "-n", "2", sys.executable)
    assert (outcome.code, outcome.out) == (0, "")
    assert "51.2%" in outcome.err
    assert "goodput: bytes that the busiest rank received" in outcome.err
    assert "the reduce unit has no such operator" in outcome.err
    assert "2 of 4 calls on the NICs, 1,000 cycles" in outcome.err


def test_names_in_the_table_are_whole(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    """However narrow the terminal is, and for each algorithm that there is."""
    tally = Tally(8)
    names = {(house, name) for house in collective_names() for name in algorithm_names(house)}
    for house, name in names:
        tally.add(f"Reduce_scatter_block {house}", 1 << 30, 64, name, 10**9)
    monkeypatch.setenv("COLUMNS", "40")
    made = result(report=result().report | tally.report())
    monkeypatch.setattr(sim.cli.command.mpiexec, "run_program", lambda _program, **_options: made)
    outcome = conic("mpiexec", "-n", "2", sys.executable)
    words = set(outcome.err.split())
    assert words >= {name for _, name in names}
    assert "…" not in outcome.err


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_how_far_a_program_is(conic: Conic, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]) -> None:
    """A line on standard error; none beside --json."""
    standing = Standing(seconds=20.0, offloaded=12, passed=3, cycles=45000, waits="rank 1: has not come")

    def run(_program: Program, *, tell: StandingCallback | None, **_options: Any) -> ProgramResult:
        if tell is not None:
            tell(standing)
        return result()

    monkeypatch.setattr(sim.cli.command.mpiexec, "run_program", run)
    outcome = conic("mpiexec", "-n", "2", *flags, sys.executable)
    lines = [line for line in outcome.err.splitlines() if "has not come" in line]
    assert lines == ([] if flags else [f"conic mpiexec: {standing.line}"])


@pytest.mark.parametrize("flags", [(), ("-disable-auto-cleanup",), ("--disable-auto-cleanup",)])
def test_auto_cleanup(conic: Conic, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]) -> None:
    seen = []
    monkeypatch.setattr(sim.cli.command.mpiexec, "run_program",
                        lambda program, **_options: seen.append(program.cleanup) or result())
    assert conic("mpiexec", "-n", "2", *flags, sys.executable).code == 0
    assert seen == [not flags]


@pytest.mark.parametrize(("processes", "initialized", "said"), [
    (0, 0, "no rank has begun MPI by an MPI_ name of MPICH's ABI"),
    (2, 0, "by sessions alone"),
    (2, 2, "no collective was called by its MPI_ name"),
])
def test_nothing_is_never_the_whole_report(
    conic: Conic, monkeypatch: pytest.MonkeyPatch, processes: int, initialized: int, said: str
) -> None:
    tally = Tally(8, processes=processes, initialized=initialized)
    made = result(report=result().report | tally.report())
    monkeypatch.setattr(sim.cli.command.mpiexec, "run_program", lambda _program, **_options: made)
    outcome = conic("mpiexec", "-n", "2", sys.executable)
    *_, last = outcome.err.strip().splitlines()
    assert said in last


def test_json_and_page(conic: Conic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def ran(program: Program, **_options: Any) -> ProgramResult:
        asked.append(program)
        return result()

    monkeypatch.setattr(sim.cli.command.mpiexec, "run_program", ran)
    page = tmp_path / "r.html"
    outcome = conic("mpiexec", "-n", "2", "--algorithm", "bcast=multicast", "--clock", "simulated",
                    "--frequency", "250", "--report", str(page), "--json", sys.executable, "program.py", "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert report["program"] == f"{sys.executable} program.py --json"
    assert (report["calls"], report["offloaded"], report["clock"]) == (4, 2, "simulated")
    program, = asked
    assert program.quiet
    assert (program.policy.algorithms, program.policy.frequency) == ({"broadcast": "multicast"}, 250e6)
    assert program.policy.simulated
    text = page.read_text()
    assert "1,000" in text
    assert "3,456" in text
    assert "Allreduce, rank 0: waits, 2.00 µs from 0.00 µs" in text
    assert "Allreduce, rank 1: NICs, 4.00 µs from 2.00 µs" in text


@pytest.mark.parametrize(("other", "message"), [
    ({"error": "MPI_COMM_WORLD, operation 1: ranks do not call the same"},
     "conic mpiexec: MPI_COMM_WORLD, operation 1: ranks do not call the same"),
    ({"code": 3}, "conic mpiexec: the program ended with 3"),
    ({"report": result().report | {"differing_elements": 1, "differences": ["rank 0, element 3"]}},
     "conic mpiexec: rank 0, element 3"),
])
def test_a_failure(conic: Conic, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], message: str) -> None:
    monkeypatch.setattr(sim.cli.command.mpiexec, "run_program", lambda _program, **_options: result(**other))
    outcome = conic("mpiexec", "-n", "2", sys.executable)
    assert outcome.code == other.get("code", 1)
    assert outcome.err.strip().splitlines()[-1] == message
