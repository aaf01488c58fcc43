"""Validates a descriptor by itself."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from firmware_models.abi import formats
from firmware_models.abi.encoding import Datatype, Kind, Operand, Operator, P2pOp, Right, Status
from rtl.abi import DescriptorControl
from rtl.interface import STATUS_BITS, WindowSignature
from rtl.kit.step_pipeline import StepPipeline, StepValues

ELEMENT_BYTES = {Datatype.DOUBLE_INT: 16, Datatype.FLOAT32: 4, Datatype.INT32: 4, Datatype.BYTE: 1}
"""Bytes of the elements that are not 8 bytes long."""

CUTS = ("share", "multiply", "slice", "compare")
"""Steps that end in registers; each is waited for in a state of its name."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Findings about a descriptor, without its memory.

    Parameters
    ----------
    status, wrong : Value
        The first violation; there is one.
    operand, result : Value
        It uses memory for its operand; for a result.
    """

    status: Value
    wrong: Value
    operand: Value
    result: Value


class DescriptorCheck(wiring.Component):
    """Validates the current descriptor of a VP. The first violation, in the order below, is the answer.

    1. ``BAD_DESCRIPTOR``: reserved bits; unknown encodings; `source_vp` is not the queue's VP; a collective one with
       `p2p_op`, an operand that does not go with `kind`, `peer` out of range, a slice beyond the last block, or a
       multicast without receivers or with an `mlid` below 0xC000; a point-to-point one with `ch` or `ct`, a SEND that
       is not MP, a GET that is. A point-to-point descriptor may have anything in the fields that only collective ones
       use, an RDMA descriptor anything in its payload.
    2. ``UNSUPPORTED``: a point-to-point multicast, or anything of the kind or a GET where there is none, more than
       `n_blocks` blocks, blocks with SwapRemoteAddr, a reduction that is not in `supported`.
    3. ``BAD_LENGTH``: a payload of more than 64 bytes; `pulse_bytes` that is 0 or not a multiple of 64, with blocks of
       16; the slice's share of a pulse longer than the mtu, or that of all blocks than `intermediate_bytes`; a
       reduction, or blocks, of broken elements.
    4. ``BAD_ADDRESS``: memory outside of the windows, without the right, or not aligned to a flit. No bytes, no
       question.

    A slice is whole blocks from 0 to the last one; block_count itself, alone, is the slice without bytes.

    The check begins while the descriptor comes in, and ends before the descriptor may go.

    Timing: the answer stands 5 cycles after `numbers` rose and 2 after `fields`, and as long later as each window
    question takes; nothing begins in the cycle after `verdict_taken`.

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
    p2p, get : bool
        If true, this build has a point-to-point path; it can GET.

    Members
    -------
    desc : ``In(DescriptorControl)``, vp : ``In(11)``
        The descriptor, and the VP of its queue.
    numbers, fields : ``In(1)``
        The lengths and the blocks have come; all but the payload has. High until `verdict_taken`.
    verdict_taken : ``In(1)``
        Pulse: the descriptor has been released. Not before `judged`.
    judged : ``Out(1)``, status : ``Out``
        The answer, a ``Status``; from then on until `verdict_taken`.
    window : ``Out(WindowSignature())``
        Window check.
    """

    def __init__(
        self, *, mtu: int, n_peers: int, n_blocks: int, intermediate_bytes: int,
        supported: Collection[tuple[Datatype, Operator]], p2p: bool = True, get: bool = True,
    ):
        for name, value, low, high in (
            ("mtu", mtu, 64, 1 << 15), ("n_peers", n_peers, 1, 1 << formats.PEER_BITS), ("n_blocks", n_blocks, 1, 256),
            ("intermediate_bytes", intermediate_bytes, mtu, 1 << 20),
        ):
            if value & (value - 1) or not low <= value <= high:
                raise ValueError(f"{name} must be a power of two, {low} to {high}, not {value!r}")
        self.mtu, self.n_peers, self.supported = mtu, n_peers, tuple(supported)
        self.n_blocks, self.intermediate_bytes = n_blocks, intermediate_bytes
        self.p2p, self.get = p2p, get
        super().__init__({
            "desc": In(DescriptorControl),
            "vp": In(formats.VP_BITS),
            "numbers": In(1),
            "fields": In(1),
            "verdict_taken": In(1),
            "judged": Out(1),
            "status": Out(STATUS_BITS),
            "window": Out(WindowSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        pipeline = StepPipeline(m, cuts=CUTS, stays=True)
        found = pipeline.run(
            None, ("share", self._share), ("multiply", self._multiply), ("slice", self._slice),
            ("compare", self._compare),
        )
        pipeline.finish()
        status = Mux(
            found.bad, Status.BAD_DESCRIPTOR,
            Mux(found.lacking, Status.UNSUPPORTED, Mux(found.overlong.any(), Status.BAD_LENGTH, Status.OK)),
        )
        self._judge(m, Findings(
            status=status, wrong=found.bad | found.lacking | found.overlong.any(), operand=found.operand,
            result=found.result,
        ))
        return m

    @property
    def _is_get(self):
        return ~self.desc.c & (self.desc.p2p_op == P2pOp.GET)

    @property
    def _from_memory(self):
        desc = self.desc
        p2p = ((desc.p2p_op == P2pOp.PUT) & (desc.kind != Kind.MP)) | self._is_get
        return Mux(desc.c, desc.operand == Operand.MEMORY, p2p)

    @property
    def _from_payload(self):
        desc = self.desc
        p2p = (desc.p2p_op == P2pOp.SEND) | (desc.kind == Kind.MP)
        return Mux(desc.c, desc.operand == Operand.PAYLOAD, p2p)

    @property
    def _cut(self):
        """The message is cut into blocks."""
        return self.desc.block_count > 1

    @property
    def _empty(self):
        """The slice is the one without bytes."""
        desc = self.desc
        return self._cut & (desc.slice_first == desc.block_count) & (desc.slice_count == 1)

    def _share(self, v: StepValues) -> dict:
        """Where the slice ends, and where the blocks do; what takes long to see, for the steps behind."""
        desc = self.desc
        limit = Mux(self._cut, desc.block_count, 1)
        return {
            "end": desc.slice_first + desc.slice_count, "limit": limit[:len(desc.block_count)],
            "cut": self._cut, "empty": self._empty,
        }

    def _multiply(self, v: StepValues) -> dict:
        """Computes the blocks in the slice and the bytes that one pulse takes from all blocks. Numbers beyond
        `n_blocks` are refused in any case."""
        desc = self.desc
        n_blocks = v.limit[:bits_for(self.n_blocks)]
        n_slice = Mux(desc.slice_count == 0, n_blocks, Mux(v.empty, 0, desc.slice_count))
        return {"n_slice": n_slice[:len(n_blocks)], "all_bytes": n_blocks * desc.pulse_bytes}

    def _slice(self, v: StepValues) -> dict:
        """Computes the bytes that one pulse takes from the slice; compares the end of the slice and the bytes of all
        blocks with their limits."""
        return {
            "slice_bytes": v.n_slice * self.desc.pulse_bytes, "beyond": v.end > v.limit,
            "too_many": v.all_bytes > self.intermediate_bytes,
        }

    def _compare(self, v: StepValues) -> dict:
        """Finds the faults of the descriptor. Gives each comparison of lengths by itself, because they take longest,
        and the memories that the descriptor uses."""
        desc, has_bytes = self.desc, self.desc.length != 0
        return {
            "bad": self._bad_descriptor(v).any(), "lacking": self._unsupported(v).any(),
            "overlong": self._bad_length(v), "operand": self._from_memory & has_bytes,
            "result": desc.c & desc.write_back & has_bytes,
        }

    def _bad_descriptor(self, v: StepValues):
        desc, collective, mini = self.desc, self.desc.c, self.desc.kind == Kind.MP
        beyond = Mux(desc.slice_count == 0, desc.slice_first != 0, v.beyond) & ~v.empty

        def unknown(name: str):
            """High if an enumerated field has a value that is no member."""
            field = formats.DESCRIPTOR[name]
            members = {int(member) for member in field.values}
            return Cat(desc[name] == value for value in range(field.max_value + 1) if value not in members).any()

        return Cat(
            *(desc[field.name].any() for field in formats.DESCRIPTOR.fields if field.is_reserved),
            unknown("kind"),
            unknown("p2p_op"),
            desc.source_vp != self.vp,
            self._from_memory & mini,
            self._from_payload & ~mini,
            collective & (desc.p2p_op != 0),
            collective & (unknown("operand") | unknown("datatype") | unknown("operator")),
            collective & (desc.peer >= self.n_peers if self.n_peers < 1 << formats.PEER_BITS else 0),
            ~collective & (desc.ch | desc.ct),
            collective & beyond,
            collective & desc.multicast & ((desc.members == 0) | (desc.mlid < formats.FIRST_MLID)),
        )

    def _unsupported(self, v: StepValues):
        desc, collective = self.desc, self.desc.c
        has_reduction = Cat(
            (desc.datatype == datatype) & (desc.operator == operator) for datatype, operator in self.supported
        ).any()
        return Cat(
            ~collective & (desc.multicast if self.p2p else 1),
            0 if self.get else self._is_get,
            collective & (desc.block_count > self.n_blocks),
            collective & v.cut & desc.swap_remote_addr,
            collective & desc.reduce_flag & ~has_reduction,
        )

    def _bad_length(self, v: StepValues):
        desc, collective, cut = self.desc, self.desc.c, v.cut
        # Bits of a length that whole elements leave 0.
        element_mask = Const(7, 4)
        for datatype, size in ELEMENT_BYTES.items():
            element_mask = Mux(desc.datatype == datatype, size - 1, element_mask)
        return Cat(
            self._from_payload & (desc.length > formats.PAYLOAD_BYTES),
            collective & (desc.pulse_bytes[:4].any() | (~cut & desc.pulse_bytes[4:6].any())),
            collective & (
                (desc.pulse_bytes == 0) | (v.slice_bytes > self.mtu) | v.too_many
            ),
            collective & (desc.reduce_flag | cut) & (desc.length[:4] & element_mask).any(),
        )

    def _judge(self, m: Module, found: Findings) -> None:
        """Notes what was found; asks for the windows of what is right so far."""
        desc, status, judged = self.desc, self.status, Signal()
        m.d.comb += self.judged.eq(judged)
        ask_operand, ask_result = Signal(), Signal()
        query, answer = self.window.query, self.window.answer
        m.d.comb += [
            query.payload.vp.eq(self.vp),
            query.payload.addr.eq(Mux(ask_operand, desc.local_addr, desc.result_addr)),
            query.payload.bytes.eq(desc.length),
            query.payload.right.eq(Mux(ask_operand & ~self._is_get, Right.LOCAL_READ, Right.LOCAL_WRITE)),
        ]
        # One state a cut: the lengths are enough for the first one, the last one takes all fields.
        first, last = CUTS[0], CUTS[-1]
        with m.FSM(init=first.upper()):
            for cut, behind in pairwise((*CUTS, "look")):
                with m.State(cut.upper()):
                    with m.If((self.numbers | (cut != first)) & (self.fields | (cut != last))):
                        m.next = behind.upper()
            # That the answer stands is a register, as the answer is: the scheduler's decisions begin with it.
            with m.State("LOOK"):
                m.d.sync += [status.eq(found.status), ask_operand.eq(found.operand), ask_result.eq(found.result)]
                m.next = "ASK"
                with m.If(found.wrong | ~(found.operand | found.result)):
                    m.d.sync += judged.eq(1)
                    m.next = "JUDGED"
            with m.State("ASK"):
                m.d.comb += query.valid.eq(1)
                with m.If(query.ready):
                    m.next = "WINDOW"
            with m.State("WINDOW"):
                m.d.comb += answer.ready.eq(1)
                with m.If(answer.valid):
                    m.d.sync += ask_operand.eq(0)
                    m.next = "ASK"
                    with m.If(~answer.payload.ok):
                        m.d.sync += status.eq(Status.BAD_ADDRESS)
                    with m.If(~answer.payload.ok | ~(ask_operand & ask_result)):
                        m.d.sync += judged.eq(1)
                        m.next = "JUDGED"
            # It is known late in a cycle that the descriptor goes: the state follows its register.
            with m.State("JUDGED"):
                with m.If(~judged):
                    m.next = first.upper()
        with m.If(self.verdict_taken):
            m.d.sync += judged.eq(0)

