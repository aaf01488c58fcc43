"""Effects of descriptors on data: operands, packets, host memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from firmware_models.abi.encoding import Operand
from firmware_models.abi.formats import PAYLOAD_BYTES

from .arithmetic import combine, dtype_of
from .fault import ExecutionError

Bytes = npt.NDArray[np.uint8]
Key = tuple[int, int, int | None, int]
"""JobID, VP, SeqID, pulse, at a given node. No SeqID if the order of packets is switched off."""


def key_name(key: Key) -> str:
    """A key in words."""
    job_id, vp, seq_id, pulse = key
    return f"(job {job_id} VP {vp} SeqID {'any' if seq_id is None else seq_id} pulse {pulse})"


@dataclass(slots=True, eq=False)
class Packet:
    """A collective packet on its way or in a buffer. Nodes are numbered, not named by NodeID."""

    key: Key
    source: int
    source_vp: int
    peer: int
    dest: int
    data: Bytes
    swap_data: bool
    swap_addr: bool
    coll_end: bool
    addr: int
    absent: list[int]
    """Credits that are still out for it: one, or for a multicast one of each receiver, shared by all copies."""


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """The host memory of node `number`, whose first byte has address `base`."""

    number: int
    base: int
    data: Bytes

    def span(self, addr: int, size: int) -> Bytes:
        """The bytes in [addr, addr + size), to be read or written. Raises :class:`ExecutionError` beyond the end."""
        first = addr - self.base
        if first < 0 or first + size > self.data.size:
            raise ExecutionError(f"address of node {self.number} must lie in its memory, not at {addr:#x} + {size}")
        return self.data[first : first + size]


def take_operand(
    desc: SimpleNamespace, *, pieces: Iterable[tuple[int, int]], result: Bytes, memory: NodeMemory
) -> Bytes:
    """The local operand of a descriptor's slice of a pulse: (offset, size) of its pieces in the message.

    `result` is what the descriptors before have left there.
    """
    if desc.operand == Operand.INTERMEDIATE:
        return result
    if desc.operand == Operand.NONE:
        return np.zeros(result.size, np.uint8)
    parts = [np.zeros(0, np.uint8)]
    for offset, size in pieces:
        if desc.operand == Operand.MEMORY:
            parts.append(memory.span(desc.local_addr + offset, size))
            continue
        if offset + size > PAYLOAD_BYTES:
            raise ExecutionError(f"length of an MP descriptor must be at most {PAYLOAD_BYTES}, not {desc.length}")
        payload = np.frombuffer(desc.payload.to_bytes(PAYLOAD_BYTES, "little"), np.uint8)
        parts.append(payload[offset : offset + size])
    return np.concatenate(parts)


def absorb(desc: SimpleNamespace, data: Bytes, packet: Packet, *, first: bool) -> Bytes:
    """The data after one more packet, the descriptor's `first` or not.

    A packet replaces the data if it or the descriptor says so, is combined with them (as the right operand) if the
    descriptor reduces, and otherwise only triggers. Without a local operand the first packet becomes the data.

    Raises
    ------
    ExecutionError
        If the packet is not as long as the data, or its elements cannot be reduced.
    """
    replaces = packet.swap_data or desc.swap_local_data
    if not replaces and not desc.reduce_flag:
        return data
    if packet.data.size != data.size:
        raise ExecutionError(
            f"packet {key_name(packet.key)} at node {packet.dest} must have {data.size} bytes, not {packet.data.size}"
        )
    if replaces or (first and desc.operand == Operand.NONE):
        return packet.data
    try:
        dtype = dtype_of(desc.datatype)
        left: npt.NDArray[Any] = data.view(dtype)
        outcome = combine(left, packet.data.view(dtype), datatype=desc.datatype, operator=desc.operator)
    except ValueError as error:
        raise ExecutionError(str(error)) from None
    return outcome.view(np.uint8)
