"""Where the blocks of a message begin and end."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from firmware_models.abi import formats
from firmware_models.abi.encoding import Datatype

ELEMENT_LOG2 = {Datatype.DOUBLE_INT: 4, Datatype.FLOAT32: 2, Datatype.INT32: 2, Datatype.BYTE: 0}
"""Of the elements that are not 8 bytes long: logarithm of their size."""


SKIPPED = 8
"""Leading zeros of a dividend that are passed over in one cycle."""


class BlockCutter(wiring.Component):
    """Divides a message of n elements into B blocks of S = ceil(n / B): F = n div S full ones, then one of n mod S.

    Blocks behind that one are empty. For an empty message S and the tail are 0, and F means nothing.

    Timing: `busy` from the cycle after `start`, for at most 34 cycles and a bit of `n_blocks` each; then the results
    stay until the next start, which may also come earlier. One bit of a quotient a cycle, leading zeros of the number
    of elements apart: it works while the other descriptors of the sequence are still being checked.

    Parameters
    ----------
    n_blocks : int
        Bound of `block_count`.

    Members
    -------
    start : ``In(1)``
        Begins with these inputs.
    clear : ``In(1)``
        High with `start`; may be high without it, then the outputs mean nothing until the next one.
    length, block_count, datatype : ``In``
        Of the message; `length` a whole number of elements, `block_count` at least 1.
    busy : ``Out(1)``
        The outputs are not valid yet.
    block_bytes, n_full, tail_bytes : ``Out``
        Bytes of a full block, number of full blocks, bytes of the one behind them (0: there is none).
    """

    def __init__(self, *, n_blocks: int):
        self.n_blocks = n_blocks
        super().__init__({
            "start": In(1), "clear": In(1), "length": In(32), "block_count": In(16),
            "datatype": In(formats.DESCRIPTOR["datatype"].width),
            "busy": Out(1), "block_bytes": Out(32), "n_full": Out(range(n_blocks + 1)), "tail_bytes": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        log2 = Signal(3)
        wanted_log2 = Signal(3)
        with m.Switch(self.datatype):
            for datatype, value in ELEMENT_LOG2.items():
                with m.Case(datatype):
                    m.d.comb += wanted_log2.eq(value)
            with m.Default():
                m.d.comb += wanted_log2.eq(3)

        # Restoring division: the dividend moves out of `quotient` at the top while the quotient moves in below.
        quotient, rest, divisor, elements = (
            Signal(32, name=name) for name in ("quotient", "rest", "divisor", "elements")
        )
        count = Signal(range(33))
        # The rest was 0 in the cycle before, and a 0 has been added: a register, for this is asked in a wide choice.
        cleared = Signal()
        m.d.sync += cleared.eq((rest == 0) & ~quotient[-1])
        trial, fits = Signal(33), Signal()
        m.d.comb += [
            trial.eq((rest << 1) | quotient[-1]),
            fits.eq(trial >= divisor),
            self.n_full.eq(quotient), self.tail_bytes.eq(rest << log2), self.block_bytes.eq(divisor << log2),
        ]

        def divide(dividend, by, *, bits):
            """Of a quotient of so many bits; what of the dividend is above them, less than the divisor, is the rest."""
            m.d.sync += [quotient.eq(dividend << (32 - bits)), divisor.eq(by), count.eq(bits)]

        def step():
            m.d.sync += [
                quotient.eq((quotient << 1) | fits), rest.eq(Mux(fits, trial - divisor, trial)), count.eq(count - 1),
            ]

        # First the size of a block, then how many of them are full.
        sized = Signal()
        with m.If(self.start):
            m.d.sync += [
                log2.eq(wanted_log2), elements.eq(self.length >> wanted_log2), sized.eq(0), self.busy.eq(1),
                cleared.eq(1),
            ]
            divide(self.length >> wanted_log2, self.block_count, bits=32)
        with m.Elif(~sized & cleared & (quotient[-SKIPPED:] == 0) & (count > SKIPPED)):
            m.d.sync += [quotient.eq(quotient << SKIPPED), count.eq(count - SKIPPED)]
        with m.Elif(count != 0):
            step()
        with m.Elif(~sized):
            m.d.sync += sized.eq(1)
            bits = bits_for(self.n_blocks)
            divide(elements, quotient + (rest != 0), bits=bits)
            m.d.sync += rest.eq(elements >> bits)
        with m.Else():
            m.d.sync += self.busy.eq(0)
        # `start` is known late and `rest` is wide, so `clear` resets it: it depends on no other input.
        with m.If(self.clear):
            m.d.sync += rest.eq(0)
        return m
