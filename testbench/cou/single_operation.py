"""The smallest operation of an offload unit that needs a packet, and that packet: benches change what they test."""

from firmware_models.abi.encoding import PacketType
from testbench.cou.operation_model import NODE_ID, Operation, make_operation
from testbench.cou.unit_driver import Unit
from testbench.packet import Packet
from testbench.runner import rng


def single_operation(unit: Unit, **changes) -> Operation:
    """One descriptor that adds one packet to its operand and writes back; `changes` to its fields."""
    operation = make_operation(
        rng("single"), job_id=9, vp=2, base_pulse=0, length=64, pulse_bytes=64, local_addr=0, result_addr=4096, tag=77,
        n_descriptors=1, max_packets=0,
    )
    operation.descriptors[0] |= {
        "kind": 1, "operand": 2, "payload": 0, "local_addr": 0, "cp": 0, "cp_count": 1, "reduce_flag": 1,
        "swap_local_data": 0, **changes,
    }
    unit.memory.data[0:64] = operation.operand
    return operation


def single_packet(**header) -> Packet:
    """The packet that it waits for, with zeros; `header` changes fields, `payload` the payload."""
    payload = header.pop("payload", bytes(64))
    return Packet.make(payload, **{
        "type": PacketType.COLLECTIVE, "version": 1, "job_id": 9, "dest_id": NODE_ID, "dest_vp": 2, "source_id": 3,
        "source_vp": 4, "peer": 1, "seq_id": 0, "pulse": 0, **header,
    })
