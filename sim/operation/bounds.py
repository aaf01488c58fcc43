"""Lower bounds of the traffic on links, whatever the hardware does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firmware_models.golden import block_bounds, dtype_of
from firmware_models.schedule import Schedule, largest_pulse
from sim.operation.request import CollectiveRequest


@dataclass(frozen=True)
class LinkLoad:
    """Traffic of the busiest link direction of any node in an operation of all jobs.

    Members
    -------
    payload_bytes : int
        Payload.
    payload_flits : int
        Flits that it would fill without headers: cycles that it takes at the very least.
    flits : int
        Flits, with headers, and last ones that are not full.
    wire_flits : int
        The same with the credits for what comes the other way: a packet without payload for each packet.
    received_bytes : int
        Payload of the busiest receiver.
    """

    payload_bytes: int
    payload_flits: int
    flits: int
    wire_flits: int
    received_bytes: int


def link_load(request: CollectiveRequest) -> LinkLoad:
    """Counts the packets of a schedule: each pulse of a message is a packet of each send, with a header of its own."""
    schedule, item, config = request.schedule, dtype_of(request.datatype).itemsize, request.config
    bounds = np.array(
        [low * item for low, _ in block_bounds(request.size // item, schedule.block_count)] + [request.size]
    )
    blocks = np.diff(bounds)
    # Hosts send whole blocks; what their packets are is not counted here.
    whole = max(1, int(blocks.max()))
    pulse_bytes = whole if request.host_based else request.pulse_bytes or largest_pulse(schedule, config)
    n_pulses = max(1, -(-int(blocks.max()) // pulse_bytes))
    # Bytes that pulse q takes from block b: shape (n_pulses, n_blocks).
    shares = np.clip(blocks - np.arange(n_pulses)[:, None] * pulse_bytes, 0, pulse_bytes)
    sent, received = np.zeros((3, request.nodes), dtype=np.int64), np.zeros((3, request.nodes), dtype=np.int64)
    for packet in schedule.packets():
        first, count = schedule.sequences[packet.sender][packet.step].blocks
        sizes = shares[:, first:first + count if count else schedule.block_count].sum(axis=1)
        flits = (-(-sizes // config.datapath.flit_bytes) + config.header_flits).sum()
        load = np.array([sizes.sum(), flits, flits]) * request.jobs
        answers = np.array([0, 0, len(sizes) * config.header_flits]) * request.jobs
        if packet.receiver == (packet.group or (packet.receiver,))[0]:  # a multicast leaves once
            sent[:, packet.sender] += load
        received[:, packet.receiver] += load
        sent[:, packet.receiver] += answers
        received[:, packet.sender] += answers
    payload, flits, wire = (int(most) for most in np.maximum(sent, received).max(axis=1))
    return LinkLoad(
        payload_bytes=payload, payload_flits=-(-payload // config.datapath.flit_bytes), flits=flits, wire_flits=wire,
        received_bytes=int(received[0].max()),
    )


def received_bytes(schedule: Schedule, blocks: Sequence[int]) -> int:
    """Payload that the busiest receiver of a schedule gets of a message of such blocks, in bytes."""
    received = [0] * schedule.n_nodes
    for packet in schedule.packets():
        first, count = schedule.sequences[packet.sender][packet.step].blocks
        received[packet.receiver] += sum(blocks[first:first + count] if count else blocks)
    return max(received)
