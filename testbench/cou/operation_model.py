"""A small model of one node's part in an operation: what an offload unit must send, write and report.

Independent of ``firmware_models.golden``: it looks at a single node whose peers are imagined.
"""

import random
from dataclasses import dataclass, field

import numpy as np

from firmware_models.abi.encoding import Datatype, Kind, Operand, Operator, PacketType, Status
from firmware_models.abi.formats import PACKET_VERSION
from testbench.packet import Packet

NODE_ID = 7
ELEMENTS = {Datatype.FLOAT64: np.float64, Datatype.FLOAT32: np.float32, Datatype.BYTE: np.uint8}
"""Element types of the model: those that begin anywhere in a flit."""


@dataclass
class Operation:
    """Stimulus and expected outcome of one operation."""

    descriptors: list[dict[str, int]]
    packets: list[Packet]
    """Packets that the peers send, in the order of their SeqIDs."""
    operand: bytes
    n_pulses: int = 1
    sent: list[Packet] = field(default_factory=list)
    written: list[tuple[int, bytes]] = field(default_factory=list)
    """Data that goes to host memory, by offset from the result's address, in order."""
    status: int = Status.OK

    @property
    def job_id(self) -> int:
        """JobID."""
        return self.descriptors[0]["job_id"]

    def result(self, before: bytes) -> bytes:
        """Content of the memory at the result's address in the end, if `before` stood there."""
        memory = bytearray(before)
        for offset, data in self.written:
            memory[offset:offset + len(data)] = data
        return bytes(memory)


def random_elements(rng: random.Random, n_bytes: int, datatype: Datatype) -> bytes:
    """Numbers whose sum depends on the order of summation."""
    kind = np.dtype(ELEMENTS[datatype])
    count = n_bytes // kind.itemsize
    if datatype is Datatype.BYTE:
        return rng.randbytes(count)
    numbers = [rng.choice((1e8, -1e8, 1.0, 3e-7)) * rng.uniform(0.5, 2) for _ in range(count)]
    return np.array(numbers, kind).tobytes()


def make_operation(
    rng: random.Random, *, job_id: int, vp: int, base_pulse: int, length: int, pulse_bytes: int, result_addr: int,
    local_addr: int, tag: int, n_descriptors: int, max_packets: int, block_count: int = 0, widest: int = 1,
    datatype: Datatype = Datatype.FLOAT64,
) -> Operation:
    """A random sequence of `n_descriptors`, its packets for every pulse, and what must come of it.

    The first descriptor of a whole message brings the operand; the others reduce, replace or merely wait; some send;
    the last one writes back. With blocks, every descriptor works on a slice of its own, at most `widest` blocks, takes
    its operand from anywhere, and may write back. A message without bytes stands for a barrier.
    """
    from_payload = length <= 64 and rng.random() < 0.5
    operand = random_elements(rng, length, datatype)
    descriptors: list[dict[str, int]] = []
    consumed = 0
    for index in range(n_descriptors):
        first, last = index == 0, index == n_descriptors - 1
        need = rng.choice((0, 1, 1, 2, 3)) if consumed < max_packets else 0
        need = min(need, max_packets - consumed)
        consumed += need
        meaning = rng.choice(("swap", "wait") if datatype is Datatype.BYTE else ("reduce", "reduce", "swap", "wait"))
        outside = Operand.PAYLOAD if from_payload else Operand.MEMORY
        operand_kind: Operand = Operand.INTERMEDIATE
        if first or (block_count and rng.random() < 0.5):
            operand_kind = rng.choice((outside, outside, Operand.NONE, *([Operand.INTERMEDIATE] * bool(block_count))))
        descriptors.append({
            "kind": Kind.MP if from_payload else Kind.RDMA, "c": 1, "ch": int(first), "ct": int(last),
            "cp": int(rng.random() < 0.6), "swap_local_data": int(meaning == "swap"),
            "reduce_flag": int(meaning == "reduce"), "coll_end_flag": int(rng.random() < 0.2),
            "swap_remote_data": int(rng.random() < 0.2), "operand": operand_kind,
            "write_back": int(last or (block_count > 0 and rng.random() < 0.5)),
            "datatype": datatype, "operator": Operator.SUM, "cp_count": consumed,
            "out_seq_id": rng.randrange(32), "job_id": job_id, "peer": rng.randrange(4),
            "dest_id": rng.randrange(1 << 24), "dest_vp": rng.randrange(1 << 11), "source_vp": vp,
            "length": length, "pulse_bytes": pulse_bytes, "local_addr": 0 if from_payload else local_addr,
            "result_addr": result_addr, "tag": tag if first else tag + 1,
            "payload": int.from_bytes(operand, "little") if from_payload and operand_kind == Operand.PAYLOAD else 0,
            **_slice(rng, block_count, widest),
        })
    operation = Operation(descriptors, [], operand)
    block_bytes = _block_bytes(operation)
    operation.n_pulses = max(1, -(-block_bytes // pulse_bytes))
    for pulse in range(operation.n_pulses):
        _make_pulse(rng, operation, base_pulse + pulse, pulse * pulse_bytes, consumed)
    return operation


def _slice(rng: random.Random, block_count: int, widest: int) -> dict[str, int]:
    """Blocks of one descriptor; now and then none, or all of them."""
    if not block_count:
        return {"block_count": rng.randrange(2)}
    count = rng.choice((1, rng.randint(1, min(widest, block_count))))
    if rng.random() < 0.1:
        return {"block_count": block_count, "slice_first": block_count, "slice_count": 1}
    if widest >= block_count and rng.random() < 0.3:
        return {"block_count": block_count, "slice_first": 0, "slice_count": 0}
    return {
        "block_count": block_count, "slice_first": rng.randint(0, block_count - count), "slice_count": count,
    }


def _block_bytes(operation: Operation) -> int:
    head = operation.descriptors[0]
    size = np.dtype(ELEMENTS[Datatype(head["datatype"])]).itemsize
    return -(-(head["length"] // size) // max(1, head["block_count"])) * size


def _make_pulse(rng: random.Random, operation: Operation, number: int, offset: int, n_packets: int) -> None:
    head = operation.descriptors[0]
    kind = Datatype(head["datatype"])
    dtype = ELEMENTS[kind]
    n_blocks, block_bytes = max(1, head["block_count"]), _block_bytes(operation)
    # Where the pulse's piece of every block lies in the message.
    pieces = []
    for block in range(n_blocks):
        begin, end = (min(edge * block_bytes, head["length"]) for edge in (block, block + 1))
        pieces.append((begin + offset, max(0, min(end - begin - offset, head["pulse_bytes"]))))
    kept = {block: np.zeros(size, np.uint8).view(dtype) for block, (_, size) in enumerate(pieces)}

    seq = 0
    for desc in operation.descriptors:
        count = desc.get("slice_count", 0) or n_blocks
        blocks = [b for b in range(desc.get("slice_first", 0), desc.get("slice_first", 0) + count) if b < n_blocks]
        sizes = [pieces[block][1] for block in blocks]
        fresh = desc["operand"] == Operand.NONE
        data = np.concatenate([np.zeros(0, dtype), *(kept[block] for block in blocks)])
        if fresh:
            data = np.zeros_like(data)
        elif desc["operand"] in (Operand.PAYLOAD, Operand.MEMORY):
            parts = [operation.operand[at:at + size] for at, size in (pieces[block] for block in blocks)]
            data = np.frombuffer(b"".join(parts), dtype)
        while seq < desc["cp_count"]:
            packet = _make_packet(rng, operation, number, seq, sum(sizes), kind)
            operation.packets.append(packet)
            seq += 1
            brought = np.frombuffer(packet.payload, dtype)
            replaces = packet.header["swap_data"] or desc["swap_local_data"]
            if replaces or (fresh and desc["reduce_flag"]):
                data = brought
            elif desc["reduce_flag"]:
                data = data + brought
            fresh = False
        at = 0
        for block in blocks:
            place, size = pieces[block]
            part = data.view(np.uint8)[at:at + size]
            kept[block] = part.view(dtype)
            at += size
            if desc["write_back"] and size:
                operation.written.append((place, part.tobytes()))
        if desc["cp"]:
            operation.sent.append(Packet.make(
                data.tobytes(), type=PacketType.COLLECTIVE, version=PACKET_VERSION, seq_id=desc["out_seq_id"],
                job_id=desc["job_id"], swap_data=desc["swap_remote_data"], coll_end=desc["coll_end_flag"],
                peer=desc["peer"], dest_id=desc["dest_id"], dest_vp=desc["dest_vp"], source_vp=desc["source_vp"],
                source_id=NODE_ID, pulse=number % (1 << 16),
            ))


def _make_packet(
    rng: random.Random, operation: Operation, number: int, seq: int, size: int, kind: Datatype
) -> Packet:
    head = operation.descriptors[0]
    return Packet.make(
        random_elements(rng, size, kind), type=PacketType.COLLECTIVE, version=PACKET_VERSION,
        seq_id=seq % 32, job_id=head["job_id"], peer=rng.randrange(64), dest_id=NODE_ID, dest_vp=head["source_vp"],
        source_vp=rng.randrange(1 << 11), source_id=rng.randrange(1 << 24), pulse=number % (1 << 16),
        swap_data=int(rng.random() < 0.1),
    )
