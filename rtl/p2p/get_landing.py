"""Where the data of a GET go."""

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import Right, Status
from rtl.abi import PacketHeader
from rtl.interface import (
    ADDRESS_BITS,
    PacketSignature,
    WindowSignature,
    WriteSignature,
    beat,
    check_address_bits,
)
from rtl.kit.queue import Queue, stream_queue
from rtl.kit.skid import SkidBuffer
from rtl.p2p.landing_writer import LandingWriter
from rtl.p2p.records import TrackerCommand, booking_layout, differs, landing_layout, never_opened

PAYLOAD_BEATS = 16
"""Payload that comes in while the packet is being judged."""


@dataclass(frozen=True, kw_only=True)
class PacketInHand:
    """The packet that is judged, and the booking of its operation.

    Parameters
    ----------
    header, result : View
        Its header; the result that the writer gets.
    size : Signal
        Bytes that are expected of it.
    look, book : ReadPort, WritePort
        Bookings: what was read stands until the next packet.
    """

    header: View
    result: View
    size: Signal
    look: memory.ReadPort
    book: memory.WritePort


class GetLanding(wiring.Component):
    """Checks GET_DATA packets, writes those that were requested, and reports their end to the tracker.

    The answers of an operation come in the order of its requests, for both travel in order. So one answer at a time
    can be right: that of the fragment that follows the one before, with its address and length, from the node and VP
    that were asked, to the VP that asked, with the nonce of the operation. Whatever else comes (twice, late, of
    nothing) touches no memory, and is counted: as `forged` if it bears the number of the last GET of its entry and
    differs in who answers whom or in the nonce, else as `unknown`. Every write has been allowed by the tracker, in
    whose account the operation cannot end before it is done, and by the memory windows of the operation's VP as they
    are then.

    Waits for the tracker, the VP table and memory, and for nothing of the network.

    Timing: about fourteen cycles a packet, while the one before it is written.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    mtu : int
        Largest fragment in bytes.
    n : int
        Entries of the tracker.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    i_book : ``In(stream.Signature(booking_layout(address_bits)))``
        Operations that are about to be opened.
    i : ``In(PacketSignature(data_width))``
        GET_DATA packets.
    o_land : ``Out(stream.Signature(TrackerCommand))``, i_land : ``In(stream.Signature({ok}))``
        High if the operation of a packet is still in progress; then it waits for the packet's end.
    o_landed : ``Out(stream.Signature(TrackerCommand))``
        That end.
    window : ``Out(WindowSignature())``
        Memory windows.
    write : ``Out(WriteSignature(data_width))``
        Local memory.
    unknown, forged : ``Out(1)``
        Pulses: a packet that nobody asked for, or that somebody else was asked for, was dropped.
    """

    def __init__(
        self, *, data_width: int, mtu: int, n: int, address_bits: int = ADDRESS_BITS
    ):
        self.data_width = data_width
        self.mtu = mtu
        self.n = n
        self.address_bits = check_address_bits(address_bits)
        super().__init__({
            "i_book": In(stream.Signature(booking_layout(address_bits))),
            "i": In(PacketSignature(data_width)),
            "o_land": Out(stream.Signature(TrackerCommand)),
            "i_land": In(stream.Signature(1)),
            "o_landed": Out(stream.Signature(TrackerCommand)),
            "window": Out(WindowSignature()),
            "write": Out(WriteSignature(data_width)),
            "unknown": Out(1), "forged": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        entry_bits = self.n.bit_length() - 1
        booking, landing = booking_layout(self.address_bits), landing_layout(self.address_bits)
        m.submodules.bookings = bookings = memory.Memory(shape=booking, depth=self.n, init=never_opened(self.n))
        look, book = bookings.read_port(), bookings.write_port()
        m.submodules.payload = payload = stream_queue(
            shape=beat(self.data_width), depth=PAYLOAD_BEATS
        )
        m.submodules.landings = landings = SkidBuffer(shape=landing)
        m.submodules.writer = writer = LandingWriter(
            data_width=self.data_width, address_bits=self.address_bits
        )
        connect(m, flipped(self.i.payload), payload.i)
        connect(m, payload.o, writer.i_payload)
        connect(m, landings.o, writer.i)
        connect(m, writer.write, flipped(self.write))
        connect(m, writer.o_landed, flipped(self.o_landed))

        # The packet in hand, and what is expected of its operation.
        header, result = Signal(PacketHeader), Signal(landing)
        booked, after = look.data, Signal(booking)
        size = Signal.like(header.length)
        m.d.comb += [
            look.addr.eq(self.i.header.payload.tag[:entry_bits]),
            look.en.eq(0),  # what was read stands until the next packet
            size.eq(Mux(booked.left < self.mtu, booked.left, self.mtu)),
            after.eq(booked),
            after.local.eq(booked.local + self.mtu),
            after.remote.eq(booked.remote + self.mtu),
            after.left.eq(booked.left - self.mtu),  # of no account once it is over
            after.over.eq(booked.left <= self.mtu),
        ]

        query, land = self.window.query, Signal(TrackerCommand)
        m.d.comb += [
            land.number.eq(header.tag),
            self.o_land.payload.eq(land),
            query.payload.vp.eq(booked.vp),
            query.payload.addr.eq(booked.local),
            query.payload.bytes.eq(header.length),
            query.payload.right.eq(Right.LOCAL_WRITE),
            landings.i.payload.eq(result),
            book.data.eq(Mux(self.i_book.ready, self.i_book.payload, after)),
            book.addr.eq(Mux(self.i_book.ready, self.i_book.payload.number, header.tag)[:entry_bits]),
        ]

        self._judge(m, PacketInHand(header=header, result=result, size=size, look=look, book=book), landings)
        return m

    def _judge(self, m: Module, hand: PacketInHand, landings: Queue) -> None:
        """Judges one packet after the other; bookings come in between."""
        header, result, look, book = hand.header, hand.result, hand.look, hand.book
        booked, good, expected = look.data, header.status == Status.OK, Signal(4)
        wrong = Signal(len(differs(booked, header)))
        query, answer = self.window.query, self.window.answer

        def refuse(is_forged):
            """Drops a packet that nobody requested: payload and all, without a report to the tracker."""
            m.d.sync += [
                result.answer.eq(0), result.accept.eq(0), self.unknown.eq(~is_forged), self.forged.eq(is_forged),
            ]
            m.next = "PASS"

        m.d.sync += [self.unknown.eq(0), self.forged.eq(0)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [
                    self.i_book.ready.eq(self.i_book.valid),
                    book.en.eq(self.i_book.valid),
                    self.i.header.ready.eq(~self.i_book.valid),
                    look.en.eq(self.i.header.valid & self.i.header.ready),
                ]
                m.d.sync += header.eq(self.i.header.payload)
                with m.If(self.i.header.valid & self.i.header.ready):
                    m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += [
                    expected.eq(Cat(
                        booked.number == header.tag, ~booked.over, booked.remote == header.addr,
                        header.length == Mux(good, hand.size, 0),
                    )),
                    wrong.eq(Cat(differs(booked, header))),
                    result.number.eq(header.tag),
                    result.length.eq(header.length),
                    result.accept.eq(header.length != 0),
                    result.answer.eq(1),
                    result.status.eq(header.status),
                    result.addr.eq(booked.local),
                    result.detail.eq(header.addr),
                ]
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.next = "LAND"
                with m.If(~expected.all() | wrong.any()):
                    refuse(expected[0] & wrong.any())
            with m.State("LAND"):
                m.d.comb += self.o_land.valid.eq(1)
                with m.If(self.o_land.ready):
                    m.next = "LANDING"
            with m.State("LANDING"):
                m.d.comb += self.i_land.ready.eq(1)
                with m.If(self.i_land.valid):
                    with m.If(self.i_land.payload):
                        m.d.comb += book.en.eq(1)
                        m.next = "PASS"
                        with m.If(result.accept):
                            m.next = "ASK"
                    with m.Else():
                        refuse(Const(0))
            with m.State("ASK"):
                m.d.comb += query.valid.eq(1)
                with m.If(query.ready):
                    m.next = "WINDOW"
            with m.State("WINDOW"):
                m.d.comb += answer.ready.eq(1)
                with m.If(answer.valid):
                    m.next = "PASS"
                    with m.If(~answer.payload.ok):
                        m.d.sync += [
                            result.accept.eq(0), result.status.eq(Status.BAD_ADDRESS), result.detail.eq(booked.local),
                        ]
            with m.State("PASS"):
                m.d.comb += landings.i.valid.eq(1)
                with m.If(landings.i.ready):
                    m.next = "IDLE"
