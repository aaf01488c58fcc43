"""Memory of the units of all jobs, for those who only read."""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from rtl.interface import JOBS, JobShapes, PlacementSignature
from rtl.kit.memory import BlockMemory


class PlacementMemory(wiring.Component):
    """A memory of its own for looks at the job table, which need no turn there: whoever looks for the unit of a job
    asks about one that was assigned long ago.

    Timing: an answer comes two cycles after its query, one in two cycles; a cycle later if the entry is being written.

    Parameters
    ----------
    n_units : int
        Offload units, a power of two.
    n_jobs : int
        JobIDs, a power of two.
    shapes : JobShapes
        Layouts of streams about jobs.

    Members
    -------
    swept : ``In(1)``
        Every entry has been written.
    write_enable, write_address, write_data : ``In``
        An entry: the `unit` of a job, and whether it is `held` there.
    look : ``In(PlacementSignature())``
        Who looks. `ok`: the job is held by its unit.
    """

    def __init__(self, *, n_units: int, n_jobs: int, shapes: JobShapes = JOBS):
        self.n_jobs = n_jobs
        self.shape = data.StructLayout({"unit": (n_units - 1).bit_length(), "held": 1})
        super().__init__({
            "swept": In(1), "write_enable": In(1), "write_address": In(range(n_jobs)), "write_data": In(self.shape),
            "look": In(PlacementSignature(shapes)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = BlockMemory(shape=self.shape, depth=self.n_jobs, shallow=True, apart=True)
        query, seen, looking = self.look.query, self.look.answer, Signal()
        written = self.write_enable & (self.write_address == memory.read_address)
        begins = query.valid & query.ready
        m.d.comb += [
            memory.write_enable.eq(self.write_enable), memory.write_address.eq(self.write_address),
            memory.write_data.eq(self.write_data),
            query.ready.eq(self.swept & ~looking & (~seen.valid | seen.ready) & ~written),
            memory.read_address.eq(query.payload.job_id), memory.read_enable.eq(begins),
        ]
        m.d.sync += looking.eq(begins)
        # The answer before has gone when a look begins.
        with m.If(looking):
            m.d.sync += [
                seen.valid.eq(1), seen.payload.ok.eq(memory.read_data.held),
                seen.payload.unit.eq(memory.read_data.unit),
            ]
        with m.Elif(seen.ready):
            m.d.sync += seen.valid.eq(0)
        return m
