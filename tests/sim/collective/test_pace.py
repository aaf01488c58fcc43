"""Progress that is shown of a run while it goes on."""

import threading
from dataclasses import replace

import pytest

from firmware_models.config import load_preset
from sim.collective import CollectiveRequest, pace, run_collective
from sim.host import load_host
from sim.operation.bounds import link_load

REQUEST = CollectiveRequest(
    collective="allreduce", algorithm="rabenseifner", nodes=4, size=131072, config=load_preset("small"), preset="small",
)
"""Tens of thousands of cycles."""


@pytest.mark.parametrize("request_", [
    REQUEST, replace(REQUEST, host=load_host("paper")), replace(REQUEST, host=load_host("paper"), host_based=True),
], ids=["NICs", "with hosts", "by hosts"])
def test_cycles_are_shown(request_, monkeypatch):
    """While it runs, more and more of them, none that the operation does not take; and they change no cycle."""
    monkeypatch.setattr(pace, "_SECONDS", 0.002)
    seen = []
    result = run_collective(request_, progress=lambda *each: seen.append(each))
    told = [(done, total) for stage, done, total in seen if stage == pace.STAGE]
    flits = link_load(request_).payload_flits
    cycles = [done for done, _ in told]
    assert cycles == sorted(cycles)
    assert cycles[0] == 0
    assert len(set(cycles)) > 3, cycles
    assert max(cycles) <= result.last_cycle - result.first_cycle
    assert all(total == max(flits, done) for done, total in told)
    assert run_collective(request_).cycles == result.cycles


def test_nobody_tells_behind_an_error():
    """The thread has ended when the block has."""
    seen = []

    class Cluster:
        cycle = 7

    with pytest.raises(KeyError), pace.shown(Cluster(), 100, lambda *each: seen.append(each)):
        raise KeyError
    assert seen == [(pace.STAGE, 0, 100)]
    assert not [each for each in threading.enumerate() if each.name == "pace"]
