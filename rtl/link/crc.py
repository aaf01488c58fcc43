"""CRC-32C (Castagnoli, 0x1EDC6F41) of many bits at once, as sums modulo 2."""

from functools import cache

from amaranth import C, Cat, Value

CRC_BITS = 32
_POLYNOMIAL = 0x82F63B78
"""0x1EDC6F41 with its bits in reverse: bits go in least significant first."""


def _shift(state: int) -> int:
    return (state >> 1) ^ (_POLYNOMIAL if state & 1 else 0)


@cache
def state_terms(bits: int) -> tuple[int, ...]:
    """For each bit of the register: what it has become after `bits` zeros have gone in."""
    terms = []
    for index in range(CRC_BITS):
        state = 1 << index
        for _ in range(bits):
            state = _shift(state)
        terms.append(state)
    return tuple(terms)


@cache
def data_terms(bits: int) -> tuple[int, ...]:
    """For each of `bits` bits that go into a register of zeros, the first one first: what it adds in the end."""
    terms = [_shift(1)]
    while len(terms) < bits:
        terms.append(_shift(terms[-1]))
    return tuple(reversed(terms))


def fold(value: Value, terms: tuple[int, ...]) -> Value:
    """The sum of the terms of the bits of `value` that are set."""
    masks = [sum((term >> index & 1) << bit for bit, term in enumerate(terms)) for index in range(CRC_BITS)]
    return Cat((value & C(mask, len(terms))).xor() if mask else C(0, 1) for mask in masks)
