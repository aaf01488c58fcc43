"""Orders to write off what a closed job has out, split into those for credits and for the pool."""

from amaranth import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.interface import JobWriteOff


class WriteOff(wiring.Component):
    """Hands an order to the credit table, and its number of shared credits to the pool when the table has taken it.

    The pool takes part in the cycle in which the order is taken, so that credits and shared credits of a job are
    written off together.

    Timing: combinational.

    Parameters
    ----------
    pool : int
        Shared credits of the pool; 0 where a packet buffer has none.

    Members
    -------
    i : ``In(stream.Signature(JobWriteOff))``
        Orders from the job table.
    o : ``Out(stream.Signature({job_id}))``
        To the credit table.
    lost : ``Out(range(pool + 1))``
        To the pool: so many shared credits are lost in this cycle.

    Raises
    ------
    ValueError
        If `pool` is negative.
    """

    def __init__(self, *, pool: int):
        if not isinstance(pool, int) or pool < 0:
            raise ValueError(f"pool must be at least 0, not {pool!r}")
        super().__init__({
            "i": In(stream.Signature(JobWriteOff)),
            "o": Out(stream.Signature(data.StructLayout({"job_id": formats.JOB_BITS}))),
            "lost": Out(range(max(1, pool) + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.o.valid.eq(self.i.valid), self.o.payload.job_id.eq(self.i.payload.job_id),
            self.i.ready.eq(self.o.ready),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.comb += self.lost.eq(self.i.payload.lost)
        return m
