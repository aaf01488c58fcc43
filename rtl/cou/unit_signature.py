"""The boundary of an offload unit: what goes into it and comes out of it, all of it and in one place."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import UnitState
from rtl.buffer.buffer_statistics import statistics_layout
from rtl.buffer.packet_buffer import FaultOrder
from rtl.cou.context_signatures import event
from rtl.interface import (
    CompletionEvent,
    JobClosing,
    JobReport,
    JobWriteOff,
    PacketSignature,
    ReadSignature,
    SequenceSignature,
    TraceEvent,
    WindowSignature,
    WriteSignature,
    inline_layout,
)

UnitCounts = data.StructLayout(dict.fromkeys(
    ("fired", "inserted", "duplicate", "shared_granted", "shared_unused", "dropped"), 1,
))
"""Events to be counted, one of each kind a cycle: a descriptor has triggered; a packet is stored; one is
dropped since its key is there; a shared credit is granted; one has returned unused; one of a closed job is dropped."""


class CommandSignature(wiring.Signature):
    """Sequences of descriptors, seen from whoever hands them over.

    Members
    -------
    sequence : ``Out(SequenceSignature())``
        The question if an operation has room, its answer, and its descriptors.
    inline_data : ``Out(inline_layout(data_width))``
        Inline data of descriptors, which come after their descriptor.
    """

    def __init__(self, data_width: int):
        super().__init__({
            "sequence": Out(SequenceSignature()), "inline_data": Out(inline_layout(data_width)),
        })


class HostMemorySignature(wiring.Signature):
    """Memory of the host, seen from an offload unit.

    Members
    -------
    read, write : ``Out(ReadSignature)``, ``Out(WriteSignature)``
        Operands and results.
    window : ``Out(WindowSignature())``
        Check of addresses.
    """

    def __init__(self, data_width: int):
        super().__init__({
            "read": Out(ReadSignature(data_width)), "write": Out(WriteSignature(data_width)),
            "window": Out(WindowSignature()),
        })


class JobOrdersSignature(wiring.Signature):
    """Orders about jobs, seen from the job table.

    Members
    -------
    closing : ``Out(stream.Signature(JobClosing))``
        A job is closed, or open again; always taken.
    write_off : ``Out(stream.Signature(JobWriteOff))``
        What a closed job has out, and some of its shared credits, are lost.
    unused_known : ``Out(1)``
        Pulse: the job table knows a shared credit that was reported as RETURNED.
    """

    def __init__(self):
        super().__init__({
            "closing": Out(stream.Signature(JobClosing)), "write_off": Out(stream.Signature(JobWriteOff)),
            "unused_known": Out(1),
        })


class SettingsSignature(wiring.Signature):
    """Settings of an offload unit, seen from the registers.

    Members
    -------
    node_id, watchdog : ``Out``
        NodeID of this NIC; cycles without progress after which an operation ends.
    fault, arm : ``Out(FaultOrder)``, ``Out(1)``
        Test input of the packet buffer.
    """

    def __init__(self):
        super().__init__({
            "node_id": Out(formats.NODE_BITS), "watchdog": Out(32), "fault": Out(FaultOrder), "arm": Out(1),
        })


class StatusSignature(wiring.Signature):
    """Activity of an offload unit, seen from the unit: for registers, counters and timelines.

    Members
    -------
    busy : ``Out(1)``
        It has an operation.
    counts : ``Out(UnitCounts)``
        Events to be counted.
    state : ``Out(UnitState)``
        Its activity in this cycle.
    statistics : ``Out``
        See :class:`~rtl.buffer.buffer_statistics.BufferStatistics`.
    trace : ``Out(event(TraceEvent))``
        Events for timelines.
    """

    def __init__(self, level_bits: int):
        super().__init__({
            "busy": Out(1), "counts": Out(UnitCounts), "state": Out(range(len(UnitState))),
            "statistics": Out(statistics_layout(level_bits)),
            "trace": Out(event(TraceEvent)),
        })


class OffloadUnitSignature(wiring.Signature):
    """An offload unit, seen from itself. Whoever keeps to this can hold one: a NIC, a bench, a switch.

    Golden model behind it, with stand-in and checker: ``testbench/offload_unit``.

    Parameters
    ----------
    data_width, level_bits : int
        Bits of a beat; those of a number of packets in its buffer.

    Members
    -------
    commands : ``In(CommandSignature)``
        Sequences from the scheduler.
    rx : array of 2 ``In(PacketSignature)``
        COLLECTIVE packets, and CREDIT packets, which are always taken at once.
    tx : array of 2 ``Out(PacketSignature)``
        The same to the network.
    memory : ``Out(HostMemorySignature)``
        Memory of the host.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Completions, one for each sequence that was committed.
    o_report : ``Out(stream.Signature(JobReport))``
        To the job table: what no longer keeps a job here.
    jobs : ``In(JobOrdersSignature())``
        Orders from the job table.
    settings : ``In(SettingsSignature())``, status : ``Out(StatusSignature)``
        Registers.
    """

    def __init__(self, *, data_width: int, level_bits: int):
        super().__init__({
            "commands": In(CommandSignature(data_width)),
            "rx": In(PacketSignature(data_width)).array(2), "tx": Out(PacketSignature(data_width)).array(2),
            "memory": Out(HostMemorySignature(data_width)),
            "o_event": Out(stream.Signature(CompletionEvent)), "o_report": Out(stream.Signature(JobReport)),
            "jobs": In(JobOrdersSignature()), "settings": In(SettingsSignature()),
            "status": Out(StatusSignature(level_bits)),
        })
