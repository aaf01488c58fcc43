"""C++ for values: one vector for each word of a value, one mask for each bit, put together of what its bits are.

Vectors of the text are words of all lanes; functions in capitals stand in ``lanes.h``. Bits of a word above the width
of its value are 0.
"""

from collections.abc import Iterator
from typing import Protocol

from sim.cluster.lanes.columns import Column, columns_of
from sim.cluster.lanes.layout import WORD
from sim.cluster.lanes.netlist import Value

ZERO = "ZERO"


class Operands(Protocol):
    """Functions that the text of an operation needs of its operands."""

    def width(self, number: int) -> int:
        """Bits of a cell's output."""

    def mask(self, number: int) -> str:
        """The mask of a cell of one bit."""

    def word(self, number: int, index: int) -> str:
        """A word of a wider cell."""

    def local(self, kind: str, text: str) -> str:
        """The name of a new constant of that kind, "V" or "M"; the same for the same text."""

    def column(self, column: Column) -> str | None:
        """A word with a bit of each of many cells, where it is had together with others of the kind."""


def constant(number: int) -> str:
    return "ZERO" if number == 0 else f"C({number:#x}ull)"


def ones(width: int) -> int:
    return (1 << width) - 1


def pieces(value: Value) -> Iterator[tuple[int, int, int]]:
    """Runs of bits of a value that stand beside each other in a cell too: place in the value, first net, bits. Constant
    bits are runs of their own, of equal bits.
    """
    at, end = 0, len(value)
    while at < end:
        net, last = value[at], at + 1
        if net < 2:
            while last < end and value[last] == net:
                last += 1
        else:
            while last < end and value[last] == net + (last - at) and (net + last - at) >> 16 == net >> 16:
                last += 1
        yield at, net, last - at
        at = last


def bit(of: Operands, net: int) -> str:
    """Mask of a net."""
    if net < 2:
        return "ALL" if net else "0u"
    number, place = net >> 16, net & 0xFFFF
    if of.width(number) == 1:
        return of.mask(number)
    return of.local("M", f"BIT({of.word(number, place // WORD)}, {1 << place % WORD:#x}ull)")


def word(of: Operands, value: Value, index: int) -> str:
    """A word of a value, put together of what its bits are."""
    part = value[WORD * index:WORD * (index + 1)]
    terms: list[str] = []
    together = 0
    for column in columns_of(of.width, part):
        text = of.column(column)
        if text is not None:
            terms.append(text)
            together |= column.places
    fixed, at = 0, 0
    while at < len(part):
        if together >> at & 1:
            at += 1
            continue
        net = part[at]
        last = at + 1
        if net < 2 or (last < len(part) and part[last] == net) or of.width(net >> 16) == 1:
            while last < len(part) and part[last] == net:
                last += 1
            spread = ones(last - at) << at
            if net == 1:
                fixed |= spread
            elif net:
                terms.append(f"SPREAD({bit(of, net)}, {spread:#x}ull)")
        else:
            place = net & 0xFFFF
            while (
                last < len(part) and part[last] == net + last - at and (place + last - at) // WORD == place // WORD
            ):
                last += 1
            terms.append(_slice(of, net >> 16, place, at, last - at))
        at = last
    if fixed:
        terms.append(constant(fixed))
    return joined(terms) if terms else ZERO


def joined(terms: list[str]) -> str:
    text = terms[0]
    for term in terms[1:]:
        text = f"({text} | {term})"
    return text


def _slice(of: Operands, number: int, place: int, at: int, count: int) -> str:
    """`count` bits from `place` of a cell, at bit `at` of a word."""
    source, low = of.word(number, place // WORD), place % WORD
    there = min(WORD, of.width(number) - WORD * (place // WORD))  # bits of that word that may be other than 0
    shifted = source if low == at else f"({source} >> {low - at})" if low > at else f"({source} << {at - low})"
    # Bits below and above the slice are shifted out where the shift allows it; otherwise a mask clears them.
    is_clean = (low == 0 or (low > at == 0)) and (low + count == there or at + count == WORD)
    return shifted if is_clean else f"({shifted} & {constant(ones(count) << at)})"
