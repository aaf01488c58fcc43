"""Says what is wrong with a descriptor, taken by itself."""

from collections.abc import Collection

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from firmware_models.abi import formats
from firmware_models.abi.encoding import Datatype, Kind, Operand, Operator, P2pOp, Right, Status
from rtl.abi import Descriptor
from rtl.interface import WindowSignature
from rtl.queue.records import STATUS_BITS

ELEMENT_BYTES = {Datatype.DOUBLE_INT: 16, Datatype.FLOAT32: 4, Datatype.INT32: 4, Datatype.BYTE: 1}
"""Bytes of the elements that are not 8 bytes long."""


class DescriptorCheck(wiring.Component):
    """Validates the descriptor at hand of a VP; what it finds first, in the order below, is the answer.

    1. ``BAD_DESCRIPTOR``: reserved bits; unknown encodings; `source_vp` is not the queue's VP; a collective one with
       `p2p_op`, an operand that does not go with `kind`, `peer` out of range, a slice beyond the last block, or a
       multicast without receivers or with an `mlid` below 0xC000; a point-to-point one with `ch` or `ct`, a SEND that
       is not MP, a GET that is. A point-to-point descriptor may have anything in the fields that only collective ones
       use, an RDMA descriptor anything in its payload.
    2. ``UNSUPPORTED``: a point-to-point multicast, a GET where there is none, more than `n_blocks` blocks, blocks with
       SwapRemoteAddr, a reduction that is not in `supported`.
    3. ``BAD_LENGTH``: a payload of more than 64 bytes; `pulse_bytes` that is 0 or not a multiple of 64, with blocks of
       16; the slice's share of a pulse longer than the mtu, or that of all blocks than `intermediate_bytes`; 2**16
       pulses or more; a reduction, or blocks, of broken elements.
    4. ``BAD_ADDRESS``: memory outside of the windows, without the right, or not aligned to a flit. No bytes, no
       question.

    A slice is whole blocks from 0 to the last one; block_count itself, alone, is the slice without bytes.

    It begins by itself while the descriptor comes in, and is over before the descriptor may go.

    Timing: the answer stands 5 cycles after `numbers` rose and 2 after `fields`, and as long later as each window
    question takes.

    Parameters
    ----------
    mtu : int
        Largest `pulse_bytes`, a power of two.
    n_peers : int
        Bound of `peer`, a power of two.
    n_blocks, intermediate_bytes : int
        Most blocks of a message, and most bytes of them all in one pulse; powers of two, the latter at least the mtu.
    supported : collection of (Datatype, Operator)
        Reductions that this build has.
    get : bool
        Whether this build can GET.

    Members
    -------
    desc : ``In(Descriptor)``, vp : ``In(11)``
        The descriptor (its payload does not matter), and the VP of its queue.
    numbers, fields : ``In(1)``
        The lengths and the blocks are there; all but the payload is. Up until `gone`.
    gone : ``In(1)``
        Pulse: the descriptor has been dealt with. Not before `judged`.
    judged : ``Out(1)``, status : ``Out``
        The answer, a ``Status``; from then on until `gone`.
    window : ``Out(WindowSignature())``
        Window check.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(
        self, *, mtu: int, n_peers: int, n_blocks: int, intermediate_bytes: int,
        supported: Collection[tuple[Datatype, Operator]], get: bool = True,
    ):
        for name, value, low, high in (
            ("mtu", mtu, 64, 1 << 15), ("n_peers", n_peers, 1, 1 << formats.PEER_BITS), ("n_blocks", n_blocks, 1, 256),
            ("intermediate_bytes", intermediate_bytes, mtu, 1 << 20),
        ):
            if value & (value - 1) or not low <= value <= high:
                raise ValueError(f"{name} must be a power of two, {low} to {high}, not {value!r}")
        self.mtu, self.n_peers, self.supported = mtu, n_peers, tuple(supported)
        self.n_blocks, self.intermediate_bytes = n_blocks, intermediate_bytes
        self.get = get
        super().__init__({
            "moves": Out(1),
            "desc": In(Descriptor),
            "vp": In(formats.VP_BITS),
            "numbers": In(1),
            "fields": In(1),
            "gone": In(1),
            "judged": Out(1),
            "status": Out(STATUS_BITS),
            "window": Out(WindowSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        desc, status = self.desc, self.status
        collective, p2p = desc.c, ~desc.c
        mini = desc.kind == Kind.MP
        is_get = p2p & (desc.p2p_op == P2pOp.GET)
        from_memory = Mux(desc.c, desc.operand == Operand.MEMORY, ((desc.p2p_op == P2pOp.PUT) & ~mini) | is_get)
        from_payload = Mux(desc.c, desc.operand == Operand.PAYLOAD, (desc.p2p_op == P2pOp.SEND) | mini)

        def unknown(name: str):
            """Whether an enumerated field has a value that is no member."""
            field = formats.DESCRIPTOR[name]
            members = {int(member) for member in field.values}
            return Cat(desc[name] == v for v in range(field.max_value + 1) if v not in members).any()

        # The slice, and what a pulse takes of it and of all blocks. Numbers beyond `n_blocks` are refused in any case.
        block_bits = bits_for(self.n_blocks)
        n_slice = Signal(block_bits)
        all_bytes, slice_bytes = Signal(16 + block_bits), Signal(16 + block_bits)
        cut = desc.block_count > 1
        empty = cut & (desc.slice_first == desc.block_count) & (desc.slice_count == 1)
        last = desc.slice_first + desc.slice_count
        end, limit = Signal(last.shape()), Signal(desc.block_count.shape())
        n_blocks = limit[:block_bits]
        beyond = Mux(desc.slice_count == 0, desc.slice_first != 0, end > limit) & ~empty
        m.d.sync += [
            end.eq(last), limit.eq(Mux(cut, desc.block_count, 1)),
            n_slice.eq(Mux(desc.slice_count == 0, n_blocks, Mux(empty, 0, desc.slice_count))),
            all_bytes.eq(n_blocks * desc.pulse_bytes), slice_bytes.eq(n_slice * desc.pulse_bytes),
        ]
        # A product with 2**16 - 1: a shift and a subtraction.
        longest = Signal(16 + block_bits + formats.PULSE_BITS)
        m.d.sync += longest.eq((all_bytes << formats.PULSE_BITS) - all_bytes)

        reserved = [desc[field.name].any() for field in formats.DESCRIPTOR.fields if field.is_reserved]
        bad_descriptor = Cat(
            *reserved,
            unknown("kind"),
            unknown("p2p_op"),
            desc.source_vp != self.vp,
            from_memory & mini,
            from_payload & ~mini,
            collective & (desc.p2p_op != 0),
            collective & (unknown("operand") | unknown("datatype") | unknown("operator")),
            collective & (desc.peer >= self.n_peers if self.n_peers < 1 << formats.PEER_BITS else 0),
            p2p & (desc.ch | desc.ct),
            collective & beyond,
            collective & desc.multicast & ((desc.members == 0) | (desc.mlid < formats.FIRST_MLID)),
        )
        reduces = collective & desc.reduce_flag
        has_reduction = Cat(
            (desc.datatype == datatype) & (desc.operator == operator) for datatype, operator in self.supported
        ).any()
        unsupported = Cat(
            p2p & desc.multicast,
            0 if self.get else is_get,
            collective & (desc.block_count > self.n_blocks),
            collective & cut & desc.swap_remote_addr,
            reduces & ~has_reduction,
        )
        element_mask = Signal(4)
        with m.Switch(desc.datatype):
            for datatype, size in ELEMENT_BYTES.items():
                with m.Case(datatype):
                    m.d.comb += element_mask.eq(size - 1)
            with m.Default():
                m.d.comb += element_mask.eq(7)
        bad_length = Cat(
            from_payload & (desc.length > formats.PAYLOAD_BYTES),
            collective & (desc.pulse_bytes[:4].any() | (~cut & desc.pulse_bytes[4:6].any())),
            collective & ((desc.pulse_bytes == 0) | (slice_bytes > self.mtu) | (all_bytes > self.intermediate_bytes)),
            collective & (desc.length > longest),
            (reduces | collective & cut) & (desc.length[:4] & element_mask).any(),
        )

        bad, lacking, overlong = Signal(), Signal(), Signal(len(bad_length))
        m.d.sync += [bad.eq(bad_descriptor.any()), lacking.eq(unsupported.any()), overlong.eq(bad_length)]
        ask_operand, ask_result = Signal(), Signal()
        query, answer = self.window.query, self.window.answer
        m.d.comb += [
            query.payload.vp.eq(self.vp),
            query.payload.addr.eq(Mux(ask_operand, desc.local_addr, desc.result_addr)),
            query.payload.bytes.eq(desc.length),
            query.payload.right.eq(Mux(ask_operand & ~is_get, Right.LOCAL_READ, Right.LOCAL_WRITE)),
        ]
        # The slice, its bytes, the longest message and what is wrong stand in registers behind each other.
        with m.FSM() as fsm:
            with m.State("SHARE"):
                with m.If(self.numbers):
                    m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                m.next = "SUBTRACT"
            with m.State("SUBTRACT"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                with m.If(self.fields):
                    m.next = "LOOK"
            with m.State("LOOK"):
                m.d.sync += [
                    status.eq(
                        Mux(bad, Status.BAD_DESCRIPTOR,
                            Mux(lacking, Status.UNSUPPORTED, Mux(overlong.any(), Status.BAD_LENGTH, Status.OK)))
                    ),
                    ask_operand.eq(from_memory & (desc.length != 0)),
                    ask_result.eq(collective & desc.write_back & (desc.length != 0)),
                ]
                m.next = "NEXT"
            with m.State("NEXT"):
                with m.If((status == Status.OK) & (ask_operand | ask_result)):
                    m.d.comb += query.valid.eq(1)
                    with m.If(query.ready):
                        m.next = "WINDOW"
                with m.Else():
                    m.d.comb += self.judged.eq(1)
                    with m.If(self.gone):
                        m.next = "SHARE"
            with m.State("WINDOW"):
                m.d.comb += answer.ready.eq(1)
                with m.If(answer.valid):
                    m.d.sync += ask_operand.eq(0)
                    with m.If(~ask_operand):
                        m.d.sync += ask_result.eq(0)
                    with m.If(~answer.payload.ok):
                        m.d.sync += status.eq(Status.BAD_ADDRESS)
                    m.next = "NEXT"

        m.d.sync += self.moves.eq(~fsm.ongoing("SHARE"))

        return m
