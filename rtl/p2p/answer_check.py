"""ACKs that come in, compared with what was asked."""

from amaranth import Cat, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.abi import PacketHeader
from rtl.p2p.records import Outstanding, TrackerCommand, differs, never_opened


class AnswerCheck(wiring.Component):
    """Lets in the ACKs of those who were asked, as commands for the tracker.

    An ACK must bear the number of an operation, come from the node and the VP that the operation asks, to the VP that
    asks, and repeat its nonce. Others are dropped, without a trace at the tracker: as `unknown` if the last operation
    of the entry has another number, else as `forged`. The tracker decides whether the operation is still in progress:
    what one with that number asks never changes, so that the check may be older.

    Waits for nothing but the tracker.

    Timing: three cycles an answer.

    Parameters
    ----------
    n : int
        Entries of the tracker.

    Members
    -------
    opened : ``In(1)``, outstanding : ``In(Outstanding)``
        Pulse: an operation is opened; and whom it asks. At least a cycle before its first packet leaves.
    i : ``In(stream.Signature(PacketHeader))``
        ACK packets.
    o : ``Out(stream.Signature(TrackerCommand))``
        Those that were let in.
    unknown, forged : ``Out(1)``
        Pulses: one was dropped.
    """

    def __init__(self, *, n: int):
        self.n = n
        super().__init__({
            "opened": In(1), "outstanding": In(Outstanding),
            "i": In(stream.Signature(PacketHeader)), "o": Out(stream.Signature(TrackerCommand)),
            "unknown": Out(1), "forged": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.operations = operations = memory.Memory(
            shape=Outstanding, depth=self.n, init=never_opened(self.n),
        )
        write, read = operations.write_port(), operations.read_port()
        entry_bits = self.n.bit_length() - 1
        header, command = self.i.payload, self.o.payload
        wrong = Signal(1 + len(differs(read.data, header)))
        m.d.comb += [
            write.en.eq(self.opened), write.addr.eq(self.outstanding.number[:entry_bits]),
            write.data.eq(self.outstanding),
            read.addr.eq(header.tag[:entry_bits]), read.en.eq(0),  # what was read stands until the next answer
            command.number.eq(header.tag), command.status.eq(header.status), command.detail.eq(header.addr),
        ]
        m.d.sync += [self.unknown.eq(0), self.forged.eq(0)]
        with m.FSM():
            with m.State("LOOK"):
                m.d.comb += read.en.eq(1)
                with m.If(self.i.valid):
                    m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += wrong.eq(Cat(read.data.number != header.tag, *differs(read.data, header)))
                m.next = "PASS"
            with m.State("PASS"):
                m.d.comb += [self.o.valid.eq(~wrong.any()), self.i.ready.eq(self.o.ready | wrong.any())]
                with m.If(self.i.ready):
                    m.d.sync += [self.unknown.eq(wrong[0]), self.forged.eq(~wrong[0] & wrong[1:].any())]
                    m.next = "LOOK"
        return m
