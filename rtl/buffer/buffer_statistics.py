"""Counters of a packet buffer."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.buffer.tag_table import LEVEL_BITS, STEP_BITS

BUFFER_SUMS = ("level_sum", "steps_sum", "settled", "suspended", "corrected", "uncorrectable")
"""Figures that add up, 64 bits wide."""


def statistics_layout(level_bits: int) -> data.StructLayout:
    """Figures of one packet buffer since reset; the sums are 64 bits wide."""
    return data.StructLayout({
        "level": level_bits, "peak": level_bits, "unlent": level_bits, "stash": LEVEL_BITS, "stash_peak": LEVEL_BITS,
        "steps_max": STEP_BITS,
        **dict.fromkeys(BUFFER_SUMS, 64),
    })


class BufferStatistics(wiring.Component):
    """Adds up the events of a packet buffer.

    The time-weighted mean of the level is `level_sum` over the cycles since reset, that of the insertion steps
    `steps_sum` over `settled`.

    Timing: figures are a cycle or two late.

    Parameters
    ----------
    level_bits : int
        Bits of the level.

    Members
    -------
    level, peak, unlent : ``In(level_bits)``, stash : ``In(LEVEL_BITS)``
        Packets and tags in the buffer; slots of the pool that are not granted.
    settled : ``In(1)``, steps : ``In(STEP_BITS)``
        A tag has come to rest in a way.
    suspended : ``In(1)``
        A look-up has found nothing: its reader waits.
    corrected, uncorrectable : ``In(3)``
        Errors of this cycle.
    o : ``Out(statistics_layout(level_bits))``
        The figures.
    """

    def __init__(self, *, level_bits: int):
        super().__init__({
            "level": In(level_bits), "peak": In(level_bits), "unlent": In(level_bits), "stash": In(LEVEL_BITS),
            "settled": In(1), "steps": In(STEP_BITS), "suspended": In(1), "corrected": In(3), "uncorrectable": In(3),
            "o": Out(statistics_layout(level_bits)),
        })

    def elaborate(self, platform):
        m = Module()
        o = self.o
        sums = {
            "level_sum": self.level, "steps_sum": Mux(self.settled, self.steps, 0), "settled": self.settled,
            "suspended": self.suspended, "corrected": self.corrected, "uncorrectable": self.uncorrectable,
        }
        m.d.sync += [
            o.level.eq(self.level), o.peak.eq(self.peak), o.unlent.eq(self.unlent), o.stash.eq(self.stash),
        ]
        for name, value in sums.items():
            # Added in the cycle after, so that the adders stand apart from what they count.
            added = Signal(len(value), name=f"{name}_added")
            m.d.sync += [added.eq(value), o[name].eq(o[name] + added)]
        with m.If(self.stash > o.stash_peak):
            m.d.sync += o.stash_peak.eq(self.stash)
        with m.If(self.settled & (self.steps > o.steps_max)):
            m.d.sync += o.steps_max.eq(self.steps)


        return m
