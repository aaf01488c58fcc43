"""End-to-end credits: none is lost or made."""

from dataclasses import replace

from amaranth import Module, Mux, Signal

from testbench.formal.contract import Contract


class CreditTableContract(Contract):
    """:class:`~rtl.cou.credit_table.CreditTable`: a count of its own for one place, any one, is always the table's.

    Requests and returns of all places mix at random. A peer returns at most what is out, in any portions.

    """

    def build(self, m: Module) -> None:
        from firmware_models.abi import formats
        from firmware_models.config import load_preset
        from rtl.cou.credit_table import CreditTable

        # Two jobs of two peers: after a reset the table clears a count a cycle, and the search has to get past that.
        formats.JOB_BITS = 1
        small = load_preset("small")
        config = replace(small, cou=replace(small.cou, n_peers=2))
        share = config.cou.peer_credits
        m.submodules.unit = unit = CreditTable(config)
        bits = 1
        job, peer = self.constant(bits, "job"), self.constant(bits, "peer")
        asking, giving = unit.i.payload, unit.i_return.payload
        # Requests and returns stand until they are taken, as streams do.
        for port, name in ((unit.i, "ask"), (unit.i_return, "give"), (unit.i_end, "end")):
            valid, payload = self.free(1, name), self.free(len(port.payload.as_value()), f"{name}_payload")
            m.d.comb += [port.valid.eq(valid), port.payload.eq(payload)]
            if name != "end":
                self.assume(port.payload.peer >> bits == 0)
            self.assume(port.payload.job_id >> bits == 0)
            stalled, before = Signal(name=f"{name}_stalled"), Signal(len(payload), name=f"{name}_before")
            m.d.sync += [stalled.eq(valid & ~port.ready), before.eq(payload)]
            self.assume(~stalled | valid & (payload == before))
        take = self.free(1, "take")
        m.d.comb += [unit.o.ready.eq(take), unit.o_rest.ready.eq(self.free(1, "hear"))]

        # The answer comes a cycle after the request was taken.
        asked, oldest = Signal(), Signal()
        out = Signal(9)
        mine = (asking.job_id == job) & (asking.peer == peer)
        # The place that is followed belongs to one receiver; groups may have the others.
        self.assume(~(unit.i.valid & mine) | ~asking.multicast)
        self.assume(~unit.i_return.valid | (giving.job_id != job) | (giving.peer != peer) | (giving.place == 0))
        returned = unit.i_return.valid & unit.i_return.ready & (giving.job_id == job) & (giving.peer == peer)
        m.d.sync += [asked.eq(unit.i.valid & unit.i.ready & mine), oldest.eq(asking.oldest)]
        granted = asked & unit.o.payload.ok
        m.d.sync += out.eq(out + granted - Mux(returned, giving.credits, 0))
        self.assume(~(unit.i_return.valid & (giving.job_id == job) & (giving.peer == peer)) | (giving.credits <= out))

        self.check(~asked | unit.o.valid)
        self.check(~asked | (unit.o.payload.ok == (out < share - 1 + oldest)))
        self.check(out <= share)
        self.check(~returned | unit.returned)

        # The job is said to be at rest only if it is, and if no other peer confuses the count, whenever it is.
        rest, heard = unit.o_rest, Signal()
        m.d.sync += heard.eq(rest.valid & ~rest.ready)
        told = rest.valid & ~heard & (rest.payload.job_id == job)
        at_rest = told & ~rest.payload.owing
        others, owing = Signal(), Signal()
        for port in (unit.i, unit.i_return):
            with m.If(port.valid & (port.payload.job_id == job) & (port.payload.peer != peer)):
                m.d.sync += others.eq(1)
        self.check(~at_rest | (out == 0))
        self.check(~(told & rest.payload.owing) | others | (out != 0))
        # What was said to be owed is said to be settled when it is, unless credits have been taken since.
        with m.If(told):
            m.d.sync += owing.eq(rest.payload.owing)
        with m.Elif(granted):
            m.d.sync += owing.eq(0)
        self.check(~(told & ~rest.payload.ended) | others | owing)
        self.check(~owing | others | (out != 0) | told)
        self.reach(told & ~rest.payload.ended & at_rest, "the last credit comes back after the end of the operation")
        self.reach(out == share, "the whole share is out")
        refused = asked & ~unit.o.payload.ok
        self.reach(refused & ~oldest & (out == share - 1), "the last credit is kept for the oldest pulse")
        self.reach(returned & (giving.credits == 1), "a credit comes back")
