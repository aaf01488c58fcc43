"""Membership of a NIC in multicast groups: keeps the packets of its groups, discards the others."""

from amaranth import Array, Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.registers import CONTROL_PAGE
from rtl.abi import register_layout, word
from rtl.interface import PacketSignature

GROUP_BITS = CONTROL_PAGE["group_select"].width
"""Bits of the number of an entry."""

GroupEntry = register_layout(CONTROL_PAGE["group_entry"])
"""The register ``group_entry``."""


class GroupsSignature(wiring.Signature):
    """Entries for the groups that this NIC has joined, seen from the registers.

    Members
    -------
    select : ``Out(8)``
        An entry.
    entry : ``In(GroupEntry)``
        What it holds; entries that are not there are not joined.
    write : ``Out(stream.Signature(GroupEntry))``
        Writes that entry. Taken at once; no effect on entries that are not there.
    """

    def __init__(self):
        super().__init__({
            "select": Out(GROUP_BITS), "entry": In(GroupEntry), "write": Out(stream.Signature(GroupEntry)),
        })


class GroupFilter(wiring.Component):
    """Passes packets on, but for multicasts of groups that this NIC has not joined, and those that it has sent itself.

    Where groups share a tree, switches deliver packets of all of them to the members of each: so it is the NIC that
    decides, by the MGID in `dest_id`. A multicast that is passed on gets this NIC's NodeID as its `dest_id`, so that
    what comes behind, above all the key in the packet buffer, need not know of groups.

    Timing: a cycle for a multicast, none for other packets. One that is discarded takes as many cycles as one that is
    passed on at once.

    Parameters
    ----------
    data_width : int
        Bits of a beat: 64, 128, 256 or 512.
    n_groups : int
        Entries, 1 to 256, which are associative: any group in any entry.

    Members
    -------
    i, o : ``In(PacketSignature(data_width))``, ``Out(PacketSignature(data_width))``
        Packets.
    node_id : ``In(24)``
        NodeID of this NIC.
    select : ``In(8)``
        An entry.
    entry : ``Out(GroupEntry)``
        What it holds; entries that are not there are not joined.
    write : ``In(stream.Signature(GroupEntry))``
        Writes that entry. Taken at once; no effect on entries that are not there.
    not_joined : ``Out(1)``
        Pulse: a packet is being discarded.
    """

    def __init__(self, *, data_width: int, n_groups: int):
        if not 1 <= n_groups <= 1 << GROUP_BITS:
            raise ValueError(f"n_groups must be 1 to {1 << GROUP_BITS}, not {n_groups!r}")
        self.n_groups = n_groups
        super().__init__({
            "i": In(PacketSignature(data_width)),
            "o": Out(PacketSignature(data_width)),
            "node_id": In(formats.NODE_BITS),
            "select": In(GROUP_BITS),
            "entry": Out(GroupEntry),
            "write": In(stream.Signature(GroupEntry)),
            "not_joined": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        n_groups = self.n_groups
        joined = Signal(n_groups)
        mgids = Array(Signal(formats.NODE_BITS, name=f"mgid_{k}") for k in range(n_groups))

        # Registers.
        chosen, is_joined = Signal(formats.NODE_BITS), Signal()
        m.d.comb += [
            self.write.ready.eq(1),
            self.entry.eq(word(CONTROL_PAGE["group_entry"], mgid=chosen, joined=is_joined)),
        ]
        for k, mgid in enumerate(mgids):
            with m.If(self.select == k):
                m.d.comb += [chosen.eq(mgid), is_joined.eq(joined[k])]
                with m.If(self.write.valid):
                    m.d.sync += [mgid.eq(self.write.payload.mgid), joined[k].eq(self.write.payload.joined)]

        # A multicast waits a cycle for its verdict, and keeps it, whatever is written meanwhile.
        header = self.i.header.payload
        # The groups that it is compared with are summed up by fours: the verdict begins late in a long path.
        fours = [range(at, min(at + 4, n_groups)) for at in range(0, n_groups, 4)]
        member = Signal(len(fours))
        own, judged = Signal(), Signal()
        waits, drop = header.multicast & ~judged, header.multicast & (~member.any() | own)
        in_payload, dropping = Signal(), Signal()
        connect(m, flipped(self.i), flipped(self.o))
        m.d.sync += judged.eq(self.i.header.valid & ~self.i.header.ready)
        with m.If(~judged):
            m.d.sync += [
                own.eq(header.source_id == self.node_id),
                *(
                    member[at].eq(Cat(joined[k] & (header.dest_id == mgids[k]) for k in four).any())
                    for at, four in enumerate(fours)
                ),
            ]
        with m.If(waits):
            m.d.comb += [self.o.header.valid.eq(0), self.i.header.ready.eq(0)]
        with m.If(header.multicast):
            m.d.comb += self.o.header.payload.dest_id.eq(self.node_id)
        with m.If(~in_payload & judged & drop):
            m.d.comb += [self.o.header.valid.eq(0), self.i.header.ready.eq(1), self.not_joined.eq(self.i.header.valid)]
        with m.If(in_payload & dropping):
            m.d.comb += [self.o.payload.valid.eq(0), self.i.payload.ready.eq(1)]

        with m.If(self.i.header.valid & self.i.header.ready):
            m.d.sync += [in_payload.eq(header.length != 0), dropping.eq(drop)]
        with m.If(self.i.payload.valid & self.i.payload.ready & self.i.payload.payload.last):
            m.d.sync += in_payload.eq(0)
        return m
