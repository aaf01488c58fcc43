"""Programs, unchanged, on the NICs: NumPy's results for exact types, MPICH's own bits for sums."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sim.mpi.fabric import Fabric
from sim.mpi.interposer import tool

PROGRAMS = Path(__file__).with_name("programs")


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_collective(run, ranks):
    result = run("collectives.py", ranks=ranks)
    assert (result.code, result.error) == (0, None)
    done = {row["operation"] for row in result.report["operations"]}
    assert done >= {"Allreduce", "Reduce", "Bcast", "Barrier", "Allgather", "Reduce_scatter_block", "Scatter", "Gather",
                    "Alltoall", "Scan", "Exscan", "Allgatherv", "Gatherv", "Scatterv", "Reduce_scatter"}
    passed = {(row["operation"], row["reason"]) for row in result.report["passed"]}
    assert ("Allreduce", "an operator of the program's own") in passed
    assert ("Barrier", "a communicator of one rank") in passed
    assert ("Alltoallv", "the NIC has no schedule for it") in passed
    assert result.report["offloaded_fraction"] > 0.9


@pytest.mark.parametrize("ranks", [2, 3])
def test_persistent(run, ranks):
    """Started four times each, in orders that differ; what is MPI's own is counted at each start."""
    result = run("persistent.py", ranks=ranks)
    assert (result.code, result.error) == (0, None)
    done = {row["operation"]: row["operations"] for row in result.report["operations"]}
    assert done == {"Allreduce": 5, "Bcast": 4, "Allgatherv": 4, "Exscan": 4, "Barrier": 4}
    passed = {(row["operation"], row["reason"]): row["calls"] for row in result.report["passed"]}
    assert passed == {
        ("Allreduce", "an operator of the program's own"): 4 * ranks,
        ("Alltoallv", "the NIC has no schedule for it"): 4 * ranks,
        ("Barrier", "a communicator of one rank"): 3 * ranks,
    }


def test_bits_of_mpich(tmp_path, run, capfd):
    """A C program's sums: the same bits on the NICs as under MPICH with the same algorithm."""
    program = tmp_path / "sums"
    subprocess.run([tool("mpicc"), "-o", program, PROGRAMS / "sums.c"], check=True)
    environment = os.environ | {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "recursive_doubling", "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
    }
    plain = subprocess.run(
        [tool("mpiexec"), "-n", "4", program], env=environment, capture_output=True, text=True, check=True
    ).stdout
    capfd.readouterr()
    result = run("sums.c", ranks=4, command=[str(program)])
    assert (result.code, result.error) == (0, None)
    assert capfd.readouterr().out == plain
    assert plain.count("\n") == 200
    assert result.report["operations"][0]["algorithm"] == "recursive-doubling"


def test_program_of_the_readme(tmp_path, run, capfd):
    """It prints one sha256, on the NICs and under MPICH."""
    readme = Path(__file__).parents[3] / "README.md"
    program = tmp_path / "program.py"
    program.write_text(re.search(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)[1])
    command = [sys.executable, str(program)]
    environment = os.environ | {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "recursive_doubling", "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
    }
    plain = subprocess.run(
        [tool("mpiexec"), "-n", "4", *command], env=environment, capture_output=True, text=True, check=True
    ).stdout
    capfd.readouterr()
    result = run("program.py", ranks=4, command=command)
    assert (result.code, result.error, result.report["offloaded"]) == (0, None, 4)
    assert capfd.readouterr().out == plain
    assert re.fullmatch(r"[0-9a-f]{64}\n", plain)


@pytest.mark.parametrize("flags", [(), ("-DLATER",), ("-DAGAIN",)], ids=["waits", "does not wait", "persistent"])
@pytest.mark.parametrize("algorithm", ["recursive-doubling", "rabenseifner", "ring"])
def test_check_finds_nothing(run, compiled, algorithm, flags):
    """Bits of floating-point sums, in every form."""
    program = compiled("sums.c", *flags)
    result = run("sums.c", ranks=4, command=[program], check=True, algorithms={"allreduce": algorithm})
    assert (result.report["checked_elements"], result.report["differing_elements"]) == (800, 0)
    assert result.report["operations"][0]["algorithm"] == algorithm


def test_check_of_every_collective(run):
    """MPICH does each blocking one too, with counts for each rank and in place; all results here are exact."""
    result = run("collectives.py", ranks=3, check=True)
    assert (result.code, result.error) == (0, None)
    assert result.report["checked_elements"] > 20_000
    assert result.report["differences"] == []


def test_check_finds_a_bit(run, tmp_path, monkeypatch):
    """One bit of one element of one rank is changed on its way from the NIC to the program."""
    program = tmp_path / "sums"
    subprocess.run([tool("mpicc"), "-o", program, PROGRAMS / "sums.c"], check=True)
    collect = Fabric._collect

    def collect_wrongly(self, running):
        collect(self, running)
        running.results[2][8 * 17] ^= 1

    monkeypatch.setattr(Fabric, "_collect", collect_wrongly)
    result = run("sums.c", ranks=4, command=[str(program)], check=True)
    assert (result.report["checked_elements"], result.report["differing_elements"]) == (800, 1)
    line, = result.report["differences"]
    assert line.startswith("MPI_COMM_WORLD: Allreduce, rank 2, element 17: ")
    ours, theirs = (int(word, 16) for word in line.split() if len(word) == 16)
    assert ours ^ theirs == 1


def test_other_orders_of_addition_differ(run, tmp_path, monkeypatch):
    """Negative control: the ring does not add as MPICH's recursive doubling does."""
    program = tmp_path / "sums"
    subprocess.run([tool("mpicc"), "-o", program, PROGRAMS / "sums.c"], check=True)
    monkeypatch.setattr("sim.mpi.mpich.MPICH_ALGORITHMS", {("allreduce", "ring"): ("ALLREDUCE", "recursive_doubling")})
    result = run("sums.c", ranks=4, command=[str(program)], check=True, algorithms={"allreduce": "ring"})
    assert result.report["differing_elements"] > 0


def test_simulated_time(run, capfd):
    """Sixteen barriers take the cycles of the report, at the frequency that was given, and no more."""
    result = run("clock.py", ranks=2, frequency=1e6, compute_scale=0.0)
    seconds = [float(line) for line in capfd.readouterr().out.split()]
    row, = result.report["operations"]
    assert row["operations"] == 17
    assert len(seconds) == 2
    for each in seconds:
        assert 16 * row["cycles_min"] / 1e6 * 0.5 < each <= 16 * row["cycles_max"] / 1e6 + 1e-9


def test_a_killed_simulator_leaves_nothing(small):
    """SIGKILL, to which nobody can say anything: the launcher goes, and the ranks with it."""
    assert small
    command = [sys.executable, "-m", "sim.cli.main", "mpiexec", "-n", "2", sys.executable, str(PROGRAMS / "faults.py"),
               "never"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL) as process:
        ranks = [int(process.stdout.readline()) for _ in range(2)]
        process.kill()
        end = time.monotonic() + 10
        while any(Path(f"/proc/{rank}/fd").exists() for rank in ranks) and time.monotonic() < end:
            time.sleep(0.05)
        assert not [rank for rank in ranks if Path(f"/proc/{rank}").exists()]
    assert f"conic-{process.pid}-" not in Path("/proc/net/unix").read_text()
