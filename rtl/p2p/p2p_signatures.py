"""Seams of the point-to-point path, and between its parts."""

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from rtl.interface import ReadSignature, WindowSignature, WriteSignature
from rtl.p2p.records import GET_COUNT_BITS


class TimeSignature(wiring.Signature):
    """Time of operations, seen from whoever keeps it.

    Members
    -------
    cycles : ``Out(63)``
        Cycles since the last reset.
    watchdog : ``Out(32)``
        Cycles without progress after which an operation ends; 0 is never.
    """

    def __init__(self):
        super().__init__({"cycles": Out(63), "watchdog": Out(32)})


class AwaitedSignature(wiring.Signature):
    """Fragments that GETs of this node await, seen from whoever counts them.

    Members
    -------
    count : ``Out``
        Fragments of all operations that have been asked for and are not there.
    landed : ``Out(1)``, entry : ``Out(range(n))``
        Pulse: one of them is there; and of which operation, by entry.
    """

    def __init__(self, n: int):
        super().__init__({"count": Out(GET_COUNT_BITS), "landed": Out(1), "entry": Out(range(n))})


class P2pCountsSignature(wiring.Signature):
    """Events of the point-to-point path, each a pulse.

    Members
    -------
    delivered : ``Out(1)``
        A receive entry has been written.
    unknown : ``Out(1)``
        A packet was dropped whose type does not belong here, or that answers no operation in progress.
    forged : ``Out(1)``
        An answer was dropped that bears the number of an operation, and is not of those whom the operation asks.
    """

    def __init__(self):
        super().__init__({"delivered": Out(1), "unknown": Out(1), "forged": Out(1)})


class GetPathSignature(wiring.Signature):
    """Host memory for GET, seen from the point-to-point path. Clients of their own, so that answers wait for no
    request.

    Members
    -------
    read : ``Out(ReadSignature(data_width))``, write : ``Out(WriteSignature(data_width))``
        Data that others GET; data of own GETs.
    read_window, write_window : ``Out(WindowSignature())``
        Checks of that memory.
    """

    def __init__(self, data_width: int):
        super().__init__({
            "read": Out(ReadSignature(data_width)), "write": Out(WriteSignature(data_width)),
            "read_window": Out(WindowSignature()), "write_window": Out(WindowSignature()),
        })
