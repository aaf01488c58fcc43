"""Requests hold what they need, look at nothing that MPI ignores, and are refused as MPI refuses them."""

import re
import subprocess

import pytest

from sim.mpi.fabric import Fabric
from sim.mpi.interposer import tool


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_is_freed_early_is_held(run, compiled, ranks):
    """Communicators, types, operators and counts of every collective that does not wait, or is persistent."""
    result = run("held.c", ranks=ranks, command=[compiled("held.c")])
    assert (result.code, result.error) == (0, None)
    done = {row["operation"] for row in result.report["operations"]}
    assert done == {"Allreduce", "Reduce", "Bcast", "Barrier", "Allgather", "Reduce_scatter_block", "Scatter", "Gather",
                    "Alltoall", "Scan", "Exscan", "Allgatherv", "Gatherv", "Scatterv", "Reduce_scatter"}
    # MPI has the operators of the program's own alone: waiting, they are not seen here; then once, and three times.
    passed = {row["operation"]: row["calls"] for row in result.report["passed"]}
    reductions = ("Allreduce", "Reduce", "Scan", "Exscan", "Reduce_scatter_block", "Reduce_scatter")
    assert passed == dict.fromkeys(reductions, 4 * ranks)


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_is_ignored_is_not_looked_at(run, compiled, ranks):
    result = run("ignored.c", ranks=ranks, command=[compiled("ignored.c")])
    assert (result.code, result.error, result.report["passed"]) == (0, None, [])


def test_refusals_are_those_of_mpi(run, compiled, capfd):
    """Class of the error, and whether it came by the program's handler: of each collective, reason and form."""
    program = compiled("refused.c")
    plain = subprocess.run([tool("mpiexec"), "-n", "2", program], capture_output=True, text=True, check=True).stdout
    capfd.readouterr()
    result = run("refused.c", ranks=2, command=[program])
    assert (result.code, result.error) == (0, None)
    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == sorted(plain.splitlines())
    # Refused with an error that is returned, or by the handler, and what comes next is good again.
    refused = [line for line in lines if ", good, " not in line]
    assert len(refused) > 500
    assert all(re.search(r"class [1-9]\d*, heard 0, then 0$|heard 1, then 0$", line) for line in refused)
    assert result.report["offloaded"] > 1_000
    assert {row["reason"] for row in result.report["passed"]} == {"arguments that MPI refuses"}


def test_requests_that_go_nowhere(run, compiled, capfd):
    """A pointer to no request is MPI's to refuse, in each call that makes or takes one."""
    program = compiled("nowhere.c")
    plain = subprocess.run([tool("mpiexec"), "-n", "2", program], capture_output=True, text=True, check=True).stdout
    capfd.readouterr()
    result = run("nowhere.c", ranks=2, command=[program])
    assert (result.code, result.error, result.report["offloaded"]) == (0, None, 2)
    lines = capfd.readouterr().out.splitlines()
    assert lines == plain.splitlines()
    assert len(lines) == 17


@pytest.mark.parametrize("threads", [150])
def test_threads_come_and_go(run, compiled, capfd, threads):
    """Also when others wait for what they have begun; what is over gives back its room, whatever is under way."""
    result = run("churn.c", ranks=2, command=[compiled("churn.c"), str(threads)])
    assert (result.code, result.error) == (0, None)
    grown, = re.findall(r"grown by (-?\d+) KiB", capfd.readouterr().out)
    assert int(grown) <= 64
    assert result.report["offloaded"] == 2 * threads + 2


def test_check_compares_every_form(run, compiled):
    """Nonblocking and persistent calls are compared as blocking ones are."""
    result = run("held.c", ranks=2, command=[compiled("held.c")], check=True)
    assert (result.code, result.error, result.report["differences"]) == (0, None, [])
    once = run("held.c", ranks=2, command=[compiled("held.c", "-DTURNS=1")], check=True)
    # Persistent ones are started three times.
    assert result.report["checked_elements"] == 4 * once.report["checked_elements"] > 0


@pytest.mark.parametrize("turns", [1, 2])
def test_check_finds_a_bit_in_every_form(run, compiled, monkeypatch, turns):
    """One bit of one result of each operation is changed on its way from the NIC to the program."""
    collect = Fabric._collect

    def collect_wrongly(self, running):
        collect(self, running)
        for result in running.results:
            if len(result):
                result[0] ^= 1
                break

    monkeypatch.setattr(Fabric, "_collect", collect_wrongly)
    result = run("held.c", ranks=2, command=[compiled("held.c", f"-DTURNS={turns}")], check=True)
    wrong = sum(
        row["operations"] for row in result.report["operations"]
        if row["bytes"] and row["algorithm"] != "none: no elements"
    )
    assert result.report["differing_elements"] == wrong > 0
