"""The order-preserving trigger: one pulse, any one, beside others; the order in which it takes its packets."""

from dataclasses import replace
from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal

from testbench.formal.contract import Contract
from testbench.formal.contracts.trigger_environment import (
    PULSE_BITS,
    SEQ_BITS,
    WIDTHS,
    Answers,
    Operations,
    Packets,
    Work,
    accept,
    job_id,
)
from testbench.formal.narrow_config import narrowed


class TriggerContract(Contract):
    """:class:`~rtl.cou.trigger.Trigger` in an environment that keeps the contracts of the other parts, and no more.

    One pulse is followed through its sequence by an account of its own: which descriptor, how many packets, what was
    asked for and what came. Subclasses make claims about it.
    """

    def __init__(self, *, n_jobs: int = 1, n_contexts: int = 2, expires: bool = True):
        super().__init__()
        self.n_jobs, self.n_contexts, self.expires = n_jobs, n_contexts, expires

    def claim(self, m: Module) -> None:
        """States the claim."""
        raise TypeError(f"{type(self).__name__} claims nothing")

    def build(self, m: Module) -> None:
        from firmware_models.config import load_preset
        from rtl.cou.trigger import Trigger

        small = narrowed(load_preset("small"), WIDTHS)
        config = replace(
            small, datapath=replace(small.datapath, mtu=64),
            cou=replace(
                small.cou, n_jobs=self.n_jobs, n_contexts=self.n_contexts, sequence_depth=4, buffer_bytes=1024,
                n_peers=1, peer_credits=1, n_blocks=2, intermediate_bytes=64,
            ),
        )
        m.submodules.unit = self.unit = unit = Trigger(config)
        self.job = self.constant(1, "job") if self.n_jobs > 1 else Signal(1, name="job")
        self.pulse = self.constant(PULSE_BITS, "pulse")
        n = self.n_contexts

        self.operations = Operations(self, m, unit, n_jobs=self.n_jobs)
        self.packets = Packets(self, m, unit, job=self.job, pulse=self.pulse)
        granted, window_slot, loan, want = (
            self.free(1, f"credit_{name}") for name in ("ok", "window_slot", "loan", "want")
        )
        self.granted = granted
        if not self.expires:
            self.assume(self.operations.expired == 0)
        ask, back = unit.credits.ask, unit.credits.returned
        self.credit = Answers(
            self, m, ask.request, ask.answer, "credit", unless=ask.hold, ok=granted, window_slot=window_slot, loan=loan,
            want=want,
        )
        self.returned, self.returned_peer = self.free(1, "returned"), self.free(len(back.payload.peer), "returned_peer")
        m.d.comb += [back.valid.eq(self.returned), back.payload.peer.eq(self.returned_peer)]
        self.allowed = self.free(1, "allowed")
        self.window = Answers(self, m, unit.window.query, unit.window.answer, "window", ok=self.allowed)
        self.loads = Work(self, m, unit.operands.loaded, "load", n=n)
        self.passes = Work(self, m, unit.passes.done, "pass", n=n)
        # A loader that is idle takes a load at once; one beside its pass is not reported.
        idle = self.free(1, "loader_idle")
        m.d.comb += unit.operands.load.idle.eq(idle)
        self.load = accept(self, m, unit.operands.load.request, "load", at_once=idle)
        self.beside = unit.operands.load.request.payload.beside
        self.check(~self.load | ~self.beside | idle & unit.operands.load.request.payload.from_payload)
        # The queues of the aggregator are filled by the trigger alone; errors go to an arbiter.
        self.run = accept(self, m, unit.passes.run, "run", stays=True)
        self.send = accept(self, m, unit.passes.send, "send", stays=True)
        self.fault = accept(self, m, unit.o_fault, "fault", granted=True)
        self.damage = accept(self, m, unit.o_damage, "damage", granted=True)
        self.loads.takes(m, (self.load & ~self.beside, unit.operands.load.request.payload.context))
        self.passes.takes(
            m, (self.run, unit.passes.run.payload.output.context), (self.send, unit.passes.send.payload.context)
        )
        self._contexts(m)
        self._follow(m)
        self.claim(m)

    def _contexts(self, m: Module) -> None:
        """Which context has which pulse; a context has been freed if one more is free than would be."""
        from firmware_models.abi.encoding import Status

        n, unit, operations = self.n_contexts, self.unit, self.operations
        in_use = Signal(n, name="in_use")
        jobs = Array(Signal(1, name=f"job_of_{c}") for c in range(n))
        pulses = Array(Signal(PULSE_BITS, name=f"pulse_of_{c}") for c in range(n))
        report = unit.o_fault.payload
        self.gives_up = self.fault & (report.status == Status.TIMEOUT)
        # Events that may free a context: the end of a pass, or the report of its time-out.
        maybe, candidate, before = Signal(n), Signal(n), Signal(range(n + 1))
        given_up = Cat(
            self.gives_up & in_use[c] & (jobs[c] == report.job) & (pulses[c] == report.detail[16:16 + PULSE_BITS])
            for c in range(n)
        )
        # A report is taken, and the context goes in the next cycle; no pass ends then.
        dropped = Signal(n, name="dropped")
        m.d.sync += dropped.eq(given_up)
        m.d.comb += candidate.eq(Mux(self.passes.ends, 1 << self.passes.ended, dropped))
        started = Signal(n, name="started")
        m.d.sync += [maybe.eq(candidate), before.eq(unit.operations.n_free - operations.starts)]
        freed = Signal(n, name="freed")
        now = Signal(n, name="now_in_use")
        m.d.comb += [
            freed.eq(Mux(~self.first & (unit.operations.n_free != before), maybe, 0)), now.eq(in_use & ~freed),
        ]
        for c in range(n):
            m.d.comb += started[c].eq(operations.starts & ~now[c] & now[:c].all())
            with m.If(started[c]):
                m.d.sync += [jobs[c].eq(operations.job), pulses[c].eq(operations.pulse)]
            # Pulses of a job that are in progress have different numbers.
            self.assume(
                ~unit.i_start.valid | ~now[c] | (operations.job != jobs[c]) | (operations.pulse != pulses[c])
            )
        m.d.sync += in_use.eq(now | started)
        self.check(sum(now[c] for c in range(n)) + unit.operations.n_free == n)
        for j in range(self.n_jobs):
            self.check(unit.operations.active[j] == Cat(now[c] & (jobs[c] == j) for c in range(n)).any())
        self.in_use, self.started, self.freed, self.jobs, self.pulses = now, started, freed, jobs, pulses

    def _follow(self, m: Module) -> None:
        """The account of one pulse."""
        from firmware_models.abi.encoding import Operand

        unit, operations, packets = self.unit, self.operations, self.packets
        begins = operations.starts & (operations.job == self.job) & (operations.pulse == self.pulse)
        context, begun = Signal((self.n_contexts - 1).bit_length(), name="context"), Signal(name="begun")
        alive, filled = Signal(name="alive"), Signal(name="filled")
        # A pulse comes once.
        self.assume(
            ~unit.i_start.valid | ~begun | (operations.job != self.job) | (operations.pulse != self.pulse)
        )
        freed, reg = Signal(name="freed_mine"), Signal(name="alive_reg")
        m.d.comb += [freed.eq(reg & self.freed.bit_select(context, 1)), alive.eq(reg & ~freed)]
        with m.If(begins):
            m.d.sync += [begun.eq(1), reg.eq(1), filled.eq(operations.filled)]
            for c in range(self.n_contexts):
                with m.If(self.started[c]):
                    m.d.sync += context.eq(c)
        with m.Elif(freed):
            m.d.sync += reg.eq(0)
        self.begins, self.alive, self.context, self.freed_mine = begins, alive, context, freed

        # Where it is.
        place, consumed, middle, ended = Signal(1), Signal(SEQ_BITS), Signal(name="middle"), Signal(name="ended")
        loaded, timed_out = Signal(name="loaded"), Signal(name="timed_out")
        desc = operations.of(self.job, place)
        self.desc, self.place, self.consumed = desc, place, consumed
        expired = Array(operations.expired)[self.job if self.n_jobs > 1 else 0]
        m.d.sync += timed_out.eq(alive & (timed_out | expired))
        run, send = unit.passes.run.payload, unit.passes.send.payload
        mine_run = self.run & alive & (run.output.context == context)
        mine_send = self.send & alive & (send.context == context)
        passed = Signal(name="passed")
        takes = run.consume & mine_run
        seq = (consumed + desc["seq_skip"])[:SEQ_BITS]
        due = consumed != desc["cp_count"]
        stops = Signal(name="stops")
        final = Signal(name="final")
        m.d.comb += [
            passed.eq(mine_run | mine_send), stops.eq(due & packets.has("coll_end", seq)),
            final.eq(stops | ~due | (consumed + 1 == desc["cp_count"])),
        ]
        mine_load = self.load & alive & (unit.operands.load.request.payload.context == context)
        mine_loaded = self.loads.ends & alive & (self.loads.ended == context)
        self.expired, self.timed_out = expired & alive, timed_out | expired & alive
        with m.If(mine_load & self.beside):
            m.d.sync += loaded.eq(1)
        with m.If(begins):
            m.d.sync += [
                signal.eq(0) for signal in (place, consumed, middle, ended, loaded)
            ]
        with m.Elif(passed):
            m.d.sync += [consumed.eq(consumed + takes), middle.eq(~final), ended.eq(final & (desc["ct"] | stops))]
            with m.If(final):
                m.d.sync += [place.eq(place + 1), loaded.eq(0)]
        with m.Elif(mine_loaded):
            m.d.sync += loaded.eq(1)
        self.passed, self.mine_run, self.mine_send, self.seq, self.due = passed, mine_run, mine_send, seq, due
        self.stops, self.final, self.ended, self.middle, self.filled = stops, final, ended, middle, filled
        self.loaded, self.mine_load, self.mine_loaded, self.takes = loaded, mine_load, mine_loaded, takes
        self.from_outside = (desc["operand"] == Operand.PAYLOAD) | (desc["operand"] == Operand.MEMORY)
        self.over = self.gives_up & alive & (unit.o_fault.payload.job == self.job) & (
            unit.o_fault.payload.detail[16:16 + PULSE_BITS] == self.pulse
        )


class OrderContract(TriggerContract):
    """Each packet is consumed once, in ascending SeqID, by its descriptor, and after what that has to wait for.

    Parameters
    ----------
    consumed : int
        Packets that the situations ask for: 1, or 2 that come in the wrong order.
    """

    def __init__(self, *, consumed: int, **parameters: Any):
        super().__init__(**parameters)
        self.asked_for = consumed

    def claim(self, m: Module) -> None:
        unit, packets = self.unit, self.packets
        run = unit.passes.run.payload
        running = self.passes.busy.bit_select(self.context, 1)
        # A pass belongs to the descriptor that is next, one at a time, and none follows the last.
        self.check(~self.passed | ~running & ~self.ended & ~self.loads.busy.bit_select(self.context, 1))
        for mine, header in (
            (self.mine_run, run.output.header), (self.mine_send, unit.passes.send.payload.header)
        ):
            self.check(~mine | (header.seq_id == self.place) & (header.pulse == self.pulse))
            self.check(~mine | (header.job_id == job_id(self.job)))
        # It takes a packet if and only if the descriptor still wants one: the next one, which is there.
        self.check(~self.mine_run | (run.consume == self.due))
        self.check(~self.mine_send | ~self.due)
        self.check(~self.takes | (run.packet == self.seq) & packets.there.bit_select(self.seq, 1))
        self.check(~self.takes | packets.is_mine(run.key) & (run.key.seq_id == self.seq))
        self.check(~self.takes | (run.credit.peer == self.seq) & (run.credit.credits == 1))
        taken = Signal(1 << SEQ_BITS)
        m.d.sync += taken.eq(taken | Mux(self.takes, 1 << self.seq, 0))
        self.check(~self.takes | ((taken >> self.seq) == 0))
        # The operand of a descriptor is there before its first pass, and is loaded once.
        wants = self.from_outside & self.filled & ~self.middle
        beside = self.mine_load & self.beside
        self.check(~self.passed | self.timed_out | ~wants | self.loaded | beside)
        load = unit.operands.load.request.payload
        self.check(~self.mine_load | wants & ~self.loaded & ~self.ended & (load.position == self.place))
        # A packet counts if it is wanted and as long as it should be.
        data = self.desc["swap_local_data"] | self.desc["reduce_flag"] | packets.has("swap_data", self.seq)
        fits = packets.has("long", self.seq) == self.filled
        use = self.due & data & fits & self.filled
        self.check(~self.mine_run | self.timed_out | (run.use_packet == use))
        self.check(~self.passed | self.timed_out | (
            Mux(self.mine_run, run.output.send, unit.passes.send.payload.send)
            == (self.final & self.desc["cp"] & ~self.stops)
        ))
        # A context is freed only at its end.
        self.check(~self.freed_mine | self.ended | self.timed_out)

        if self.asked_for == 1:
            self.reach(self.takes, "a packet is taken")
            return
        late = Signal()
        with m.If(packets.comes & (packets.comes_seq == 0) & packets.reported[1]):
            m.d.sync += late.eq(1)
        self.reach(
            late & self.takes & (self.consumed == 1) & (self.seq == 1), "the second packet, which came before the first"
        )
