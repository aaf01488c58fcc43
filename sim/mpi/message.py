"""Measures the cycles of a point-to-point message on the RTL, without other traffic."""

from dataclasses import dataclass

import numpy as np

from firmware_models.abi.encoding import Kind, P2pOp, Status
from firmware_models.abi.formats import DESCRIPTOR, PAYLOAD_BYTES
from firmware_models.host import Port
from sim.cluster import Cluster
from sim.mpi.error import FabricError

_MESSAGE_CYCLES = 10_000
"""Within which a message of eight packets has arrived and its completion is there."""


@dataclass(frozen=True)
class Wire:
    """Cycles of a message, from the doorbell until it stands in the receiver's memory.

    Members
    -------
    short : float
        One whose bytes stand in its descriptor.
    sizes, puts : tuple
        Bytes and cycles of longer ones, ascending; between them lies a straight line, and behind them it goes on.
    """

    short: float
    sizes: tuple[int, ...]
    puts: tuple[float, ...]

    @property
    def per_byte(self) -> float:
        """Cycles of each byte of a long message."""
        return (self.puts[-1] - self.puts[-2]) / (self.sizes[-1] - self.sizes[-2])

    def cycles(self, size: int) -> float:
        """Of a message of `size` bytes."""
        if size <= PAYLOAD_BYTES:
            return self.short
        return float(np.interp(size, self.sizes, self.puts)) + self.per_byte * max(0, size - self.sizes[-1])


def measure(
    cluster: Cluster, sender: Port, receiver: Port, *, source: int, target: int, room: int, mtu: int
) -> Wire:
    """Sends some messages from `source` to `target`, where `room` bytes are in the windows of the two ports.

    Raises
    ------
    FabricError
        If one does not arrive or does not end well.
    """
    common = {"source_vp": sender.vp, "dest_id": receiver.driver.node, "dest_vp": receiver.vp}
    begin = _send(cluster, sender, kind=Kind.MP, p2p_op=P2pOp.SEND, length=8, payload=1, **common)
    cluster.run_for(_MESSAGE_CYCLES)
    received = receiver.receive()
    _check_sent(sender)
    if received is None:
        raise FabricError("a message between two NICs did not arrive")
    lengths = tuple(length for length in (128, mtu, 2 * mtu, 4 * mtu, 8 * mtu) if length <= room)
    puts = []
    for length in lengths:
        cluster.watch(receiver.driver.node, target + length - 8)
        begun = _send(
            cluster, sender, kind=Kind.RDMA, p2p_op=P2pOp.PUT, length=length, local_addr=source, remote_addr=target,
            **common,
        )
        cluster.run(_MESSAGE_CYCLES)
        puts.append(cluster.cycle - begun)
        cluster.run_for(_MESSAGE_CYCLES)
        _check_sent(sender)
    return Wire(received.timestamp - begin, lengths, tuple(puts))


def _send(cluster: Cluster, sender: Port, **fields: int) -> int:
    """Rings for a message; the cycle of the doorbell."""
    sender.post(DESCRIPTOR.pack(**fields))
    sender.ring()
    return cluster.cycle


def _check_sent(sender: Port) -> None:
    found = sender.poll()
    if found is None or found.status is not Status.OK:
        raise FabricError("a message between two NICs did not end well")
