"""Clusters whose offload units have registers between their parts: the same bits, some cycles later."""

from dataclasses import replace

import pytest

from firmware_models.config import PIPELINED_PARTS, load_preset
from sim.collective import CollectiveRequest, run_collective
from sim.soak.soak import soak

SMALL = load_preset("small")


def pipelined(*parts):
    """Preset small, these parts of it pipelined."""
    return replace(SMALL, datapath=replace(SMALL.datapath, pipelined=parts))


PIPELINED = pipelined(*PIPELINED_PARTS)


def request_for(collective, algorithm, *, config=PIPELINED, **fields):
    """A request on preset small, pipelined."""
    return CollectiveRequest(
        collective=collective, algorithm=algorithm, nodes=4, config=config, preset="small", **{"size": 0} | fields
    )


@pytest.mark.parametrize(("collective", "algorithm", "fields"), [
    ("allreduce", "recursive-doubling", {"size": 264}), ("allreduce", "rabenseifner", {"size": 8192, "jobs": 4}),
    ("reduce", "binomial", {"size": 520, "root": 2}), ("broadcast", "multicast", {"size": 4096}),
    ("barrier", "dissemination", {}),
])
def test_bits(collective, algorithm, fields):
    """One job and several, and by multicast."""
    result = run_collective(request_for(collective, algorithm, **fields))
    assert result.mismatched_bits == 0
    assert result.counters["completion_errors"] == result.counters["rx_unknown"] == 0


def test_soak():
    """A mix of collectives and messages, with random pauses of memories and links."""
    seed = 6
    print(f"seed {seed}")
    assert soak(PIPELINED, operations=100, nodes=4, seed=seed).operations == 100


@pytest.mark.long
@pytest.mark.parametrize("part", PIPELINED_PARTS)
def test_one_part(part):
    """Parts do not rely on each other's registers."""
    result = run_collective(request_for("allreduce", "recursive-doubling", config=pipelined(part), size=264))
    assert result.mismatched_bits == 0
    seed = 7
    print(f"seed {seed}")
    assert soak(pipelined(part), operations=100, nodes=4, seed=seed).operations == 100
