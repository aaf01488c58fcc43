"""How far a program is, while it runs."""

import sys

import pytest

from sim.mpi.policy import Policy
from sim.mpi.run import Program, run_program
from sim.mpi.sections import Section
from sim.mpi.standing import Standing

_PROGRAM = """
import time
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 1:
    time.sleep(0.5)
world.Barrier()
world.Bcast(np.zeros(1 << 17, np.uint8))
MPI.COMM_SELF.Barrier()
time.sleep(0.3)
"""


@pytest.fixture
def standings(small, monkeypatch: pytest.MonkeyPatch) -> list[Standing]:
    """Of a program in which one rank comes late to a barrier, and a message is cut into four."""
    monkeypatch.setattr("sim.mpi.launch.SECONDS_PER_STANDING", 0.02)
    monkeypatch.setattr("sim.mpi.fabric.PIECE_BYTES", 1 << 15)
    found: list[Standing] = []
    program = Program(
        sections=[Section(3, [sys.executable, "-c", _PROGRAM])], config=small, topology="star:3",
        policy=Policy(algorithms={}, patience=8.0, work_patience=600.0, simulated=False, frequency=500e6),
    )
    result = run_program(program, tell=found.append)
    assert (result.code, result.error) == (0, None)
    return found


def test_what_a_program_waits_for(standings: list[Standing]) -> None:
    waits = list(dict.fromkeys(standing.waits for standing in standings))
    assert "MPI_COMM_WORLD, operation 1: waits: ranks 0, 2: Barrier; rank 1: has not come" in waits
    on_nics = [each for each in waits if each.startswith("on the NICs: ")]
    assert "on the NICs: 50% of MPI_COMM_WORLD, operation 2: Bcast of 131072 MPI_UNSIGNED_CHAR, root 0" in on_nics
    assert standings[-1].waits == "no rank waits: the program computes, or is in calls of MPI's own"
    # Time, calls and cycles never go back, and the last ones are the whole program's.
    for name in ("seconds", "offloaded", "passed", "cycles"):
        values = [getattr(standing, name) for standing in standings]
        assert values == sorted(values)
    assert (standings[-1].offloaded, standings[-1].passed) == (6, 3)
    assert len({standing.cycles for standing in standings}) > 3


def test_line() -> None:
    standing = Standing(seconds=20.4, offloaded=1234, passed=5, cycles=6789012, waits="no rank waits")
    assert standing.line == "20 s: 1,234 calls on the NICs, 5 by MPI, 6,789,012 cycles simulated; no rank waits"
