"""What the descriptor fields mean: from a descriptor, a context and a packet to the pass that is to be run."""

from types import SimpleNamespace

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import Operand, PacketType, Right
from firmware_models.config import Config
from rtl.abi import DescriptorControl, PacketHeader
from rtl.cou.command import CouShapes, Select, Source
from rtl.interface import ADDRESS_BITS


def record_layout(shapes: CouShapes) -> data.StructLayout:
    """What a context remembers from one look at it to the next."""
    return data.StructLayout({
        "pulse": formats.PULSE_BITS,
        "offset": 32,  # of the pulse in each block
        "bytes": shapes.bytes,  # that the pulse takes of a full block
        "measured": 1,  # the fields of the slice are those of the current descriptor; they are if there is one block
        "position": shapes.result_bytes,  # of the slice in the intermediate result
        "size": shapes.result_bytes,  # of the slice
        "start": 32,  # of its first piece in the message
        "pieces": shapes.pieces,
        "clear": 1,  # the intermediate result has to be zeroed before anything else
        "consumed": 16,  # packets, cumulative over the sequence
        "has_data": 1,  # some pass has left an intermediate result
        "loaded": 1,  # the operand of the current descriptor is in the operand memory
        "middle": 1,  # the current descriptor has had a pass
        "final": 1,  # the pass being executed is the descriptor's last
        "finished": 1,  # … and the sequence's
    })


def begin(record, start, blocks) -> list:
    """Statements that make `record` that of a pulse that begins; until it is measured, its slice is the whole pulse."""
    return [
        record.eq(0), record.pulse.eq(start.pulse), record.offset.eq(start.offset), record.bytes.eq(start.bytes),
        record.size.eq(start.bytes), record.start.eq(start.offset), record.pieces.count.eq(1),
        record.pieces.bytes.eq(start.bytes), record.measured.eq(~blocks.cut), record.clear.eq(blocks.clear),
    ]


class PassPlanner(wiring.Component):
    """Decodes the current descriptor of a context; combinational, but if ``cou`` is pipelined some of what follows
    from `record` and `desc` comes a cycle after them.

    Semantics: the descriptor's local operand first, then the packets in SeqID order, each replacing or reducing or
    merely triggering (NIC paper, section 1.2 and figure 2); with the last one the result leaves. All of that happens to
    the descriptor's slice of the pulse. An address that a packet brings means nothing to a message in blocks.

    Members
    -------
    record, desc, operation, expired : ``In``
        The context, its descriptor, its operation, and whether that is being given up.
    packet, packet_there : ``In``
        Header of the packet at hand.
    node_id : ``In(24)``
        NodeID of this NIC.
    window_ok : ``In(1)``
        An address that had to be checked belongs to the VP.
    needs_load, needs_packet, sends, foreign_address, mismatch : ``Out(1)``
        What has to be done first: load the operand; wait for a packet; take a credit; have the address checked.
        `mismatch`: the packet's length is not the slice's, its data is ignored.
    query : ``Out({addr, bytes})``
        The address to be checked; where the descriptor says it, the whole result.
    after : ``Out(record)``
        The context's record once the pass has been given away.
    run : ``Out(run)``
        The pass; what the trigger knows is 0: `packet`, `key`, the header's `tag`, `loan` and `want`, and the numbers
        of context and job.
    """

    def __init__(self, config: Config):
        self.config = config
        shapes = CouShapes(config)
        layout = record_layout(shapes)
        super().__init__({
            "record": In(layout), "desc": In(DescriptorControl), "operation": In(shapes.operation),
            "expired": In(1), "packet": In(PacketHeader), "packet_there": In(1),
            "node_id": In(formats.NODE_BITS), "window_ok": In(1),
            "needs_load": Out(1), "needs_packet": Out(1), "sends": Out(1), "foreign_address": Out(1),
            "mismatch": Out(1), "query": Out(data.StructLayout({"addr": ADDRESS_BITS, "bytes": 32, "right": 2})),
            "after": Out(layout), "run": Out(shapes.run),
        })

    def outputs(self) -> SimpleNamespace:
        """A signal for each output, under its name: a plan that can be kept."""
        names = (name for name, member in self.signature.members.items() if member.flow is Out)
        return SimpleNamespace(**{name: Signal(self.signature.members[name].shape, name=name) for name in names})

    def elaborate(self, platform):
        m = Module()
        record, desc, operation, packet, run = self.record, self.desc, self.operation, self.packet, self.run
        # A pass that clears the intermediate result does nothing else.
        go_on = ~self.expired & ~record.clear
        # Comparisons of the context with its descriptor.
        some, packets_left, one_left, fits, brings_address = (
            Signal(name=name) for name in ("some", "packets_left", "one_left", "fits", "brings_address")
        )
        behind = Signal(1 + len(record.consumed))
        staged = m.d.sync if self.config.datapath.is_pipelined("cou") else m.d.comb
        staged += [
            behind.eq(record.consumed + 1),
            some.eq(record.size != 0), packets_left.eq(record.consumed != desc.cp_count),
            one_left.eq(behind == desc.cp_count), fits.eq(packet.length == record.size),
            brings_address.eq(packet.swap_addr & ~operation.blocks.cut),
        ]

        more = Signal()
        ends = Signal()
        final = Signal()
        m.d.comb += [
            more.eq((self.packet_there | packets_left) & ~record.clear),
            ends.eq(more & packet.coll_end),
            final.eq(ends | ~more | one_left),
            self.needs_packet.eq(more),
        ]

        # Operand a: what the descriptor says in its first pass, what that left behind in the others.
        first = ~record.middle
        from_outside = (desc.operand == Operand.PAYLOAD) | (desc.operand == Operand.MEMORY)
        m.d.comb += self.needs_load.eq(first & from_outside & ~record.loaded & some & go_on)
        with m.If(record.clear):
            m.d.comb += run.a.eq(Source.ZERO)
        with m.Elif(record.middle | (desc.operand == Operand.INTERMEDIATE)):
            m.d.comb += run.a.eq(Mux(record.has_data, Source.RESULT, Source.ZERO))
        with m.Else():
            m.d.comb += run.a.eq(Mux(record.loaded, Source.OPERAND, Source.ZERO))

        # Operand b: the packet, if it has something to say and is as long as it should be.
        swap = packet.swap_data | desc.swap_local_data
        wants_data = more & (swap | desc.reduce_flag) & go_on
        use = Signal()
        m.d.comb += [
            use.eq(wants_data & fits & some),
            self.mismatch.eq(wants_data & ~fits),
            run.use_packet.eq(use),
            run.datatype.eq(desc.datatype), run.operator.eq(desc.operator),
        ]
        with m.If(~use):
            m.d.comb += run.select.eq(Select.PASS_A)
        with m.Elif(swap | (first & (desc.operand == Operand.NONE))):
            m.d.comb += run.select.eq(Select.PASS_B)
        with m.Else():
            m.d.comb += run.select.eq(Select.COMBINE)

        # Where the result goes: a packet that ends the collective here stops it from being sent on.
        writes = ((final & desc.write_back) | ends) & some & go_on
        brought = more & brings_address
        m.d.comb += [
            self.sends.eq(final & desc.cp & ~ends & go_on),
            self.foreign_address.eq(writes & more & (brought | ~desc.write_back)),
            run.output.write_back.eq(writes & (~self.foreign_address | self.window_ok)),
            run.output.result_addr.eq(Mux(brought, packet.addr, desc.result_addr + record.start)),
            run.output.send.eq(self.sends), run.output.position.eq(record.position),
            run.output.bytes.eq(record.size), run.output.pieces.eq(record.pieces),
            self.query.addr.eq(Mux(brought, packet.addr, desc.result_addr)),
            self.query.bytes.eq(Mux(brought, record.size, operation.length)),
            # Who names the address needs the right: a peer with SwapRemoteAddr, or this VP.
            self.query.right.eq(Mux(brought, Right.REMOTE_WRITE, Right.LOCAL_WRITE)),
        ]
        header = run.output.header
        unused = [field.name for field in formats.PACKET_HEADER.fields if field.is_reserved]
        m.d.comb += [
            [header[name].eq(0) for name in ("fragment", "credits", "tag", "loan", "want", "status", *unused)],
            header.type.eq(PacketType.COLLECTIVE), header.version.eq(formats.PACKET_VERSION),
            header.seq_id.eq(desc.out_seq_id), header.job_id.eq(operation.job_id),
            header.swap_data.eq(desc.swap_remote_data), header.swap_addr.eq(desc.swap_remote_addr),
            header.coll_end.eq(desc.coll_end_flag), header.peer.eq(desc.peer), header.length.eq(record.size),
            header.dest_id.eq(desc.dest_id), header.multicast.eq(desc.multicast), header.mlid.eq(desc.mlid),
            header.dest_vp.eq(Mux(desc.swap_local_vp & more, packet.source_vp, desc.dest_vp)),
            header.source_vp.eq(operation.vp), header.source_id.eq(self.node_id), header.pulse.eq(record.pulse),
            header.addr.eq(Mux(desc.swap_remote_addr, desc.remote_addr + record.offset, 0)),
        ]

        # The packet is done with; its sender gets the credit back under the sender's own peer number.
        m.d.comb += [
            run.consume.eq(more),
            run.credit.job_id.eq(operation.job_id), run.credit.peer.eq(packet.peer),
            run.credit.dest_id.eq(packet.source_id), run.credit.dest_vp.eq(packet.source_vp),
            run.credit.source_vp.eq(operation.vp), run.credit.place.eq(packet.tag), run.credit.credits.eq(1),
            run.credit.loan.eq(packet.loan & ~packet.multicast), run.credit.want.eq(packet.want & ~packet.multicast),
            run.packet.eq(0), run.key.eq(0), run.output.context.eq(0), run.output.job.eq(0),
        ]

        m.d.comb += [
            self.after.eq(record),
            self.after.consumed.eq(record.consumed + more), self.after.has_data.eq(1), self.after.clear.eq(0),
            self.after.middle.eq(~record.clear), self.after.measured.eq(record.measured & ~record.clear),
            self.after.final.eq((final & ~record.clear) | self.expired),
            self.after.finished.eq((final & desc.ct & ~record.clear) | ends | self.expired),
        ]
        return m
