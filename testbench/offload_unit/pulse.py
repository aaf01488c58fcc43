"""Meaning of descriptors for one node: operations, their pulses, and the passes that these are made of.

Knows neither cycles nor resources. A pass takes at most one packet; the first one of a descriptor takes its operand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firmware_models.abi.encoding import Kind, Operand, PacketType, Right, Status
from firmware_models.abi.formats import PACKET_VERSION, PAYLOAD_BYTES, PULSE_BITS, SEQ_BITS
from firmware_models.golden.arithmetic import combine, dtype_of
from testbench.offload_unit.record import NotCoveredError, Packet

Fault = tuple[Status, int]
"""Status and detail of a completion."""


class Operation:
    """A sequence that was committed, and the node that carries it out."""

    def __init__(self, descriptors: list[dict[str, int]], *, base_pulse: int, node_id: int):
        for desc in descriptors:
            _refuse(desc)
        self.descriptors, self.base_pulse, self.node_id = descriptors, base_pulse, node_id
        head = self.head = descriptors[0]
        self.job_id, self.vp, self.terms = head["job_id"], head["source_vp"], head["terms"]
        self.n_blocks = max(1, head["block_count"])
        size = dtype_of(head["datatype"]).itemsize
        self.is_cut = self.n_blocks > 1
        self.block_bytes = -(-(head["length"] // size) // self.n_blocks) * size if self.is_cut else head["length"]
        self.n_pulses = max(1, -(-self.block_bytes // head["pulse_bytes"]))

    def pulse(self, index: int) -> "Pulse":
        """The pulse of this index, at its beginning."""
        return Pulse(self, index)

    def completion(self, fault: Fault) -> dict[str, int]:
        """The completion that says so."""
        return {
            "vp": self.vp, "status": int(fault[0]), "kind": 0, "job_id": self.job_id, "bytes": self.head["length"],
            "tag": self.head["tag"], "detail": fault[1],
        }


def _refuse(desc: Mapping[str, int]) -> None:
    if desc["multicast"]:
        raise NotCoveredError("multicasts are not covered by this model")
    if not desc["c"] or (desc["kind"] == Kind.MP and desc["length"] > PAYLOAD_BYTES):
        raise NotCoveredError("descriptors that the scheduler refuses are not covered by this model")


@dataclass
class Pass:
    """One step of a pulse, given its packet: what it needs before it can go, and what it does."""

    packet: Packet | None
    final: bool
    ends: bool
    """It is the last one of the pulse."""
    size: int
    fault: Fault | None = None
    """Error that the packet brings to light."""
    sends: bool = False
    pieces: list[tuple[int, int]] = field(default_factory=list)
    """Addresses and sizes of what is written."""
    query: dict[str, int] | None = None
    """Check of an address that was not checked with the descriptor."""
    refusal: Fault | None = None
    """Error if that check refuses it."""


@dataclass
class Effect:
    """Outputs of a pass. A byte that nothing is known of is None."""

    sent: Packet | None = None
    known: bool = True
    """The payload is what is sent; an operand that could not be read spoils it."""
    writes: list[tuple[int, bytes]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


class Pulse:
    """One pulse on its way through the sequence."""

    def __init__(self, operation: Operation, index: int):
        self.operation, self.number = operation, (operation.base_pulse + index) % (1 << PULSE_BITS)
        head, self.offset = operation.head, index * operation.head["pulse_bytes"]
        sizes = []
        for block in range(operation.n_blocks):
            begin, end = (min(edge * operation.block_bytes, head["length"]) for edge in (block, block + 1))
            sizes.append(max(0, min(end - begin - self.offset, head["pulse_bytes"])))
        self.cuts = [0, *(int(edge) for edge in np.cumsum(sizes)), sum(sizes)]
        self.data = np.zeros(sum(sizes), np.uint8)
        self.position = self.consumed = 0
        self.loaded = self.middle = self.over = False
        self.known = True
        """No operand of it could not be read."""
        self.spoilt = False
        """A packet of it, or one of its packets, has brought an error to light."""

    @property
    def descriptor(self) -> dict[str, int]:
        """The descriptor that is to be executed."""
        return self.operation.descriptors[self.position]

    @property
    def blocks(self) -> range:
        """Blocks that it works on."""
        desc = self.descriptor
        return range(desc["slice_first"], desc["slice_first"] + (desc["slice_count"] or self.operation.n_blocks))

    @property
    def part(self) -> slice:
        """Where these lie in the pulse's data."""
        return slice(self.cuts[self.blocks.start], self.cuts[self.blocks.stop])

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Offset in the message, and size, of each piece of the slice that is not empty."""
        for block in self.blocks:
            size = self.cuts[block + 1] - self.cuts[block]
            if size:
                yield block * self.operation.block_bytes + self.offset, size

    def operand(self) -> list[tuple[int, int]]:
        """Addresses and sizes to be read from host memory before the next pass."""
        if self.loaded or self.descriptor["operand"] != Operand.MEMORY:
            return []
        return [(self.descriptor["local_addr"] + offset, size) for offset, size in self.pieces()]

    def load(self, content: list[bytes] | None) -> Fault | None:
        """The operand has been read, or could not be (None)."""
        desc, self.loaded = self.descriptor, True
        size = self.part.stop - self.part.start
        if content is None:
            self.known = False
            return Status.MEMORY_ERROR, desc["local_addr"] + next(self.pieces())[0]
        self.data[self.part] = np.frombuffer(b"".join(content), np.uint8) if size else 0
        return None

    def wanted(self) -> tuple[int, int, int, int, int] | None:
        """Key of the packet that the next pass takes; None if it takes none."""
        operation, desc = self.operation, self.descriptor
        if self.consumed == desc["cp_count"]:
            return None
        seq_id = (self.consumed + desc["seq_skip"]) % (1 << SEQ_BITS)
        return operation.job_id, operation.node_id, operation.vp, seq_id, self.number

    def next_pass(self, packet: Packet | None) -> Pass:
        """The next pass if it takes this packet."""
        operation, desc, size = self.operation, self.descriptor, self.part.stop - self.part.start
        ended = packet is not None and bool(packet.header["coll_end"])
        final = packet is None or ended or self.consumed + 1 == desc["cp_count"]
        step = Pass(packet, final, ended or bool(final and desc["ct"]), size)
        step.fault = self._fault(packet, size) if packet is not None else None
        step.sends = bool(final and desc["cp"]) and not ended
        if size and (ended or (final and desc["write_back"])):
            brings = packet is not None and packet.header["swap_addr"] and not operation.is_cut
            step.pieces = [
                (packet.header["addr"] if brings else desc["result_addr"] + offset, count)
                for offset, count in self.pieces()
            ]
            if packet is not None and (brings or not desc["write_back"]):
                step.query = {
                    "vp": operation.vp, "addr": packet.header["addr"] if brings else desc["result_addr"],
                    "bytes": size if brings else operation.head["length"],
                    "right": int(Right.REMOTE_WRITE if brings else Right.LOCAL_WRITE),
                }
                step.refusal = Status.BAD_ADDRESS, step.pieces[0][0]
        return step

    def _uses(self, packet: Packet) -> bool:
        desc = self.descriptor
        return bool(packet.header["swap_data"] or desc["swap_local_data"] or desc["reduce_flag"])

    def _fault(self, packet: Packet, size: int) -> Fault | None:
        """The error that a packet brings to light; of several, the one that says most."""
        header, ours = packet.header, self.operation.terms
        theirs = 0 if header["swap_addr"] else header["addr"] & 0xFFFF
        if theirs and ours and theirs != ours:
            return Status.BAD_TERMS, header["source_id"] | theirs << 24 | self.number << 48
        if header["status"]:
            return Status.PEER_ERROR, (
                header["source_id"] | header["status"] << 24 | self.consumed << 32 | self.number << 48)
        if self._uses(packet) and header["length"] != size:
            return Status.LENGTH_MISMATCH, self.consumed | self.number << 16 | header["length"] << 32
        return None

    def carry_out(self, step: Pass, *, allowed: bool = True) -> Effect:
        """Effects of a pass; `allowed`: the answer to its query."""
        desc, effect, packet = self.descriptor, Effect(known=self.known), step.packet
        if not self.middle and not self.loaded and desc["operand"] != Operand.INTERMEDIATE:
            self.data[self.part] = self._inline() if desc["operand"] == Operand.PAYLOAD else 0
        if packet is not None:
            self._absorb(packet, step.size)
        if step.fault:
            self.spoilt = True
            effect.faults.append(step.fault)
        if not allowed:
            effect.faults.append(step.refusal)
        if step.sends:
            effect.sent = self._packet(packet)
        if allowed and step.pieces:
            content = self.data[self.part].tobytes()
            for address, size in step.pieces:
                effect.writes.append((address, content[:size]))
                content = content[size:]
        self.consumed += packet is not None
        self.middle = not step.final
        if step.final:
            self.position += 1
            self.loaded, self.over = False, step.ends
        return effect

    def _inline(self) -> Any:
        payload = self.descriptor["payload"].to_bytes(PAYLOAD_BYTES, "little")
        parts = b"".join(payload[offset:offset + size] for offset, size in self.pieces())
        return np.frombuffer(parts, np.uint8)

    def _absorb(self, packet: Packet, size: int) -> None:
        """Replaces the data by those of a packet, combines them, or leaves them."""
        desc = self.descriptor
        if not self._uses(packet) or len(packet.payload) != size or not size:
            return
        brought = np.frombuffer(packet.payload, np.uint8)
        replaces = packet.header["swap_data"] or desc["swap_local_data"]
        if replaces or (not self.middle and desc["operand"] == Operand.NONE):
            self.data[self.part] = brought
            return
        dtype = dtype_of(desc["datatype"])
        left, right = self.data[self.part].view(dtype), brought.view(dtype)
        found = combine(left, right, datatype=desc["datatype"], operator=desc["operator"])
        self.data[self.part] = found.view(np.uint8)

    def _packet(self, consumed: Packet | None) -> Packet:
        """The packet that is sent, without status, `tag`, `loan` and `want`."""
        operation, desc = self.operation, self.descriptor
        swaps = desc["swap_local_vp"] and consumed is not None
        return Packet.make(
            self.data[self.part].tobytes(), type=PacketType.COLLECTIVE, version=PACKET_VERSION,
            seq_id=desc["out_seq_id"], job_id=operation.job_id, swap_data=desc["swap_remote_data"],
            swap_addr=desc["swap_remote_addr"], coll_end=desc["coll_end_flag"], peer=desc["peer"],
            dest_id=desc["dest_id"], dest_vp=consumed.header["source_vp"] if swaps else desc["dest_vp"],
            source_vp=operation.vp, mlid=desc["mlid"], source_id=operation.node_id, pulse=self.number,
            addr=desc["remote_addr"] + self.offset if desc["swap_remote_addr"] else operation.terms,
        )
