"""End-to-end credits, guaranteed and shared: none is lost or made."""


from amaranth import Module, Signal

from testbench.formal.contract import Contract
from testbench.formal.narrow_config import narrowed


class CreditTableContract(Contract):
    """:class:`~rtl.credit.credit_table.CreditTable`: a count of one window slot, any one, is always the table's.

    Requests and returns of all window slots mix. A peer returns at most what is out, in any portions, and sends a
    shared credit or none with the credit of a packet that asked for one.
    """

    def __init__(self, *, lending: bool, peer_credits: int):
        super().__init__()
        self.lending, self.peer_credits = lending, peer_credits

    def build(self, m: Module) -> None:
        from firmware_models.config import load_preset
        from rtl.credit.credit_sizes import CreditSizes
        from rtl.credit.credit_table import CreditTable

        # Small numbers: eight outstanding packets and more bring no new case.
        most_wanted, most_kept = 3, 2
        sizes = CreditSizes(count_bits=3, total_bits=5, most_wanted=most_wanted, most_kept=most_kept)
        # Two jobs of two peers: after a reset the table clears a count a cycle, and the search has to get past that.
        small = narrowed(load_preset("small"), {
            "job_id": 1, "node_id": 1, "dest_id": 1, "source_id": 1, "vp": 1, "dest_vp": 1, "source_vp": 1,
        })
        share = self.peer_credits
        m.submodules.unit = unit = CreditTable(
            formats=small.formats, n_peers=2, peer_credits=share, shares=self.lending, sizes=sizes
        )
        bits = 1
        job, peer = self.constant(bits, "job"), self.constant(bits, "peer")
        asking, giving = unit.i.payload, unit.i_return.payload
        self.assume((asking.members < 8) & (giving.credits < 8))
        # Requests and returns stand until they are taken, as streams do.
        for port, name in ((unit.i, "ask"), (unit.i_return, "give"), (unit.i_end, "end")):
            self.offered(port, name)
            if name != "end":
                self.assume(port.payload.peer >> bits == 0)
            self.assume(port.payload.job_id >> bits == 0)
        take = self.free(1, "take")
        m.d.comb += [unit.o.ready.eq(take), unit.o_rest.ready.eq(self.free(1, "hear"))]

        # The answer comes a cycle after the request was taken.
        asked, oldest, others_asked = Signal(), Signal(), Signal()
        own, shared = Signal(3), Signal(3)
        mine = (asking.job_id == job) & (asking.peer == peer)
        given = unit.i_return.valid & (giving.job_id == job) & (giving.peer == peer)
        # The place that is followed belongs to one receiver; groups may have the others.
        self.assume(~(unit.i.valid & mine) | ~asking.multicast)
        self.assume(~given | (giving.window_slot < 2))
        returned = given & unit.i_return.ready
        answer = unit.o.payload
        m.d.sync += [
            asked.eq(unit.i.valid & unit.i.ready & mine), oldest.eq(asking.oldest),
            others_asked.eq(unit.i.valid & unit.i.ready & ~mine),
        ]
        granted, refuses = asked & answer.ok, asked & ~answer.ok
        for count, place in ((own, 0), (shared, 1)):
            back = Signal(3, name=f"back_{place}")
            with m.If(returned & (giving.window_slot == place)):
                m.d.comb += back.eq(giving.credits)
            m.d.sync += count.eq(count + (granted & (answer.loan == place)) - back)
            self.assume(~(given & (giving.window_slot == place)) | (giving.credits <= count))

        # Requests that await an answer, and `here`: shared credits of the peer that are on hand or on the way back.
        wants, kin_want, strangers_want, here = Signal(2), Signal(2), Signal(2), Signal(2)
        asked_job = Signal(bits)
        m.d.sync += asked_job.eq(asking.job_id)
        self.assume(~unit.i_return.valid | ~giving.loan | giving.want)
        self.assume(~(unit.i_return.valid & giving.want) | ((giving.credits == 1) & ((wants != 0) | ~given)))
        # Requests of other peers that await an answer: those of this job, and all of the other job.
        for count, of_job in ((kin_want, 1), (strangers_want, 0)):
            theirs = unit.i_return.valid & ~given & ((giving.job_id == job) == of_job)
            self.assume(~(theirs & giving.want) | (count != 0))
            asks = others_asked & answer.want & ((asked_job == job) == of_job)
            m.d.sync += count.eq(count + asks - (theirs & unit.i_return.ready & giving.want))
        unused = unit.o_unused
        m.d.comb += unused.ready.eq(self.free(1, "unused_ready"))
        goes = unused.valid & unused.ready & (unused.payload.job_id == job) & (unused.payload.peer == peer)
        comes = returned & giving.loan
        m.d.sync += [
            wants.eq(wants + (granted & answer.want) - (returned & giving.want)),
            here.eq(here + comes - (granted & answer.loan) - goes),
        ]
        # Until its operation ends some of them are on hand, and the others leave.
        rest, heard = unit.o_rest, Signal()
        m.d.sync += heard.eq(rest.valid & ~rest.ready)
        reported = rest.valid & ~heard & (rest.payload.job_id == job)
        refused, hand, ended, over = Signal(), Signal(range(most_kept + 1)), Signal(), Signal()
        with m.If(refuses):
            m.d.sync += refused.eq(1)
        with m.Elif(granted):
            m.d.sync += refused.eq(0)
        used = granted & (hand != 0)
        stays = comes & (hand != most_kept) & (shared < (1 << len(shared)) - most_kept)
        m.d.sync += hand.eq(hand - used + stays)
        with m.If(reported & rest.payload.ended):
            m.d.sync += [ended.eq(1), over.eq(1)]
        with m.Elif(granted | (others_asked & answer.ok)):
            m.d.sync += over.eq(0)

        enough = own < share - 1 + oldest
        self.check(~asked | unit.o.valid)
        self.check(~asked | (answer.ok == (enough | (answer.ok & answer.loan))))
        self.check(~granted | (answer.window_slot == answer.loan))
        # Credits that are left to younger pulses behind this packet, and two.
        left = Signal(range(share + most_kept + 1))
        m.d.comb += left.eq(share + hand - own)
        self.check(~granted | ~answer.want | refused | (left < most_kept + 2))
        self.check(own <= share)
        self.check(~returned | unit.returned)
        self.check(~(granted & answer.loan) | (here != 0))
        self.check(~goes | (here != 0))
        self.check(ended | ~asked | (answer.ok & answer.loan == (hand != 0)))
        self.check(ended | (here == hand) | unused.valid)
        self.check(wants + kin_want + strangers_want + here <= most_wanted)
        # After it none stays.
        still = Signal(3)
        with m.If(unit.i.valid | unit.i_return.valid | unit.i_end.valid | ~over):
            m.d.sync += still.eq(0)
        with m.Elif(still != 6):
            m.d.sync += still.eq(still + 1)
        self.check((still != 6) | (here == 0) | unused.valid)

        # The job is reported at rest only if it is, and if no other peer confuses the count, whenever it is.
        at_rest = reported & ~rest.payload.owing
        others, owing = Signal(), Signal()
        for port in (unit.i, unit.i_return):
            with m.If(port.valid & (port.payload.job_id == job) & (port.payload.peer != peer)):
                m.d.sync += others.eq(1)
        out = Signal()
        m.d.comb += out.eq((own != 0) | (shared != 0))
        self.check(~at_rest | ~out)
        self.check(~(reported & rest.payload.owing) | others | out)
        # A job reported as owing is reported as settled when it is, unless credits have been taken since.
        with m.If(reported):
            m.d.sync += owing.eq(rest.payload.owing)
        with m.Elif(granted):
            m.d.sync += owing.eq(0)
        self.check(~(reported & ~rest.payload.ended) | others | owing)
        self.check(~owing | others | out | reported)
        self.reach(reported & ~rest.payload.ended & at_rest, "the last credit returns after the end of the operation")
        self.reach(own == share, "the whole share is out")
        self.reach(refuses & ~oldest & (own == share - 1), "the last credit is kept for the oldest pulse")
        self.reach(returned & (giving.credits == 1), "a credit comes back")
        if self.lending:
            self.reach(granted & answer.loan, "a packet travels on a loan")
