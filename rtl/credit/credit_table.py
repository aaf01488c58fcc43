"""End-to-end credits at the sender: no collective packet leaves without room for it at its receiver.

Architecture: ``rtl/cou/README.md``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.formats import WIRE, FormatSet
from rtl.credit.credit_counts import Counts
from rtl.credit.credit_sizes import EVERY_BUILD, CreditSizes
from rtl.credit.layouts import WINDOW_SLOT_BITS, credit_answer, credit_notice, credit_request
from rtl.credit.shared_credits import SharedCredits, shared_credits
from rtl.kit.index import index_bits
from rtl.kit.memory import BlockMemory

MAX_WINDOW_SLOTS = 1 << WINDOW_SLOT_BITS
"""Most multicasts of one group that one job has outstanding."""


def credit_back(formats: FormatSet = WIRE) -> data.StructLayout:
    """Contents of a CREDIT packet."""
    return data.StructLayout({
        "job_id": formats.job_bits, "peer": formats.peer_bits, "window_slot": WINDOW_SLOT_BITS, "credits": 8,
        "loan": 1, "want": 1, "source_id": formats.node_bits, "source_vp": formats.vp_bits, "dest_vp": formats.vp_bits,
    })


def credit_rest(formats: FormatSet = WIRE) -> data.StructLayout:
    """Report on a job whose operation has ended."""
    return data.StructLayout({"job_id": formats.job_bits, "ended": 1, "owing": 1})


class CreditTable(wiring.Component):
    """Counts the packets that each peer of each job holds, and admits one more while fewer than its share are out.

    The last credit of a peer goes only to the oldest pulse of a job. A younger pulse can therefore never take the
    room that an older one needs, which is half of the argument that every operation ends (``rtl/cou/README.md``).

    A peer may be a multicast group. A multicast takes a window slot, with as many credits outstanding as the group has
    receivers; every credit names the slot, which is free when all have returned. A receiver therefore holds at most
    as many packets as there are window slots: the guaranteed credits of a peer, or :data:`MAX_WINDOW_SLOTS` if that is
    less. A packet that a receiver keeps waiting holds its own slot only. The last free slot is for the oldest pulse.

    Receivers with a pool grant shared credits. A packet to a single peer asks for one (`want`) if a request for that
    peer was refused since the last packet, or if it leaves fewer than ``sizes.most_kept`` credits of either kind to
    pulses that are not the oldest. The CREDIT packet for it brings the shared credit (`loan`) or does not. Any pulse
    may use a shared credit, and these are used first. Packets on shared credits are counted in window slot 1, which
    single peers do not use otherwise, so they take nothing from the guaranteed credits.

    Shared credits are kept for the next packets to their peer while an operation of the job is in progress,
    ``sizes.most_kept`` for each peer. Otherwise, and when the operation ends, they return unused (``o_unused``).
    Channel 1 must not wait for that: the queue has room for all that packets have asked for, ``sizes.most_asked``.

    Software may write off what a closed job has out, when that cannot return any more (`i_write_off`): its counts are 0
    then, and none of its packets has asked. Whatever returns later is more than is out.

    A job whose operation has ended may move to another unit when it has no outstanding credit here. The credits of a
    job are therefore also counted together: the answer to the end of an operation says if any is outstanding; if so,
    a second report follows when the last one has returned.

    Timing: a request is answered after three cycles; `i_end` and `i_return` are taken when no request is in progress.
    A job is written off in two cycles and one for each peer.
    After a reset the counts are cleared first, one a cycle.

    Parameters
    ----------
    formats : FormatSet
        For JobIDs, peers and the addresses of those that grant.
    n_peers : int
        Peers of one job, from 1 to as many as `formats` can number.
    peer_credits : int
        Guaranteed credits of each peer of each job. At least 1.
    shares : bool
        If true, receivers have pools and grant shared credits.
    sizes : CreditSizes
        Bounds of the counts.

    Members
    -------
    i : ``In(stream.Signature({job_id, peer, oldest, multicast, members}))``
        Asks for a credit, or with `multicast` for one of each of `members` receivers.
    hold : ``In(1)``
        The request on offer is not to be decided on yet. It may be taken back then.
    o : ``Out(stream.Signature({ok, window_slot, loan, want}))``
        `ok`: the credit is granted; the packet's window slot; it travels on a shared credit; it asks for one.
    i_return : ``In(stream.Signature(credit_back))``
        Credits that return. More than are outstanding are a protocol error of the peer: the count stops at zero. So is
        a shared credit that no packet asked for: it is ignored.
    o_unused : ``Out(stream.Signature(credit))``
        Shared credits that return unused to the receiver that granted them.
    returned : ``Out(1)``
        Pulse: a count went down, that of a group to 0; a request that was refused may succeed now.
    i_end : ``In(stream.Signature({job_id}))``
        An operation of the job has ended.
    i_write_off : ``In(stream.Signature({job_id}))``
        What the job has out is lost; it has no operation. It goes before requests.
    o_rest : ``Out(stream.Signature({job_id, ended, owing}))``
        With `ended` the answer to ``i_end``: `owing` if credits are outstanding. Without, later: the last one has
        returned, and no credit has been taken since the operation ended.
    """

    def __init__(
        self, *, formats: FormatSet, n_peers: int, peer_credits: int, shares: bool, sizes: CreditSizes = EVERY_BUILD
    ):
        if not 1 <= n_peers <= 1 << formats.peer_bits:
            raise ValueError(f"n_peers must be 1 to {1 << formats.peer_bits}, not {n_peers!r}")
        if peer_credits < 1:
            raise ValueError(f"peer_credits must be at least 1, not {peer_credits!r}")
        self.formats, self.peer_credits, self.shares, self.sizes = formats, peer_credits, shares, sizes
        job = data.StructLayout({"job_id": formats.job_bits})
        self.peer_bits = index_bits(n_peers)
        super().__init__({
            "i": In(stream.Signature(credit_request(formats))), "hold": In(1),
            "o": Out(stream.Signature(credit_answer())),
            "i_return": In(stream.Signature(credit_back(formats))),
            "o_unused": Out(stream.Signature(credit_notice(formats))),
            "returned": Out(1),
            "i_end": In(stream.Signature(job)),
            "i_write_off": In(stream.Signature(job)),
            "o_rest": Out(stream.Signature(credit_rest(formats))),
        })

    def elaborate(self, platform):
        m = Module()
        t = self._memories(m)
        shared = shared_credits(m, self, t, shares=self.shares)
        for port in (self.o, self.o_rest):
            with m.If(port.valid & port.ready):
                m.d.sync += port.valid.eq(0)

        sweep = Signal(len(t.address))
        self._look(m, t, shared)
        with m.FSM(init="CLEAR"):
            self._read(m, t)
            self._count(m, t)
            with m.State("WRITE"):
                m.next = "IDLE"
            with m.State("CLEAR"):
                # A reset does not reach into the memory.
                m.d.comb += [
                    t.address.eq(sweep), t.update.eq(0), t.updates.eq(1), t.after.eq(0), t.sums_up.eq(1),
                ]
                m.d.sync += sweep.eq(sweep + 1)
                with m.If(sweep.all()):
                    m.next = "WRITE"
            self._choose(m, t, shared)
            self._take(m, t, shared)
            self._give(m, t, shared)
            self._end(m, t, shared)
            self._write_off(m, t, shared)

        return m

    @property
    def _n_window_slots(self) -> int:
        """Window slots of a multicast group."""
        return min(self.peer_credits, MAX_WINDOW_SLOTS)

    def _memories(self, m: Module) -> Counts:
        """The counts, with registers before and behind them."""
        job_bits = self.formats.job_bits
        t = Counts(
            job_bits=job_bits, peer_bits=self.peer_bits, shares=self.shares, asking=self.i.payload,
            giving=self.i_return.payload, n_window_slots=self._n_window_slots, sizes=self.sizes,
        )
        m.submodules.out = out = BlockMemory(
            shape=t.stored.shape(), depth=1 << (job_bits + self.peer_bits), apart=True
        )
        m.submodules.total = total = BlockMemory(shape=t.sum_out.shape(), depth=1 << job_bits, apart=True)
        with m.If(t.fill):
            m.d.sync += [t.stored.eq(out.read_data), t.sum_out.eq(total.read_data)]
        m.d.comb += [
            out.read_enable.eq(t.enable), total.read_enable.eq(t.enable),
            out.read_address.eq(t.look), total.read_address.eq(t.look >> self.peer_bits),
            t.job.eq(t.address >> self.peer_bits),
            t.after.eq(t.sum_out),
        ]
        m.d.sync += [
            out.write_address.eq(t.address), out.write_data.eq(t.update), out.write_enable.eq(t.updates),
            total.write_address.eq(t.job), total.write_data.eq(t.after), total.write_enable.eq(t.sums_up),
        ]
        return t

    def _tell(self, m: Module, job_id, *, ended, owing) -> None:
        rest = self.o_rest
        m.d.sync += [
            rest.valid.eq(1), rest.payload.job_id.eq(job_id), rest.payload.ended.eq(ended),
            rest.payload.owing.eq(owing),
        ]

    def _read(self, m: Module, t: Counts) -> None:
        """States in which the registers behind the memories are filled."""
        for state in ("TAKE", "COUNT", "END", "WRITE_OFF", *(("FLUSH",) if self.shares else ())):
            with m.State(f"READ_{state}"):
                m.d.comb += t.fill.eq(1)
                m.next = state
                if state == "TAKE":
                    # A request that is withdrawn may be followed by another one.
                    with m.If(~self.i.valid):
                        m.next = "IDLE"

    def _count(self, m: Module, t: Counts) -> None:
        """Of the credits that a peer returns, no more are counted than are out. That they are the last ones of their
        window slot is known as early."""
        giving = self.i_return.payload
        with m.State("COUNT"):
            m.d.sync += [t.back.eq(0), t.last.eq(0)]
            for k in range(t.n_counts):
                more = t.stored.out[k] > giving.credits
                with m.If(giving.window_slot == k):
                    m.d.sync += [t.back.eq(Mux(more, giving.credits, t.stored.out[k])), t.last.eq(~more)]
            m.next = "GIVE"

    def _look(self, m: Module, t: Counts, shared: SharedCredits) -> None:
        """Chooses the address to read while nothing is in hand."""
        with m.If(self.i_write_off.valid & ~shared.flushing):
            m.d.comb += t.look[self.peer_bits :].eq(self.i_write_off.payload.job_id)
        with m.Elif(t.others[0]):
            m.d.comb += t.look[self.peer_bits :].eq(self.i_end.payload.job_id)
        with m.Elif(t.others[1]):
            m.d.comb += t.look.eq(t.given)
        with m.Elif(t.others[2]):
            if self.shares:
                m.d.comb += t.look.eq(self._kept_address(shared))
        with m.Else():
            m.d.comb += t.look.eq(t.ask_address)

    def _choose(self, m: Module, t: Counts, shared: SharedCredits) -> None:
        """The state in which nothing is in hand. A request in progress goes first: it is on the path from a packet's
        arrival to its effect. That it is there is known late in a cycle, so what is read does not depend on it: others
        have a cycle after one without a request. Which of them is chosen in the cycle before, for whoever asks stays:
        so what a returned credit reads stands in a register.
        """
        # A report must not overtake the one before it.
        may_tell, others, given = ~self.o_rest.valid, t.others, t.given
        ends, gives = self.i_end.valid & may_tell & ~shared.flushing, self.i_return.valid & may_tell
        with m.State("IDLE"):
            m.d.comb += t.enable.eq(1)
            m.d.sync += others.eq(0)
            with m.If(self.i_write_off.valid & ~shared.flushing):
                m.next = "READ_WRITE_OFF"
            with m.Elif(others == 0):
                with m.If(self.i.valid & ~self.o.valid):
                    m.next = "READ_TAKE"
                with m.If(gives):
                    m.d.sync += given.eq(t.give_address)
                with m.If(~self.i.valid | self.o.valid):
                    m.d.sync += others.eq(Cat(ends, gives & ~ends, shared.flushing & ~ends & ~gives))
            with m.Else():
                with m.If(others[0]):
                    m.next = "READ_END"
                with m.Elif(others[1]):
                    m.next = "READ_COUNT"
                if self.shares:
                    with m.Else():
                        found = shared.full.bit_select(shared.step, 1) & (shared.kept.data.job_id == shared.flushed_job)
                        m.d.comb += shared.next_step.eq(~found)
                        with m.If(found):
                            m.next = "READ_FLUSH"

    def _kept_address(self, shared: SharedCredits):
        """Address of the shared credit that is looked at."""
        return Cat(shared.kept.data.peer[: self.peer_bits], shared.kept.data.job_id)

    def _take(self, m: Module, t: Counts, shared: SharedCredits) -> None:
        """A request is answered."""
        with m.State("TAKE"):
            # One that is not to be decided on yet is looked up again.
            decides = Signal()
            m.d.comb += decides.eq(self.i.valid & ~self.hold)
            self._answer(m, t, shared, decides=decides)
            m.next = "IDLE"
            with m.If(decides):
                m.next = "WRITE"

    def _answer(self, m: Module, t: Counts, shared: SharedCredits, *, decides: Signal) -> None:
        """A guaranteed credit, a shared one, or neither. `decides` gates what it changes only."""
        share, n_window_slots = self.peer_credits, self._n_window_slots
        asking, stored, update = self.i.payload, t.stored, t.update
        spends, want, reserved = Signal(name="spends"), Signal(name="asks"), shared.reserved
        ok, chosen = Signal(), Signal(WINDOW_SLOT_BITS)
        m.d.comb += [
            t.address.eq(t.ask_address), update.eq(stored), update.group.eq(asking.multicast),
            t.updates.eq(ok & decides), self.i.ready.eq(decides),
            t.sums_up.eq(ok & decides), t.after.watched.eq(0),
            t.after.out.eq(t.sum_out.out + Mux(asking.multicast, asking.members, 1)),
        ]
        with m.If(asking.multicast):
            free = Signal(n_window_slots)
            m.d.comb += [
                free.eq(Cat(stored.out[k] == 0 for k in range(n_window_slots))),
                # More than one free window slot, or any for the oldest pulse.
                ok.eq(Mux(asking.oldest, free.any(), (free & (free - 1)).any())),
            ]
            for k in reversed(range(n_window_slots)):
                with m.If(free[k]):
                    m.d.comb += chosen.eq(k)
            for k in range(n_window_slots):
                with m.If(chosen == k):
                    m.d.comb += update.out[k].eq(asking.members)
        with m.Else():
            own = Signal()
            m.d.comb += [
                own.eq(stored.out[0] < Mux(asking.oldest, share, share - 1)),
                ok.eq(own | spends), chosen.eq(spends),
            ]
            with m.If(own & ~spends):
                m.d.comb += update.out[0].eq(stored.out[0] + 1)
            if self.shares:
                # Younger pulses have share - 1 - out guaranteed credits and all shared ones, less the credit that this
                # packet takes.
                scarce = stored.out[0] + (self.sizes.most_kept + 2) > stored.n_shared + share
                # A refusal is recorded, so there is always something to be written.
                m.d.comb += [
                    spends.eq(stored.n_shared != 0), update.out[1].eq(stored.out[1] + spends),
                    t.updates.eq(decides), update.n_shared.eq(stored.n_shared - spends), update.refused.eq(~ok),
                    want.eq(ok & (stored.refused | scarce) & (reserved != self.sizes.most_wanted)),
                    t.after.wanted.eq(t.sum_out.wanted + want),
                ]
        m.d.comb += [shared.spent.eq(spends & decides), shared.want.eq(want & decides)]
        m.d.sync += [
            self.o.valid.eq(decides), self.o.payload.ok.eq(ok), self.o.payload.window_slot.eq(chosen),
            self.o.payload.loan.eq(spends), self.o.payload.want.eq(want),
        ]

    def _give(self, m: Module, t: Counts, shared: SharedCredits) -> None:
        """A peer returns credits."""
        giving, stored, sum_out, update, after = self.i_return.payload, t.stored, t.sum_out, t.update, t.after
        back = t.back
        with m.State("GIVE"):
            m.d.comb += [
                t.address.eq(t.give_address), t.updates.eq(1), self.i_return.ready.eq(1),
                # A window slot is free with the last of its credits: a request before would only delay these.
                self.returned.eq(~stored.group | t.last),
                update.eq(stored), t.sums_up.eq(1), after.out.eq(sum_out.out - back),
            ]
            for k in range(t.n_counts):
                with m.If(giving.window_slot == k):
                    m.d.comb += update.out[k].eq(stored.out[k] - back)
            if self.shares:
                # A job that is watched has no operation. The count of packets on shared credits must not wrap.
                most_kept = self.sizes.most_kept
                few_out = stored.out[1] < (1 << self.sizes.count_bits) - most_kept
                m.d.comb += [
                    shared.keep.eq(~sum_out.watched & (stored.n_shared != most_kept) & few_out),
                    after.wanted.eq(sum_out.wanted - shared.answered),
                ]
                with m.If(shared.granted & shared.keep):
                    m.d.comb += update.n_shared.eq(stored.n_shared + 1)
                    with m.If(stored.n_shared == 0):
                        m.d.comb += update.slot.eq(shared.spot)
            with m.If(sum_out.watched & (sum_out.out == back)):
                m.d.comb += after.watched.eq(0)
                self._tell(m, giving.job_id, ended=0, owing=0)
            m.next = "WRITE"

    def _end(self, m: Module, t: Counts, shared: SharedCredits) -> None:
        """An operation ends: a report says if credits are outstanding, and shared credits that are here return, one
        after the other."""
        job_id, owing = self.i_end.payload.job_id, t.sum_out.out != 0
        with m.State("END"):
            m.d.comb += [t.job.eq(job_id), self.i_end.ready.eq(1), t.sums_up.eq(1), t.after.watched.eq(owing)]
            self._tell(m, job_id, ended=1, owing=owing)
            m.d.sync += [shared.flushed_job.eq(job_id), shared.flushing.eq(self.shares), shared.step.eq(0)]
            m.next = "WRITE"
        if self.shares:
            with m.State("FLUSH"):
                m.d.comb += [
                    t.address.eq(self._kept_address(shared)), shared.flush.eq(1),
                    shared.next_step.eq(t.stored.n_shared == 1),
                    t.update.eq(t.stored), t.update.n_shared.eq(t.stored.n_shared - 1), t.updates.eq(1),
                ]
                m.next = "WRITE"

    def _write_off(self, m: Module, t: Counts, shared: SharedCredits) -> None:
        """All that a job has out is lost: one peer after the other. It holds no shared credit: it has no operation."""
        peer = Signal(self.peer_bits, name="written_peer")
        with m.State("WRITE_OFF"):
            m.d.comb += [
                t.address.eq(Cat(peer, self.i_write_off.payload.job_id)), t.update.eq(0), t.updates.eq(1),
                t.after.eq(0), t.sums_up.eq(1),
            ]
            m.d.sync += peer.eq(peer + 1)
            with m.If(peer.all()):
                m.d.comb += self.i_write_off.ready.eq(1)
                if self.shares:
                    m.d.comb += shared.written_off.eq(t.sum_out.wanted)
                m.next = "WRITE"
