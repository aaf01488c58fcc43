"""Promises of the other parts of an offload unit to the trigger: the environment of its proofs.

One class for each part, and each may do all that its contract allows: items are taken and answered after any time, in
any mixture. An assumption stands beside the promise that it rests on. Of packets only those of one pulse are kept
account of, the one that is followed; about all others anything may be reported.
"""

from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal, Value

from testbench.formal.contract import Contract

SEQ_BITS, PULSE_BITS = 2, 2
"""Bits that differ in the numbers of packets and of pulses."""
PEERS_OF = 2
NODE = 1
"""NodeID of this NIC."""
FLIT = 8
"""Bytes of a pulse, and of its packets, if there are any."""


WIDTHS = {
    "node_id": 1, "dest_id": 1, "source_id": 1, "vp": 1, "source_vp": 1, "dest_vp": 1, "fragment": 1, "mlid": 1,
    "members": 1, "seq_id": SEQ_BITS, "out_seq_id": SEQ_BITS, "seq_skip": SEQ_BITS, "pulse": PULSE_BITS, "tag": 2,
    "cp_count": SEQ_BITS + 1, "peer": SEQ_BITS, "job_id": 1, "addr": 8, "local_addr": 8, "result_addr": 8,
    "remote_addr": 8, "block_count": 1, "slice_first": 1, "slice_count": 1, "credits": 1, "pulse_bytes": 8,
}
"""Bits of the fields of keys, headers and descriptors: of these numbers a proof needs two or four of each, and of what
is merely passed on none."""


def job_id(job: Value) -> Value:
    """JobID of an operation, another number than its index in the table."""
    return Cat(~job[0])


def offer(contract: Contract, m: Module, port: Any, name: str, when: Any, **fields: Any) -> Signal:
    """A stream into the unit: any items when there may be one, each offered until it is taken; other fields are 0.

    Returns whether an item is being taken.
    """
    valid, shown = contract.free(1, name), Cat(*(Value.cast(value) for value in fields.values()))
    m.d.comb += port.valid.eq(valid)
    for field, value in fields.items():
        m.d.comb += port.payload[field].eq(value)
    stalled, before = Signal(name=f"{name}_stalled"), Signal(len(shown), name=f"{name}_before")
    m.d.sync += [stalled.eq(valid & ~port.ready), before.eq(shown)]
    contract.assume(~stalled | valid & (shown == before))
    contract.assume(~valid | when)
    taken = Signal(name=f"{name}_taken")
    m.d.comb += taken.eq(valid & port.ready)
    return taken


def accept(
    contract: Contract, m: Module, port: Any, name: str, *, stays: bool = False, granted: bool = False,
    unless: Any = 0, at_once: Any = 0,
) -> Signal:
    """A stream out of the unit, taken whenever the other side likes; returns whether an item is being taken.

    Parameters
    ----------
    stays : bool
        A queue that the unit alone fills: it is ready until it has been given something.
    granted : bool
        An arbiter: it is ready for who offers only.
    unless, at_once : Value
        It is not ready, or it is.
    """
    ready, taken = contract.free(1, f"{name}_ready"), Signal(name=f"{name}_taken")
    m.d.comb += [port.ready.eq(ready), taken.eq(port.valid & ready)]
    contract.assume((~ready | ~Value.cast(unless)) & (ready | ~Value.cast(at_once)))
    if stays:
        waits = Signal(name=f"{name}_waits")
        m.d.sync += waits.eq(ready & ~port.valid)
        contract.assume(~waits | ready)
    if granted:
        contract.assume(~ready | port.valid)
    return taken


class Operations:
    """Operation table and sequence store: operations of two descriptors at most, and their pulses.

    Members
    -------
    starts : Signal
        A pulse gets a context.
    expired : Signal(n_jobs)
        Operations that are being given up.
    """

    def __init__(self, contract: Contract, m: Module, unit: Any, *, n_jobs: int):
        self.fields = {
            "operand": 2, "cp_count": SEQ_BITS, "seq_skip": 1, "cp": 1, "ct": 1, "swap_local_data": 1, "reduce_flag": 1,
            "write_back": 1,
        }
        self.sequences = [
            [
                {name: contract.constant(bits, f"{name}_{job}_{place}") for name, bits in self.fields.items()}
                for place in range(2)
            ]
            for job in range(n_jobs)
        ]
        for first, second in self.sequences:
            # The scheduler refuses a sequence without CT at its end; CPCount and the numbers passed over are sums.
            contract.assume(first["ct"] | second["ct"])
            contract.assume(first["cp_count"] <= second["cp_count"])
            contract.assume(first["seq_skip"] <= second["seq_skip"])
            contract.assume(second["cp_count"] != 3)
        self._look_up(m, contract, unit, n_jobs)
        self._begin(m, contract, unit, n_jobs)

    def of(self, job: Value, place: Value) -> dict[str, Value]:
        """Fields of a descriptor."""
        return {
            name: Array(
                Array(desc[name] for desc in sequence)[place[0]] for sequence in self.sequences
            )[job[0] if len(self.sequences) > 1 else 0]
            for name in self.fields
        }

    def _look_up(self, m: Module, contract: Contract, unit: Any, n_jobs: int) -> None:
        # The descriptor comes a cycle after `fetch` and stays until the next one.
        place, job, read, control = Signal(1), Signal(1), unit.sequence, unit.sequence.control
        with m.If(read.fetch):
            m.d.sync += [place.eq(read.address.position), job.eq(read.address.job)]
        for name, value in self.of(job, place).items():
            m.d.comb += control[name].eq(value)
        m.d.comb += [control.out_seq_id.eq(place), control.job_id.eq(job_id(job)), unit.node_id.eq(NODE)]
        m.d.comb += control.result_addr.eq(Cat(1, place))
        # An operation that is being given up stays so until no pulse of it is left and none is offered.
        self.expired = expired = contract.free(n_jobs, "expired")
        was = Signal(n_jobs)
        m.d.sync += was.eq(expired)
        start = unit.i_start
        for j in range(n_jobs):
            offered = start.valid & (start.payload.job == j)
            contract.assume(~was[j] | expired[j] | ~unit.operations.active[j] & ~offered)
        view = unit.operations.view
        m.d.comb += [
            unit.operations.expire.eq(expired), view.expired.eq(Array(expired)[view.job[0] if n_jobs > 1 else 0]),
            view.operation.job_id.eq(job_id(view.job)), view.operation.vp.eq(view.job), view.operation.length.eq(FLIT),
        ]

    def _begin(self, m: Module, contract: Contract, unit: Any, n_jobs: int) -> None:
        job = contract.free(1, "start_job") if n_jobs > 1 else Signal(1, name="start_job")
        self.pulse, self.filled = contract.free(PULSE_BITS, "start_pulse"), contract.free(1, "start_filled")
        self.job = job
        # One is offered while a context is free.
        self.starts = offer(
            contract, m, unit.i_start, "start", unit.operations.n_free != 0,
            job=job, pulse=self.pulse, job_id=job_id(job), bytes=Mux(self.filled, FLIT, 0),
        )


class Packets:
    """Packet buffer: the packets of one pulse in slots that bear their SeqIDs, all others in other slots.

    Members
    -------
    coming : Signal(4)
        Packets of the pulse whose headers are in their slots.
    there : Signal(4)
        Those that look-ups may find.
    reported : Signal(4)
        Those whose arrival has been reported: look-ups taken from then on find them.
    asked : Signal, asked_seq : Signal
        A look-up of this pulse's packet is being taken.
    answered, hit, answered_seq : Signal
        It is being answered.
    damage : Signal
        An answer is being taken that says that the tag is damaged.
    """

    def __init__(self, contract: Contract, m: Module, unit: Any, *, job: Value, pulse: Value):
        n = 1 << SEQ_BITS
        self.job, self.pulse = job, pulse
        self.coming = Signal(n, name="coming")
        self.there, self.reported = Signal(n, name="there"), Signal(n, name="reported")
        self.headers = {
            name: contract.constant(n, f"packet_{name}")
            for name in ("long", "coll_end", "swap_addr", "swap_data")
        }
        self._tell(m, contract, unit)
        self._answer(m, contract, unit)
        self._show(m, contract, unit)

    def is_mine(self, key: Any) -> Value:
        """High if a key belongs to the pulse that is followed."""
        return (
            (key.job_id == job_id(self.job)) & (key.pulse == self.pulse) & (key.node_id == NODE)
            & (key.vp == self.job) & (key.fragment == 0) & (key.seq_id < 1 << SEQ_BITS)
        )

    def has(self, name: str, seq: Value) -> Value:
        """Flag in the header of a packet of this pulse."""
        return self.headers[name].bit_select(seq, 1)

    def _slot(self, mine: Value, seq: Value, other: Value) -> Value:
        return Mux(mine, seq, (1 << SEQ_BITS) | other)

    def _tell(self, m: Module, contract: Contract, unit: Any) -> None:
        from rtl.buffer.layouts import Arrival

        arrival = unit.packets.arrival
        key, seq, other = arrival.payload.key, contract.free(SEQ_BITS, "comes_seq"), contract.free(1, "comes_slot")
        comes_pulse, comes_job = contract.free(PULSE_BITS, "comes_pulse"), contract.free(1, "comes_job")
        valid, mine, whole = contract.free(1, "comes"), Signal(name="comes_mine"), Signal(name="comes_whole")
        what, again = contract.free(2, "comes_what"), contract.free(1, "comes_again")
        m.d.comb += [
            arrival.valid.eq(valid), key.job_id.eq(comes_job), key.node_id.eq(NODE), key.vp.eq(~comes_job),
            key.seq_id.eq(seq), key.pulse.eq(comes_pulse), whole.eq(valid & self.is_mine(key)),
            arrival.payload.slot.eq(self._slot(mine, seq, other)), arrival.payload.what.eq(what),
            mine.eq(whole & ~again),
        ]
        comes, is_there, dropped = (what == kind.value for kind in (Arrival.COMING, Arrival.THERE, Arrival.DROPPED))
        # Each packet is announced, and then it is there, once.
        announced, reported = self.coming.bit_select(seq, 1), self.reported.bit_select(seq, 1)
        contract.assume(what != 3)
        contract.assume(~mine | Mux(comes, ~announced, is_there & announced & ~reported))
        # One with the same key may be announced after it, in another slot; it is dropped when the first one is there,
        # two cycles later at the earliest.
        double, double_seq, double_slot = Signal(name="double"), Signal(SEQ_BITS), Signal()
        older = Signal(name="double_older")
        m.d.sync += older.eq(double)
        same = double & older & (double_seq == seq) & (double_slot == other)
        contract.assume(~(whole & again) | Mux(comes, announced & ~double, dropped & same & reported))
        contract.assume(~valid | whole | ~double | (double_slot != other))
        with m.If(whole & again):
            m.d.sync += [double.eq(comes), double_seq.eq(seq), double_slot.eq(other)]
        self.comes, self.comes_seq = mine & is_there, seq
        self.reported_now = self.reported | Mux(self.comes, 1 << seq, 0)
        m.d.sync += [self.reported.eq(self.reported_now), self.coming.eq(self.coming | Mux(mine & comes, 1 << seq, 0))]
        contract.check(arrival.ready)

    def _answer(self, m: Module, contract: Contract, unit: Any) -> None:
        lookup, answer = unit.packets.lookup.request, unit.packets.lookup.answer
        self.asks = asks = accept(contract, m, lookup, "lookup")
        # Answers come in order. One that was taken after the arrival was reported finds the packet; one that was taken
        # before may find it, and even before the arrival is reported.
        queue = [
            (Signal(name=f"mine_{k}"), Signal(SEQ_BITS, name=f"seq_{k}"), Signal(name=f"must_{k}")) for k in range(2)
        ]
        (mine, seq, must), _ = queue
        level, takes, wanted = Signal(2), Signal(), Signal(SEQ_BITS)
        hit, error, other = (contract.free(1, name) for name in ("hit", "error", "answer_slot"))
        takes = offer(
            contract, m, answer, "answer", level != 0,
            hit=hit, error=error, slot=self._slot(mine, seq, other),
        )
        contract.assume(~answer.valid | ~mine | ~must | hit)
        contract.assume(~answer.valid | ~mine | ~hit | self.coming.bit_select(seq, 1))
        contract.assume(~error | hit)
        self.asked, self.asked_seq = Signal(name="asked_mine"), wanted
        m.d.comb += [wanted.eq(lookup.payload.seq_id), self.asked.eq(asks & self.is_mine(lookup.payload))]
        contract.check(~asks | (level - takes != 2))
        m.d.sync += level.eq(level + asks - takes)
        found = (self.reported_now | self.there).bit_select(wanted, 1)
        for k, (entry, follower) in enumerate(zip(queue, (*queue[1:], None), strict=True)):
            with m.If(takes):
                if follower is not None:
                    m.d.sync += [here.eq(after) for here, after in zip(entry, follower, strict=True)]
            with m.If(asks & (level - takes == k)):
                m.d.sync += [entry[0].eq(self.asked), entry[1].eq(wanted), entry[2].eq(found)]
        self.outstanding = Signal(name="lookup_outstanding")
        m.d.comb += self.outstanding.eq(Cat(entry[0] & (level > k) for k, entry in enumerate(queue)).any())
        self.answered, self.answered_seq, self.hit = takes & mine, seq, hit
        self.damage, self.unanswered = takes & error, level != 0
        m.d.sync += self.there.eq(self.reported_now | self.there | Mux(self.answered & hit, 1 << seq, 0))

    def _show(self, m: Module, contract: Contract, unit: Any) -> None:
        # The header in a slot comes a cycle after `enable` and stays until the next one.
        read, header = unit.packets.header, unit.packets.header.header
        slot, fields = read.slot, {name: Signal(name=f"shown_{name}") for name in self.headers}
        seq, mine = slot[:SEQ_BITS], ~slot[SEQ_BITS]
        peer = Signal(PEERS_OF)
        with m.If(read.enable):
            m.d.sync += peer.eq(seq)
            m.d.sync += [
                shown.eq(Mux(mine, self.has(name, seq), contract.free(1, f"other_{name}")))
                for name, shown in fields.items()
            ]
        m.d.comb += [
            header.length.eq(Mux(fields["long"], FLIT, 0)), header.peer.eq(peer), header.addr.eq(Cat(peer, 1)),
            *(header[name].eq(fields[name]) for name in ("coll_end", "swap_addr", "swap_data")),
        ]
        contract.check(~read.enable | ~mine | self.coming.bit_select(seq, 1))


class Answers:
    """Credit table, or window check: every request gets one answer, in order.

    Members
    -------
    asks, answers : Signal
        A request, or an answer, is being taken.
    waits : Signal
        A request has no answer yet.
    """

    def __init__(
        self, contract: Contract, m: Module, asking: Any, answering: Any, name: str, *, unless: Any = 0,
        **fields: Signal,
    ):
        self.asks = accept(contract, m, asking, f"{name}_ask", unless=unless)
        self.waits = Signal(name=f"{name}_waits")
        self.answers = offer(contract, m, answering, f"{name}_answer", self.waits, **fields)
        m.d.sync += self.waits.eq(self.waits & ~self.answers | self.asks)
        contract.check(~self.asks | ~self.waits | self.answers)


class Work:
    """Operand loader, or aggregator: what a context was given is done after any time, and then reported.

    Members
    -------
    busy : Signal(n)
        Contexts that have something under way.
    ends : Signal, ended : Signal
        That of context `ended` is reported to be done.
    """

    def __init__(self, contract: Contract, m: Module, port: Any, name: str, *, n: int):
        self.busy, self.ended = Signal(n, name=f"{name}_busy"), contract.free((n - 1).bit_length(), f"{name}_ended")
        self.ends = offer(contract, m, port, f"{name}_end", self.busy.bit_select(self.ended, 1), context=self.ended)
        self.n = n
        self._contract = contract

    def takes(self, m: Module, *given: tuple[Value, Value]) -> None:
        """Notes the work that is given: a flag, and the context that it is for. A context is given one thing at a time.
        """
        busy = self.busy & ~Mux(self.ends, 1 << self.ended, 0)
        for taken, context in given:
            self._contract.check(~taken | ~self.busy.bit_select(context, 1))
            busy = busy | Mux(taken, 1 << context, 0)
        m.d.sync += self.busy.eq(busy[: self.n])
