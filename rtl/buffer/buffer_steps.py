"""Signals and parts that the steps of the packet buffer share."""

from dataclasses import dataclass

from amaranth import Signal
from amaranth.lib.data import View

from rtl.buffer.cuckoo_table import CuckooTable
from rtl.buffer.guarded_memory import GuardedMemory
from rtl.buffer.linear_table import LinearTable
from rtl.buffer.packet_reader import PacketReader
from rtl.buffer.packet_slots import SlotPool
from rtl.kit.queue import Queue


@dataclass(frozen=True, kw_only=True)
class BufferParts:
    """Parts of the buffer.

    Parameters
    ----------
    table : LinearTable or CuckooTable
        Tags of the packets that are there.
    pool : SlotPool
        Free slots.
    headers, payloads : GuardedMemory
        By slot.
    reader : PacketReader
        Reads payloads.
    """

    table: LinearTable | CuckooTable
    pool: SlotPool
    headers: GuardedMemory
    payloads: GuardedMemory
    reader: PacketReader


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """Packets on their way into the buffer.

    Parameters
    ----------
    arriving, accept : View, Signal
        Tag of the packet whose header waits; it is taken.
    entered : Queue
        Packets whose tags have gone to the table.
    outcome : Queue
        High for those of them that were there already.
    tells : Signal
        The outcome of the oldest one is known.
    """

    arriving: View
    accept: Signal
    entered: Queue
    outcome: Queue
    tells: Signal


@dataclass(frozen=True, kw_only=True)
class Departures:
    """Packets that leave.

    Parameters
    ----------
    departed : Queue
        Each is reported in the cycle in which its slot is free.
    drops : Signal
        A duplicate waits to be dropped; packets that have been read wait for it.
    """

    departed: Queue
    drops: Signal
