"""End-to-end credits at the sender: no collective packet leaves without room for it at its receiver.

Architecture: ``rtl/cou/README.md``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.credit.layouts import PLACE_BITS, CreditNotice, credit_answer, credit_request
from rtl.kit.fifo import StreamFifo
from rtl.kit.index import index_bits
from rtl.kit.memory import BlockMemory
from rtl.kit.quiescence import any_moves

MAX_PLACES = 1 << PLACE_BITS
"""Multicasts of one group that one job has on their way at once."""

COUNT_BITS, TOTAL_BITS = 8, 16
"""Bits of the packets out of one place, and of one job: 64 peers with four groups of 255, or with 128 packets and 255
on loan each, are less than 2**16."""

LOANS_ASKED = 16
"""Packets of one unit on their way that ask for a loan, and loans that it has: all of them can be given back."""


def credit_back() -> data.StructLayout:
    """What a CREDIT packet brings."""
    return data.StructLayout({
        "job_id": formats.JOB_BITS, "peer": formats.PEER_BITS, "place": PLACE_BITS, "credits": 8,
        "loan": 1, "want": 1, "source_id": formats.NODE_BITS, "source_vp": formats.VP_BITS, "dest_vp": formats.VP_BITS,
    })


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

    If receivers have a pool, more is lent. A packet to a single peer asks for a loan (`want`) if a request for it was
    refused since the last one, or if it takes the last credit that is not the oldest pulse's. Its credit brings the
    loan or does not. Any pulse may take a loan, and loans go first; packets on loan are counted at place 1, which
    single peers have no other use for. So a loan takes nothing from the share.

    A loan that comes is kept for the next packet while its job's operation is in progress, if that peer has no other
    loan here. If not, it goes back at once (``o_unused``); what is here when the operation ends goes back then. Channel
    1 must not wait for that, so there is room to give back all that packets have asked for: :data:`LOANS_ASKED`.

    A job whose operation has ended may be moved to another unit as soon as nothing of it is out here any more. So the
    credits of a job are also counted all together: the end of an operation is answered with whether some are out, and
    if so, it is told when the last one is back.

    Timing: a request is answered after three cycles; `i_end` and `i_return` are taken when no request is in progress.
    After a reset the counts are cleared first, one a cycle.

    Members
    -------
    i : ``In(stream.Signature({job_id, peer, oldest, multicast, members}))``
        Asks for a credit, or with `multicast` for one of each of `members` receivers.
    hold : ``In(1)``
        The request on offer is not to be decided on yet. It may be taken back then.
    o : ``Out(stream.Signature({ok, place, loan, want}))``
        Whether it has been taken; the packet's place, whether it travels on a loan, whether it asks for one.
    i_return : ``In(stream.Signature(credit_back()))``
        Credits coming back. More than are out is a protocol error of the peer: the count stops at zero. So is a loan
        that nobody asked for: it is ignored.
    o_unused : ``Out(stream.Signature(credit))``
        Loans that go back to their lender.
    returned : ``Out(1)``
        Pulse: a count went down, a refused request may succeed now.
    i_end : ``In(stream.Signature({job_id}))``
        An operation of the job has ended.
    o_rest : ``Out(stream.Signature({job_id, ended, owing}))``
        With `ended` the answer to ``i_end``: `owing` if credits are out. Without, later: the last one is back, and no
        credit has been taken since the operation ended.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, config: Config):
        self.config = config
        self.peer_bits = index_bits(config.cou.n_peers)
        super().__init__({
            "moves": Out(1),
            "i": In(stream.Signature(credit_request())), "hold": In(1),
            "o": Out(stream.Signature(credit_answer())),
            "i_return": In(stream.Signature(credit_back())),
            "o_unused": Out(stream.Signature(CreditNotice)),
            "returned": Out(1),
            "i_end": In(stream.Signature(data.StructLayout({"job_id": formats.JOB_BITS}))),
            "o_rest": Out(stream.Signature(credit_rest())),
        })

    def elaborate(self, platform):
        m = Module()
        share = self.config.cou.peer_credits
        n_places = min(share, MAX_PLACES)
        depth = 1 << (formats.JOB_BITS + self.peer_bits)
        lends = self.config.pool_packets > 0
        # Packets that are out, for each place. Single peers have one place for credits, and one for loans. A loan may
        # be there, whose lender stands in a slot; a request may have been refused since the last packet.
        slot_bits = index_bits(LOANS_ASKED)
        counts = data.ArrayLayout(COUNT_BITS, max(n_places, 2) if lends else n_places)
        entry = data.StructLayout({"out": counts, **({"loan": 1, "slot": slot_bits, "refused": 1} if lends else {})})
        m.submodules.out = out = BlockMemory(shape=entry, depth=depth, apart=True)
        # All that a job has out, and whether the last of it is to be told.
        totals = data.StructLayout({"out": TOTAL_BITS, "watched": 1})
        m.submodules.total = total = BlockMemory(shape=totals, depth=1 << formats.JOB_BITS, apart=True)
        # What comes out of the memories, from registers that a state of its own fills.
        stored, sum_out, fill = Signal(entry), Signal(totals), Signal()
        with m.If(fill):
            m.d.sync += [stored.eq(out.read_data), sum_out.eq(total.read_data)]
        # What goes into them, through registers: nothing is read in the state after it.
        update, after = Signal(entry), Signal(totals)
        updates, sums_up = Signal(), Signal()

        asking = self.i.payload
        giving = self.i_return.payload
        place = Signal(formats.JOB_BITS + self.peer_bits)
        job = Signal(formats.JOB_BITS)
        m.d.comb += [
            out.read_address.eq(place), job.eq(place >> self.peer_bits), total.read_address.eq(job),
            after.eq(sum_out),
        ]
        m.d.sync += [
            out.write_address.eq(place), out.write_data.eq(update), out.write_enable.eq(updates),
            total.write_address.eq(job), total.write_data.eq(after), total.write_enable.eq(sums_up),
        ]
        ask_place = Cat(asking.peer[: self.peer_bits], asking.job_id)
        give_place = Cat(giving.peer[: self.peer_bits], giving.job_id)

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

        loan, want, granted, keep, flush = (
            Signal(name=name) for name in ("loan", "want", "granted", "keep", "flush")
        )
        # At the end of a job's operation one slot after the other is looked at.
        full, spot, step, next_step = Signal(LOANS_ASKED), Signal(slot_bits), Signal(slot_bits), Signal()
        flushing, flushed_job = Signal(), Signal(formats.JOB_BITS)
        if lends:
            m.submodules.unused = unused = StreamFifo(shape=CreditNotice, depth=LOANS_ASKED)
            connect(m, unused.o, flipped(self.o_unused))
            m.submodules.kept = kept = memory.Memory(shape=CreditNotice, depth=LOANS_ASKED, init=[])
            keep_port, kept_port = kept.write_port(), kept.read_port(domain="comb")
            # Packets that ask and have no answer yet, loans that are here, and those that wait to leave: each has a
            # place in the queue, and a packet may ask if one is left.
            asked, reserved = Signal(range(LOANS_ASKED + 1)), Signal(range(LOANS_ASKED + 1))
            answered = giving.want & (asked != 0) & self.i_return.ready
            notice = Signal(CreditNotice)
            m.d.comb += [
                granted.eq(giving.loan & answered), unused.i.valid.eq((granted & ~keep) | flush),
                notice.job_id.eq(giving.job_id), notice.peer.eq(giving.peer), notice.loan.eq(1),
                notice.dest_id.eq(giving.source_id), notice.dest_vp.eq(giving.source_vp),
                notice.source_vp.eq(giving.dest_vp),
                unused.i.payload.eq(Mux(flush, kept_port.data, notice)),
                kept_port.addr.eq(step), keep_port.addr.eq(spot), keep_port.data.eq(notice),
                keep_port.en.eq(granted & keep),
            ]
            m.d.sync += [
                asked.eq(asked + want - answered),
                reserved.eq(
                    reserved + want - (answered & ~granted) - loan - (self.o_unused.valid & self.o_unused.ready)
                ),
            ]
            for k in reversed(range(LOANS_ASKED)):
                with m.If(~full[k]):
                    m.d.comb += spot.eq(k)
            with m.If(granted & keep):
                m.d.sync += full.bit_select(spot, 1).eq(1)
            with m.If(loan):
                m.d.sync += full.bit_select(stored.slot, 1).eq(0)
            with m.If(flush):
                m.d.sync += full.bit_select(step, 1).eq(0)
            with m.If(next_step):
                m.d.sync += [step.eq(step + 1), flushing.eq(step != LOANS_ASKED - 1)]

            kept_place = Cat(kept_port.data.peer[: self.peer_bits], kept_port.data.job_id)

        # Of the credits that a peer returns; no more than are out.
        back = Signal(COUNT_BITS)

        def go(state):
            m.next = f"READ_{state}"

        def finish():
            m.next = "WRITE"

        sweep = Signal(len(place))
        with m.FSM(init="CLEAR") as fsm:
            for state in ("TAKE", "COUNT", "END", *(("FLUSH",) if lends else ())):
                with m.State(f"READ_{state}"):
                    m.d.comb += fill.eq(1)
                    m.next = state
                    if state == "TAKE":
                        # What is taken back may be followed by another one.
                        with m.If(~self.i.valid):
                            m.next = "IDLE"
            with m.State("COUNT"):
                m.d.sync += back.eq(0)
                for k in range(counts.length):
                    with m.If(giving.place == k):
                        m.d.sync += back.eq(Mux(stored.out[k] > giving.credits, giving.credits, stored.out[k]))
                m.next = "GIVE"
            with m.State("WRITE"):
                m.next = "IDLE"
            with m.State("CLEAR"):
                # A reset does not reach into the memory.
                m.d.comb += [place.eq(sweep), update.eq(0), updates.eq(1), after.eq(0), sums_up.eq(1)]
                m.d.sync += sweep.eq(sweep + 1)
                with m.If(sweep.all()):
                    finish()
            with m.State("IDLE"):
                m.d.comb += [out.read_enable.eq(1), total.read_enable.eq(1)]
                # A request in progress goes first: it is on the path from a packet's arrival to its effect.
                with m.If(self.i.valid & ~self.o.valid):
                    m.d.comb += place.eq(ask_place)
                    go("TAKE")
                with m.Elif(self.i_end.valid & may_tell & ~flushing):
                    m.d.comb += job.eq(self.i_end.payload.job_id)
                    go("END")
                with m.Elif(self.i_return.valid & may_tell):
                    m.d.comb += place.eq(give_place)
                    go("COUNT")
                if lends:
                    with m.Elif(flushing):
                        found = full.bit_select(step, 1) & (kept_port.data.job_id == flushed_job)
                        m.d.comb += [place.eq(kept_place), next_step.eq(~found)]
                        with m.If(found):
                            go("FLUSH")
            with m.State("TAKE"):
                # One that is not to be decided on yet is looked up again.
                with m.If(self.hold | ~self.i.valid):
                    m.next = "IDLE"
                with m.Else():
                    ok, chosen = Signal(), Signal(PLACE_BITS)
                    m.d.comb += [
                        place.eq(ask_place), update.eq(stored), updates.eq(ok), self.i.ready.eq(1),
                        sums_up.eq(ok), after.watched.eq(0),
                        after.out.eq(sum_out.out + Mux(asking.multicast, asking.members, 1)),
                    ]
                    with m.If(asking.multicast):
                        free = Signal(n_places)
                        m.d.comb += [
                            free.eq(Cat(stored.out[k] == 0 for k in range(n_places))),
                            # More than one free place, or any for the oldest pulse.
                            ok.eq(Mux(asking.oldest, free.any(), (free & (free - 1)).any())),
                        ]
                        for k in reversed(range(n_places)):
                            with m.If(free[k]):
                                m.d.comb += chosen.eq(k)
                        for k in range(n_places):
                            with m.If(chosen == k):
                                m.d.comb += update.out[k].eq(asking.members)
                    with m.Else():
                        own = Signal()
                        m.d.comb += [
                            own.eq(stored.out[0] < Mux(asking.oldest, share, share - 1)),
                            ok.eq(own | loan), chosen.eq(loan),
                        ]
                        with m.If(own & ~loan):
                            m.d.comb += update.out[0].eq(stored.out[0] + 1)
                        if lends:
                            # The next one of a younger pulse will find no credit of its own.
                            scarce = Mux(loan, stored.out[0] >= share - 1, stored.out[0] >= max(share - 2, 0))
                            # What was refused is remembered, so there is always something to be written.
                            m.d.comb += [
                                loan.eq(stored.loan), update.out[1].eq(stored.out[1] + loan),
                                updates.eq(1), update.loan.eq(0), update.refused.eq(~ok),
                                want.eq(ok & (stored.refused | scarce) & (reserved != LOANS_ASKED)),
                            ]
                    m.d.sync += [
                        self.o.valid.eq(1), self.o.payload.ok.eq(ok), self.o.payload.place.eq(chosen),
                        self.o.payload.loan.eq(loan), self.o.payload.want.eq(want),
                    ]
                    finish()
            with m.State("GIVE"):
                m.d.comb += [
                    place.eq(give_place), updates.eq(1), self.i_return.ready.eq(1), self.returned.eq(1),
                    update.eq(stored), sums_up.eq(1), after.out.eq(sum_out.out - back),
                ]
                for k in range(counts.length):
                    with m.If(giving.place == k):
                        m.d.comb += update.out[k].eq(stored.out[k] - back)
                if lends:
                    # A job that is watched has no operation. The last count of packets on loan must not wrap.
                    m.d.comb += keep.eq(~sum_out.watched & ~stored.loan & ~stored.out[1].all())
                    with m.If(granted & keep):
                        m.d.comb += [update.loan.eq(1), update.slot.eq(spot)]
                with m.If(sum_out.watched & (sum_out.out == back)):
                    m.d.comb += after.watched.eq(0)
                    tell(giving.job_id, ended=0, owing=0)
                finish()
            with m.State("END"):
                owing = sum_out.out != 0
                m.d.comb += [
                    job.eq(self.i_end.payload.job_id), self.i_end.ready.eq(1), sums_up.eq(1),
                    after.watched.eq(owing),
                ]
                tell(self.i_end.payload.job_id, ended=1, owing=owing)
                m.d.sync += [flushed_job.eq(self.i_end.payload.job_id), flushing.eq(lends), step.eq(0)]
                finish()
            if lends:
                with m.State("FLUSH"):
                    m.d.comb += [
                        place.eq(kept_place), flush.eq(1), next_step.eq(1),
                        update.eq(stored), update.loan.eq(0), updates.eq(1),
                    ]
                    finish()

        m.d.sync += self.moves.eq(any_moves(~fsm.ongoing("IDLE"), flushing))

        return m
