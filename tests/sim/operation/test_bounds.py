"""Loads of links, against numbers by hand and packets that were counted on the wire."""

import pytest

from firmware_models.config import load_preset
from firmware_models.schedule import algorithm_names, collective_names
from sim.collective import CollectiveRequest, run_collective
from sim.operation.bounds import link_load, received_bytes

SMALL = load_preset("small")
MTU, FLIT, HEADER = SMALL.datapath.mtu, SMALL.datapath.flit_bytes, SMALL.header_flits


def request_for(collective: str, algorithm: str, *, nodes: int, size: int, **fields) -> CollectiveRequest:
    return CollectiveRequest(
        collective=collective, algorithm=algorithm, nodes=nodes, size=size, config=SMALL, preset="small", **fields
    )


@pytest.mark.parametrize(("size", "flits"), [
    (MTU, MTU // FLIT + HEADER), (MTU - 8, MTU // FLIT - 1 + HEADER), (MTU + 8, MTU // FLIT + 1 + 2 * HEADER),
    (8, 1 + HEADER),
])
def test_one_packet_more_or_less(size, flits):
    """Two nodes: each sends the message once."""
    load = link_load(request_for("allreduce", "recursive-doubling", nodes=2, size=size))
    assert (load.payload_bytes, load.flits, load.received_bytes) == (size, flits, size)
    assert load.payload_flits == (size + FLIT - 1) // FLIT
    # A credit is a header without payload, and each sends one for each packet of the other one.
    assert load.wire_flits == flits + HEADER * -(-size // MTU)


def test_by_hand():
    """A root sends the message twice, or once by multicast; jobs add up; Rabenseifner's pieces are halves of halves."""
    size = 16 * MTU
    assert link_load(request_for("broadcast", "binomial", nodes=4, size=size)).flits == 32 * (MTU // FLIT + HEADER)
    assert link_load(request_for("broadcast", "multicast", nodes=4, size=size)).flits == 16 * (MTU // FLIT + HEADER)
    # A root sends no credits, and who receives from it sends nothing else.
    assert link_load(request_for("broadcast", "binomial", nodes=4, size=size)).wire_flits == 32 * (MTU // FLIT + HEADER)
    twice = link_load(request_for("allreduce", "recursive-doubling", nodes=4, size=size, jobs=3))
    assert (twice.payload_bytes, twice.flits) == (6 * size, 3 * 32 * (MTU // FLIT + HEADER))
    # Four blocks of 4 mtu; a pulse is half an mtu of each, and a packet two blocks of it or one: eight pulses.
    pieces = link_load(request_for("allreduce", "rabenseifner", nodes=4, size=size, pulse_bytes=MTU // 2))
    assert pieces.payload_bytes == 2 * size * 3 // 4
    assert pieces.flits == 8 * 2 * ((MTU // FLIT + HEADER) + (MTU // 2 // FLIT + HEADER))


@pytest.mark.parametrize(("algorithm", "nodes", "size"), [("rabenseifner", 3, 5000), ("ring", 4, 3 * MTU + 24)])
def test_as_on_the_wire(algorithm, nodes, size):
    """No run is faster than its bound, and all nodes together send what their schedules say."""
    result = run_collective(request_for("allreduce", algorithm, nodes=nodes, size=size))
    assert 0 < result.bound_fraction < result.framing_fraction < 1


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [(collective, name) for collective in collective_names() for name in algorithm_names(collective)],
)
def test_what_the_busiest_node_receives(collective, algorithm):
    """Of the blocks of a message, as of its packets: `conic mpiexec` and `conic run` mean one goodput."""
    nodes = 4
    size = 0 if collective == "barrier" else 64 * nodes
    request = request_for(collective, algorithm, nodes=nodes, size=size)
    blocks = request.schedule.block_count
    assert received_bytes(request.schedule, [size // blocks] * blocks) == link_load(request).received_bytes
