"""Sends received packets to the unit that serves them."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import PacketType
from rtl.interface import UNIT_BITS, PacketSignature


class ReceiveRouter(wiring.Component):
    """Routes the packets of one virtual channel: collective ones to the unit of their job, the others to the
    point-to-point path. Those of no job, and those that what they are for is not there, are dropped and reported: all
    others without a point-to-point path, GETs and their answers without GET.

    A packet on a channel that its type does not belong to could make one channel wait for the other; it is dropped
    whole and reported.

    Timing: combinational, no latency.

    Parameters
    ----------
    data_width : int
        Bits of a beat: 64, 128, 256 or 512.
    n_cous : int
        Offload units, from 1 to as many as a unit's number tells apart.
    p2p, get : bool
        If true, there is a point-to-point path; it knows GET.
    vc : int
        0 takes COLLECTIVE, SEND, PUT and GET; 1 takes CREDIT, ACK and GET_DATA.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets of the channel.
    unit : ``In``, placed, known, not_covered : ``In(1)``
        With the header: the unit of its job, and a flag that the packet goes there, low for all but collective ones;
        of a collective one: there is a unit; there is none because no credit covers the packet.
    o : array of n_cous + 1 ``Out(PacketSignature(data_width))``
        One for each offload unit, the last one for the point-to-point path, if there is one.
    misplaced : ``Out(1)``
        Pulse: a packet that does not belong to the channel has been dropped.
    unknown : ``Out(1)``
        Pulse: a collective packet of no job, or one for what is not there, has been dropped.
    uncovered : ``Out(1)``
        Pulse: a collective packet that no credit covers has been dropped.
    """

    def __init__(self, *, data_width: int, n_cous: int, p2p: bool, get: bool, vc: int):
        if not 1 <= n_cous <= 1 << UNIT_BITS:
            raise ValueError(f"n_cous must be 1 to {1 << UNIT_BITS}, not {n_cous!r}")
        if get and not p2p:
            raise ValueError(f"get must be False without a point-to-point path, not {get!r}")
        if vc not in (0, 1):
            raise ValueError(f"vc must be 0 or 1, not {vc!r}")
        self.n_cous, self.p2p, self.get, self.vc = n_cous, p2p, get, vc
        super().__init__({
            "i": In(PacketSignature(data_width)),
            "o": Out(PacketSignature(data_width)).array(n_cous + p2p),
            "unit": In(UNIT_BITS),
            "placed": In(1), "known": In(1), "not_covered": In(1),
            "uncovered": Out(1),
            "misplaced": Out(1),
            "unknown": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        n_cous, n_targets = self.n_cous, len(self.o)
        to_cou, to_p2p = (
            ({PacketType.CREDIT}, {PacketType.ACK, PacketType.GET_DATA}) if self.vc
            else ({PacketType.COLLECTIVE}, {PacketType.SEND, PacketType.PUT, PacketType.GET})
        )
        served = to_p2p if self.p2p else set()
        if not self.get:
            served = served - {PacketType.GET, PacketType.GET_DATA}
        absent = to_p2p - served

        # One bit for each target: no number stands between who is ready and what is taken.
        packets, header = self.i, self.i.header.payload
        is_collective, is_p2p, is_absent = (
            Cat(header.type == member for member in types).any() for types in (to_cou, served, absent)
        )
        unit = self.unit[:(n_cous - 1).bit_length()]
        route = Signal(n_targets)
        # `placed` is set for packets of offload units only, so their routes need no test of the packet type.
        m.d.comb += route.eq(Cat(*(self.placed & (unit == k) for k in range(n_cous)), is_p2p))
        drop, unknown = ~(is_p2p | self.placed), is_absent | is_collective & ~self.known

        # The next header comes behind the payload, so nothing has to hold it back here.
        latched, dropping = Signal(n_targets), Signal()
        for index, port in enumerate(self.o):
            m.d.comb += [
                port.header.payload.eq(header), port.payload.payload.eq(packets.payload.payload),
                port.header.valid.eq(packets.header.valid & route[index]),
                port.payload.valid.eq(packets.payload.valid & latched[index]),
            ]
        header_ready = Cat(port.header.ready for port in self.o)
        payload_ready = Cat(port.payload.ready for port in self.o)
        m.d.comb += [
            packets.header.ready.eq(drop | (route & header_ready).any()),
            packets.payload.ready.eq(dropping | (latched & payload_ready).any()),
        ]
        m.d.sync += [self.misplaced.eq(0), self.unknown.eq(0), self.uncovered.eq(0)]
        with m.If(packets.header.valid & packets.header.ready):
            uncovered = is_collective & self.not_covered
            m.d.sync += [
                self.misplaced.eq(drop & ~unknown), self.unknown.eq(unknown & ~uncovered),
                self.uncovered.eq(uncovered),
            ]
            with m.If(header.length != 0):
                m.d.sync += [latched.eq(route), dropping.eq(drop)]
        with m.If(packets.payload.valid & packets.payload.ready & packets.payload.payload.last):
            m.d.sync += [latched.eq(0), dropping.eq(0)]
        return m
