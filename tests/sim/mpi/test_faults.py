"""Programs that are wrong end within ten seconds, with a message that says who said what, and leave nothing behind."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firmware_models.config import Config
from sim.cluster import build_library
from sim.fabric.topology import parse_topology
from sim.mpi.interposer import build_interposer
from sim.mpi.run import wired

PROGRAMS = Path(__file__).with_name("programs")
RANKS = 3
MESSAGES = {
    "collective": "MPI_COMM_WORLD, operation 1: ranks do not call the same: ",
    "count": "MPI_COMM_WORLD, operation 1: ranks do not call the same: ",
    "datatype": "MPI_COMM_WORLD, operation 1: ranks do not call the same: ",
    "operator": "MPI_COMM_WORLD, operation 1: ranks do not call the same: ",
    "root": "MPI_COMM_WORLD, operation 1: ranks do not call the same: ",
    "moved": "MPI_COMM_WORLD, operation 1: ranks do not agree on how much there is: "
             "ranks 0, 1: Bcast of 4 MPI_DOUBLE, root 0; rank 2: Bcast of 3 MPI_DOUBLE, root 0",
    "dies": "MPI_COMM_WORLD, operation 2: some rank will never come: ",
    "deserts": "MPI_COMM_WORLD: ended without MPI_Finalize, as seen one after the other: ranks ",
    "leaves": "MPI_COMM_WORLD, operation 1: some rank will never come: ",
    "never": "MPI_COMM_WORLD, operation 1: no rank has come for 3 s (--patience): "
             "ranks 0, 1: Allreduce of 4 MPI_DOUBLE by MPI_SUM; rank 2: has not come, and does nothing outside of MPI",
    "refused": "MPI_COMM_WORLD, operation 1: no rank has come for 3 s (--patience): "
               "ranks 0, 1: Bcast of 4 MPI_DOUBLE, root 0; rank 2: has not come, and does nothing outside of MPI; "
               "MPI has refused a call of it: Bcast",
    "receives": "MPI_COMM_WORLD, operation 1: no rank has come for 3 s (--patience): "
                "ranks 0, 1: Allreduce of 4 MPI_DOUBLE by MPI_SUM; rank 2: has not come, but is in MPI_Mprobe",
    "stranded": "communicator 0, operation 1: no rank has come for 3 s (--patience): "
                "rank 0: Barrier; rank 1: has not come, but is in MPI_Mprobe",
    "loops": "MPI_COMM_WORLD, operation 1: no rank has come for 4 s, though some work (--work-patience): "
             "ranks 0, 1: Allreduce of 4 MPI_DOUBLE by MPI_SUM; rank 2: has not come, but works outside of MPI",
    "order": "no rank has come for 3 s (--patience): ",
}
"""Messages at three ranks; only their beginnings where the order of arrival decides what is reported."""
SAID = {
    "collective": ("Allreduce of 4 MPI_DOUBLE by MPI_SUM", "rank 2: Reduce of 4 MPI_DOUBLE by MPI_SUM, root 0"),
    "count": ("Allreduce of 4 MPI_DOUBLE by MPI_SUM", "rank 2: Allreduce of 3 MPI_DOUBLE by MPI_SUM"),
    "datatype": ("Allreduce of 4 MPI_DOUBLE by MPI_SUM", "rank 2: Allreduce of 4 MPI_FLOAT by MPI_SUM"),
    "operator": ("Allreduce of 4 MPI_DOUBLE by MPI_SUM", "rank 2: Allreduce of 4 MPI_DOUBLE by MPI_MAX"),
    "root": ("Bcast of 4 MPI_DOUBLE, root 0", "rank 2: Bcast of 4 MPI_DOUBLE, root 2"),
    "deserts": ("0", "1", "2"),
    "dies": ("Ibarrier; ", "rank 2: has ended without MPI_Finalize"),
    "leaves": ("Allreduce of 4 MPI_DOUBLE by MPI_SUM; ", "rank 2: has called MPI_Finalize"),
    "order": ("has not come, but is in operation 1 of ",),
}


@pytest.fixture(scope="module", autouse=True)
def built(mpi: None, small: Config) -> None:
    """Builds that the programs need, so that no program's time is that of a compiler."""
    build_interposer()
    build_library(wired(small, parse_topology(f"star:{RANKS}", n_nodes=RANKS), ranks=RANKS))


@pytest.mark.parametrize("name", MESSAGES)
def test_fault(name, run, capfd):
    begin = time.monotonic()
    # Others than those that wait must not be told to have waited, however busy the machine is.
    waits = name in ("never", "order", "receives", "refused", "stranded", "loops")
    result = run("faults.py", name, ranks=RANKS, patience=3.0 if waits else 8.0, work_patience=4.0)
    seconds = time.monotonic() - begin
    assert result.error is not None
    if name in SAID:
        assert MESSAGES[name] in result.error
        assert all(said in result.error for said in SAID[name]), result.error
    else:
        assert result.error == MESSAGES[name]
    assert seconds < 10
    processes = [int(word) for word in re.findall(r"^(\d+)$", capfd.readouterr().out, re.MULTILINE)]
    assert 2 <= len(processes) <= 3  # whoever is slow is ended before it has said anything
    time.sleep(0.2)
    assert not [process for process in processes if Path(f"/proc/{process}").exists()]
    assert f"conic-{os.getpid()}-" not in Path("/proc/net/unix").read_text()


@pytest.mark.long
@pytest.mark.parametrize("name", ["collective", "leaves", "dies", "never"])
def test_the_command_ends_soon(name):
    """All of it, from start to end, with the patience that it has by default."""
    command = [sys.executable, "-m", "sim.cli.main", "mpiexec", "-n", str(RANKS), sys.executable]
    begin = time.monotonic()
    done = subprocess.run([*command, PROGRAMS / "faults.py", name], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    print(f"{name}: {seconds:.1f} s")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"conic mpiexec: {MESSAGES[name]}")
    assert all(said in done.stderr for said in SAID.get(name, ()))
    assert seconds < 10


def test_who_works_is_waited_for(run, capfd):
    """For longer than for those that do nothing; the program is told once, and ends well."""
    result = run("faults.py", "slow", ranks=RANKS, patience=1.0)
    assert (result.code, result.error) == (0, None)
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("conic mpiexec: ")]
    assert said == [
        "conic mpiexec: MPI_COMM_WORLD, operation 1: waits for at most 600 s (--work-patience): "
        "rank 0: Allreduce of 4 MPI_DOUBLE by MPI_SUM; rank 1: has not come, but works outside of MPI; "
        "rank 2: has not come, but is in MPI_Mprobe",
    ]
