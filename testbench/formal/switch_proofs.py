"""Proofs of the switch."""

from testbench.formal.proof import Mutation, Proof

_STORE = "rtl.switch.channel_store"
_QUEUES = "rtl.switch.channel_queues"
_OUTPUT = "rtl.switch.output_port"
_GIVE_UP = "rtl.switch.give_up"
_ROUTES = "rtl.switch.route_table"
_MFT = "rtl.switch.multicast_table"
_CHECK = "rtl.switch.source_check"
_CONTRACTS = "testbench.formal.contracts.switch"

SWITCH_PROOFS: tuple[Proof, ...] = (
    Proof(
        name="switch-buffer",
        claim="packets are read whole and unchanged in any order, names are unique, granules suffice",
        contract=f"{_CONTRACTS}:ChannelStoreContract",
        parameters={"n_flits": 3, "granule_flits": 2},
        depth=10, quick=False,
        mutations=(
            Mutation(
                name="leaks-granules", module=_STORE,
                old="leaving.eq(reader.read & ~open_here & (at_end | reader.last)),",
                new="leaving.eq(reader.read & ~open_here & at_end),",
            ),
            Mutation(
                name="frees-for-the-first-copy", module=_STORE, old="back.i.valid.eq(leaving & reader.free),",
                new="back.i.valid.eq(leaving),",
            ),
            Mutation(
                name="reads-too-soon", module=_STORE, old="reader.available.eq(~open_here | written),",
                new="reader.available.eq(1),",
            ),
            Mutation(
                name="link-seen-late", module=_STORE, old="get_link = chain.read_port(transparent_for=(put_link,))",
                new="get_link = chain.read_port()",
            ),
        ),
    ),
    Proof(
        name="switch-buffer-readers",
        claim="the same with two readers that read different packets at once",
        contract=f"{_CONTRACTS}:ChannelStoreContract",
        parameters={"n_flits": 3, "granule_flits": 2, "n_readers": 2},
        depth=10, quick=False,
        mutations=(
            Mutation(
                name="forgets-what-the-second-returns", module=_STORE,
                old="back.i.valid.eq(leaving & reader.free),",
                new="back.i.valid.eq(leaving & reader.free & (self.readers[0].read | (reader is self.readers[0]))),",
            ),
            Mutation(
                name="link-seen-late", module=_STORE, old="get_link = chain.read_port(transparent_for=(put_link,))",
                new="get_link = chain.read_port()",
            ),
        ),
    ),
    Proof(
        name="switch-queues",
        claim="packets are taken in their turn, each once, multicasts once for each port",
        contract=f"{_CONTRACTS}:ChannelQueuesContract",
        parameters={"n_names": 3},
        depth=8, quick=False,
        mutations=(
            Mutation(
                name="joins-what-was-taken", module=_QUEUES, old="joins.eq((queue & filled_now).any()),",
                new="joins.eq((queue & filled).any()),",
            ),
            Mutation(
                name="forgets-copies", module=_QUEUES, old="ports.eq(Mux(self.take_mc, rest, self.mc_ports)),",
                new="ports.eq(self.mc_ports),",
            ),
            Mutation(
                name="leaves-after-the-first-copy", module=_QUEUES, old="self.take_mc & ~rest.any())),",
                new="self.take_mc)),",
            ),
            Mutation(
                name="link-seen-late", module=_QUEUES, old="get = links.read_port(transparent_for=(put,))",
                new="get = links.read_port()",
            ),
        ),
    ),
    Proof(
        name="switch-credits",
        claim="credits of an output are conserved; what is sent towards it has room in front of the link; a packet is "
        "sent whole or discarded whole, the latter only after a window without room for any packet",
        contract=f"{_CONTRACTS}:OutputCreditContract",
        parameters={"n_credits": 4},
        depth=16, quick=False,
        any_memory=False,
        mutations=(
            Mutation(
                name="free-flits", module=_OUTPUT,
                old="following.eq(level + Mux(returned, 1, 0) - (self.sent[vc] & ~give_up.drains)),",
                new="following.eq(Mux(returned, level + 1, level - (self.sent[vc] & ~give_up.drains))),",
            ),
            Mutation(
                name="forgets-what-is-under-way", module=_OUTPUT, old="(fifo.level <= _FIFO_DEPTH - 2)",
                new="(fifo.level <= _FIFO_DEPTH - 1)",
            ),
            Mutation(
                name="room-for-one-less", module=_OUTPUT, old="room.eq(following > sizes.longest),",
                new="room.eq(following >= sizes.longest),",
            ),
            Mutation(
                name="passes-for-ever", module=_OUTPUT, old="m.d.sync += [passed.eq(0), yields.eq(~yields)]",
                new="m.d.sync += passed.eq(0)",
            ),
            Mutation(
                name="yields-for-ever", module=_OUTPUT, old="m.d.sync += [passed.eq(0), yields.eq(~yields)]",
                new="m.d.sync += [passed.eq(0), yields.eq(1)]",
            ),
            Mutation(
                name="discarded-flits-cost-credits", module=_OUTPUT, old="(self.sent[vc] & ~give_up.drains)),",
                new="self.sent[vc]),",
            ),
            Mutation(
                name="cut-in-two", module=_GIVE_UP, old="with m.Elif(~self.holds & ~self.sent):",
                new="with m.Elif(~self.sent):",
            ),
            Mutation(
                name="given-up-for-a-moment", module=_GIVE_UP, old="self.window_ended & is_stuck & ~self.has_room",
                new="self.window_ended & ~self.has_room",
            ),
        ),
    ),
    Proof(
        name="switch-routes",
        claim="a look-up gives the port written last, 0 before, the default port beyond the table",
        contract=f"{_CONTRACTS}:RouteTableContract",
        depth=14,
        mutations=(
            Mutation(
                name="aliases", module=_ROUTES, old="(self.write.valid & ~entry.node_id[self.index_bits:].any())",
                new="self.write.valid",
            ),
            Mutation(
                name="does-not-clear", module=_ROUTES, old="write.en.eq(clearing | ", new="write.en.eq(~clearing & ",
            ),
        ),
    ),
    Proof(
        name="switch-multicast-table",
        claim="a look-up gives the ports written last, none before, none for unknown MLIDs; reads give the same",
        contract=f"{_CONTRACTS}:MulticastTableContract",
        depth=24,
        mutations=(
            Mutation(
                name="any-high-bits", module=_MFT, old="known.eq(lookup.mlid[self.index_bits:] == first_index)",
                new="known.eq(lookup.mlid[14:] == 3)",
            ),
            Mutation(
                name="writes-all-groups", module=_MFT, old="self.write.valid & (entry.group == group) & ",
                new="self.write.valid & ",
            ),
        ),
    ),
    Proof(
        name="source-check",
        claim="each packet is judged once; of another source, or without one, it goes nowhere; else to its outputs",
        contract="testbench.formal.contracts.source_check:SourceCheckContract",
        parameters={"data_width": 64},
        mode="prove",
        depth=20,
        mutations=(
            Mutation(name="no-source-is-a-good-one", module=_CHECK, old="(ended | other)", new="other"),
            Mutation(
                name="outputs-of-a-later-cycle", module=_CHECK, old="Mux(waits, kept, self.ports)", new="self.ports",
            ),
            Mutation(
                name="judged-before-the-source", module=_CHECK, old="judged.eq(~check | ended | self.here)",
                new="judged.eq(1)",
            ),
            Mutation(
                name="judged-twice", module=_CHECK, old="waits.eq((dest_given | waits) & ~judged)",
                new="waits.eq(dest_given | (waits & ~judged))",
            ),
            Mutation(
                name="forged-copies", module=_CHECK, old="Mux(self.forged, 0, Mux(waits,",
                new="Mux(self.forged & ~self.multicast, 0, Mux(waits,",
            ),
            Mutation(
                name="sources-below-it", module=_CHECK, old="!= self.source.node_id", new="> self.source.node_id",
            ),
        ),
    ),
    Proof(
        name="source-check-wide",
        claim="the same where the source stands in the flit of the destination",
        contract="testbench.formal.contracts.source_check:SourceCheckContract",
        parameters={"data_width": 256},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="source-of-the-next-flit", module=_CHECK, old="dest_given & check & differs",
                new="dest_given & check & other",
            ),
        ),
    ),
)
