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


def credit_rest() -> data.StructLayout:
    """What it says of a job whose operation has ended."""
    return data.StructLayout({"job_id": formats.JOB_BITS, "ended": 1, "owing": 1})


class CreditTable(wiring.Component):
    """Counts the packets that each peer of each job holds, and admits one more while fewer than its share are out.

    The last credit of a peer goes only to the oldest pulse of a job. A younger pulse can therefore never take the
    room that an older one needs, which is half of the argument that every operation ends (``rtl/cou/README.md``).

    A peer may be a multicast group. Its packets have places: a place is taken with as many credits out as the group
    has receivers, and is free again when all of them are back; every credit names its place. So no receiver holds more
    packets than there are places: the share of a peer, or :data:`MAX_PLACES` if that is less. A packet that a receiver
    keeps waiting holds its own place and no other; the last free place is for the oldest pulse.

    A job whose operation has ended may be moved to another unit as soon as nothing of it is out here any more. So the
    credits of a job are also counted all together: the end of an operation is answered with whether some are out, and
    if so, it is told when the last one is back.

    Timing: a request is answered after two cycles; `i_end` and `i_return` are taken when no request is in progress.
    After a reset the counts are cleared first, one a cycle.

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
    i_end : ``In(stream.Signature({job_id}))``
        An operation of the job has ended.
    o_rest : ``Out(stream.Signature({job_id, ended, owing}))``
        With `ended` the answer to ``i_end``: `owing` if credits are out. Without, later: the last one is back, and no
        credit has been taken since the operation ended.
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
            "i_end": In(stream.Signature(data.StructLayout({"job_id": formats.JOB_BITS}))),
            "o_rest": Out(stream.Signature(credit_rest())),
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
        # All that a job has out, and whether the last of it is to be told: 64 peers with four groups of 255, or with
        # 128 packets each, are less than 2**16.
        totals = data.StructLayout({"out": 16, "watched": 1})
        m.submodules.total = total = memory.Memory(shape=totals, depth=1 << formats.JOB_BITS, init=[])
        total_write, total_read = total.write_port(), total.read_port()
        sum_out, after = total_read.data, total_write.data

        asking = self.i.payload
        giving = self.i_return.payload
        place = Signal(formats.JOB_BITS + self.shapes.peer)
        job = Signal(formats.JOB_BITS)
        m.d.comb += [
            read.addr.eq(place), write.addr.eq(place), job.eq(place >> self.shapes.peer),
            total_read.addr.eq(job), total_write.addr.eq(job), after.eq(sum_out),
        ]
        ask_place = Cat(asking.peer[: self.shapes.peer], asking.job_id)
        give_place = Cat(giving.peer[: self.shapes.peer], giving.job_id)

        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        rest = self.o_rest
        with m.If(rest.valid & rest.ready):
            m.d.sync += rest.valid.eq(0)
        # What has to be told must not overtake what was told before.
        may_tell = ~rest.valid

        def tell(job_id, *, ended, owing):
            m.d.sync += [
                rest.valid.eq(1), rest.payload.job_id.eq(job_id), rest.payload.ended.eq(ended),
                rest.payload.owing.eq(owing),
            ]

        sweep = Signal(len(place))
        with m.FSM():
            with m.State("CLEAR"):
                # A reset does not reach into the memory.
                m.d.comb += [place.eq(sweep), write.data.eq(0), write.en.eq(1), after.eq(0), total_write.en.eq(1)]
                m.d.sync += sweep.eq(sweep + 1)
                with m.If(sweep.all()):
                    m.next = "IDLE"
            with m.State("IDLE"):
                # A request in progress goes first: it is on the path from a packet's arrival to its effect.
                with m.If(self.i.valid & ~self.o.valid):
                    m.d.comb += place.eq(ask_place)
                    m.next = "TAKE"
                with m.Elif(self.i_end.valid & may_tell):
                    m.d.comb += job.eq(self.i_end.payload.job_id)
                    m.next = "END"
                with m.Elif(self.i_return.valid & may_tell):
                    m.d.comb += place.eq(give_place)
                    m.next = "GIVE"
            with m.State("TAKE"):
                ok, chosen = Signal(), Signal(PLACE_BITS)
                m.d.comb += [
                    place.eq(ask_place), write.data.eq(read.data), write.en.eq(ok), self.i.ready.eq(1),
                    total_write.en.eq(ok), after.watched.eq(0),
                    after.out.eq(sum_out.out + Mux(asking.multicast, asking.members, 1)),
                ]
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
                back = Signal(8)
                m.d.comb += [
                    place.eq(give_place), write.en.eq(1), self.i_return.ready.eq(1), self.returned.eq(1),
                    write.data.eq(read.data), total_write.en.eq(1), after.out.eq(sum_out.out - back),
                ]
                for k in range(n_places):
                    with m.If(giving.place == k):
                        m.d.comb += [
                            back.eq(Mux(read.data[k] > giving.credits, giving.credits, read.data[k])),
                            write.data[k].eq(read.data[k] - back),
                        ]
                with m.If(sum_out.watched & (after.out == 0)):
                    m.d.comb += after.watched.eq(0)
                    tell(giving.job_id, ended=0, owing=0)
                m.next = "IDLE"
            with m.State("END"):
                owing = sum_out.out != 0
                m.d.comb += [
                    job.eq(self.i_end.payload.job_id), self.i_end.ready.eq(1), total_write.en.eq(1),
                    after.watched.eq(owing),
                ]
                tell(self.i_end.payload.job_id, ended=1, owing=owing)
                m.next = "IDLE"
        return m
