"""Memories for block RAM."""

from amaranth import Module, Signal
from amaranth.hdl import Assert, Shape, ShapeLike
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out


class BlockMemory(wiring.Component):
    """A memory with one write port and one synchronous read port.

    A read of the word that is being written is not made: what was read before stays. Block RAMs do not define such a
    read, and a description that does makes synthesis build a way around them, a register and a choice a bit. So the
    memory says in an attribute that none is made (``no_rw_check``, known to Yosys), and sees to it.

    Timing: data in the cycle after its address, held until the next read.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a word.
    depth : int
        Words, at least 1.
    granularity : int, optional
        Bits for each of which there is a write enable; all of a word if not given.
    shallow : bool
        If true, block RAM is used even for few words; otherwise synthesis chooses.
    apart : bool
        The user never reads the word that is being written: nothing is compared, and an assertion watches.
    careless : bool
        The user may read the word that is being written, but then what comes is not used: nothing is compared.

    Members
    -------
    write_enable : ``In``, write_address : ``In``, write_data : ``In(shape)``
        Write port.
    read_enable : ``In(1)``, read_address : ``In``, read_data : ``Out(shape)``
        Read port.
    """

    def __init__(
        self, *, shape: ShapeLike, depth: int, granularity: int | None = None, shallow: bool = False,
        apart: bool = False, careless: bool = False,
    ):
        self.shape, self.depth, self.granularity = shape, depth, granularity
        self.shallow, self.apart, self.careless = shallow, apart, careless
        width = Shape.cast(shape).width
        super().__init__({
            "write_enable": In(width // granularity if granularity else 1), "write_address": In(range(depth)),
            "write_data": In(shape),
            "read_enable": In(1), "read_address": In(range(depth)), "read_data": Out(shape),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = memory.Memory(
            shape=self.shape, depth=self.depth, init=[],
            attrs={"no_rw_check": 1, **({"ram_style": "block"} if self.shallow else {})},
        )
        write, read = words.write_port(granularity=self.granularity), words.read_port()
        collides, heeds = Signal(), Signal()
        m.d.comb += [
            collides.eq(self.write_enable.any() & (self.write_address == self.read_address)),
            heeds.eq(0 if self.apart or self.careless else collides),
            write.en.eq(self.write_enable), write.addr.eq(self.write_address), write.data.eq(self.write_data),
            read.en.eq(self.read_enable & ~heeds), read.addr.eq(self.read_address),
            self.read_data.eq(read.data),
        ]
        if self.apart:
            m.d.sync += Assert(~(self.read_enable & collides), "the word that is being written is read")
        return m
