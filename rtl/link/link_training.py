"""State of a reliable link: training, up, and the reasons to begin anew."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.wire import LINK_VERSION, ControlKind
from rtl.link.wire import Control, Training


class LinkTraining(wiring.Component):
    """Brings the link up, and down.

    While it is down training words go. It comes up with a word of the other end that says that it has seen such a word
    itself, or that is no training word: both have seen each other then. It goes down if no good control word has come
    for `silence_cycles`, on `retrain`, or if the other end trains anew. Nothing else is forgotten: both ends go on
    where they were.

    It is `dead` after `dead_cycles` in a row in which it was down, and until it comes up. It does not come up while
    what waits for it is being thrown away (`empties`).

    An end that has been up with the other one refuses to go on with one that has been reset since, or whose sizes are
    others: `refused` stays until this end is reset too.

    Timing: everything is driven by registers.

    Parameters
    ----------
    data_width, buffer_flits, replay_flits : int
        As of the link layer; both ends must be built alike.
    silence_cycles : int
        Cycles without a good control word after which the link is down; a power of two.
    dead_cycles : int
        Cycles in which it is down after which it is dead; a power of two.

    Members
    -------
    good : ``In(1)``, fields : ``In(Control)``
        A good control word.
    retrain : ``In(1)``
        The sender gets no acknowledgements.
    wrong : ``In(1)``
        The other end acknowledges what was not sent.
    empties : ``In(1)``
        The sender throws away what it keeps.
    up : ``Out(1)``
        The link is up.
    dead : ``Out(1)``
        It has been down for too long.
    refused : ``Out(1)``
        It cannot be before both ends are reset.
    falls : ``Out(1)``
        Pulse: it goes down.
    training : ``Out(Control)``
        Fields of the training words.
    """

    def __init__(
        self, *, data_width: int, buffer_flits: int, replay_flits: int, silence_cycles: int, dead_cycles: int,
    ):
        for name, cycles in (("silence_cycles", silence_cycles), ("dead_cycles", dead_cycles)):
            if not isinstance(cycles, int) or cycles < 4 or cycles & (cycles - 1):
                raise ValueError(f"{name} must be a power of two from 4 on, not {cycles!r}")
        self.silence_cycles, self.dead_cycles = silence_cycles, dead_cycles
        self.sizes = {
            "version": LINK_VERSION, "width": (data_width // 64).bit_length() - 1,
            "buffer": (buffer_flits - 1).bit_length(), "replay": (replay_flits - 1).bit_length(),
        }
        super().__init__({
            "good": In(1), "fields": In(Control), "retrain": In(1), "wrong": In(1), "empties": In(1),
            "up": Out(1), "dead": Out(1), "refused": Out(1), "falls": Out(1), "training": Out(Control),
        })

    def elaborate(self, platform):
        m = Module()
        theirs, ours = Training(self.fields.as_value()), Signal(Training)
        # Words of the other end that were no training words have come: it was up, so it has not been fresh since.
        seen, met, fresh = Signal(), Signal(), Signal(init=1)
        silence = Signal(range(self.silence_cycles))
        trains = self.fields.kind == ControlKind.TRAIN
        alike = Signal()
        m.d.comb += [
            alike.eq(1), ours.kind.eq(ControlKind.TRAIN), ours.seen.eq(seen), ours.fresh.eq(fresh),
            *(ours[name].eq(value) for name, value in self.sizes.items()), self.training.eq(ours),
        ]
        for name, value in self.sizes.items():
            with m.If(theirs[name] != value):
                m.d.comb += alike.eq(0)

        up_next, leaves = Signal(), Signal()
        m.d.comb += leaves.eq(self.retrain | self.wrong | (silence == self.silence_cycles - 1))
        m.d.sync += [silence.eq(silence + 1), self.falls.eq(self.up & ~up_next)]
        m.d.comb += up_next.eq(self.up)
        with m.If(self.good):
            m.d.sync += silence.eq(0)
            with m.If(~trains):
                m.d.sync += met.eq(1)
                m.d.comb += up_next.eq(self.up | seen)
            with m.Elif(~alike | met & theirs.fresh):
                m.d.sync += self.refused.eq(1)
            with m.Else():
                m.d.sync += seen.eq(1)
                m.d.comb += up_next.eq(theirs.seen)
        with m.If(self.wrong):
            m.d.sync += self.refused.eq(1)
        with m.If(self.refused | self.empties):
            m.d.comb += up_next.eq(0)
        with m.Elif(self.up & leaves):
            m.d.comb += up_next.eq(0)
            m.d.sync += [seen.eq(0), silence.eq(0)]
        with m.If(up_next):
            m.d.sync += fresh.eq(0)
        m.d.sync += self.up.eq(up_next)
        self._count_down(m, up_next)
        return m

    def _count_down(self, m: Module, up_next: Signal) -> None:
        """Counts the cycles in which it is down."""
        cycles = Signal(range(self.dead_cycles))
        with m.If(up_next):
            m.d.sync += [cycles.eq(0), self.dead.eq(0)]
        with m.Elif(cycles == self.dead_cycles - 1):
            m.d.sync += self.dead.eq(1)
        with m.Else():
            m.d.sync += cycles.eq(cycles + 1)
