"""Widths of numbers."""

from amaranth.utils import bits_for


def index_bits(n: int) -> int:
    """Bits of an index below `n`, at least one."""
    return max(1, bits_for(n - 1))
