"""Other algorithms, presets, sizes and numbers of ranks than the usual ones."""

import json
import sys
from pathlib import Path

import pytest

from firmware_models.config import load_preset
from sim.cluster.stalls import random_stalls
from sim.mpi.fabric import Fabric
from sim.mpi.policy import Policy
from sim.mpi.run import Program, run_program
from sim.mpi.sections import Section
from sim.report.chrome_trace import chrome_trace

PROGRAMS = Path(__file__).with_name("programs")


def test_multicast(run):
    """For MPI_COMM_WORLD what was asked for; for other communicators the default, which is said."""
    wanted = {"broadcast": "multicast", "allreduce": "reduce-multicast", "barrier": "multicast"}
    result = run("collectives.py", ranks=4, algorithms=wanted)
    assert (result.code, result.error) == (0, None)
    taken = {(row["operation"], row["algorithm"]) for row in result.report["operations"] if row["ranks"] == 4}
    assert {("Bcast", "multicast"), ("Allreduce", "reduce-multicast"), ("Barrier", "multicast")} <= taken
    others = {row["algorithm"] for row in result.report["operations"] if row["ranks"] == 2}
    assert others
    assert not any("multicast" in name for name in others)


def test_messages_are_cut(run, monkeypatch):
    """Pieces of 4 KiB instead of 1 MiB: many of them, and MPICH's results by the same algorithm."""
    pieces = []
    post = Fabric._post

    def counted(self, running):
        post(self, running)
        pieces.append(running.width * running.operation.n_blocks)

    monkeypatch.setattr("sim.mpi.fabric.PIECE_BYTES", 4096)
    monkeypatch.setattr(Fabric, "_post", counted)
    result = run("several.py", "1024", ranks=2, check=True)
    assert (result.code, result.error) == (0, None)
    assert max(pieces) == 4096
    assert len(pieces) > 30
    assert result.report["checked_elements"] > 10_000
    assert result.report["differing_elements"] == 0


def test_several_communicators_at_once(run, monkeypatch):
    """Operations of communicators run beside each other on the same NICs."""
    beside = []
    advance = Fabric.advance

    def watched(self):
        beside.append(len(self._running))
        return advance(self)

    monkeypatch.setattr(Fabric, "advance", watched)
    result = run("several.py", "2000", ranks=4)
    assert (result.code, result.error) == (0, None)
    assert max(beside) >= 4


def test_trace(run):
    """Activity of the NICs, as a file for viewers of traces."""
    result = run("clock.py", ranks=2, trace=True)
    assert (result.code, result.error) == (0, None)
    events = json.loads(json.dumps(chrome_trace(result.events)))["traceEvents"]
    assert {event["pid"] for event in events} >= {0, 1}
    assert len(events) > 100


@pytest.mark.parametrize("seed", [4, 9])
def test_disturbed(run, capfd, seed):
    """Memories, links and starts that are late change no bit: the test compares them with NumPy's."""
    result = run("several.py", "100", ranks=3, stalls=random_stalls(seed), seed=seed)
    assert (result.code, result.error) == (0, None), capfd.readouterr().err


@pytest.mark.long
def test_eight_ranks(run):
    result = run("collectives.py", ranks=8, work_patience=0.0, patience=60.0)
    assert (result.code, result.error) == (0, None)
    assert result.report["offloaded_fraction"] > 0.9


@pytest.mark.long
def test_long_messages(run):
    """2.5 MiB: three pieces of an allreduce."""
    result = run("several.py", str(5 << 16), ranks=2, patience=60.0)
    assert (result.code, result.error) == (0, None)


@pytest.mark.long
def test_preset_paper():
    """256 bits, eight offload units; and everything that the other preset does."""
    command = [sys.executable, str(PROGRAMS / "collectives.py")]
    result = run_program(Program(
        sections=[Section(4, command)], config=load_preset("paper"), topology="star:4",
        policy=Policy(algorithms={}, patience=60.0),
    ))
    assert (result.code, result.error) == (0, None)
    assert result.report["offloaded_fraction"] > 0.9
