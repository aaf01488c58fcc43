"""Verdicts on descriptors, beside the rules as sentences, for descriptors that are right but for a field or two."""

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from firmware_models.abi import formats
from firmware_models.abi.encoding import Datatype, Kind, Operand, Operator, P2pOp, Right, Status
from rtl.abi import DescriptorControl
from rtl.interface import WindowQuery, WindowSignature
from rtl.queue.descriptor_check import DescriptorCheck
from testbench.parts.faults import changed
from testbench.parts.simulation import fields, run

ANSWER = WindowSignature().members["answer"].signature.members["payload"].shape
SUPPORTED = ((Datatype.FLOAT64, Operator.SUM), (Datatype.INT32, Operator.XOR), (Datatype.DOUBLE_INT, Operator.MINLOC),
             (Datatype.BYTE, Operator.OR))
ELEMENT_BYTES = {Datatype.FLOAT32: 4, Datatype.INT32: 4, Datatype.DOUBLE_INT: 16, Datatype.BYTE: 1}
NUMBER_BITS = 256
"""The control words come first; addresses and the rest come later."""
ENCODINGS = {"kind": Kind, "p2p_op": P2pOp}
COLLECTIVE_ENCODINGS = {"operand": Operand, "datatype": Datatype, "operator": Operator}
RESERVED = [name for name, _ in DescriptorControl if name.startswith("reserved")]
FIRST_MULTICAST_LID = 0xC000


@dataclass(frozen=True, kw_only=True)
class Build:
    """Limits of a build."""

    mtu: int = 256
    n_peers: int = 16
    n_blocks: int = 8
    intermediate_bytes: int = 512
    p2p: bool = True
    get: bool = True


def questions(desc: dict[str, int]) -> list[tuple[int, Right]]:
    """Addresses that must lie in a window, with the right that is needed there."""
    asked = []
    if desc["length"] == 0:
        return asked
    if desc["c"]:
        if desc["operand"] == Operand.MEMORY:
            asked.append((desc["local_addr"], Right.LOCAL_READ))
        if desc["write_back"]:
            asked.append((desc["result_addr"], Right.LOCAL_WRITE))
    elif desc["p2p_op"] == P2pOp.GET:
        asked.append((desc["local_addr"], Right.LOCAL_WRITE))
    elif desc["p2p_op"] == P2pOp.PUT and desc["kind"] == Kind.RDMA:
        asked.append((desc["local_addr"], Right.LOCAL_READ))
    return asked


def is_bad(desc: dict[str, int], vp: int, build: Build) -> bool:
    """True if a descriptor says nothing that makes sense."""
    encodings = ENCODINGS | (COLLECTIVE_ENCODINGS if desc["c"] else {})
    if any(desc[name] not in set(map(int, members)) for name, members in encodings.items()):
        return True
    if any(desc[name] for name in RESERVED) or desc["source_vp"] != vp:
        return True
    if not desc["c"]:
        wrong_kind = {P2pOp.SEND: Kind.RDMA, P2pOp.GET: Kind.MP}
        return bool(desc["ch"] or desc["ct"] or wrong_kind.get(P2pOp(desc["p2p_op"])) == desc["kind"])
    wrong_kind = {Operand.PAYLOAD: Kind.RDMA, Operand.MEMORY: Kind.MP}
    n_blocks, first, count = max(1, desc["block_count"]), desc["slice_first"], desc["slice_count"]
    inside = first == 0 if count == 0 else first + count <= n_blocks
    is_empty = desc["block_count"] > 1 and (first, count) == (desc["block_count"], 1)
    no_receivers = desc["members"] == 0 or desc["mlid"] < FIRST_MULTICAST_LID
    return bool(
        desc["p2p_op"] or wrong_kind.get(Operand(desc["operand"])) == desc["kind"] or desc["peer"] >= build.n_peers
        or not (inside or is_empty) or (desc["multicast"] and no_receivers)
    )


def is_unsupported(desc: dict[str, int], build: Build) -> bool:
    """True if a build cannot do what a sensible descriptor asks for."""
    if not desc["c"]:
        return bool(desc["multicast"] or not build.p2p or (desc["p2p_op"] == P2pOp.GET and not build.get))
    blocks = desc["block_count"]
    return bool(
        blocks > build.n_blocks or (blocks > 1 and desc["swap_remote_addr"])
        or (desc["reduce_flag"] and (desc["datatype"], desc["operator"]) not in SUPPORTED)
    )


def is_too_long(desc: dict[str, int], build: Build) -> bool:
    """True if the lengths of a descriptor that is right otherwise do not fit."""
    payload = desc["operand"] == Operand.PAYLOAD if desc["c"] else desc["kind"] == Kind.MP
    if payload and desc["length"] > 64:
        return True
    if not desc["c"]:
        return False
    cut, pulse, n_blocks = desc["block_count"] > 1, desc["pulse_bytes"], max(1, desc["block_count"])
    is_empty = cut and desc["slice_first"] == n_blocks
    n_slice = 0 if is_empty else desc["slice_count"] or n_blocks
    broken = desc["length"] % ELEMENT_BYTES.get(Datatype(desc["datatype"]), 8)
    return bool(
        pulse == 0 or pulse % (16 if cut else 64) or n_slice * pulse > build.mtu
        or n_blocks * pulse > build.intermediate_bytes or ((desc["reduce_flag"] or cut) and broken)
    )


def verdict(desc: dict[str, int], vp: int, build: Build) -> Status:
    """The first violation of a descriptor, its memory aside."""
    if is_bad(desc, vp, build):
        return Status.BAD_DESCRIPTOR
    if is_unsupported(desc, build):
        return Status.UNSUPPORTED
    return Status.BAD_LENGTH if is_too_long(desc, build) else Status.OK


class Dealer:
    """Descriptors that come in two steps, the window check that they are asked about, and the time of the verdict."""

    def __init__(self, part: DescriptorCheck, build: Build, rng: random.Random):
        self.part, self.build, self.rng = part, build, rng
        self.cycle, self.counts = -1, Counter()
        self.last_gone = -2
        self.begin()

    def right(self) -> dict[str, int]:
        """A descriptor without fault, unless this build lacks what it needs."""
        rng, build = self.rng, self.build
        desc = fields(DescriptorControl, rng.getrandbits(DescriptorControl.size)) | dict.fromkeys(RESERVED, 0)
        desc |= {"source_vp": self.vp, "c": rng.random() < 0.7, "kind": rng.randrange(2)}
        small = rng.choice((0, 16, 48, 64))
        if not desc["c"]:
            op = rng.choice((P2pOp.SEND, P2pOp.PUT) if desc["kind"] == Kind.MP else (P2pOp.PUT, P2pOp.GET))
            desc |= {"p2p_op": int(op), "ch": 0, "ct": 0, "multicast": 0}
            return desc | ({"length": rng.randrange(65)} if desc["kind"] == Kind.MP else {})
        operand = rng.choice((Operand.PAYLOAD if desc["kind"] == Kind.MP else Operand.MEMORY, Operand.NONE,
                              Operand.INTERMEDIATE))
        datatype, operator = rng.choice(SUPPORTED)
        n_blocks = rng.choice((0, 1, 2, build.n_blocks, rng.randint(1, build.n_blocks)))
        n_blocks = min(n_blocks, build.n_blocks)
        first = rng.randrange(max(1, n_blocks))
        count = rng.choice((1, max(1, n_blocks) - first, 0 if first == 0 else 1))
        if n_blocks > 1 and rng.random() < 0.2:
            first, count = n_blocks, 1
        share = build.intermediate_bytes // max(1, n_blocks)
        unit = 16 if n_blocks > 1 else 64
        pulse = rng.choice((unit, min(share, build.mtu // max(1, count or n_blocks)) // unit * unit or unit))
        return desc | {
            "p2p_op": 0, "operand": int(operand), "datatype": int(datatype), "operator": int(operator),
            "block_count": n_blocks, "slice_first": first, "slice_count": count, "pulse_bytes": pulse,
            "peer": rng.randrange(build.n_peers), "mlid": rng.choice((FIRST_MULTICAST_LID, 0xFFFF)),
            "members": rng.choice((1, 255)), "swap_remote_addr": n_blocks < 2 and rng.getrandbits(1),
            "length": small if operand is Operand.PAYLOAD else rng.choice((small, rng.getrandbits(28) << 4)),
        }

    def changed_field(self, desc: dict[str, int]) -> dict[str, int]:
        """A field beside or beyond a bound, or any other value."""
        rng, build = self.rng, self.build
        blocks, pulse = desc["block_count"], desc["pulse_bytes"]
        near = {
            "block_count": (0, 1, 2, build.n_blocks, build.n_blocks + 1, 2 * build.n_blocks, 0xFFFF),
            "slice_first": (0, blocks - 1, blocks, blocks + 1, 0xFFFF),
            "slice_count": (0, 1, 2, blocks, blocks + 1, 0xFFFF),
            "pulse_bytes": (0, 8, 16, 32, 64, pulse + 16, pulse + 64, build.mtu, build.mtu + 64, 2 * build.mtu,
                            build.intermediate_bytes),
            "length": (0, 1, 4, 8, 16, 60, 64, 65, 1 << 31), "peer": (build.n_peers - 1, build.n_peers),
            "mlid": (FIRST_MULTICAST_LID - 1,), "members": (0,), "source_vp": (self.vp ^ 1 << rng.randrange(11),),
        }
        flags = ("c", "ch", "ct", "multicast", "reduce_flag", "swap_remote_addr", "write_back")
        name = rng.choice((*near, *near, *flags, *ENCODINGS, *COLLECTIVE_ENCODINGS, *RESERVED))
        width = DescriptorControl[name].width
        return {name: rng.choice(near.get(name, (rng.getrandbits(width),))) % (1 << width)}

    def begin(self) -> None:
        """Deals the next descriptor."""
        rng = self.rng
        self.vp = rng.getrandbits(11)
        self.desc = self.right()
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            self.desc |= self.changed_field(self.desc)
        self.bits = int(DescriptorControl.const(self.desc).as_bits())
        self.numbers_at = self.cycle + 1 + rng.choice((0, 0, 1, 4))
        self.fields_at = self.numbers_at + rng.choice((0, 1, 2, 3, 4, 7))
        self.status = verdict(self.desc, self.vp, self.build)
        self.questions = questions(self.desc) if self.status is Status.OK else []
        begun = max(self.numbers_at, self.last_gone + 2)
        self.due = max(begun + 5, self.fields_at + 2)
        self.asking: str | None = "query" if self.questions else None
        self.wait, self.held = 0, False

    def drive(self, context) -> None:
        self.cycle += 1
        part, rng, cycle = self.part, self.rng, self.cycle
        known = NUMBER_BITS if cycle >= self.numbers_at else 0
        known = DescriptorControl.size if cycle >= self.fields_at else known
        # Bits that have not come yet are those of anything.
        unknown = rng.getrandbits(DescriptorControl.size) >> known << known
        context.set(part.desc.as_value(), self.bits & (1 << known) - 1 | unknown)
        context.set(part.vp, self.vp)
        context.set(part.numbers, cycle >= self.numbers_at)
        context.set(part.fields, cycle >= self.fields_at)
        self.gone = self.asking is None and cycle >= self.due and rng.random() < 0.6
        context.set(part.verdict_taken, self.gone)
        context.set(part.window.query.ready, rng.randrange(2))
        self.answers = self.asking == "answer" and rng.random() < 0.5
        self.held = rng.random() < 0.75
        context.set(part.window.answer.valid, self.answers)
        context.set(part.window.answer.payload, {"ok": self.held})

    def settle(self, read) -> None:
        part, cycle = self.part, self.cycle
        judged = self.asking is None and cycle >= self.due
        assert read(part.judged) == judged, "a verdict that is early, late or gone"
        if judged:
            assert read(part.status) == self.status
        asks = self.asking == "query" and cycle >= self.due
        assert read(part.window.query.valid) == asks
        if asks:
            addr, right = self.questions[0]
            query = fields(WindowQuery, read(part.window.query.payload.as_value()))
            assert query == {"vp": self.vp, "addr": addr, "bytes": self.desc["length"], "right": int(right)}
            if read(part.window.query.ready):
                self.asking = "answer"
                self.counts[right.name] += 1
        elif self.answers:
            assert read(part.window.answer.ready)
            self.questions = self.questions[1:] if self.held else []
            self.status = Status.OK if self.held else Status.BAD_ADDRESS
            self.asking, self.due = "query" if self.questions else None, cycle + 1
        if self.gone:
            self.counts[self.status.name] += 1
            self.counts["together"] += self.fields_at == self.numbers_at
            self.last_gone = cycle
            self.begin()


BUILDS = (
    Build(), Build(mtu=64, n_peers=1, n_blocks=1, intermediate_bytes=64, p2p=False, get=False),
    Build(mtu=4096, n_peers=64, n_blocks=256, intermediate_bytes=1 << 15, get=False),
)


@pytest.mark.parametrize(
    ("seed", "build"), [(0, BUILDS[0]), (1, BUILDS[0]), (0, BUILDS[1]), (1, BUILDS[2])],
    ids=["small-0", "small-1", "tiny-0", "wide-1"],
)
def test_descriptor_check(seed: int, build: Build) -> None:
    """The first violation, at the promised time; windows are asked about in order, until one does not hold."""
    part = DescriptorCheck(
        mtu=build.mtu, n_peers=build.n_peers, n_blocks=build.n_blocks, intermediate_bytes=build.intermediate_bytes,
        supported=SUPPORTED, p2p=build.p2p, get=build.get,
    )
    dealer = Dealer(part, build, random.Random(seed))
    run(part, [dealer], cycles=3000, rng=dealer.rng)
    statuses = (Status.OK, Status.BAD_DESCRIPTOR, Status.UNSUPPORTED, Status.BAD_LENGTH, Status.BAD_ADDRESS)
    names = [*(status.name for status in statuses), Right.LOCAL_READ.name, Right.LOCAL_WRITE.name, "together"]
    assert {name: dealer.counts[name] for name in names if dealer.counts[name] < 6} == {}


def test_rules() -> None:
    """The layout that the bench relies on: the control words come first."""
    lengths = ("block_count", "slice_first", "slice_count", "length", "pulse_bytes")
    assert all(DescriptorControl[name].offset + DescriptorControl[name].width <= NUMBER_BITS for name in lengths)
    assert formats.FIRST_MLID == FIRST_MULTICAST_LID


@pytest.mark.parametrize(("old", "new"), [
    ("(desc.slice_first == desc.block_count) & (desc.slice_count == 1)", "(desc.slice_first == desc.block_count)"),
    ("v.all_bytes > self.intermediate_bytes", "v.all_bytes >= self.intermediate_bytes"),
    ("v.slice_bytes > self.mtu", "v.slice_bytes[:9] > self.mtu"),
    ("found.bad, Status.BAD_DESCRIPTOR,\n            Mux(found.lacking, Status.UNSUPPORTED,",
     "found.lacking, Status.UNSUPPORTED,\n            Mux(found.bad, Status.BAD_DESCRIPTOR,"),
    ("ask_operand & ~self._is_get", "ask_operand"),
    ("~answer.payload.ok | ~(ask_operand & ask_result)", "~(ask_operand & ask_result)"),
    ("collective & v.cut & desc.swap_remote_addr", "v.cut & desc.swap_remote_addr"),
    ("(self.fields | (cut != last))", "(self.fields | (cut != first))"),
    ("Datatype.INT32: 4,", ""),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds, ranks of violations, rights and rules for the wrong descriptors are found."""
    monkeypatch.setitem(globals(), "DescriptorCheck", changed(DescriptorCheck, old, new))
    with pytest.raises(AssertionError):
        test_descriptor_check(0, BUILDS[0])
