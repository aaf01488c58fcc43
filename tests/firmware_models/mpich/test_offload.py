"""The NIC's RTL under random arrival orders, and MPICH: one sha256."""

import numpy as np
import pytest
from test_mpich import mpich

from firmware_models.config import load_preset
from firmware_models.golden import sha256
from sim.collective import CollectiveRequest, verify


def digests(folder, algorithm, *, nodes, size, orders):
    """Of `orders` runs on the RTL, which must agree, and of MPICH's result for the same data."""
    request = CollectiveRequest(
        collective="allreduce", algorithm=algorithm, nodes=nodes, size=size, config=load_preset("small"),
        preset="small",
    )
    ours = verify(request, orders=orders)
    assert (ours.distinct_results, ours.mismatched_bits) == (1, 0)
    (theirs,) = mpich(folder, "allreduce", algorithm, {"x": request.data(0)}, [0]).values()
    return ours.sha256, sha256(np.stack([theirs]))


@pytest.mark.parametrize("algorithm", ["rabenseifner", "ring"])
def test_bits_of_the_hardware(algorithm, tmp_path):
    """Five nodes, where algorithms differ in the order of their sums."""
    ours, theirs = digests(tmp_path, algorithm, nodes=5, size=1000, orders=2)
    assert ours == theirs


@pytest.mark.long
def test_a_hundred_orders(tmp_path):
    """What ``conic verify allreduce --algorithm rabenseifner --nodes 8 --size 64KiB --orders 100`` prints."""
    ours, theirs = digests(tmp_path, "rabenseifner", nodes=8, size=65536, orders=100)
    print(f"100 orders on the RTL and MPICH: {ours}")
    assert ours == theirs
