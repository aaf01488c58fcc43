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
        for port, name in ((unit.i, "ask"), (unit.i_return, "give")):
            valid, payload = self.free(1, name), self.free(len(port.payload.as_value()), f"{name}_payload")
            m.d.comb += [port.valid.eq(valid), port.payload.eq(payload)]
            self.assume((port.payload.job_id >> bits == 0) & (port.payload.peer >> bits == 0))
            stalled, before = Signal(name=f"{name}_stalled"), Signal(len(payload), name=f"{name}_before")
            m.d.sync += [stalled.eq(valid & ~port.ready), before.eq(payload)]
            self.assume(~stalled | valid & (payload == before))
        take = self.free(1, "take")
        m.d.comb += unit.o.ready.eq(take)

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
        self.reach(out == share, "the whole share is out")
        refused = asked & ~unit.o.payload.ok
        self.reach(refused & ~oldest & (out == share - 1), "the last credit is kept for the oldest pulse")
        self.reach(returned & (giving.credits == 1), "a credit comes back")
