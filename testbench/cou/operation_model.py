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


@dataclass
class Operation:
    """Stimulus and expected outcome of one operation."""

    descriptors: list[dict[str, int]]
    packets: list[Packet]
    """What the peers send, in the order of their SeqIDs."""
    operand: bytes
    sent: list[Packet] = field(default_factory=list)
    result: bytes = b""
    status: int = Status.OK

    @property
    def job_id(self) -> int:
        """JobID."""
        return self.descriptors[0]["job_id"]


def random_doubles(rng: random.Random, count: int) -> np.ndarray:
    """Doubles whose sum depends on the order of summation."""
    return np.array([rng.choice((1e8, -1e8, 1.0, 3e-7)) * rng.uniform(0.5, 2) for _ in range(count)])


def make_operation(
    rng: random.Random, *, job_id: int, vp: int, base_pulse: int, length: int, pulse_bytes: int, result_addr: int,
    local_addr: int, tag: int, n_descriptors: int, max_packets: int,
) -> Operation:
    """A random sequence of `n_descriptors`, its packets for every pulse, and what must come of it.

    The first descriptor brings the operand; the others reduce, replace or merely wait; some send; the last one writes
    back. A message without bytes stands for a barrier.
    """
    from_payload = length <= 64 and rng.random() < 0.5
    operand = random_doubles(rng, length // 8).tobytes()
    descriptors: list[dict[str, int]] = []
    consumed = 0
    for index in range(n_descriptors):
        first, last = index == 0, index == n_descriptors - 1
        need = rng.choice((0, 1, 1, 2, 3)) if consumed < max_packets else 0
        need = min(need, max_packets - consumed)
        consumed += need
        meaning = rng.choice(("reduce", "reduce", "swap", "wait"))
        operand_kind = Operand.INTERMEDIATE
        if first:
            operand_kind = rng.choice((Operand.PAYLOAD if from_payload else Operand.MEMORY, Operand.NONE))
        descriptors.append({
            "kind": Kind.MP if from_payload else Kind.RDMA, "c": 1, "ch": int(first), "ct": int(last),
            "cp": int(rng.random() < 0.6), "swap_local_data": int(meaning == "swap"),
            "reduce_flag": int(meaning == "reduce"), "coll_end_flag": int(rng.random() < 0.2),
            "swap_remote_data": int(rng.random() < 0.2), "write_back": int(last), "operand": operand_kind,
            "datatype": Datatype.FLOAT64, "operator": Operator.SUM, "cp_count": consumed,
            "out_seq_id": rng.randrange(32), "job_id": job_id, "peer": rng.randrange(4),
            "dest_id": rng.randrange(1 << 24), "dest_vp": rng.randrange(1 << 11), "source_vp": vp,
            "length": length, "pulse_bytes": pulse_bytes, "local_addr": 0 if from_payload else local_addr,
            "result_addr": result_addr, "tag": tag if first else tag + 1,
            "payload": int.from_bytes(operand, "little") if from_payload and operand_kind == Operand.PAYLOAD else 0,
        })
    operation = Operation(descriptors, [], operand)
    n_pulses = max(1, -(-length // pulse_bytes))
    for pulse in range(n_pulses):
        _make_pulse(rng, operation, base_pulse + pulse, pulse * pulse_bytes, consumed)
    return operation


def _make_pulse(rng: random.Random, operation: Operation, number: int, offset: int, n_packets: int) -> None:
    head = operation.descriptors[0]
    size = min(head["pulse_bytes"], head["length"] - offset)
    packets = [
        Packet.make(
            random_doubles(rng, size // 8).tobytes(), type=PacketType.COLLECTIVE, version=PACKET_VERSION,
            seq_id=seq % 32, job_id=head["job_id"], peer=rng.randrange(64), dest_id=NODE_ID, dest_vp=head["source_vp"],
            source_vp=rng.randrange(1 << 11), source_id=rng.randrange(1 << 24), pulse=number % (1 << 16),
            swap_data=int(rng.random() < 0.1),
        )
        for seq in range(n_packets)
    ]
    operation.packets += packets
    data = np.zeros(size // 8)
    before = 0
    for desc in operation.descriptors:
        fresh = desc["operand"] == Operand.NONE
        if fresh:
            data = np.zeros(size // 8)
        elif desc["operand"] in (Operand.PAYLOAD, Operand.MEMORY):
            data = np.frombuffer(operation.operand[offset:offset + size], np.float64)
        for packet in packets[before:desc["cp_count"]]:
            brought = np.frombuffer(packet.payload, np.float64)
            replaces = packet.header["swap_data"] or desc["swap_local_data"]
            if replaces or (fresh and desc["reduce_flag"]):
                data = brought
            elif desc["reduce_flag"]:
                data = data + brought
            fresh = False
        before = desc["cp_count"]
        if desc["cp"]:
            operation.sent.append(Packet.make(
                data.tobytes(), type=PacketType.COLLECTIVE, version=PACKET_VERSION, seq_id=desc["out_seq_id"],
                job_id=desc["job_id"], swap_data=desc["swap_remote_data"], coll_end=desc["coll_end_flag"],
                peer=desc["peer"], dest_id=desc["dest_id"], dest_vp=desc["dest_vp"], source_vp=desc["source_vp"],
                source_id=NODE_ID, pulse=number % (1 << 16),
            ))
    operation.result += data.tobytes()
