"""Multicast forwarding table (MFT) of a switch: colour to ports."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.registers import MFT_GROUP_PORTS, SWITCH_PAGE

COLOUR_BITS = 14
"""Colours are numbered from 0: MLID 0xC000 and up."""
GROUP_PORTS = MFT_GROUP_PORTS
"""Ports of one mask of the registers."""
GROUP_BITS = SWITCH_PAGE["mft_block"]["group"].width
MAX_ENTRIES = 1 << COLOUR_BITS


def mft_address() -> data.StructLayout:
    """An address in the table: colour, and group of 16 ports."""
    return data.StructLayout({"colour": COLOUR_BITS, "group": GROUP_BITS})


class MulticastLookupSignature(wiring.Signature):
    """Look-up in the multicast table, seen from whoever asks.

    Members
    -------
    enable, mlid : ``Out``
        The ports of this MLID are asked for.
    ports : ``In(radix)``
        They come in the cycle after.
    """

    def __init__(self, radix: int):
        super().__init__({"enable": Out(1), "mlid": Out(formats.MLID_BITS), "ports": In(radix)})


class MulticastTable(wiring.Component):
    """Maps each MLID to a set of ports; all ports of the switch can ask at once.

    After a reset every entry is cleared, one a cycle: until then ``write`` is not ready, and look-ups may give any
    ports.
    MLIDs below the first colour and beyond the table have no port.

    Timing: `ports` answers the `mlid` of the cycle before, `mask` the `address` of the cycle before. A write counts for
    the look-ups of its own cycle already.

    Parameters
    ----------
    n_lookups : int
        Look-ups at once, beside that of the registers.
    radix : int
        Ports of the switch.
    entries : int
        Colours that the table covers. A power of two, 16 to 16384.

    Members
    -------
    write : ``In(stream.Signature({colour, group, mask}))``
        Masks to write. Colours beyond the table and ports beyond the switch have no effect.
    lookup : array of `n_lookups` ``In(MulticastLookupSignature(radix))``
        Look-ups.
    address : ``In({colour, group})``
        Mask that is to be read.
    mask : ``Out(16)``
        The mask; 0 beyond the table.
    clearing : ``Out(1)``
        Entries are being cleared.
    """

    def __init__(self, *, n_lookups: int, radix: int, entries: int):
        if not isinstance(n_lookups, int) or n_lookups < 1:
            raise ValueError(f"n_lookups must be a positive integer, not {n_lookups!r}")
        if not isinstance(radix, int) or not 2 <= radix <= 64:
            raise ValueError(f"radix must be from 2 to 64, not {radix!r}")
        if not isinstance(entries, int) or not 16 <= entries <= MAX_ENTRIES or entries & (entries - 1):
            raise ValueError(f"entries must be a power of two from 16 to {MAX_ENTRIES}, not {entries!r}")
        self.n_lookups = n_lookups
        self.radix = radix
        self.entries = entries
        self.index_bits = (entries - 1).bit_length()
        super().__init__({
            "write": In(stream.Signature(data.StructLayout({
                "colour": COLOUR_BITS, "group": GROUP_BITS, "mask": GROUP_PORTS,
            }))),
            "lookup": In(MulticastLookupSignature(radix)).array(n_lookups),
            "address": In(mft_address()),
            "mask": Out(GROUP_PORTS),
            "clearing": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        # A walk over all entries after reset, then writes as they come.
        walk = Signal(range(self.entries + 1))
        entry = self.write.payload
        m.d.comb += [
            self.clearing.eq(walk != self.entries),
            self.write.ready.eq(~self.clearing),
        ]
        with m.If(self.clearing):
            m.d.sync += walk.eq(walk + 1)

        # One memory for each group of ports, written on its own.
        beyond = Signal()
        m.d.sync += beyond.eq(self.address.colour[self.index_bits:].any())
        groups, masks = [], []
        for group, first in enumerate(range(0, self.radix, GROUP_PORTS)):
            width = min(GROUP_PORTS, self.radix - first)
            store = memory.Memory(shape=width, depth=self.entries, init=[])
            m.submodules[f"store_{group}"] = store
            write, read = store.write_port(), store.read_port()
            m.d.comb += [
                write.addr.eq(Mux(self.clearing, walk, entry.colour)),
                write.data.eq(Mux(self.clearing, 0, entry.mask)),
                write.en.eq(self.clearing | (
                    self.write.valid & (entry.group == group) & ~entry.colour[self.index_bits:].any()
                )),
                read.addr.eq(self.address.colour),
            ]
            groups.append([store.read_port(transparent_for=(write,)) for _ in self.lookup])
            chosen = Signal(name=f"chosen_{group}")
            m.d.sync += chosen.eq(self.address.group == group)
            masks.append(Mux(chosen & ~beyond, read.data, 0))
        m.d.comb += self.mask.eq(_any_of(masks))

        first_index = formats.FIRST_MLID >> self.index_bits
        for number, lookup in enumerate(self.lookup):
            known = Signal(name=f"known_{number}")
            ports = Cat(reads[number].data for reads in groups)
            m.d.comb += [
                *(reads[number].addr.eq(lookup.mlid) for reads in groups),
                *(reads[number].en.eq(lookup.enable) for reads in groups),
                lookup.ports.eq(Mux(known, ports, 0)),
            ]
            with m.If(lookup.enable):
                m.d.sync += known.eq(lookup.mlid[self.index_bits:] == first_index)
        return m


def _any_of(values: list) -> object:
    result = values[0]
    for value in values[1:]:
        result = result | value
    return result
