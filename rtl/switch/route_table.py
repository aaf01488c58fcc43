"""Unicast table of a switch: NodeID to port."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.registers import SWITCH_PAGE

PORT_BITS = SWITCH_PAGE["table_port"].width


class RouteLookupSignature(wiring.Signature):
    """Look-up in the unicast table, seen from whoever asks.

    Members
    -------
    enable, node_id : ``Out``
        The port of this node is asked for.
    port : ``In(6)``
        It comes in the cycle after.
    """

    def __init__(self):
        super().__init__({"enable": Out(1), "node_id": Out(formats.NODE_BITS), "port": In(PORT_BITS)})


class RouteTable(wiring.Component):
    """Maps each NodeID to a port; all ports of the switch can ask at once.

    After a reset every entry is cleared, one a cycle: until then ``write`` is not ready.

    Timing: `port` answers the `node_id` of the cycle before. A write counts for the look-ups of its own cycle already.

    Parameters
    ----------
    n_lookups : int
        Look-ups at once.
    entries : int
        NodeIDs that the table covers, from 0. A power of two, at least 2.

    Members
    -------
    write : ``In(stream.Signature({node_id, port}))``
        Entries to write. NodeIDs beyond the table have no effect.
    default_port : ``In(6)``
        Port of NodeIDs beyond the table.
    lookup : array of `n_lookups` ``In(RouteLookupSignature())``
        Look-ups.
    """

    def __init__(self, *, n_lookups: int, entries: int):
        if not isinstance(n_lookups, int) or n_lookups < 1:
            raise ValueError(f"n_lookups must be a positive integer, not {n_lookups!r}")
        if not isinstance(entries, int) or entries < 2 or entries & (entries - 1):
            raise ValueError(f"entries must be a power of two of at least 2, not {entries!r}")
        self.n_lookups = n_lookups
        self.entries = entries
        self.index_bits = (entries - 1).bit_length()
        super().__init__({
            "write": In(stream.Signature(data.StructLayout({"node_id": formats.NODE_BITS, "port": PORT_BITS}))),
            "default_port": In(PORT_BITS),
            "lookup": In(RouteLookupSignature()).array(n_lookups),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.store = store = memory.Memory(shape=PORT_BITS, depth=self.entries, init=[])
        write = store.write_port()

        # A walk over all entries after reset, then writes as they come.
        walk = Signal(range(self.entries + 1))
        clearing = walk != self.entries
        entry = self.write.payload
        with m.If(clearing):
            m.d.sync += walk.eq(walk + 1)
        m.d.comb += [
            self.write.ready.eq(~clearing),
            write.addr.eq(Mux(clearing, walk, entry.node_id)),
            write.data.eq(Mux(clearing, 0, entry.port)),
            write.en.eq(clearing | (self.write.valid & ~entry.node_id[self.index_bits:].any())),
        ]

        for lookup in self.lookup:
            read = store.read_port(transparent_for=(write,))
            beyond = Signal()
            m.d.comb += [
                read.addr.eq(lookup.node_id), read.en.eq(lookup.enable),
                lookup.port.eq(Mux(beyond, self.default_port, read.data)),
            ]
            with m.If(lookup.enable):
                m.d.sync += beyond.eq(lookup.node_id[self.index_bits:].any())
        return m
