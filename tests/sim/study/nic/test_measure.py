"""A point on the RTL: what is asked of it reaches hardware and hosts, and nothing is left of the point before."""

import os
import signal
import subprocess
import sys

import pytest

from firmware_models.config import load_preset
from sim.host import load_host
from sim.study.nic import measure as nic_measure
from sim.study.nic.measure import Setting, measure_with
from sim.study.noise.study import disturbed


def test_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulse size, hosts and their noise change times and no bit; so does the hardware."""
    monkeypatch.setattr(nic_measure, "_started", None)
    host = load_host("paper")
    setting = Setting(
        collective="allreduce", algorithm="recursive-doubling", preset="small", topology="star:2", nodes=2, seed=0,
        host=host, memory_bytes=1 << 20,
    )
    usual, cut, again = (measure_with(setting, 1, 2048, "offloaded", host, pulse) for pulse in (None, 64, None))
    noisy = measure_with(setting, 1, 2048, "offloaded", disturbed(host, "half late by 5 µs", 1))
    assert {row["sha256"] for row in (usual, cut, again, noisy)} == {usual["sha256"]}
    assert {**usual, "seconds": 0} == {**again, "seconds": 0}
    assert cut["cycles"] > usual["cycles"]
    # A packet of the whole message, or many.
    packets = load_preset("small").buffer_packets
    assert round(max(usual["peak"]) * packets) == 1 < round(max(cut["peak"]) * packets)
    assert max(usual["peak"]) > max(usual["occupancy"]) > 0
    late = host.cycles(5000)
    assert usual["cycles"] + 0.9 * late < noisy["cycles"] < usual["cycles"] + 1.1 * late


COPY = """
import os
import time
from sim.study.nic.measure import _in_a_copy

def measured():
    print(os.getpid(), flush=True)
    time.sleep(600)
    return {}

_in_a_copy(measured)
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_copy_ends_with_its_process(how: signal.Signals) -> None:
    """Interrupted studies leave nobody behind who goes on measuring for nobody."""
    with subprocess.Popen([sys.executable, "-c", COPY], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        copy = int(process.stdout.readline())
        process.send_signal(how)
        try:
            # The pipe is the copy's as well: its end comes when both are gone.
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.kill(copy, signal.SIGKILL)
            raise
