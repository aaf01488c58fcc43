"""A memory of flits that can be read and written at any byte."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.memory import BlockMemory


def rotate_up(value, lanes, *, bits: int):
    """`value` rotated towards higher bits by `lanes` times `bits`; `lanes` counts modulo its width."""
    for stage in range(len(lanes)):
        step = bits << stage
        value = Mux(lanes[stage], Cat(value[len(value) - step:], value[: len(value) - step]), value)
    return value


class ByteMemory(wiring.Component):
    """Flits at any byte address: beats with even and with odd numbers lie in memories of their own, so the two beats
    that an access may touch are reached in one cycle.

    Registers stand between the memories and the shifters that align the bytes.

    Timing: one write and one read per cycle. A write reaches the memory two cycles later. What is read comes in the
    cycle after the `read_advance` that follows, and stays until the next one. A read in the cycle in which a write to
    the same beat reaches the memory may give anything.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    n_bytes : int
        Size, a power of two; accesses wrap at the end.
    shallow : bool
        If true, the memory is in block RAM however shallow it is.

    Members
    -------
    write_enable, write_address : ``In``
        Writes to this byte and those behind it…
    write_data, write_first, write_count : ``In``
        … the `write_count` bytes (up to a beat) of the data from byte `write_first` on.
    read_enable, read_address : ``In``
        Reads this byte and those behind it.
    read_advance : ``In(1)``
        Takes what has been read into the register.
    read_data : ``Out(data_width)``
        A beat, the byte at `read_address` lowest.
    """

    def __init__(self, *, data_width: int, n_bytes: int, shallow: bool = False):
        self.data_width = data_width
        self.flit_bytes = data_width // 8
        if n_bytes & (n_bytes - 1) or n_bytes < 2 * self.flit_bytes:
            raise ValueError(f"n_bytes must be a power of two, at least {2 * self.flit_bytes}, not {n_bytes!r}")
        self.n_bytes, self.shallow = n_bytes, shallow
        self.lane_bits = (self.flit_bytes - 1).bit_length()
        address_bits = (n_bytes - 1).bit_length()
        super().__init__({
            "write_enable": In(1), "write_address": In(address_bits), "write_data": In(data_width),
            "write_first": In(self.lane_bits), "write_count": In(self.lane_bits + 1),
            "read_enable": In(1), "read_address": In(address_bits), "read_advance": In(1),
            "read_data": Out(data_width),
        })

    def elaborate(self, platform):
        m = Module()
        n_beats = self.n_bytes // self.flit_bytes
        lane_bits, flit_bytes = self.lane_bits, self.flit_bytes
        banks = []
        for parity in range(2):
            m.submodules[f"bank_{parity}"] = bank = BlockMemory(
                shape=self.data_width, depth=n_beats // 2, granularity=8, shallow=self.shallow, careless=True,
            )
            banks.append(bank)

        def beat_of(address, parity):
            """Address in a bank of the one of two successive beats that it holds."""
            beat = address[lane_bits:]
            return (beat + (1 - parity))[1: len(beat)] if parity == 0 else beat[1:]

        # A byte goes to the lane that its address says; lanes below the first one belong to the beat behind.
        put = Signal(data.StructLayout({
            name: len(getattr(self, f"write_{name}")) for name in ("address", "data", "first", "count")
        }))
        m.d.sync += [put[name].eq(getattr(self, f"write_{name}")) for name in put.shape().members]
        # Where nothing is written no byte is.
        with m.If(~self.write_enable):
            m.d.sync += put.count.eq(0)
        lane = put.address[:lane_bits]
        turned = Signal(self.data_width)
        lanes = Signal(lane_bits)
        wide = Signal(2 * flit_bytes)
        ones = Array(Const((1 << count) - 1, flit_bytes) for count in range(flit_bytes + 1))[put.count]
        m.d.comb += [
            lanes.eq(lane - put.first), turned.eq(rotate_up(put.data, lanes, bits=8)),
            wide.eq(ones << lane),
        ]
        write_odd = put.address[lane_bits]
        for parity, bank in enumerate(banks):
            own = wide[:flit_bytes] if parity == 1 else wide[flit_bytes:]
            other = wide[flit_bytes:] if parity == 1 else wide[:flit_bytes]
            m.d.sync += [
                bank.write_address.eq(beat_of(put.address, parity)), bank.write_data.eq(turned),
                bank.write_enable.eq(Mux(write_odd, own, other)),
            ]

        # Lanes from the first byte's on come from the beat of the address, those below from the one behind.
        at, odd = Signal(lane_bits), Signal()
        with m.If(self.read_enable):
            m.d.sync += [at.eq(self.read_address[:lane_bits]), odd.eq(self.read_address[lane_bits])]
        for parity, bank in enumerate(banks):
            m.d.comb += [
                bank.read_address.eq(beat_of(self.read_address, parity)), bank.read_enable.eq(self.read_enable),
            ]
        # Which of the two a byte comes from is found out on the way into the register.
        width = self.data_width
        from_odd = Cat(odd ^ (byte < at) for byte in range(flit_bytes))
        read_out = Cat(*(bank.read_data for bank in banks), from_odd, (-at)[:lane_bits])
        kept = Signal.like(read_out, name="kept", reset_less=True)
        with m.If(self.read_advance):
            m.d.sync += kept.eq(read_out)
        even_data, odd_data, from_odd, back = (
            kept[:width], kept[width:2 * width], kept[2 * width:2 * width + flit_bytes], kept[2 * width + flit_bytes:]
        )
        chosen = Cat(
            Mux(from_odd[byte], odd_data.word_select(byte, 8), even_data.word_select(byte, 8))
            for byte in range(flit_bytes)
        )
        m.d.comb += self.read_data.eq(rotate_up(chosen, back, bits=8))
        return m
