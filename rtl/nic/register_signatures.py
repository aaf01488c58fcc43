"""Seams of the register file."""


from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats, registers
from firmware_models.abi.registers import CONTROL_PAGE
from rtl.buffer.buffer_statistics import statistics_layout
from rtl.buffer.packet_buffer import FaultOrder
from rtl.interface import JobOrder, JobStanding
from rtl.p2p.nonce_source import AnswerKey
from rtl.queue.records import Doorbell, VpCommit, WindowCommit

NicSettings = data.StructLayout({
    "enable": 1, "node_id": formats.NODE_BITS, "watchdog": 32, "retry_limit": 32, "answer_key": AnswerKey,
})
"""Registers that other blocks go by: the NIC works; its NodeID; cycles until an operation without progress is ended;
cycles for which a full ring is asked again; the key of the nonces of point-to-point operations."""


class VpOrdersSignature(wiring.Signature):
    """Orders to the VP table, seen from the registers.

    Members
    -------
    commit : ``Out(stream.Signature(VpCommit))``
        The record of a VP.
    window : ``Out(stream.Signature(WindowCommit))``
        A memory window of a VP.
    doorbell : ``Out(stream.Signature(Doorbell))``
        Software has moved on in a ring.
    """

    def __init__(self):
        super().__init__({
            "commit": Out(stream.Signature(VpCommit)), "window": Out(stream.Signature(WindowCommit)),
            "doorbell": Out(stream.Signature(Doorbell)),
        })


class UnitViewSignature(wiring.Signature):
    """The offload unit that software looks at, seen from the registers.

    Parameters
    ----------
    level_bits : int
        Bits of a number of packets in a packet buffer.

    Members
    -------
    select : ``Out(4)``
        The unit.
    statistics : ``In``
        Figures of its packet buffer, a cycle late.
    state_index, state_cycles : ``Out(range(n))``, ``In(64)``
        A state, and how many cycles the unit has been in it.
    fault, arm : ``Out(FaultOrder)``, ``Out(1)``
        Test input of its packet buffer.
    """

    def __init__(self, level_bits: int):
        super().__init__({
            "select": Out(CONTROL_PAGE["buffer_select"].width),
            "statistics": In(statistics_layout(level_bits)),
            "state_index": Out(range(len(registers.STATE_COUNTERS))), "state_cycles": In(64),
            "fault": Out(FaultOrder), "arm": Out(1),
        })


class JobRegistersSignature(wiring.Signature):
    """Orders about jobs, seen from the registers; one at a time.

    Members
    -------
    order : ``Out(stream.Signature(JobOrder))``
        An order.
    standing : ``In(stream.Signature(JobStanding))``
        Its answer.
    """

    def __init__(self):
        super().__init__({"order": Out(stream.Signature(JobOrder)), "standing": In(stream.Signature(JobStanding))})
