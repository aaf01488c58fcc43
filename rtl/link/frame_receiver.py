"""Receiving end of a reliable link: flits out of runs that may have been damaged."""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.wire import ControlKind
from rtl.interface import flit
from rtl.link.replay_buffer import position_bits
from rtl.link.reporter import Reporter
from rtl.link.wire import N_VCS, ReportSignature, word


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run that is being taken.

    Parameters
    ----------
    taken, vc : Signal
        One is, of this channel.
    holds, held : Signal
        Its latest flit is kept.
    """

    taken: Signal
    vc: Signal
    holds: Signal
    held: Signal


@dataclass(frozen=True, kw_only=True)
class Word:
    """Kind of the word that comes in this cycle; none of these without a word.

    Parameters
    ----------
    data : Value
        A flit of the run that is being taken.
    opens, fails : Value
        A good control word, which ends a run and may begin one; a control word that is not good, or of training.
    """

    data: Value
    opens: Value
    fails: Value


class Channel:
    """Signals of one channel: flits that came whole, flits that were handed on beyond them, effects of this word.

    Parameters
    ----------
    vc : int
        Number of the channel.
    bits : int
        Bits in which flits are numbered.

    Members
    -------
    whole, whole_after
        Flits up to here belong to packets that came whole, before and after this cycle.
    at, after
        Flits up to here have been handed on, likewise.
    gone
        A flit has left the room that it took.
    pushes
        The latest flit of the run is handed on.
    matches, breaks
        A control word says that it goes on where the channel is; what comes does not fit.
    spoils, behind
        What was handed on of a packet is lost; a run of flits that had come before is passed over.
    marks, may_mark, marked
        A copy waits for its mark; there is room for it; it gets it.
    """

    def __init__(self, vc: int, *, bits: int):
        self.vc, self.bits = vc, bits
        self.whole, self.whole_after, self.at, self.after = (
            self.number(name) for name in ("whole", "whole_after", "at", "after")
        )
        self.credit_spent, self.pushes, self.matches, self.breaks = (
            self.flag(name) for name in ("credit_spent", "pushes", "matches", "breaks")
        )
        self.spoils, self.behind, self.marks, self.may_mark, self.marked = (
            self.flag(name) for name in ("spoils", "behind", "marks", "may_mark", "marked")
        )

    def flag(self, name: str) -> Signal:
        """A flag of the channel."""
        return Signal(name=f"{name}_{self.vc}")

    def number(self, name: str) -> Signal:
        """A number of flits of the channel."""
        return Signal(self.bits, name=f"{name}_{self.vc}")


@dataclass(frozen=True, kw_only=True)
class Credit:
    """Flits of a channel that have left for good.

    Parameters
    ----------
    free : Value
        So many are credited.
    is_owed : Value
        Of a spoiled copy some are still to be left out of the count.
    """

    free: Value
    is_owed: Value


class FrameReceiver(wiring.Component):
    """Hands on the flits of each channel in order, each packet once that came whole.

    A run is taken if a good control word stands before it and says that it goes on where its channel is. Its flits are
    handed on as they come, but the latest: that one is handed on when the next word shows that it was not the last, or
    once a good control word has ended the run and shows if it ends its packet.

    What has been handed on of a packet that then does not come whole cannot be taken back: a last flit marked `bad`
    follows, by which whoever gets the packet drops it. The other end is asked to send it again when the room that the
    copy took is free again, so the room is there for which the sender has paid.

    Timing: a flit is on ``o`` in the cycle after the word behind it was on ``i``. All of ``o`` are registers.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    buffer_flits : int
        Flits that can be handed on for each channel without a credit: room for one packet at least.
    replay_flits : int
        Flits that the other end keeps of each channel.

    Members
    -------
    i : ``In(word(data_width))``, good : ``In(1)``
        A word; it is a control word and all right, and so is what came since the one before it.
    valid : ``Out(1)``, flit : ``Out(flit(data_width, marked=True))``
        A flit is handed on.
    credit_valid, credit_vc : ``In(1)``
        A flit has left the room that it took.
    cut : ``In(1)``
        Pulse: the link went down. What was handed on of a packet in part is marked, so that nobody waits for its rest.
    report : ``Out(ReportSignature)``
        Reports for the other end.
    damaged : ``Out(1)``
        A control word that is not good.
    stomped : ``Out(1)``
        A packet that was handed on in part has been marked as bad.
    repeated : ``Out(1)``
        A run of flits that had come before is passed over.
    """

    def __init__(self, *, data_width: int, buffer_flits: int, replay_flits: int):
        self.bits = position_bits(replay_flits)
        self.buffer_flits, self.replay_flits = buffer_flits, replay_flits
        self.data_width = data_width
        super().__init__({
            "i": In(word(data_width)), "good": In(1), "cut": In(1),
            "valid": Out(1), "flit": Out(flit(data_width, marked=True)), "credit_valid": In(1), "credit_vc": In(1),
            "report": Out(ReportSignature()), "damaged": Out(1), "stomped": Out(1), "repeated": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.reporter = reporter = Reporter(bits=self.bits, buffer_flits=self.buffer_flits)
        wiring.connect(m, reporter.report, wiring.flipped(self.report))
        run = Run(
            taken=Signal(name="taken"), vc=Signal(name="run_vc"), holds=Signal(name="holds"),
            held=Signal(self.data_width, name="held"),
        )
        control = self.i.valid & self.i.control
        opens = self.good & (self.i.fields.kind != ControlKind.TRAIN)
        now = Word(data=self.i.valid & ~self.i.control & run.taken, opens=opens, fails=control & ~opens)
        channels = [Channel(vc, bits=self.bits) for vc in range(N_VCS)]
        for channel in channels:
            credit = self._follow(m, channel, run, now)
            self._report(m, channel, credit, reporter)
        self._take(m, run, now, channels)
        self._hand_on(m, run, now, channels)
        m.d.comb += self.damaged.eq(control & ~self.good)
        return m

    def _follow(self, m: Module, channel: Channel, run: Run, now: Word) -> Credit:
        """Follows one channel: finds how the word of this cycle changes it."""
        fields, vc = self.i.fields, channel.vc
        whole, whole_after, at, after = channel.whole, channel.whole_after, channel.at, channel.after
        credit_spent, pushes, matches, breaks = channel.credit_spent, channel.pushes, channel.matches, channel.breaks
        spoils, behind, marks, marked = channel.spoils, channel.behind, channel.marks, channel.marked
        room = Signal(range(self.buffer_flits + 1), name=f"room_{vc}", init=self.buffer_flits)
        ours, full = channel.flag("ours"), channel.flag("full")
        concerned = now.opens & (fields.vc == vc)
        m.d.comb += [
            ours.eq(run.taken & (run.vc == vc)), credit_spent.eq(self.credit_valid & (self.credit_vc == vc)),
            # No packet has more flits than there is room, so none has as many before its last one.
            full.eq((room == 0) | now.data & ((at - whole)[:self.bits] == self.buffer_flits - 1)),
            pushes.eq(ours & run.holds & ~full & (now.data | now.opens)),
            after.eq(at + pushes), whole_after.eq(Mux(pushes & now.opens & fields.ends, after, whole)),
        ]
        # Flits that have been handed on are lost if the run is damaged, has more flits than there is room for, or if
        # the next one goes on somewhere else. Until the room that they took is free again nothing of the channel is
        # taken.
        owes = self._leave(m, channel)
        m.d.comb += [
            matches.eq(concerned & (fields.position[:self.bits] == after) & ~marks & ~owes.is_owed & ~self.cut),
            behind.eq(concerned & (fields.position[:self.bits] - whole_after)[self.bits - 1]),
            breaks.eq((concerned & ~matches) | ours & (now.fails | now.data & run.holds & full)),
            spoils.eq((breaks | self.cut) & (after != whole_after)),
            channel.may_mark.eq(marks & (room != 0)),
        ]
        m.d.sync += [
            whole.eq(whole_after), at.eq(Mux(spoils, whole_after, after)),
            room.eq(room + credit_spent - (pushes | marked)),
            marks.eq(spoils | marks & ~marked),
        ]
        return owes

    def _report(self, m: Module, channel: Channel, credit: Credit, reporter: Reporter) -> None:
        """Reports a channel. A replay is asked for once, until something comes that goes on where it should."""
        vc, asks = channel.vc, reporter.asks[channel.vc]
        matches, spoils, breaks, behind = channel.matches, channel.spoils, channel.breaks, channel.behind
        wanted, was_wanted = channel.flag("wanted"), channel.flag("was_wanted")
        m.d.sync += [
            wanted.eq(~matches & ~asks & wanted | spoils | breaks & ~behind & ~was_wanted),
            was_wanted.eq(~matches & ~spoils & (was_wanted | asks)),
        ]
        m.d.comb += [
            reporter.whole[vc].eq(channel.whole), reporter.free[vc].eq(credit.free),
            reporter.again[vc].eq(behind | self.cut),
            reporter.wanted[vc].eq(wanted & ~channel.marks & ~credit.is_owed),
        ]

    @staticmethod
    def _leave(m: Module, channel: Channel) -> Credit:
        """Counts the flits of a channel that leave the room that they took.

        Only flits of packets that came whole are credited, so those of a copy that is spoiled never are. Of its flits
        and its mark as many are left out of the count as have not left before: which of those that leave are its own
        does not matter.
        """
        credit_spent, whole_after, number = channel.credit_spent, channel.whole_after, channel.number
        left, left_after, owed = number("left"), number("left_after"), number("owed")
        early, spoiled = number("early"), number("spoiled")
        is_owed = owed != 0
        m.d.comb += [
            left_after.eq(left + (credit_spent & ~is_owed)), early.eq(left_after - whole_after),
            spoiled.eq(channel.after - whole_after + 1),
        ]
        with m.If(channel.spoils):
            m.d.sync += [
                left.eq(Mux(early[-1], left_after, whole_after)), owed.eq(Mux(early[-1], spoiled, spoiled - early)),
            ]
        with m.Else():
            m.d.sync += [left.eq(left_after), owed.eq(owed - (credit_spent & is_owed))]

        # Of the packet that is coming in some may have left already.
        whole, ahead = number("counted"), number("ahead")
        m.d.sync += whole.eq(whole_after)
        m.d.comb += ahead.eq(left - whole)
        return Credit(is_owed=is_owed, free=Mux(ahead[-1], left, whole))

    def _take(self, m: Module, run: Run, now: Word, channels: list[Channel]) -> None:
        """Takes a run, and keeps its latest flit."""
        broken = Cat(channel.breaks for channel in channels).any()
        with m.If(now.opens):
            m.d.sync += [
                run.taken.eq((self.i.fields.kind == ControlKind.DATA) & Cat(c.matches for c in channels).any()),
                run.vc.eq(self.i.fields.vc), run.holds.eq(0),
            ]
        with m.Elif(now.fails | broken | self.cut):
            m.d.sync += [run.taken.eq(0), run.holds.eq(0)]
        with m.Elif(now.data):
            m.d.sync += [run.holds.eq(1), run.held.eq(self.i.data)]

    def _hand_on(self, m: Module, run: Run, now: Word, channels: list[Channel]) -> None:
        """Hands on a flit; where the run has none, the mark of a spoiled copy."""
        pushes = Cat(channel.pushes for channel in channels).any()
        low, high = channels
        m.d.comb += [
            low.marked.eq(low.may_mark & ~pushes), high.marked.eq(high.may_mark & ~low.may_mark & ~pushes),
            self.stomped.eq(Cat(channel.spoils for channel in channels).any()),
            self.repeated.eq(Cat(channel.behind for channel in channels).any()),
        ]
        m.d.sync += self.valid.eq(pushes | low.marked | high.marked)
        with m.If(pushes):
            m.d.sync += [
                self.flit.data.eq(run.held), self.flit.vc.eq(run.vc), self.flit.last.eq(now.opens & self.i.fields.ends),
                self.flit.bad.eq(now.opens & self.i.fields.ends & self.i.fields.bad),
            ]
        with m.Elif(low.marked | high.marked):
            m.d.sync += [self.flit.last.eq(1), self.flit.bad.eq(1), self.flit.vc.eq(high.marked)]
