"""Meaning of the descriptor fields: from a descriptor, a context and a packet to a pass."""


from amaranth import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import Operand, PacketType, Right, Status
from firmware_models.abi.formats import PACKET_VERSION, TERMS_BITS
from rtl.cou.context_signatures import look_layout
from rtl.cou.shapes import CouShapes, Select, Source
from rtl.cou.step import Step
from rtl.cou.terms import differ, terms_of
from rtl.credit.layouts import notice_fields
from rtl.interface import ADDRESS_BITS, STATUS_BITS
from rtl.kit.step_pipeline import StepPipeline, StepValues
from rtl.kit.successor import is_next

CUTS = ("compare",)
"""Steps that end in registers."""


def progress_layout(shapes: CouShapes) -> data.StructLayout:
    """Progress of a context."""
    return data.StructLayout({
        "pulse": shapes.formats.pulse_bits,
        "offset": 32,  # of the pulse in each block
        "bytes": shapes.bytes,  # that the pulse takes of a full block
        "clear": 1,  # the intermediate result has to be zeroed before anything else
        "consumed": 16,  # packets, cumulative over the sequence
        "has_data": 1,  # some pass has left an intermediate result
        "in_operand": 1,  # … which lies in the operand memory still: it was merely sent from there
        "middle": 1,  # the current descriptor has had a pass
    })


def slice_layout(shapes: CouShapes) -> data.StructLayout:
    """Where the slice of a context's descriptor lies."""
    return data.StructLayout({
        "position": shapes.result_bytes,  # in the intermediate result
        "size": shapes.result_bytes,
        "start": 32,  # of its first piece in the message
        "pieces": shapes.pieces,
    })


def plan_layout(shapes: CouShapes) -> data.StructLayout:
    """The plan for a context.

    `fill`: the operand comes with the descriptor and is not loaded yet. `unsure`: the packet is only announced.
    `marked`: the packet says that its sender had an error; `differs`: that it is of another operation. `remarkable`:
    either of them, or `mismatch`.
    """
    return data.StructLayout({
        "context": shapes.context, "job": shapes.job, "position": shapes.position, "step": Step,
        "fill": 1, "unsure": 1, "load": shapes.load, "key": shapes.key, "wanted": 16, "consumed": 16,
        "query": data.StructLayout({"addr": ADDRESS_BITS, "bytes": 32, "right": 2}),
        "members": shapes.formats.member_bits, "sends": 1, "foreign": 1, "mismatch": 1, "brought_bytes": 16,
        "marked": 1, "marked_by": shapes.formats.node_bits, "mark": 8, "differs": 1, "brought_terms": TERMS_BITS,
        "remarkable": 1,
        "direct": 1, "final": 1, "ends": 1, "cut": 1, "clears": 1,
        "after": progress_layout(shapes), "run": shapes.run,
    })


def begin_progress(start) -> dict:
    """Fields of the progress of a pulse that begins which are not 0."""
    return {"pulse": start.pulse, "offset": start.offset, "bytes": start.bytes, "clear": start.clear}


def begin_slice(start) -> dict:
    """Fields of the slice of a pulse that begins: until it is measured, the whole pulse."""
    return {"size": start.bytes, "start": start.offset}


class PassPlanner(wiring.Component):
    """Decodes the current descriptor of a context.

    Semantics: the descriptor's local operand first, then the packets in SeqID order, each replacing or reducing or
    merely triggering (NIC paper, section 1.2 and figure 2); with the last one the result leaves. All of that happens to
    the descriptor's slice of the pulse. An address that a packet brings means nothing to a message in blocks.

    A pass that takes no packet and writes nothing leaves the intermediate result as it is, or in the operand memory: it
    can be sent from there (`direct`), beside the passes that combine. So can a slice that is sent from host memory and
    that no descriptor reads afterwards, of a message in blocks.

    Timing: `plan` is valid as many cycles after the inputs as there are :data:`CUTS`, one, and as long as they stay.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.

    Members
    -------
    context, look : ``In``
        A context, and its registers.
    progress, slice, desc, operation, expired : ``In``
        Progress, slice, descriptor and operation of the context; high if a time-out ends the operation.
    status : ``In``
        How the operation stands: what it sends after an error says so.
    packet : ``In``
        Header of the current packet.
    node_id : ``In(24)``
        NodeID of this NIC.
    plan : ``Out(plan_layout)``
        The plan. The trigger adds to the pass the header's `tag`, `loan` and `want`, and `foreign`: the
        result goes to an address that had to be checked.
    """

    def __init__(self, *, shapes: CouShapes):
        self.shapes = shapes
        super().__init__({
            "context": In(shapes.context), "look": In(look_layout(shapes)),
            "progress": In(progress_layout(shapes)), "slice": In(slice_layout(shapes)),
            "desc": In(shapes.control), "operation": In(shapes.operation), "expired": In(1),
            "status": In(STATUS_BITS), "packet": In(shapes.header), "node_id": In(shapes.formats.node_bits),
            "plan": Out(plan_layout(shapes)),
        })

    def elaborate(self, platform):
        m = Module()
        pipeline = StepPipeline(m, cuts=CUTS, stays=True)
        v = pipeline.run(
            None, ("compare", self._compare), ("consume", self._consume), ("route", self._route),
            ("combine", self._combine), ("stay", self._stay),
        )
        pipeline.finish()
        m.d.comb += [*self._step(v), *self._requests(v), *self._pass(v), *self._result(v)]
        return m

    def _compare(self, v: StepValues) -> dict:
        """Comparisons of the context with its descriptor and its packet."""
        progress, desc, packet = self.progress, self.desc, self.packet
        return {
            "has_bytes": self.slice.size != 0,
            "packets_left": progress.consumed != desc.cp_count,
            "one_left": is_next(progress.consumed, desc.cp_count),
            "fits": packet.length == self.slice.size, "bears_mark": packet.status != Status.OK,
            "other_terms": differ(packet, self.operation.terms),
            "brings_address": packet.swap_addr & ~self.operation.blocks.cut,
            "from_memory": desc.operand == Operand.MEMORY, "from_payload": desc.operand == Operand.PAYLOAD,
        }

    def _consume(self, v: StepValues) -> dict:
        """Two flags: there is a packet to take; it is the last one. A pass that clears the intermediate result
        does nothing else. An operation that a time-out ends does not wait for a packet that is only announced.
        """
        clear = self.progress.clear
        there = self.look.packet_there & (self.look.sure | ~self.expired)
        more = (there | v.packets_left) & ~clear
        ends = more & self.packet.coll_end
        return {
            "there": there, "go_on": ~self.expired & ~clear, "more": more, "ends": ends,
            "final": ends | ~more | v.one_left, "marked": more & v.bears_mark, "differs": more & v.other_terms,
        }

    def _route(self, v: StepValues) -> dict:
        """Where the result goes: a packet that ends the collective here stops it from being sent on."""
        desc = self.desc
        brought = v.more & v.brings_address
        writes = ((v.final & desc.write_back) | v.ends) & v.has_bytes & v.go_on
        return {
            "brought": brought, "writes": writes, "sends": v.final & desc.cp & ~v.ends & v.go_on,
            "foreign": writes & v.more & (brought | ~desc.write_back),
        }

    def _combine(self, v: StepValues) -> dict:
        """The operands. a: the descriptor's own in its first pass, the intermediate result in the others.

        b: the packet, if it brings data and has the right length.
        """
        progress, desc, packet = self.progress, self.desc, self.packet
        first = ~progress.middle
        swap = packet.swap_data | desc.swap_local_data
        wants_data = v.more & (swap | desc.reduce_flag) & v.go_on
        use = wants_data & v.fits & v.has_bytes
        left = Mux(progress.has_data, Mux(progress.in_operand, Source.OPERAND, Source.RESULT), Source.ZERO)
        wants_operand = first & ~self.look.loaded & v.has_bytes & v.go_on
        fills = wants_operand & v.from_payload
        fresh = Mux(self.look.loaded | fills, Source.OPERAND, Source.ZERO)
        source = Mux(progress.middle | (desc.operand == Operand.INTERMEDIATE), left, fresh)
        replaces = swap | (first & (desc.operand == Operand.NONE))
        return {
            "needs_load": wants_operand & v.from_memory, "fills": fills,
            "use": use, "mismatch": wants_data & ~v.fits,
            "source": Mux(progress.clear, Source.ZERO, source),
            "select": Mux(use, Mux(replaces, Select.PASS_B, Select.COMBINE), Select.PASS_A),
        }

    def _stay(self, v: StepValues) -> dict:
        """High if the intermediate result can stay where it is. Pulses of which a descriptor reads blocks that were
        merely sent take them through the intermediate result.
        """
        in_operand, cut = v.source == Source.OPERAND, self.operation.blocks.cut
        stays = (v.source == Source.RESULT) | in_operand & (~cut | v.final & self.operation.lazy)
        direct = ~v.more & ~v.writes & ~self.progress.clear & (stays | ~v.has_bytes)
        return {"direct": direct, "in_operand": direct & ~cut & in_operand}

    def _result(self, v: StepValues) -> list:
        """Effects of the pass on the context."""
        progress, desc, plan = self.progress, self.desc, self.plan
        clear = progress.clear
        return [
            plan.context.eq(self.context), plan.job.eq(self.look.job), plan.position.eq(self.look.position),
            plan.fill.eq(v.fills), plan.unsure.eq(v.there & ~self.look.sure),
            plan.cut.eq(self.operation.blocks.cut), plan.clears.eq(clear), plan.consumed.eq(progress.consumed),
            plan.sends.eq(v.sends), plan.foreign.eq(v.foreign), plan.direct.eq(v.direct),
            plan.mismatch.eq(v.mismatch), plan.brought_bytes.eq(self.packet.length),
            plan.marked.eq(v.marked), plan.marked_by.eq(self.packet.source_id), plan.mark.eq(self.packet.status),
            plan.differs.eq(v.differs), plan.remarkable.eq(v.mismatch | v.marked | v.differs),
            plan.brought_terms.eq(terms_of(self.packet)),
            plan.final.eq((v.final & ~clear) | self.expired),
            plan.ends.eq((v.final & desc.ct & ~clear) | v.ends | self.expired),
            plan.after.eq(progress), plan.after.consumed.eq(progress.consumed + v.more), plan.after.has_data.eq(1),
            plan.after.clear.eq(0), plan.after.middle.eq(~clear & ~plan.final), plan.after.in_operand.eq(v.in_operand),
        ]

    def _step(self, v: StepValues) -> list:
        """The next step: each one only if none before it applies."""
        absent, timed_out = v.more & ~v.there, self.expired & ~v.there
        step, earlier, statements = self.plan.step, 0, []
        for name, reason in (
            ("search", timed_out & absent), ("give_up", timed_out), ("load", v.needs_load), ("ask", absent),
            ("check", v.foreign), ("credit", v.sends), ("run", 1),
        ):
            statements.append(step[name].eq(reason & ~earlier if name != "search" else reason))
            earlier = earlier | reason
        return statements

    def _requests(self, v: StepValues) -> list:
        """Requests to the other parts of the unit."""
        progress, desc, operation, plan = self.progress, self.desc, self.operation, self.plan
        load, key = plan.load, plan.key
        return [
            load.context.eq(self.context), load.job.eq(self.look.job), load.position.eq(self.look.position),
            load.from_payload.eq(desc.operand == Operand.PAYLOAD), load.pieces.eq(self.slice.pieces),
            load.addr.eq(Mux(load.from_payload, 0, desc.local_addr) + self.slice.start),
            key.job_id.eq(operation.job_id), key.node_id.eq(self.node_id), key.vp.eq(operation.vp),
            key.seq_id.eq(progress.consumed + desc.seq_skip), key.pulse.eq(progress.pulse), key.fragment.eq(0),
            plan.wanted.eq(desc.cp_count - progress.consumed), plan.members.eq(desc.members),
            # The party that names the address needs the right: a peer with SwapRemoteAddr, or this VP. Where the
            # descriptor names the address, the whole result is asked for.
            plan.query.addr.eq(Mux(v.brought, self.packet.addr, desc.result_addr)),
            plan.query.bytes.eq(Mux(v.brought, self.slice.size, operation.length)),
            plan.query.right.eq(Mux(v.brought, Right.REMOTE_WRITE, Right.LOCAL_WRITE)),
        ]

    def _pass(self, v: StepValues) -> list:
        """The pass itself."""
        progress, desc, packet, operation = self.progress, self.desc, self.packet, self.operation
        run = self.plan.run
        output, header, credit = run.output, run.output.header, run.credit
        unused = [field.name for field in self.shapes.formats.packet_header.fields if field.is_reserved]
        return [
            run.a.eq(v.source), run.select.eq(v.select), run.use_packet.eq(v.use),
            run.datatype.eq(desc.datatype), run.operator.eq(desc.operator),
            output.context.eq(self.context), output.job.eq(self.look.job),
            output.write_back.eq(v.writes), output.send.eq(v.sends), output.position.eq(self.slice.position),
            output.bytes.eq(self.slice.size), output.pieces.eq(self.slice.pieces),
            output.result_addr.eq(Mux(v.brought, packet.addr, desc.result_addr + self.slice.start)),
            *(header[name].eq(0) for name in ("fragment", "credits", "tag", "loan", "want", *unused)),
            # The operation does not know yet of errors that this pass reports itself.
            header.status.eq(Mux(
                (self.status != Status.OK) | ~(v.marked | v.mismatch | v.differs), self.status,
                Mux(v.differs, Status.BAD_TERMS, Mux(v.marked, Status.PEER_ERROR, Status.LENGTH_MISMATCH)),
            )),
            header.type.eq(PacketType.COLLECTIVE), header.version.eq(PACKET_VERSION),
            header.seq_id.eq(desc.out_seq_id), header.job_id.eq(operation.job_id),
            header.swap_data.eq(desc.swap_remote_data), header.swap_addr.eq(desc.swap_remote_addr),
            header.coll_end.eq(desc.coll_end_flag), header.peer.eq(desc.peer), header.length.eq(self.slice.size),
            header.dest_id.eq(desc.dest_id), header.multicast.eq(desc.multicast), header.mlid.eq(desc.mlid),
            header.dest_vp.eq(Mux(desc.swap_local_vp & v.more, packet.source_vp, desc.dest_vp)),
            header.source_vp.eq(operation.vp), header.source_id.eq(self.node_id), header.pulse.eq(progress.pulse),
            header.addr.eq(Mux(desc.swap_remote_addr, desc.remote_addr + progress.offset, operation.terms)),
            # The packet has been consumed; its credit returns under the sender's own peer number.
            run.consume.eq(v.more), run.packet.eq(self.look.packet), run.key.eq(self.plan.key),
            credit.job_id.eq(operation.job_id), credit.source_vp.eq(operation.vp),
            *(credit[name].eq(value) for name, value in notice_fields(packet).items()),
        ]
