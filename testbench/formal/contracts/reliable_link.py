"""A reliable link: what its two ends make of a wire on which anything happens."""

from types import SimpleNamespace

from amaranth import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from firmware_models.abi.wire import ControlKind
from testbench.formal.contract import Contract

_VCS = (0, 1)


class ReliableLinkContract(Contract):
    """Flits in at one end, out at the other, over a wire that may do anything to any word, in both directions.

    CRCs are ideal: a control word counts as good exactly if neither it nor anything since the one before has changed.
    That is what the wire's own model knows; with 32 bits a solver would find the words for which they lie.

    Parameters
    ----------
    buffer_flits, replay_flits : int
        Of the link.
    settle : int
        Cycles without faults, traffic or backpressure after which everything must have come and all credits be back; 0
        claims no such thing.
    replay_cycles : int
        Of the sender.
    falls : bool
        If true, either end may go down and come up at any time.
    both : bool
        If true, there is traffic on both channels, else on channel 0 alone.
    dies : bool
        If true, the near end may have been down for too long whenever it has been down for as many cycles as a word
        may be on its way: what it was to send is given up then, and nothing else is.
    """

    def __init__(
        self, *, buffer_flits: int, replay_flits: int, settle: int = 0, replay_cycles: int = 4, falls: bool = False,
        both: bool = True, dies: bool = False,
    ):
        super().__init__()
        self.buffer_flits, self.replay_flits, self.settle = buffer_flits, replay_flits, settle
        self.replay_cycles, self.falls, self.both, self.dies = replay_cycles, falls, both, dies

    def build(self, m: Module) -> None:
        from rtl.link.frame_receiver import FrameReceiver
        from rtl.link.frame_sender import FrameSender

        sizes = {"data_width": 1, "buffer_flits": self.buffer_flits, "replay_flits": self.replay_flits}
        ends = {}
        for name in ("near", "far"):
            ends[name] = SimpleNamespace(
                sender=FrameSender(
                    **sizes, replay_cycles=self.replay_cycles, marked=False, run_words=2, turn_words=1, idle_cycles=4,
                ),
                receiver=FrameReceiver(**sizes),
            )
            m.submodules[f"{name}_sender"], m.submodules[f"{name}_receiver"] = ends[name].sender, ends[name].receiver
        near, far = ends["near"], ends["far"]
        faults = [self._wire(m, "there", near, far), self._wire(m, "back", far, near)]
        for name, end in ends.items():
            up = self.free(1, f"{name}_up") if self.falls else C(1)
            m.d.comb += [end.sender.link.up.eq(up), end.sender.training.kind.eq(ControlKind.TRAIN)]
            self.check(~end.sender.wrong)
            faults.append(~up)
            # The receiver hears of a fall; it may as well hear of one that there was not.
            m.d.comb += end.receiver.cut.eq(self.free(1, f"{name}_cut") if self.falls else 0)
        if self.dies:
            self._die(m, near)
        channels = [self._channel(m, vc, near, far) for vc in _VCS]
        self._settle(m, faults, channels)
        if self.dies:
            return
        self.reach(faults[0], "a fault on the way there")
        self.reach(channels[0].whole_ends, "a packet of channel 0 comes whole")
        if self.both:
            self.reach(channels[1].whole_ends, "a packet of channel 1 comes whole")
        self.reach(channels[0].bad_ends, "a packet is marked as bad")
        self.reach(channels[0].whole_ends & channels[0].was_bad, "and comes whole afterwards")
        self.reach(near.sender.timeouts, "nothing is acknowledged for too long")
        self.reach(near.sender.replays, "the other end asks for a replay")
        self.reach(far.receiver.repeated, "what had come before comes again")

    def _die(self, m: Module, near: SimpleNamespace) -> None:
        """The near end is dead when nothing of it is on the wire any more, and stays down until all is gone."""
        dead, down, held = self.free(1, "near_dead"), Signal(2), Signal()
        m.d.comb += near.sender.link.dead.eq(dead)
        m.d.sync += [down.eq(Cat(~near.sender.link.up, down)), held.eq(near.sender.link.empties)]
        self.assume(~dead | down.all() & ~near.sender.link.up)
        self.assume(~held | ~near.sender.link.up)
        # Nothing is thrown away unless the link has been dead since it was last up.
        was_dead = Signal()
        with m.If(dead):
            m.d.sync += was_dead.eq(1)
        self.check(was_dead | ~near.sender.lost.any())
        self.reach(near.sender.lost[0], "a packet that was kept is thrown away")
        self.reach(near.sender.lost[1], "a packet that comes is thrown away")

    def _wire(self, m: Module, name: str, sender: SimpleNamespace, receiver: SimpleNamespace) -> Signal:
        """A cycle of delay, and in each cycle the word that was sent, another or none. Gives whether it is another."""
        word = sender.sender.o
        fault, lucky = self.free(1, f"{name}_fault"), self.free(1, f"{name}_lucky")
        other = self.free(len(word.as_value()), f"{name}_other")
        layout = word.shape()
        sent, comes = Signal(layout, name=f"{name}_sent"), layout(Mux(fault, other, word.as_value()))
        # `hurt`: something since the last control word that came is not what was sent. `bare`: nothing came since.
        hurt, bare, good = Signal(init=1, name=f"{name}_hurt"), Signal(name=f"{name}_bare"), Signal(name=f"{name}_good")
        controls = comes.valid & comes.control
        m.d.sync += [
            sent.eq(comes), good.eq(controls & ~fault & ~hurt),
        ]
        with m.If(fault):
            m.d.sync += hurt.eq(1)
            # A damaged control word whose CRC came as it was, or one that came twice: the next CRC goes on from it.
            with m.If(controls & lucky & (word.valid & word.control | ~word.valid & bare & ~hurt)):
                m.d.sync += hurt.eq(0)
        with m.Elif(controls):
            m.d.sync += hurt.eq(0)
        with m.If(comes.valid | word.valid):
            m.d.sync += bare.eq(controls)
        m.d.comb += [
            receiver.receiver.i.eq(sent), receiver.receiver.good.eq(good),
            receiver.sender.notice.valid.eq(good & (sent.fields.kind[1] == 0)),
            *(
                receiver.sender.notice.payload[field].eq(sent.fields[field])
                for field in ("about", "is_credit", "replay", "value")
            ),
        ]
        report = receiver.receiver.report
        m.d.comb += [
            receiver.sender.report.what.eq(report.what), receiver.sender.report.due.eq(report.due),
            receiver.sender.report.urgent.eq(report.urgent), report.taken.eq(receiver.sender.report.taken),
        ]
        return fault

    def _channel(self, m: Module, vc: int, near: SimpleNamespace, far: SimpleNamespace) -> SimpleNamespace:
        """Whoever sends and receives on one channel: within credits, and as they please."""
        most, depth = self.buffer_flits, 4 * self.replay_flits
        if vc == 0:
            self._valid, self._vc = self.free(1, "valid"), self.free(1, "vc") if self.both else C(0, 1)
            self._last, self._data = self.free(1, "last"), self.free(1, "data")
            m.d.comb += [
                near.sender.i.valid.eq(self._valid), near.sender.i.flit.vc.eq(self._vc),
                near.sender.i.flit.last.eq(self._last), near.sender.i.flit.data.eq(self._data),
            ]
            self._gone, self._gone_vc = self.free(1, "gone"), self.free(1, "gone_vc")
            m.d.comb += [far.receiver.credit_valid.eq(self._gone), far.receiver.credit_vc.eq(self._gone_vc)]

        def counter(name: str, top: int, init: int = 0) -> Signal:
            return Signal(range(top + 1), name=f"{name}_{vc}", init=init)

        # The sender keeps to its credits, and its packets to the room.
        level, length = counter("credits", 2 * most, most), counter("length", most)
        goes, back = self._valid & (self._vc == vc), near.sender.i.credit_valid & (near.sender.i.credit_vc == vc)
        self.assume(~goes | (level != 0) & (self._last | (length != most - 1)))
        m.d.sync += level.eq(level + back - goes)
        with m.If(goes):
            m.d.sync += length.eq(Mux(self._last, 0, length + 1))
        self.check(level <= most)

        # Flits sent, and how far they have arrived: `whole` is the end of the last whole packet, `at` the next flit.
        memory = Array(Signal(data.StructLayout({"data": 1, "last": 1}), name=f"sent_{vc}_{k}") for k in range(depth))
        sent, whole, at = (Signal(range(depth), name=f"{name}_{vc}") for name in ("count", "whole", "at"))
        with m.If(goes):
            m.d.sync += [memory[sent].data.eq(self._data), memory[sent].last.eq(self._last), sent.eq(sent + 1)]
        comes, wrong = far.receiver.valid & (far.receiver.flit.vc == vc), Signal(name=f"wrong_{vc}")
        flit = far.receiver.flit
        whole_ends, bad_ends = comes & flit.last & ~flit.bad, comes & flit.last & flit.bad
        differs = Signal(name=f"differs_{vc}")
        m.d.comb += differs.eq(wrong | (at == sent) | (memory[at].data != flit.data) | (memory[at].last != flit.last))
        with m.If(comes):
            m.d.sync += [at.eq(at + 1), wrong.eq(differs)]
        with m.If(whole_ends):
            m.d.sync += [whole.eq(at + 1), wrong.eq(0)]
        with m.If(bad_ends):
            m.d.sync += [at.eq(whole), wrong.eq(0)]
        self.check(~whole_ends | ~differs)
        drains, drained, back_up = near.sender.buffer.drains[vc], Signal(name=f"drained_{vc}"), Signal(name=f"up_{vc}")
        m.d.sync += drained.eq(drains)
        m.d.comb += back_up.eq(drained & ~drains)
        if self.dies:
            # Discarded flits never arrive, not even those that had been sent; the next packet to be sent arrives next.
            self.check(~drains | ~whole_ends)
            with m.If(drains):
                m.d.sync += [whole.eq(sent + goes), wrong.eq(0), at.eq(sent + goes)]
            # It goes on with a packet's first flit.
            self.check(~back_up | (length == 0))
            if vc == 0:
                again = self._sticky(m, back_up, vc)
                self.reach(~drains & whole_ends & again, "a packet that was sent afterwards comes")

        # The receiver has room for as many flits as there were credits.
        held = counter("held", 2 * most)
        gone = self._gone & (self._gone_vc == vc)
        self.assume(~gone | (held != 0))
        m.d.sync += held.eq(held + comes - gone)
        self.check(held <= most)
        if not self.dies:
            self._conserve(m, vc, gone=gone, back=back, comes=comes, whole_ends=whole_ends, bad_ends=bad_ends)
        was_bad = Signal(name=f"was_bad_{vc}")
        m.d.sync += was_bad.eq(was_bad | bad_ends)
        return SimpleNamespace(
            goes=goes, gone=gone, held=held, level=level, whole=whole, at=at, sent=sent, length=length,
            whole_ends=whole_ends, bad_ends=bad_ends, was_bad=was_bad,
        )

    def _sticky(self, m: Module, event: Value, vc: int) -> Signal:
        """It has happened."""
        happened = Signal(name=f"happened_{vc}")
        m.d.sync += happened.eq(happened | event)
        return happened

    def _conserve(
        self, m: Module, vc: int, *, gone: Value, back: Value, comes: Value, whole_ends: Value, bad_ends: Value,
    ) -> None:
        """A credit comes back for a flit of a packet that came whole and has left, never for one of a spoiled copy."""
        def counter(name: str) -> Signal:
            return Signal(6, name=f"{name}_{vc}")

        # Of the copies' flits as many leave uncounted as there were, less those that had left when the copy ended.
        returned, left, owed, whole, part = (counter(name) for name in ("back", "left", "owed", "good", "part"))
        left_now, early = counter("left_now"), counter("early")
        m.d.comb += [left_now.eq(left + (gone & (owed == 0))), early.eq(Mux(left_now > whole, left_now - whole, 0))]
        m.d.sync += [
            returned.eq(returned + back), left.eq(left_now), part.eq(part + comes),
            owed.eq(owed - (gone & (owed != 0))),
        ]
        with m.If(whole_ends):
            m.d.sync += [whole.eq(whole + part + 1), part.eq(0)]
        with m.If(bad_ends):
            m.d.sync += [left.eq(left_now - early), owed.eq(part + 1 - early), part.eq(0)]
        self.check(returned <= left)
        self.check(returned <= whole)

    def _settle(self, m: Module, faults: list, channels: list[SimpleNamespace]) -> None:
        """After a while without faults all packets have come and all credits are back."""
        if not self.settle:
            return
        calm = Signal(range(self.settle + 1))
        quiet = Signal()
        m.d.comb += quiet.eq(1)
        for fault in faults:
            with m.If(fault):
                m.d.comb += quiet.eq(0)
        for channel in channels:
            with m.If(channel.goes | (channel.held != 0) & ~channel.gone):
                m.d.comb += quiet.eq(0)
        m.d.sync += calm.eq(Mux(quiet, Mux(calm == self.settle, calm, calm + 1), 0))
        for channel in channels:
            self.check((calm != self.settle) | (channel.length != 0) | (
                (channel.level == self.buffer_flits) & (channel.whole == channel.sent) & (channel.at == channel.sent)
            ))
        self.reach((calm == self.settle) & channels[0].was_bad, "all is well after a packet that was marked")
