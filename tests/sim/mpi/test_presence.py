"""Activity of a process, seen from outside."""

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from sim.mpi.presence import Presence

LOOPS = "while True: pass"
SLEEPS = "import time; time.sleep(60)"
STARTS = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOOPS!r}])"


@pytest.fixture
def process(request):
    """A process that runs the parameter."""
    with subprocess.Popen([sys.executable, "-c", request.param], start_new_session=True) as started:
        time.sleep(0.5)
        yield started
        subprocess.run(["kill", "-KILL", "--", f"-{started.pid}"], check=True)


def watch(pid, inside=""):
    """A presence that has looked at rank 0 for a second."""
    presence, begin = Presence(), time.monotonic()
    link = SimpleNamespace(pid=pid, rank=0, inside=[inside])
    for _ in range(5):
        presence.look([link], time.monotonic())
        time.sleep(0.2)
    return presence, begin


@pytest.mark.parametrize(("process", "works"), [(LOOPS, True), (SLEEPS, False), (STARTS, True)], indirect=["process"])
def test_work(process, works):
    """Work is the processor's, of the process or of one that it has started."""
    presence, begin = watch(process.pid)
    assert presence.computes(0, begin) is works
    assert presence.call_of(0) is None


@pytest.mark.parametrize("process", [LOOPS], indirect=True)
def test_spinning_inside_of_mpi_is_no_work(process):
    presence, begin = watch(process.pid, "MPI_Recv")
    assert not presence.computes(0, begin)
    assert presence.call_of(0) == "MPI_Recv"


def test_a_rank_of_which_nothing_is_known():
    assert Presence().computes(3, 0.0)
