"""Memory of the packet buffer that corrects its errors."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.buffer.secded import Secded
from rtl.kit.memory import BlockMemory


class GuardedMemory(wiring.Component):
    """A synchronous memory with one write and one read port; with `ecc`, SECDED on parts of 64 bits.

    With two `copies` a double error does no harm: the other copy holds the word.

    Timing: data in the cycle after its address, held until the next `read_enable`. The word that is being written
    cannot be read.

    Parameters
    ----------
    width, depth : int
        Of the memory, without check bits.
    ecc : bool
        If true, single errors are corrected.
    careless : bool
        The user may read the word that is being written, but then what comes is not used: nothing is compared.
    copies : int
        1 or 2; without `ecc` there is one all the same.

    Members
    -------
    write_enable, write_address, write_data : ``In``
        Write port.
    read_enable, read_address : ``In``, read_data : ``Out``
        Read port.
    corrected, uncorrectable : ``Out(1)``
        What stands at `read_data` had an error that was put right, or one that was not.
    flip : ``In(2)``, flip_bit : ``In(8)``
        Test input: bits to be inverted in what is written, from `flip_bit` on, in the first part of the first copy.
    """

    def __init__(self, *, width: int, depth: int, ecc: bool, copies: int = 1, careless: bool = False):
        if copies not in (1, 2):
            raise ValueError(f"copies must be 1 or 2, not {copies!r}")
        self.width, self.depth, self.ecc, self.copies = width, depth, ecc, copies if ecc else 1
        self.careless = careless
        address = range(max(2, depth))
        super().__init__({
            "write_enable": In(1), "write_address": In(address), "write_data": In(width),
            "read_enable": In(1), "read_address": In(address), "read_data": Out(width),
            "corrected": Out(1), "uncorrectable": Out(1),
            "flip": In(2), "flip_bit": In(8),
        })

    def elaborate(self, platform):
        m = Module()
        codes = [Secded(min(64, self.width - start)) for start in range(0, self.width, 64)]
        stored = sum(code.width for code in codes) if self.ecc else self.width
        m.submodules.cells = cells = BlockMemory(
            shape=stored * self.copies, depth=max(2, self.depth), careless=self.careless
        )
        m.d.comb += [
            cells.write_enable.eq(self.write_enable), cells.write_address.eq(self.write_address),
            cells.read_enable.eq(self.read_enable), cells.read_address.eq(self.read_address),
        ]
        if not self.ecc:
            m.d.comb += [cells.write_data.eq(self.write_data), self.read_data.eq(cells.read_data)]
            return m

        error = Signal(stored * self.copies)
        m.d.comb += error.eq(Mux(self.flip == 0, 0, Mux(self.flip[1], Const(3, 2), Const(1, 2))) << self.flip_bit)
        words, corrected, lost = [], [], []
        for part, code in enumerate(codes):
            words.append(code.encode(self.write_data[64 * part : 64 * part + code.data_bits]))
        m.d.comb += cells.write_data.eq(Cat(*words * self.copies) ^ error)

        at = 0
        for part, code in enumerate(codes):
            fixed, single, double = code.decode(m, cells.read_data[at : at + code.width], name=f"part_{part}")
            out = self.read_data[64 * part : 64 * part + code.data_bits]
            if self.copies == 1:
                m.d.comb += out.eq(fixed)
                corrected.append(single)
                lost.append(double)
            else:
                other = cells.read_data[stored + at : stored + at + code.width]
                second, second_single, second_double = code.decode(m, other, name=f"copy_{part}")
                m.d.comb += out.eq(Mux(double, second, fixed))
                corrected.append(single | second_single | double | second_double)
                lost.append(double & second_double)
            at += code.width
        m.d.comb += [self.corrected.eq(Cat(*corrected).any()), self.uncorrectable.eq(Cat(*lost).any())]
        return m
