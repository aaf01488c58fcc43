"""Registers in a path between blocks."""

from dataclasses import dataclass
from typing import Any

from amaranth import Module, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.abi import PacketHeader
from rtl.interface import PacketSignature, beat
from rtl.kit.register import StreamRegister
from rtl.kit.skid import SkidBuffer


class StreamStage(wiring.Component):
    """A register stage, or wires, as the parameter says.

    Timing: with `registers` one cycle of latency, and no combinational path from one side to the other; else none. An
    item a cycle with `full_rate`, else with registers one in two cycles.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    registers : bool
        If true, there are registers; otherwise wires.
    full_rate : bool
        If true, items may follow each other without a gap. This takes two registers and a choice a bit; one register
        else.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items in.
    o : ``Out(stream.Signature(shape))``
        The same items.
    """

    def __init__(self, *, shape: ShapeLike, full_rate: bool, registers: bool = True):
        self.shape, self.registers, self.full_rate = shape, registers, full_rate
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        if not self.registers:
            connect(m, flipped(self.i), flipped(self.o))
            return m
        stage: SkidBuffer | StreamRegister
        if self.full_rate:
            m.submodules.pair = stage = SkidBuffer(shape=self.shape, guarded=True)
        else:
            m.submodules.register = stage = StreamRegister(shape=self.shape)
        connect(m, flipped(self.i), stage.i)
        connect(m, stage.o, flipped(self.o))
        return m


@dataclass(frozen=True)
class StreamPath:
    """A path from one stream to another.

    Parameters
    ----------
    sender, receiver : stream interface
        As for ``connect``: an interface of the module itself must be flipped.
    full_rate : bool
        If true, items may follow each other without a gap. Reports seldom come in two successive cycles; beats do.
    """

    sender: Any
    receiver: Any
    full_rate: bool = False


def connect_through(m: Module, name: str, path: StreamPath) -> StreamStage:
    """Connects two streams by the registers of a :class:`StreamStage`, which `m` gets as its submodule `name`."""
    m.submodules[name] = stage = StreamStage(
        shape=path.sender.signature.members["payload"].shape, full_rate=path.full_rate
    )
    connect(m, path.sender, stage.i)
    connect(m, stage.o, path.receiver)
    return stage


class PacketStage(wiring.Component):
    """The same for a stream of packets: header and payload.

    For inputs from inside the design: registers take over the input in each cycle, packet or not.

    A payload is offered only after its header has been taken, and the next header only after the last beat, on both
    sides.

    Timing: with `registers` one cycle of latency; a header in two cycles, a beat in each.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    registers : bool
        If true, there are registers; otherwise wires.
    beside : ShapeLike
        Shape of the fields that travel with each header; none if not given.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets in.
    o : ``Out(PacketSignature(data_width))``
        The same packets.
    i_beside : ``In(beside)``, o_beside : ``Out(beside)``
        With the header.
    """

    def __init__(self, *, data_width: int, registers: bool = True, beside: ShapeLike | None = None):
        self.data_width, self.registers, self.beside = data_width, registers, beside
        super().__init__({
            "i": In(PacketSignature(data_width)), "o": Out(PacketSignature(data_width)),
            **({} if beside is None else {"i_beside": In(beside), "o_beside": Out(beside)}),
        })

    def elaborate(self, platform):
        m = Module()
        if not self.registers:
            connect(m, flipped(self.i), flipped(self.o))
            if self.beside is not None:
                m.d.comb += self.o_beside.eq(self.i_beside)
            return m
        m.submodules.header = header = StreamRegister(
            shape=data.StructLayout({"header": PacketHeader, "beside": 0 if self.beside is None else self.beside}),
            guarded=False,
        )
        if self.beside is not None:
            m.d.comb += [header.i.payload.beside.eq(self.i_beside), self.o_beside.eq(header.o.payload.beside)]
        m.submodules.payload = payload = SkidBuffer(shape=beat(self.data_width))
        m.d.comb += [
            header.i.payload.header.eq(self.i.header.payload),
            header.i.valid.eq(self.i.header.valid), self.i.header.ready.eq(header.i.ready),
        ]
        connect(m, flipped(self.i.payload), payload.i)

        # Both can hold something of different packets: what comes out keeps to the order of the signature.
        in_payload = Signal()
        header_taken, ends = Signal(), Signal()
        m.d.comb += [
            self.o.header.payload.eq(header.o.payload.header), self.o.header.valid.eq(header.o.valid & ~in_payload),
            header.o.ready.eq(self.o.header.ready & ~in_payload),
            self.o.payload.payload.eq(payload.o.payload), self.o.payload.valid.eq(payload.o.valid & in_payload),
            payload.o.ready.eq(self.o.payload.ready & in_payload),
            header_taken.eq(self.o.header.valid & self.o.header.ready),
            ends.eq(self.o.payload.valid & self.o.payload.ready & payload.o.payload.last),
        ]
        with m.If(header_taken):
            m.d.sync += in_payload.eq(header.o.payload.header.length != 0)
        with m.Elif(ends):
            m.d.sync += in_payload.eq(0)

        return m
