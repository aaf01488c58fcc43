"""Positions and number of items in a memory that is used as a ring."""

from dataclasses import dataclass

from amaranth import Module, Mux, Signal


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Items in a memory, in a ring.

    Parameters
    ----------
    write_at, read_at : Signal
        Addresses of the next write and read.
    kept : Signal
        Number of items.
    occupied, full : Signal
        There are any; there is no room for one more. Registers, because everything else waits for them.
    """

    write_at: Signal
    read_at: Signal
    kept: Signal
    occupied: Signal
    full: Signal


def count_items(m: Module, n_entries: int, push: Signal, pop: Signal) -> Ring:
    """Counts the items in a memory of `n_entries`, and where they stand."""
    write_at, read_at, kept = Signal(range(n_entries)), Signal(range(n_entries)), Signal(range(n_entries + 1))
    full, occupied = Signal(), Signal()
    # Both come late in a cycle: sums of products for the flags, no enables.
    m.d.sync += [
        occupied.eq(push | (occupied & ~(pop & (kept == 1)))),
        full.eq(~pop & (full | (push & (kept == n_entries - 1)))),
    ]
    with m.If(push != pop):
        m.d.sync += kept.eq(Mux(push, kept + 1, kept - 1))
    for moves, at in ((push, write_at), (pop, read_at)):
        with m.If(moves):
            m.d.sync += at.eq(Mux(at == n_entries - 1, 0, at + 1))
    return Ring(write_at=write_at, read_at=read_at, kept=kept, occupied=occupied, full=full)
