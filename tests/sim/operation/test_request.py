"""Requests: what is refused, before anything is built, and in which words."""

from dataclasses import replace

import numpy as np
import pytest

from firmware_models.config import load_preset
from sim.operation.request import CollectiveRequest, RequestError

GOOD = {
    "collective": "allreduce", "algorithm": "recursive-doubling", "nodes": 4, "size": 64,
    "config": load_preset("small"), "preset": "small",
}

REFUSED = [
    ({"nodes": 0}, "nodes must be at least 2, not 0"),
    ({"nodes": 1}, "nodes must be at least 2, not 1"),
    ({"nodes": 65}, "topology 'star:65': radix must be 1 to 64, not 65"),
    ({"topology": "star:3"}, "nodes must be 2 to 3, the terminals of 'star:3', not 4"),
    (
        {"collective": "sort"},
        "collective must be one of broadcast, reduce, allreduce, barrier, allgather, reduce-scatter, scatter, gather, "
        "alltoall, scan, exscan, not 'sort'",
    ),
    (
        {"algorithm": "star"},
        "algorithm of allreduce must be one of recursive-doubling, rabenseifner, reduce-multicast, ring, not 'star'",
    ),
    ({"collective": "gather", "algorithm": "binomial", "root": 4}, "root must be 0 to 3, not 4"),
    (
        {"collective": "alltoall", "algorithm": "pairwise", "size": 72},
        "size must be a multiple of 32 bytes for alltoall: 4 blocks of whole float64, not 72",
    ),
    ({"algorithm": "ring", "nodes": 33}, "blocks must be at most 32 (cou.n_blocks), not 33"),
    ({"root": 1}, "root must be 0 for allreduce, which has none, not 1"),
    ({"collective": "reduce", "algorithm": "binomial", "root": 4}, "root must be 0 to 3, not 4"),
    ({"size": 12}, "size must be a positive multiple of 8 bytes (float64), not 12"),
    ({"size": 0}, "size must be a positive multiple of 8 bytes (float64), not 0"),
    ({"size": 1 << 32}, f"size must be below {1 << 32} bytes, not {1 << 32}"),
    (
        {"collective": "barrier", "algorithm": "dissemination"},
        "size must be 0 for barrier, which moves no data, not 64",
    ),
    ({"jobs": 0}, "jobs must be 1 to 8, not 0"),
    ({"jobs": 9}, "jobs must be 1 to 8, not 9"),
    ({"op": "xor"}, "op of float64 must be one of sum, min, max, prod, not 'xor'"),
    ({"op": "sum", "dtype": "double_int"}, "op of double_int must be one of minloc, maxloc, not 'sum'"),
    ({"dtype": "uint8"}, "op of uint8 must be of another dtype: there is none, not 'sum'"),
    ({"op": "median"}, "op must be one of sum, min, max, prod, and, or, xor, minloc, maxloc, not 'median'"),
    (
        {"dtype": "float16"},
        "dtype must be one of float64, int64, uint64, float32, int32, uint8, double_int, not 'float16'",
    ),
    (
        {"inputs": np.zeros((3, 8))},
        "inputs must have shape (4, 8) and dtype float64, not (3, 8) and float64",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused(change, message):
    """One line: the field, what is allowed, the value."""
    with pytest.raises(RequestError) as caught:
        CollectiveRequest(**GOOD | change)
    assert str(caught.value) == message


def test_data_repeat():
    """The same seed gives the same data, another job or seed another."""
    first, again = CollectiveRequest(**GOOD, jobs=2), CollectiveRequest(**GOOD, jobs=2)
    other = CollectiveRequest(**GOOD, jobs=2, seed=1)
    assert np.array_equal(first.data(1), again.data(1))
    assert not np.array_equal(first.data(0), first.data(1))
    assert not np.array_equal(first.data(0), other.data(0))


@pytest.mark.parametrize(("nodes", "radix"), [(2, 2), (3, 4), (4, 4), (5, 8), (9, 16)])
def test_switch_has_the_ports_of_the_topology(nodes, radix):
    """Nothing else differs from the preset."""
    hardware = CollectiveRequest(**GOOD | {"nodes": nodes}).hardware()
    assert hardware.switch.radix == radix
    assert replace(hardware, switch=replace(hardware.switch, radix=GOOD["config"].switch.radix)) == GOOD["config"]


def test_an_exscan_of_two_reduces_nothing() -> None:
    """Rank 1 gets what rank 0 has: any operator, of any data, for the reduce unit has no part in it."""
    request = CollectiveRequest(
        collective="exscan", algorithm="distance-doubling", nodes=2, size=64, config=load_preset("small"),
        preset="small", dtype="uint8", op="sum", topology="star:4",
    )
    assert request.op == "sum"
    with pytest.raises(RequestError, match="op"):
        replace(request, op="median")
    with pytest.raises(RequestError, match="op of uint8 must be of another dtype"):
        replace(request, nodes=3)
