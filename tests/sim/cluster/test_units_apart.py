"""A NIC whose offload units are translated once, as a model of their own, is the same NIC."""

from dataclasses import replace

import pytest

import sim.cluster.build
from firmware_models.config import Config
from sim.collective import CollectiveRequest, CollectiveResult, run_collective
from testbench.unit_config import UNIT

# Everything is as small as it can be: it has to be compiled.
CONFIG = UNIT.changed(
    datapath={"data_width": 64, "mtu": 64},
    nic={"n_vps": 4, "n_cous": 4, "n_p2p_tags": 2, "n_windows": 2},
    cou={"n_jobs": 1, "n_contexts": 2, "sequence_depth": 8, "buffer_bytes": 1024, "buffer_mode": "linear",
         "n_peers": 4},
    reduce={"datatypes": ("float64",), "multiply": False},
    switch={"radix": 4, "table_entries": 4},
)


def run(config: Config) -> CollectiveResult:
    """Four jobs, one to each unit."""
    return run_collective(CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=3, jobs=4, size=512, config=config, preset="test",
    ))


@pytest.mark.long
@pytest.mark.parametrize("reliable", [False, True])
def test_cycles(monkeypatch: pytest.MonkeyPatch, reliable: bool) -> None:
    """Every bit is right, and it is cycle for cycle what one flat model does."""
    config = CONFIG.changed(link={"reliable": reliable})
    apart = run(config)
    assert apart.mismatched_bits == 0
    assert len(apart.completions) == 3 * 4
    monkeypatch.setattr(sim.cluster.build, "_units_stand_apart", lambda _config: False)
    flat = run(replace(config))
    assert apart.cycles == flat.cycles
    assert apart.sha256 == flat.sha256
    assert [entry.timestamp for entry in apart.completions] == [entry.timestamp for entry in flat.completions]
