"""End-to-end credits at the sender: no collective packet leaves without room for it at its receiver.

Architecture: ``rtl/cou/README.md``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.cou.command import CouShapes


class CreditTable(wiring.Component):
    """Counts the packets that each peer of each job holds, and admits one more while fewer than its share are out.

    The last credit of a peer goes only to the oldest pulse of a job. A younger pulse can therefore never take the
    room that an older one needs, which is half of the argument that every operation ends (``rtl/cou/README.md``).

    Timing: a request is answered after two cycles; `i_return` is taken when no request is in progress. After a reset
    the counts are cleared first, one a cycle.

    Members
    -------
    i : ``In(stream.Signature({job_id, peer, oldest}))``
        Asks for a credit.
    o : ``Out(stream.Signature({ok}))``
        Whether it has been taken.
    i_return : ``In(stream.Signature({job_id, peer, credits}))``
        Credits coming back. More than are out is a protocol error of the peer: the count stops at zero.
    returned : ``Out(1)``
        Pulse: a count went down, a refused request may succeed now.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = CouShapes(config)
        place = {"job_id": formats.JOB_BITS, "peer": formats.PEER_BITS}
        super().__init__({
            "i": In(stream.Signature(data.StructLayout({**place, "oldest": 1}))),
            "o": Out(stream.Signature(data.StructLayout({"ok": 1}))),
            "i_return": In(stream.Signature(data.StructLayout({**place, "credits": 8}))),
            "returned": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        share = self.config.cou.peer_credits
        depth = 1 << (formats.JOB_BITS + self.shapes.peer)
        m.submodules.out = out = memory.Memory(shape=8, depth=depth, init=[])
        write, read = out.write_port(), out.read_port()

        asking = self.i.payload
        giving = self.i_return.payload
        place = Signal(formats.JOB_BITS + self.shapes.peer)
        m.d.comb += [read.addr.eq(place), write.addr.eq(place)]
        ask_place = Cat(asking.peer[: self.shapes.peer], asking.job_id)
        give_place = Cat(giving.peer[: self.shapes.peer], giving.job_id)

        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        sweep = Signal(len(place))
        with m.FSM():
            with m.State("CLEAR"):
                # A reset does not reach into the memory.
                m.d.comb += [place.eq(sweep), write.data.eq(0), write.en.eq(1)]
                m.d.sync += sweep.eq(sweep + 1)
                with m.If(sweep.all()):
                    m.next = "IDLE"
            with m.State("IDLE"):
                # A request in progress goes first: it is on the path from a packet's arrival to its effect.
                with m.If(self.i.valid & ~self.o.valid):
                    m.d.comb += place.eq(ask_place)
                    m.next = "TAKE"
                with m.Elif(self.i_return.valid):
                    m.d.comb += place.eq(give_place)
                    m.next = "GIVE"
            with m.State("TAKE"):
                limit = Mux(asking.oldest, share, share - 1)
                ok = read.data < limit
                m.d.comb += [
                    place.eq(ask_place), write.data.eq(read.data + 1), write.en.eq(ok), self.i.ready.eq(1),
                ]
                m.d.sync += [self.o.valid.eq(1), self.o.payload.ok.eq(ok)]
                m.next = "IDLE"
            with m.State("GIVE"):
                m.d.comb += [
                    place.eq(give_place), write.en.eq(1), self.i_return.ready.eq(1), self.returned.eq(1),
                    write.data.eq(Mux(read.data > giving.credits, read.data - giving.credits, 0)),
                ]
                m.next = "IDLE"
        return m
