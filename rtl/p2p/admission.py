"""May a received packet be written, and where?"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType, Right, Status
from rtl.interface import ADDRESS_BITS, ReceiveSlotSignature, WindowSignature, check_address_bits
from rtl.p2p.range_check import RangeCheck
from rtl.p2p.records import RangedHeader, admitted_layout, is_part


class Admission(wiring.Component):
    """Judges the headers of received packets, one after the other.

    SEND needs an entry of the destination VP's receive queue, PUT a memory window of it that others may write and that
    holds the range of the whole operation (none for an empty PUT). Anything else is dropped without an answer.

    Timing: two cycles and the time of the check; three for a PUT whose range is refused without a check.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    i : ``In(stream.Signature(RangedHeader))``
        Headers, each with the range of its operation.
    window : ``Out(WindowSignature)``
        Memory windows.
    receive_slot : ``Out(ReceiveSlotSignature)``
        Receive queues.
    o : ``Out(stream.Signature(admitted_layout(address_bits)))``
        One judgement for each header.
    unknown : ``Out(1)``
        Pulse: a packet was neither SEND nor PUT.
    """

    def __init__(self, *, data_width: int, address_bits: int = ADDRESS_BITS):
        self.data_width = data_width
        self.admitted = admitted_layout(check_address_bits(address_bits))
        super().__init__({
            "i": In(stream.Signature(RangedHeader)),
            "window": Out(WindowSignature()),
            "receive_slot": Out(ReceiveSlotSignature()),
            "o": Out(stream.Signature(self.admitted)),
            "unknown": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        result = Signal(self.admitted)
        header = result.header
        incoming = self.i.payload.header
        m.submodules.range_check = whole = RangeCheck(flit_bytes=self.data_width // 8)
        window, slot = self.window, self.receive_slot
        m.d.comb += [
            self.o.payload.eq(result),
            whole.addr.eq(incoming.addr),
            whole.bytes.eq(incoming.length),
            whole.part.eq(is_part(incoming)),
            whole.range.eq(self.i.payload.range),
            window.query.payload.vp.eq(header.dest_vp),
            window.query.payload.addr.eq(whole.whole_addr),
            window.query.payload.bytes.eq(whole.whole_bytes),
            window.query.payload.right.eq(Right.REMOTE_WRITE),
            slot.query.payload.vp.eq(header.dest_vp),
        ]

        def refuse(status):
            m.d.sync += [result.accept.eq(0), result.status.eq(status)]

        m.d.sync += self.unknown.eq(0)
        with m.FSM():
            with m.State("HEADER"):
                m.d.comb += [self.i.ready.eq(1), whole.enable.eq(1)]
                m.d.sync += [
                    header.eq(incoming),
                    result.accept.eq(1),
                    result.answer.eq(1),
                    result.addr.eq(incoming.addr),
                    result.status.eq(Status.OK),
                    result.send.eq(incoming.type == PacketType.SEND),
                    result.empty.eq(incoming.length == 0),
                ]
                with m.If(self.i.valid):
                    with m.If(incoming.type == PacketType.SEND):
                        m.next = "ASK_SLOT"
                        with m.If(incoming.length > formats.PAYLOAD_BYTES):
                            refuse(Status.BAD_LENGTH)
                            m.next = "PASS"
                    with m.Elif(incoming.type == PacketType.PUT):
                        m.next = "ASK_WINDOW"
                        with m.If((incoming.length == 0) & ~is_part(incoming)):
                            refuse(Status.OK)  # nothing to write
                            m.next = "PASS"
                    with m.Else():
                        refuse(Status.OK)
                        m.d.sync += [result.answer.eq(0), self.unknown.eq(1)]
                        m.next = "PASS"

            with m.State("ASK_SLOT"):
                m.d.comb += slot.query.valid.eq(1)
                with m.If(slot.query.ready):
                    m.next = "SLOT"
            with m.State("SLOT"):
                m.d.comb += slot.answer.ready.eq(1)
                with m.If(slot.answer.valid):
                    m.d.sync += [
                        result.addr.eq(slot.answer.payload.addr),
                        result.phase.eq(slot.answer.payload.phase),
                    ]
                    with m.If(~slot.answer.payload.ok):
                        refuse(Status.RECEIVER_NOT_READY)
                    m.next = "PASS"

            # A range that is none is not asked about.
            with m.State("ASK_WINDOW"):
                m.d.comb += window.query.valid.eq(whole.fits & ~whole.below)
                with m.If(~window.query.valid):
                    refuse(Mux(whole.fits, Status.REMOTE_ACCESS, Status.BAD_LENGTH))
                    m.next = "PASS"
                with m.Elif(window.query.ready):
                    m.next = "WINDOW"
            with m.State("WINDOW"):
                m.d.comb += window.answer.ready.eq(1)
                with m.If(window.answer.valid):
                    with m.If(~window.answer.payload.ok):
                        refuse(Status.REMOTE_ACCESS)
                    m.next = "PASS"

            with m.State("PASS"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "HEADER"


        return m
