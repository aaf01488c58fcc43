"""Sending end of a reliable link: which word goes on the wire in each cycle."""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.wire import ControlKind
from rtl.link.frame_signatures import CreditedFlitsSignature, LinkStandingSignature, notice_layout
from rtl.link.replay_buffer import ReplayBuffer, position_bits
from rtl.link.wire import N_VCS, Control, ReportSignature, word

RUN_WORDS = 1024
"""Most data words between two control words: more than a packet has, so that none is held up in its middle."""
TURN_WORDS = 32
"""Words of a run after which the other channel has its turn, if it waits."""
IDLE_CYCLES = 16
"""Cycles without a control word after which one goes though there is no need, unless data does."""
TRAIN_CYCLES = 4
"""The same of training words."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run that is being sent, and the flits that wait for one.

    Parameters
    ----------
    open, vc : Signal
        There is one; of this channel, which stays until the next one begins.
    words : Signal
        Data words that it has.
    ended, bad : Signal
        Its latest flit was the last one of a packet; that is marked.
    broken : Signal
        The next flit of its channel is another one than the next.
    starves : Signal
        It had no flit in the cycle before.
    has, other_has, other_wants : Signal
        Its channel has a flit; the other one has; the other one has or gets one.
    inside, wants : Signal
        For each channel: it is within a packet; it has a flit or gets one.
    """

    open: Signal
    vc: Signal
    words: Signal
    ended: Signal
    bad: Signal
    broken: Signal
    starves: Signal
    has: Signal
    other_has: Signal
    other_wants: Signal
    inside: Signal
    wants: Signal


class FrameSender(wiring.Component):
    """Sends flits as runs of data words between control words, and sends them again until they are acknowledged.

    A run is of one channel and ends with a packet at the latest; the control word that ends it begins the next one, so
    that packets in a row cost one word each. Channels take turns packet by packet, or after :data:`TURN_WORDS`, or when
    one has nothing more to send for two cycles. Where there is nothing to send, control words go with reports of the
    other direction, and now and then without.

    A packet is sent again if the other end asks for it, or if `replay_cycles` have gone by without an acknowledgement
    while one was due.

    Timing: a flit that comes while the link is idle is in ``o`` a cycle later, its control word in the same cycle.
    ``o`` is a function of registers and, where it is the first word of a run, of ``i.valid`` and ``i.flit.vc``.

    Parameters
    ----------
    data_width, buffer_flits, replay_flits, marked
        As of :class:`rtl.link.replay_buffer.ReplayBuffer`.
    replay_cycles : int
        Cycles without progress after which packets are sent again.
    replay_limit : int
        How often in a row before the link is trained again.
    run_words, turn_words, idle_cycles : int
        As the constants of this module.

    Members
    -------
    i, notice, link, wrong, lost
        As of the buffer. While the link is not up words of training go.
    report : ``In(ReportSignature)``
        Reports for the other end.
    training : ``In(Control)``
        Fields of those words.
    o : ``Out(word(data_width))``
        The word of this cycle.
    replays, timeouts : ``Out(1)``
        A replay begins because the other end asked for it; because nothing was acknowledged for too long.
    gives_up : ``Out(1)``
        The latter has happened too often in a row.
    """

    def __init__(
        self, *, data_width: int, buffer_flits: int, replay_flits: int, replay_cycles: int, replay_limit: int = 8,
        marked: bool = True, run_words: int = RUN_WORDS, turn_words: int = TURN_WORDS, idle_cycles: int = IDLE_CYCLES,
    ):
        if not isinstance(replay_cycles, int) or replay_cycles < 2 or replay_cycles & (replay_cycles - 1):
            raise ValueError(f"replay_cycles must be a power of two from 2 on, not {replay_cycles!r}")
        self.replay_cycles, self.replay_limit = replay_cycles, replay_limit
        self.run_words, self.turn_words, self.idle_cycles = run_words, turn_words, idle_cycles
        self.data_width = data_width
        self.buffer = ReplayBuffer(
            data_width=data_width, buffer_flits=buffer_flits, replay_flits=replay_flits, marked=marked,
        )
        bits = position_bits(replay_flits)
        super().__init__({
            "i": In(CreditedFlitsSignature(data_width)),
            "notice": In(stream.Signature(notice_layout(bits), always_ready=True)), "link": In(LinkStandingSignature()),
            "report": In(ReportSignature()), "training": In(Control), "wrong": Out(1), "lost": Out(2),
            "o": Out(word(data_width)), "replays": Out(1), "timeouts": Out(1), "gives_up": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        for name in ("i", "notice", "link"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(buffer, name))
        notice = self.notice.payload
        m.d.comb += [
            self.wrong.eq(buffer.wrong), self.lost.eq(buffer.lost),
            self.replays.eq(self.notice.valid & notice.replay & ~notice.is_credit),
        ]
        timed_out = self._time(m, buffer)
        m.d.comb += buffer.back.eq(Mux(self.link.up, timed_out, 0b11))
        run = self._run(m, buffer)
        self._send(m, buffer, run)
        return m

    def _time(self, m: Module, buffer: ReplayBuffer) -> Signal:
        """Counts cycles in which a packet waits to be acknowledged; gives the channels that have waited too long."""
        timed_out = Signal(N_VCS)
        times = Signal(range(self.replay_limit + 1))
        for vc in range(N_VCS):
            cycles = Signal(range(self.replay_cycles), name=f"cycles_{vc}")
            m.d.comb += timed_out[vc].eq(self.link.up & (cycles == self.replay_cycles - 1))
            m.d.sync += cycles.eq(cycles + 1)
            with m.If(~buffer.waits[vc] | buffer.jumps[vc] | buffer.progress[vc] | ~self.link.up):
                m.d.sync += cycles.eq(0)
        m.d.comb += [self.timeouts.eq(timed_out.any()), self.gives_up.eq(times == self.replay_limit)]
        with m.If(buffer.progress.any() | ~self.link.up):
            m.d.sync += times.eq(0)
        with m.Elif(self.timeouts & ~self.gives_up):
            m.d.sync += times.eq(times + 1)
        return timed_out

    def _run(self, m: Module, buffer: ReplayBuffer) -> Run:
        """Finds the flits that wait for a run."""
        run = Run(
            words=Signal(range(self.run_words + 1), name="words"),
            **{name: Signal(name=name) for name in (
                "open", "vc", "ended", "bad", "broken", "starves", "has", "other_has", "other_wants",
            )},
            **{name: Signal(N_VCS, name=name) for name in ("inside", "wants")},
        )
        # A run may begin in the cycle in which its first flit comes: the control word goes ahead.
        offered = Mux(self.i.valid, Mux(self.i.flit.vc, 0b10, 0b01), 0)
        m.d.comb += [
            run.wants.eq(buffer.available | offered & ~buffer.drains),
            run.has.eq(Mux(run.vc, buffer.available[1], buffer.available[0])),
            run.other_has.eq(Mux(run.vc, buffer.available[0], buffer.available[1])),
            run.other_wants.eq(Mux(run.vc, run.wants[0], run.wants[1])),
        ]
        return run

    def _send(self, m: Module, buffer: ReplayBuffer, run: Run) -> None:
        """Chooses the word, and what run it begins or goes on with."""
        idle, turn = Signal(range(self.idle_cycles + 1)), Signal()
        sends_data, sends_control, begins, next_vc, turns = Signal(), Signal(), Signal(), Signal(), Signal()
        stays = Signal()
        fits = (run.words < self.run_words) & ~(run.other_has & (run.words >= self.turn_words))
        m.d.comb += [
            sends_data.eq(
                self.link.up & run.open & run.has & ~run.ended & ~run.broken & fits & ~self.report.urgent
            ),
            # The other channel's turn: after a packet, after enough words, or if this one has nothing for two cycles.
            stays.eq(Mux(run.vc, run.inside[1] & buffer.available[1], run.inside[0] & buffer.available[0])),
            turns.eq(run.other_wants & (~stays | (run.words >= self.turn_words))),
            next_vc.eq(run.vc ^ turns),
            begins.eq(Mux(next_vc, run.wants[1] | run.inside[1], run.wants[0] | run.inside[0])),
            sends_control.eq(self.link.up & ~sends_data & (
                run.ended | run.open & (run.broken | run.has | run.other_wants & run.starves)
                | ~run.open & run.wants.any() | self.report.due | self.report.urgent | (idle == self.idle_cycles - 1)
            )),
            buffer.sends.eq(sends_data), self.report.taken.eq(sends_control),
            buffer.ahead.eq(Mux(sends_control, next_vc, run.vc)),
        ]
        m.d.sync += [
            idle.eq(Mux(sends_control | sends_data | (idle == self.idle_cycles - 1), 0, idle + 1)),
            run.starves.eq(run.open & ~run.has & ~sends_control),
        ]
        with m.If(sends_data):
            m.d.sync += [
                run.words.eq(run.words + 1), run.ended.eq(buffer.o.last), run.bad.eq(buffer.o.bad),
                run.inside.eq(Mux(run.vc, Cat(run.inside[0], ~buffer.o.last), Cat(~buffer.o.last, run.inside[1]))),
            ]
        with m.If(sends_control):
            m.d.sync += [
                run.words.eq(0), run.ended.eq(0), run.bad.eq(0), run.broken.eq(0), run.open.eq(begins),
                run.vc.eq(next_vc), turn.eq(~turn),
            ]
        # Where the next flit is another one than the next in the run, the run is over.
        after = buffer.ahead
        with m.If(Mux(after, buffer.jumps[1], buffer.jumps[0])):
            m.d.sync += run.broken.eq(1)
        for vc in range(N_VCS):
            with m.If(buffer.jumps[vc]):
                m.d.sync += run.inside[vc].eq(0)
        # A training word ends a run without a word about its last flit, which is given up with it.
        with m.If(~self.link.up & self.o.valid):
            m.d.sync += [run.open.eq(0), run.ended.eq(0), run.bad.eq(0), run.words.eq(0)]

        fields, about = self.o.fields, Signal()
        m.d.comb += [
            about.eq(Mux(begins, next_vc, turn)),
            self.o.valid.eq(sends_data | sends_control | ~self.link.up & (idle[:2] == TRAIN_CYCLES - 1)),
            self.o.control.eq(~sends_data), self.o.data.eq(buffer.o.data),
            fields.kind.eq(Mux(begins, ControlKind.DATA, ControlKind.IDLE)),
            fields.ends.eq(run.ended), fields.bad.eq(run.bad), fields.vc.eq(about),
            fields.position.eq(Mux(about, buffer.position[1], buffer.position[0])),
            fields.about.eq(self.report.what.about), fields.is_credit.eq(self.report.what.is_credit),
            fields.replay.eq(self.report.what.replay), fields.value.eq(self.report.what.value),
        ]
        with m.If(~self.link.up):
            m.d.comb += fields.eq(self.training)
