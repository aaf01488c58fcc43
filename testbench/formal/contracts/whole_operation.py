"""Operations of several packets: no byte is moved of one that its window does not hold as a whole."""

from typing import Any

from amaranth import Module, Signal, Value

from firmware_models.abi.encoding import PacketType, Right, Status
from rtl.interface import WindowQuery
from rtl.p2p.records import RangedHeader, is_part
from testbench.formal.contract import Contract

HEADER_BITS = {"type": 4, "coll_end": 1, "length": 5, "pulse": 5, "dest_vp": 1, "addr": 7, "tag": 1}
RANGE_BITS = {"before": 6, "left": 6}
"""Bits of what a packet has: enough for several flits in front of a fragment and behind it, and for less than 0. Sums
that wrap are the matter of :class:`RangeCheckContract`."""


class RangeCheckContract(Contract):
    """:class:`~rtl.p2p.range_check.RangeCheck`, with few bits: its promise for every fragment and every range.

    Sums here have a bit more than they need, so none of them wraps.
    """

    def __init__(self, *, flit_bytes: int, address_bits: int, bytes_bits: int):
        super().__init__()
        self.flit_bytes, self.address_bits, self.bytes_bits = flit_bytes, address_bits, bytes_bits

    def build(self, m: Module) -> None:
        from rtl.p2p.range_check import RangeCheck

        m.submodules.unit = unit = RangeCheck(
            flit_bytes=self.flit_bytes, address_bits=self.address_bits, bytes_bits=self.bytes_bits
        )
        widths = {"addr": self.address_bits, "bytes": self.bytes_bits, "part": 1, "before": self.bytes_bits,
                  "left": self.bytes_bits, "enable": 1}
        free = {name: self.free(width, name) for name, width in widths.items()}
        kept = {name: Signal(width, name=f"loaded_{name}") for name, width in widths.items()}
        m.d.comb += [
            unit.addr.eq(free["addr"]), unit.bytes.eq(free["bytes"]), unit.part.eq(free["part"]),
            unit.range.before.eq(free["before"]), unit.range.left.eq(free["left"]), unit.enable.eq(free["enable"]),
        ]
        loaded = Signal()
        with m.If(free["enable"]):
            m.d.sync += [loaded.eq(1), *(kept[name].eq(free[name]) for name in widths)]

        addr, size, before, left = (kept[name] for name in ("addr", "bytes", "before", "left"))
        allowed = loaded & unit.fits & ~unit.below
        self.check(~allowed | (unit.whole_addr <= addr) & (addr + size <= unit.whole_addr + unit.whole_bytes))
        self.check(~allowed | (unit.whole_addr % self.flit_bytes == addr % self.flit_bytes))
        self.check(~allowed | (unit.whole_addr + before == addr) & (unit.whole_bytes == before + left))
        self.check(~allowed | ~kept["part"] | (size != 0))
        # None is refused that should not be.
        proper = (size <= left) & (before + left < 1 << self.bytes_bits) & (before % self.flit_bytes == 0)
        self.check(~loaded | ~proper | (kept["part"] & (size == 0)) | unit.fits)
        self.check(~loaded | ~unit.fits | (unit.below == (before > addr)))
        self.reach(allowed & (before != 0) & (left > size) & kept["part"], "a fragment within its operation")
        self.reach(loaded & unit.fits & unit.below, "an operation that begins below 0")
        self.reach(loaded & ~unit.fits & (left >= size), "a range that is none")


class _Judge(Contract):
    """A part that is given packets with ranges, and asks the window check about each.

    Members
    -------
    header, range : View
        Those of the packet in hand.
    asked, allowed : View, Signal
        The last question about it, and a flag that the window check has answered yes.
    """

    def follow(self, m: Module, unit: Any) -> Value:
        """Offers packets, answers questions as it likes, and checks them; high if a packet is taken."""
        taken = self._offer(m, unit.i)
        packet = Signal(RangedHeader, name="in_hand")
        self.header, self.range = packet.header, packet.range
        query, answer = unit.window.query, unit.window.answer
        self.asked, self.allowed, waits = Signal(WindowQuery, name="asked"), Signal(name="allowed"), Signal()
        m.d.comb += [
            query.ready.eq(self.free(1, "query_ready")), answer.valid.eq(waits & self.free(1, "answered")),
            answer.payload.ok.eq(self.free(1, "ok")),
        ]
        with m.If(query.valid & query.ready):
            m.d.sync += [self.asked.eq(query.payload), self.allowed.eq(0), waits.eq(1)]
        with m.If(answer.valid & answer.ready):
            m.d.sync += [self.allowed.eq(answer.payload.ok), waits.eq(0)]
        with m.If(taken):
            m.d.sync += [packet.eq(unit.i.payload), self.allowed.eq(0)]
        # The question is about the whole, as the packet says.
        whole = query.payload
        self.check(~query.valid | (whole.addr + self.range.before == self.header.addr))
        self.check(~query.valid | (whole.bytes == self.range.before + self.range.left))
        self.check(~query.valid | (whole.vp == self.header.dest_vp))
        return taken

    def _offer(self, m: Module, port: Any) -> Value:
        """Any packet at any time, offered until it is taken; of each field as many bits as make a difference."""
        valid, stalled = self.free(1, "packet"), Signal()
        m.d.comb += port.valid.eq(valid)
        m.d.sync += stalled.eq(valid & ~port.ready)
        self.assume(~stalled | valid)
        for view, widths in ((port.payload.header, HEADER_BITS), (port.payload.range, RANGE_BITS)):
            for name, bits in widths.items():
                value, before = self.free(bits, f"packet_{name}"), Signal(bits, name=f"packet_{name}_before")
                m.d.comb += view[name].eq(value)
                m.d.sync += before.eq(value)
                self.assume(~stalled | (value == before))
        return port.valid & port.ready

    def holds(self, right: Right, *, addr: Value, size: Value) -> Value:
        """High if the window was asked about memory that holds these bytes, for this right, and answered yes."""
        asked = self.asked
        return (
            self.allowed & (asked.right == right) & (asked.addr <= addr)
            & (addr + size <= asked.addr + asked.bytes) & (asked.addr[:3] == addr[:3])
        )


class AdmissionContract(_Judge):
    """:class:`~rtl.p2p.admission.Admission`: a PUT is accepted only if the whole of its operation was allowed."""

    def build(self, m: Module) -> None:
        from rtl.p2p.admission import Admission

        m.submodules.unit = unit = Admission(data_width=64)
        self.follow(m, unit)
        slot = unit.receive_slot
        asked = Signal()
        m.d.comb += [
            unit.o.ready.eq(self.free(1, "o_ready")), slot.query.ready.eq(self.free(1, "slot_ready")),
            slot.answer.valid.eq(asked & self.free(1, "slot_answered")),
            slot.answer.payload.eq(self.free(len(slot.answer.payload.as_value()), "slot")),
        ]
        with m.If(slot.query.valid & slot.query.ready):
            m.d.sync += asked.eq(1)
        with m.Elif(slot.answer.valid & slot.answer.ready):
            m.d.sync += asked.eq(0)

        judged, header = unit.o.payload, self.header
        put = unit.o.valid & (header.type == PacketType.PUT)
        written = put & judged.accept
        self.check(~unit.o.valid | (judged.header.as_value() == header.as_value()))
        self.check(~written | self.holds(Right.REMOTE_WRITE, addr=judged.addr, size=header.length))
        self.check(~written | (judged.addr == header.addr) & (header.length != 0) & ~judged.send & ~judged.empty)
        self.check(~put | judged.answer)
        self.check(~put | judged.accept | (judged.status != Status.OK) | (header.length == 0) & ~is_part(header))
        part = put & is_part(header)
        self.reach(part & judged.accept & (self.range.before != 0) & (self.range.left > header.length), "a part")
        self.reach(part & ~judged.accept & (judged.status == Status.BAD_LENGTH), "a range that is none")


class GetServerContract(_Judge):
    """:class:`~rtl.p2p.get_server.GetServer`: memory is read only for a GET of which the whole was allowed."""

    def build(self, m: Module) -> None:
        from rtl.p2p.get_server import GetServer

        m.submodules.unit = unit = GetServer(data_width=64, mtu=16, n_held=3, n_requests=1)
        self.follow(m, unit)
        read, beats = unit.read, Signal(range(4))
        arrives = (beats != 0) & self.free(1, "arrives")
        m.d.comb += [
            read.request.ready.eq(self.free(1, "read_ready") & (beats == 0)), read.data.valid.eq(arrives),
            read.data.payload.last.eq(beats == 1), read.data.payload.error.eq(self.free(1, "error")),
            unit.o.header.ready.eq(self.free(1, "header_ready")),
            unit.o.payload.ready.eq(self.free(1, "payload_ready")),
        ]
        with m.If(read.request.valid & read.request.ready):
            m.d.sync += beats.eq((read.request.payload.bytes + 7)[3:])
        with m.Elif(arrives & read.data.ready):
            m.d.sync += beats.eq(beats - 1)

        wanted, header = read.request.payload, self.header
        self.check(~read.request.valid | self.holds(Right.REMOTE_READ, addr=wanted.addr, size=wanted.bytes))
        self.check(~read.request.valid | (wanted.addr == header.addr) & (wanted.bytes == header.pulse))
        self.check(~read.request.valid | (wanted.bytes != 0) & (wanted.bytes <= unit.mtu))
        part = read.request.valid & is_part(header)
        self.reach(part & (self.range.before != 0) & (self.range.left > header.pulse), "a part is read")
        answer = unit.o.header.payload
        refused = unit.o.header.valid & (answer.length == 0)
        self.reach(refused & (answer.status == Status.BAD_LENGTH), "a range that is none")
        self.reach(refused & (answer.status == Status.REMOTE_ACCESS), "a window that is none")
