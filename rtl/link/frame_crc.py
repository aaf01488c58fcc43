"""CRCs of the runs of a reliable link: put in at one end, checked at the other."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.link.crc import CRC_BITS, data_terms, fold, state_terms
from rtl.link.wire import Control, WireSignature, word


def _advanced(state, data_width: int, control):
    """The register after a word without what the word adds; of a control word all but its CRC counts."""
    return Mux(control, fold(state, state_terms(data_width - CRC_BITS)), fold(state, state_terms(data_width)))


class CrcInsert(wiring.Component):
    """Puts into each control word the CRC of the data before it and of its fields, continued from that of the last one.

    Since each CRC goes on from the one before, no word can be lost, doubled or changed without the next control word
    showing it.

    Timing: two cycles, a word in each. ``o`` is driven by registers.

    Parameters
    ----------
    data_width : int
        Bits of a word.

    Members
    -------
    i : ``In(word(data_width))``
        Words; `fields` of a control word, `data` of another.
    o : ``Out(WireSignature(data_width))``
        The wire.
    """

    def __init__(self, *, data_width: int):
        self.data_width = data_width
        super().__init__({"i": In(word(data_width)), "o": Out(WireSignature(data_width))})

    def elaborate(self, platform):
        m = Module()
        width = self.data_width
        fields = self.i.fields.as_value()
        terms = data_terms(width - CRC_BITS)

        # The word's own contribution is known a cycle before that of the words before it.
        valid, control, body, adds = Signal(), Signal(), Signal(width), Signal(CRC_BITS)
        m.d.sync += [
            valid.eq(self.i.valid), control.eq(self.i.control),
            body.eq(Mux(self.i.control, fields, self.i.data)),
            adds.eq(Mux(self.i.control, fold(fields, terms[:len(fields)]), fold(self.i.data, data_terms(width)))),
        ]
        state, following = Signal(CRC_BITS, init=(1 << CRC_BITS) - 1), Signal(CRC_BITS)
        m.d.comb += following.eq(_advanced(state, width, control) ^ adds)
        with m.If(valid):
            m.d.sync += [
                state.eq(following), self.o.control.eq(control),
                self.o.data.eq(Mux(control, Cat(body[:width - CRC_BITS], ~following), body)),
            ]
        m.d.sync += self.o.valid.eq(valid)
        return m


class CrcCheck(wiring.Component):
    """Checks each control word, in a cycle after it was on the wire.

    Timing: one cycle. ``good`` hangs on a register's sums, which end in a comparison.

    Parameters
    ----------
    data_width : int
        Bits of a word.

    Members
    -------
    i : ``In(WireSignature(data_width))``
        The wire.
    o : ``Out(word(data_width))``
        Words.
    good : ``Out(1)``
        ``o`` is a control word, and neither it nor anything since the one before has changed on its way.
    """

    def __init__(self, *, data_width: int):
        self.data_width = data_width
        super().__init__({"i": In(WireSignature(data_width)), "o": Out(word(data_width)), "good": Out(1)})

    def elaborate(self, platform):
        m = Module()
        width = self.data_width
        rest = width - CRC_BITS
        flits, its_crc = self.i.data, self.i.data[rest:]
        valid, control, body, adds = Signal(), Signal(), Signal(width), Signal(CRC_BITS)
        m.d.sync += valid.eq(self.i.valid)
        with m.If(self.i.valid):
            m.d.sync += [
                control.eq(self.i.control), body.eq(flits),
                adds.eq(Mux(
                    self.i.control, fold(flits[:rest], data_terms(rest)) ^ its_crc, fold(flits, data_terms(width)),
                )),
            ]

        # A control word's own CRC is what the next one's goes on from, whether it was good or not.
        state, following = Signal(CRC_BITS), Signal(CRC_BITS)
        m.d.comb += following.eq(_advanced(state, width, control) ^ adds)
        with m.If(valid):
            m.d.sync += state.eq(Mux(control, ~body[rest:], following))
        m.d.comb += [
            self.o.valid.eq(valid), self.o.control.eq(control), self.o.data.eq(body),
            self.o.fields.eq(body[:Control.size]),
            self.good.eq(valid & control & following.all()),
        ]
        return m
