"""Collectives on the RTL of a cluster."""

import numpy as np
import pytest

from firmware_models.config import load_preset
from firmware_models.host import collective as host
from rtl.reduce.operation import OPERATIONS
from sim.cluster.stalls import random_stalls
from sim.collective import CollectiveError, CollectiveRequest, run_collective, verify
from sim.collective import run as subject
from sim.operation import session

SMALL = load_preset("small")
ALGORITHMS = {
    "allreduce": "recursive-doubling", "reduce": "binomial", "broadcast": "binomial", "barrier": "dissemination",
}


def request_for(collective="allreduce", **fields):
    """A request on preset small."""
    defaults = {"nodes": 3, "size": 0 if collective == "barrier" else 256}
    return CollectiveRequest(
        collective=collective, algorithm=ALGORITHMS[collective], config=SMALL, preset="small", **defaults | fields
    )


@pytest.mark.parametrize("collective", ALGORITHMS)
@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8])
def test_bits(collective, nodes):
    """Every bit is the golden model's, at any number of nodes."""
    result = run_collective(request_for(collective, nodes=nodes))
    assert result.mismatched_bits == 0
    assert len(result.completions) == nodes
    assert result.counters["rx_malformed"] == result.counters["rx_wrong_node"] == 0


@pytest.mark.parametrize(("collective", "jobs"), [("allreduce", 1), ("broadcast", 1), ("allreduce", 4)])
def test_lending(collective, jobs):
    """Busy jobs borrow from the pools of their receivers, use most of what they are lent, and give all of it back."""
    result = run_collective(request_for(collective, nodes=4, size=393216 // jobs, jobs=jobs))
    assert result.mismatched_bits == 0
    assert result.counters["loans_granted"] > 100
    assert result.counters["loans_unused"] < result.counters["loans_granted"] // 5
    assert {unit["unlent"] for unit in result.buffer_occupancy} == {SMALL.pool_packets}
    assert result.counters["rx_unknown"] == 0


@pytest.mark.parametrize("size", [8, 56, 64, 72, 248, 256, 264, 504, 512, 520, 65536])
def test_sizes(size):
    """Every boundary of payload, flit and pulse, plus and minus one element, and many pulses."""
    assert run_collective(request_for(size=size)).mismatched_bits == 0


def test_roots():
    """Every root, where the association of operands differs."""
    for root in range(5):
        for collective in ("reduce", "broadcast"):
            assert run_collective(request_for(collective, nodes=5, root=root)).mismatched_bits == 0


def test_special_values_come_through():
    """NaN, infinities, subnormals and signed zeros are data like any other."""
    inputs = np.array([
        [np.nan, np.inf, -np.inf, 5e-324, -0.0, 1e308, np.inf, 1.0],
        [1.0, 1.0, 1.0, 5e-324, -0.0, 1e308, -np.inf, 2.0**-53],
        [2.0, 2.0, 2.0, -5e-324, 0.0, -1e308, 3.0, 2.0**-53],
    ])
    result = run_collective(request_for(inputs=inputs, size=64))
    assert result.mismatched_bits == 0
    assert np.isnan(result.outputs[:, [0, 6]]).all()
    assert np.isposinf(result.outputs[:, 1]).all()
    assert np.isneginf(result.outputs[:, 2]).all()


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_broadcast_moves_any_type(dtype):
    """Data that is not computed with may have any type, and any number of bytes."""
    assert run_collective(request_for("broadcast", dtype=dtype, size=252)).mismatched_bits == 0


@pytest.mark.parametrize(
    "operation", OPERATIONS, ids=lambda each: f"{each.datatype.name.lower()}-{each.operator.name.lower()}"
)
def test_every_operation(operation):
    """Every operator on every element type, from host memory to host memory."""
    dtype, op = (part.name.lower() for part in operation)
    assert run_collective(request_for("reduce", nodes=3, dtype=dtype, op=op, size=528)).mismatched_bits == 0


def test_jobs_side_by_side():
    """As many jobs as the preset has places for, each with its own data."""
    result = run_collective(request_for(nodes=4, jobs=8, size=1024))
    assert result.mismatched_bits == 0
    assert len(result.completions) == 32


def test_runs_repeat_exactly():
    """The same seed gives the same cycles, stalls included; another one does not."""
    runs = [run_collective(request_for(stalls=random_stalls(7), seed=seed)) for seed in (1, 1, 2)]
    assert runs[0].cycles == runs[1].cycles
    assert runs[0].events == runs[1].events
    assert runs[0].cycles != runs[2].cycles


def test_what_nobody_keeps():
    """Without events a run is the same: keeping them takes memory and no cycle."""
    kept, bare = (run_collective(request_for(stalls=random_stalls(7)), keeps_events=keeps) for keeps in (True, False))
    assert kept.events
    assert bare.events == []
    assert (bare.cycles, bare.last_cycle, bare.sha256, bare.counters, bare.stalls) == (
        kept.cycles, kept.last_cycle, kept.sha256, kept.counters, kept.stalls
    )


def test_verify():
    """Many orders, stalls, delays and pulse sizes: one result."""
    request = request_for("reduce", nodes=5, size=1000)
    result = verify(request, orders=8)
    assert (result.distinct_results, result.mismatched_bits, result.first_difference) == (1, 0, None)
    assert verify(request, orders=8, workers=2) == result


def test_wrong_bits_are_seen(monkeypatch):
    """The comparison is with the golden model: spoil that, and the run must say so."""
    golden = session.reference

    def spoilt(*args, **kwargs):
        right = golden(*args, **kwargs)
        right.results[1, 0] = np.nextafter(right.results[1, 0], np.inf)
        return right

    monkeypatch.setattr(session, "reference", spoilt)
    assert run_collective(request_for()).mismatched_bits > 0


def test_wrong_order_is_seen(monkeypatch):
    """The root's two children numbered the other way round: added in another order, other bits."""
    pack = host.pack_sequence

    def shuffled(sequence):
        fields = [dict(desc) for desc in sequence]
        for desc in fields:
            if desc.get("cp") and desc["dest_id"] == 0:
                desc["out_seq_id"] = 1 - desc["out_seq_id"]
        return pack(fields)

    monkeypatch.setattr(host, "pack_sequence", shuffled)
    result = run_collective(request_for("reduce", nodes=4, size=1024))
    assert result.mismatched_bits > 0


def test_hang_is_reported(monkeypatch):
    """A packet that is never sent: the error names who waits and shows the counters of every NIC."""
    pack = host.pack_sequence

    def silent(sequence):
        fields = [dict(desc) for desc in sequence]
        if fields[0]["source_vp"] == 0 and len(fields) == 1 and fields[0].get("cp"):
            fields[0]["cp"] = 0
        return pack(fields)

    monkeypatch.setattr(host, "pack_sequence", silent)
    monkeypatch.setattr(subject, "_cycle_budget", lambda _request: 20_000)
    expected = r"(?s)reduce did not end by cycle \d+; no completion at node 0 job 0.*node 2: "
    with pytest.raises(CollectiveError, match=expected):
        run_collective(request_for("reduce"))
