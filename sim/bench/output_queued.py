"""A switch with queues at its outputs, of which all inputs can write one at once: what no matching is lost on.

What keeps it below the line rate is its buffers: now and then all that an input holds is for outputs that others keep
busy. So it says how much of a figure of the RTL is the buffer's.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

CREDIT_CYCLES = 8
"""From a flit that leaves a buffer until its credit is of use to the sender, about as on the links of the bench."""


def output_queued_throughput(
    *, radix: int, buffer_flits: int, packet_flits: int, cycles: int, seed: int, credit_cycles: int = CREDIT_CYCLES,
) -> float:
    """Share of the line rate of all outputs that it reaches under uniform random traffic.

    An input gets a flit in each cycle in which it has a credit; each packet is for an output drawn evenly. An output
    sends one packet after the other, in the order in which they began to come, a flit a cycle once that is there. A
    flit takes a place of its input's buffer until it leaves.

    Parameters
    ----------
    radix, buffer_flits, packet_flits : int
        Ports; flits of an input's buffer; flits of a packet.
    cycles : int
        Cycles that are measured, after a quarter of as many that are not.
    seed : int
        Of the destinations.
    credit_cycles : int
        Cycles until a credit is back.
    """
    for name, value in (
        ("radix", radix), ("buffer_flits", buffer_flits), ("packet_flits", packet_flits), ("cycles", cycles),
    ):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    before = cycles // 4
    most = (before + cycles) // packet_flits + 2  # packets of an input
    outputs = np.random.default_rng(seed).integers(radix, size=(radix, most))
    return float(_simulate(outputs, buffer_flits, packet_flits, cycles, before, credit_cycles))


@njit(cache=True)
def _simulate(
    outputs: NDArray[np.int64], buffer_flits: int, packet_flits: int, cycles: int, before: int, credit_cycles: int,
) -> float:
    radix, _ = outputs.shape
    # Of each output, a ring of packets: the input that each comes by, and how many flits of it have come.
    most = radix * (buffer_flits // packet_flits + 2)
    source, there = np.zeros((radix, most), np.int64), np.zeros((radix, most), np.int64)
    first, last, sent = np.zeros(radix, np.int64), np.zeros(radix, np.int64), np.zeros(radix, np.int64)
    # Of each input: credits, packets so far, the ring entry of the one that comes, and flits of it that are to come.
    left = np.full(radix, buffer_flits)
    number, entry, to_come = np.zeros(radix, np.int64), np.zeros(radix, np.int64), np.zeros(radix, np.int64)
    returning = np.zeros((credit_cycles + 1, radix), np.int64)
    moved = 0
    for cycle in range(before + cycles):
        now, later = cycle % (credit_cycles + 1), (cycle + credit_cycles) % (credit_cycles + 1)
        left += returning[now]
        returning[now] = 0
        for port in range(radix):
            at = first[port] % most
            if first[port] < last[port] and there[port, at] > sent[port]:
                sent[port] += 1
                moved += cycle >= before
                returning[later, source[port, at]] += 1
                if sent[port] == packet_flits:
                    first[port] += 1
                    sent[port] = 0
        for port in range(radix):
            if not left[port]:
                continue
            output = outputs[port, number[port]]
            if not to_come[port]:
                entry[port] = last[output] % most
                last[output] += 1
                source[output, entry[port]] = port
                there[output, entry[port]] = 0
                to_come[port] = packet_flits
            there[output, entry[port]] += 1
            left[port] -= 1
            to_come[port] -= 1
            if not to_come[port]:
                number[port] += 1
    return float(moved / (radix * cycles))
