"""End-to-end credits at the sender: no collective packet leaves without room for it at its receiver.

Architecture: ``rtl/cou/README.md``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.cou.command import PLACE_BITS, CouShapes

MAX_PLACES = 1 << PLACE_BITS
"""Multicasts of one group that one job has on their way at once."""


def credit_request() -> data.StructLayout:
    """What the table is asked."""
    return data.StructLayout({
        "job_id": formats.JOB_BITS, "peer": formats.PEER_BITS, "oldest": 1, "multicast": 1,
        "members": formats.MEMBER_BITS,
    })


def credit_answer() -> data.StructLayout:
    """What it answers."""
    return data.StructLayout({"ok": 1, "place": PLACE_BITS})


class CreditTable(wiring.Component):
    """Counts the packets that each peer of each job holds, and admits one more while fewer than its share are out.

    The last credit of a peer goes only to the oldest pulse of a job. A younger pulse can therefore never take the
    room that an older one needs, which is half of the argument that every operation ends (``rtl/cou/README.md``).

    A peer may be a multicast group. Its packets have places: a place is taken with as many credits out as the group
    has receivers, and is free again when all of them are back; every credit names its place. So no receiver holds more
    packets than there are places: the share of a peer, or :data:`MAX_PLACES` if that is less. A packet that a receiver
    keeps waiting holds its own place and no other; the last free place is for the oldest pulse.

    Timing: a request is answered after two cycles; `i_return` is taken when no request is in progress. After a reset
    the counts are cleared first, one a cycle.

    Members
    -------
    i : ``In(stream.Signature({job_id, peer, oldest, multicast, members}))``
        Asks for a credit, or with `multicast` for one of each of `members` receivers.
    o : ``Out(stream.Signature({ok, place}))``
        Whether it has been taken; the packet's place, 0 if it is not a multicast.
    i_return : ``In(stream.Signature({job_id, peer, place, credits}))``
        Credits coming back. More than are out is a protocol error of the peer: the count stops at zero.
    returned : ``Out(1)``
        Pulse: a count went down, a refused request may succeed now.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = CouShapes(config)
        place = {"job_id": formats.JOB_BITS, "peer": formats.PEER_BITS}
        super().__init__({
            "i": In(stream.Signature(credit_request())),
            "o": Out(stream.Signature(credit_answer())),
            "i_return": In(stream.Signature(data.StructLayout({**place, "place": PLACE_BITS, "credits": 8}))),
            "returned": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        share = self.config.cou.peer_credits
        n_places = min(share, MAX_PLACES)
        depth = 1 << (formats.JOB_BITS + self.shapes.peer)
        # Credits that are out, for each place; other peers than groups have only the first.
        counts = data.ArrayLayout(8, n_places)
        m.submodules.out = out = memory.Memory(shape=counts, depth=depth, init=[])
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
                ok, chosen = Signal(), Signal(PLACE_BITS)
                m.d.comb += [place.eq(ask_place), write.data.eq(read.data), write.en.eq(ok), self.i.ready.eq(1)]
                with m.If(asking.multicast):
                    free = Signal(n_places)
                    m.d.comb += [
                        free.eq(Cat(read.data[k] == 0 for k in range(n_places))),
                        # More than one free place, or any for the oldest pulse.
                        ok.eq(Mux(asking.oldest, free.any(), (free & (free - 1)).any())),
                    ]
                    for k in reversed(range(n_places)):
                        with m.If(free[k]):
                            m.d.comb += chosen.eq(k)
                    for k in range(n_places):
                        with m.If(chosen == k):
                            m.d.comb += write.data[k].eq(asking.members)
                with m.Else():
                    m.d.comb += [
                        ok.eq(read.data[0] < Mux(asking.oldest, share, share - 1)),
                        write.data[0].eq(read.data[0] + 1),
                    ]
                m.d.sync += [self.o.valid.eq(1), self.o.payload.ok.eq(ok), self.o.payload.place.eq(chosen)]
                m.next = "IDLE"
            with m.State("GIVE"):
                m.d.comb += [
                    place.eq(give_place), write.en.eq(1), self.i_return.ready.eq(1), self.returned.eq(1),
                    write.data.eq(read.data),
                ]
                for k in range(n_places):
                    with m.If(giving.place == k):
                        m.d.comb += write.data[k].eq(
                            Mux(read.data[k] > giving.credits, read.data[k] - giving.credits, 0)
                        )
                m.next = "IDLE"
        return m
