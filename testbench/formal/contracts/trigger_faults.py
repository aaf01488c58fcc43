"""The order-preserving trigger: what goes wrong reaches the operation table."""

from amaranth import Module, Mux, Signal

from firmware_models.abi.formats import LENGTH_BITS
from testbench.formal.contracts.trigger import TriggerContract
from testbench.formal.contracts.trigger_environment import FLIT, PULSE_BITS, SEQ_BITS


class FaultContract(TriggerContract):
    """Every fault reaches the table: one report of each, of its operation, none withdrawn, none without cause."""

    def claim(self, m: Module) -> None:
        from firmware_models.abi.encoding import Status

        unit, packets = self.unit, self.packets
        report, run, n_free = unit.o_fault.payload, unit.passes.run.payload, unit.operations.n_free
        # A request stays valid until it is accepted.
        for port, name in (
            (unit.o_fault, "fault"), (unit.o_damage, "damage"), (unit.operands.load.request, "load"),
            (unit.packets.lookup.request, "lookup"), (unit.window.query, "query"),
            (unit.credits.ask.request, "credit"), (unit.passes.run, "run"), (unit.passes.send, "send"),
        ):
            waits = Signal(name=f"{name}_offered")
            # A request for a credit that is not to be decided on yet may be taken back.
            held = unit.credits.ask.hold if name == "credit" else 0
            m.d.sync += waits.eq(port.valid & ~port.ready & ~held)
            self.check(~waits | port.valid)
            if name in ("fault", "damage", "lookup"):
                shown = port.payload.as_value()
                before = Signal(len(shown), name=f"{name}_shown")
                m.d.sync += before.eq(shown)
                self.check(~waits | (before == shown))

        # A packet of another length than its slice is reported before the pass that takes it.
        status = {
            name: self.fault & (report.status == Status[name])
            for name in ("LENGTH_MISMATCH", "BAD_ADDRESS", "TIMEOUT")
        }
        self.check(~self.fault | status["LENGTH_MISMATCH"] | status["BAD_ADDRESS"] | status["TIMEOUT"])
        pulse = report.detail[16:16 + PULSE_BITS]
        self.check(~status["LENGTH_MISMATCH"] | run.consume & (report.job == run.output.job) & (
            pulse == run.output.header.pulse
        ))
        data = self.desc["swap_local_data"] | self.desc["reduce_flag"] | packets.has("swap_data", self.seq)
        wrong = self.due & data & (packets.has("long", self.seq) != self.filled)
        reported, noted = Signal(name="reported_wrong"), Signal(name="noted_wrong")
        m.d.comb += reported.eq(
            status["LENGTH_MISMATCH"] & self.alive & (report.job == self.job) & (pulse == self.pulse)
        )
        with m.If(self.begins | self.passed):
            m.d.sync += noted.eq(0)
        with m.Elif(reported):
            m.d.sync += noted.eq(1)
        self.check(~reported | ~noted & (wrong | self.timed_out))
        self.check(~self.mine_run | (noted == wrong) | self.timed_out & ~noted)
        where = (report.detail[:16] == self.consumed) & (pulse == self.pulse)
        length = report.detail[16 + PULSE_BITS:][:LENGTH_BITS]
        self.check(~reported | where & (length == Mux(packets.has("long", self.seq), FLIT, 0)))

        # So is an address that is refused, with the answer.
        asker, address = Signal(1), Signal(8)
        with m.If(self.window.asks):
            m.d.sync += [asker.eq(unit.window.query.payload.vp), address.eq(unit.window.query.payload.addr)]
        refused = self.window.answers & ~self.allowed
        self.check(status["BAD_ADDRESS"] == refused)
        self.check(~refused | (report.job == asker) & (report.detail == address))

        # A pulse that is given up is reported once, and its context is free two cycles later.
        goes, gave_up, free_before = Signal(), Signal(), Signal(2)
        m.d.sync += [goes.eq(self.gives_up), gave_up.eq(goes), free_before.eq(n_free - self.operations.starts)]
        self.check(~gave_up | (n_free == free_before + 1))
        self.check(~self.over | self.expired & ~self.ended & where)
        # So is that of one whose last pass has ended, a cycle after that, whatever is given up beside it.
        last = Signal(name="last_ended")
        m.d.sync += last.eq(self.passes.ends & self.alive & (self.passes.ended == self.context) & self.ended)
        self.check(~last | self.freed_mine)
        absent = Signal(1 << SEQ_BITS)
        with m.If(packets.answered):
            m.d.sync += absent.bit_select(packets.answered_seq, 1).eq(~packets.hit)
        self.check(~self.over | ((report.detail[16 + PULSE_BITS:] & ~absent) == 0))
        self.check(~self.freed_mine | self.ended | self.timed_out)

        # A damaged tag is reported before its answer counts.
        tells = self.damage & (unit.o_damage.payload.status == Status.BUFFER_ERROR)
        self.check(~self.damage | tells & packets.damage)
        mine = packets.damage & packets.answered & self.alive
        self.check(~mine | self.timed_out | tells & (unit.o_damage.payload.job == self.job))

        self.reach(reported, "a packet of a wrong length")
        damaged = Signal()
        with m.If(mine):
            m.d.sync += damaged.eq(1)
        self.reach(damaged & reported, "the same of which the tag is damaged")
        self.reach(status["TIMEOUT"], "a pulse is given up")
        self.reach(refused, "an address is refused")
