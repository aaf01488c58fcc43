"""How a tag stands in the memories of a table: plain, or with check bits."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.buffer.hash_function import KEY_BITS
from rtl.buffer.secded import Secded


def _weight(m: Module, bits: Value) -> Signal:
    """How many of the bits are set: a balanced tree of adders."""
    terms = list(bits)
    while len(terms) > 1:
        terms = [terms[k] + terms[k + 1] if k + 1 < len(terms) else terms[k] for k in range(0, len(terms), 2)]
    weight = Signal(range(len(bits) + 1), name="weight")
    m.d.comb += weight.eq(terms[0])
    return weight


class TagCode:
    """Layout and comparison of tags.

    Plain, a tag is its valid bit, key and slot. With `ecc` valid bit and key are one codeword, and the slot is there
    twice, as a codeword each time: so no double error can lose it. Tags are compared as codewords: a stored one that
    differs from the wanted one in a single bit *is* the wanted one, since any other key's differs in four at least. So
    nothing has to be corrected before it is compared. One that differs in two bits was probably the wanted
    one: that is a doubt.

    Parameters
    ----------
    slot_bits : int
        Bits of a slot number.
    ecc : bool
        If true, entries have check bits.

    Attributes
    ----------
    entry : StructLayout
        ``code`` (valid bit and key) and ``slot``, with their check bits. All zeros: no tag.
    """

    def __init__(self, *, slot_bits: int, ecc: bool):
        self.slot_bits, self.ecc = slot_bits, ecc
        self._code, self._slot = Secded(1 + KEY_BITS), Secded(slot_bits)
        self.entry = data.StructLayout({
            "code": self._code.width if ecc else 1 + KEY_BITS,
            "slot": 2 * self._slot.width if ecc else slot_bits,
        })

    def code(self, key) -> Value:
        """The code of a tag with this key."""
        plain = Cat(Const(1, 1), Value.cast(key))
        return self._code.encode(plain) if self.ecc else plain

    def stored_slot(self, slot) -> Value:
        """The bits that stand for the slot in a tag."""
        slot = Value.cast(slot)
        return self._twice(slot) if self.ecc else slot

    def _twice(self, slot) -> Value:
        return Cat(self._slot.encode(slot), self._slot.encode(slot))

    def key(self, code) -> Value:
        """The key in a code without error."""
        return Value.cast(code)[1 : 1 + KEY_BITS]

    def differs(self, m: Module, stored, wanted) -> tuple[Value, Value, Value]:
        """Flags of two codes: equal but for a single error; an error is there; the comparison is doubtful."""
        difference = Value.cast(stored) ^ Value.cast(wanted)
        if not self.ecc:
            return ~difference.any(), Const(0, 1), Const(0, 1)
        weight = _weight(m, difference)
        return weight <= 1, weight == 1, weight == 2

    def same_slot(self, m: Module, stored, wanted) -> Value:
        """High if two slots are the same but for one error or two; those of others differ in eight bits at least."""
        difference = Value.cast(stored) ^ Value.cast(wanted)
        return _weight(m, difference) <= 2 if self.ecc else ~difference.any()

    def empty(self, m: Module, code) -> Value:
        """High if an entry holds no tag. A code of a single set bit is an empty one with an error."""
        return _weight(m, Value.cast(code)) <= 1 if self.ecc else ~code[0]

    def slot(self, m: Module, stored, *, name: str) -> Value:
        """The number in a stored slot, corrected."""
        return self._fixed_slot(m, stored, name=name)[0] if self.ecc else Value.cast(stored)

    def _fixed_slot(self, m: Module, stored, *, name: str) -> tuple[Value, Value]:
        width = self._slot.width
        first, first_single, first_double = self._slot.decode(m, stored[:width], name=f"{name}_0")
        second, second_single, second_double = self._slot.decode(m, stored[width:], name=f"{name}_1")
        wrong = first_single | first_double | second_single | second_double
        return Mux(first_double, second, first), wrong

    def clean(self, m: Module, entry, *, name: str) -> tuple[Value, Value, Value, Value]:
        """An entry's code and slot, corrected; flags: something was corrected; the code cannot be."""
        if not self.ecc:
            return entry.code, entry.slot, Const(0, 1), Const(0, 1)
        code, single, double = self._code.decode(m, entry.code, name=f"{name}_code")
        slot, wrong = self._fixed_slot(m, entry.slot, name=f"{name}_slot")
        return Mux(double, entry.code, self._code.encode(code)), self._twice(slot), single | wrong, double
