"""From descriptors to fragments: each operation beside its message cut by hand, and data where the fragments say."""

import random
from collections import Counter, deque
from typing import Any

import pytest

from firmware_models.abi.encoding import CplKind, Kind, P2pOp, PacketType, Status
from firmware_models.abi.formats import nonce_fields
from rtl.abi import DescriptorControl, P2pRange, PacketHeader
from rtl.p2p.fragmenter import Fragmenter
from rtl.p2p.records import Fragment, Outstanding, TrackerCommand
from testbench.parts.faults import changed
from testbench.parts.ports import MemoryReads
from testbench.parts.simulation import Offers, Takes, fields, run

N_ENTRIES, N_HELD, PAYLOAD_BYTES, QUIET, CYCLES = 4, 4, 64, 400, 2400


class Fragments:
    """The part with those around it: descriptors and their data, numbers, memory, and the sender of the fragments."""

    def __init__(self, width: int, flits: int, address_bits: int, rng: random.Random, cycles: int):
        self.rng, self.width, self.flit_bytes, self.mtu = rng, width, width // 8, flits * width // 8
        self.part = part = Fragmenter(data_width=width, mtu=self.mtu, n=N_ENTRIES, n_held=N_HELD,
                                      address_bits=address_bits)
        self.address_bits, self.cycles_left = address_bits, cycles
        self.descriptors = Offers(part.i, rng, self._descriptor)
        # Descriptors are handed over when the data of the one before are through.
        self.descriptors.may = lambda: not self.inline and self.cycles_left > QUIET
        self.numbers, self.opened = Offers(part.i_number, rng), Takes(part.o_open, rng)
        self.fragments, self.outcomes = Takes(part.o_fragment, rng), Takes(part.o_read, rng)
        self.data, self.memory = Takes(part.o_data, rng), MemoryReads(part.read, rng, width=width)
        self.ends = [self, self.descriptors, self.numbers, self.opened, self.fragments, self.outcomes, self.data,
                     self.memory]
        self.node_id, self.failed = rng.getrandbits(24), 0
        self.inline = deque[tuple[int, int] | None]()
        self.payloads: list[list[int]] = []
        self.asked: list[dict[str, int]] = []
        self.due = deque[int]()
        """Beats of fragments of which the sender has begun to take the data."""
        self.ever: list[int] = []
        self.returned, self.room, self.slow = 0, False, False

    def _descriptor(self) -> int:
        rng, mtu = self.rng, self.mtu
        kind = rng.choice((Kind.MP, Kind.RDMA, Kind.RDMA))
        op = rng.choice((P2pOp.SEND,) if kind == Kind.MP and rng.random() < 0.5 else (P2pOp.PUT,) * 8 + tuple(P2pOp))
        longest = PAYLOAD_BYTES if kind == Kind.MP else mtu
        step = mtu - self.flit_bytes
        length = rng.choice((0, 1, longest - 1, longest, longest + 1) + (
            () if kind == Kind.MP else (3 * mtu, 2 * mtu + 1, 2 * step - 1, 2 * step, 2 * step + 1)))
        descriptor = {"kind": kind, "p2p_op": op, "length": length, **{
            name: rng.getrandbits(DescriptorControl.members[name].width)
            for name in ("dest_id", "dest_vp", "source_vp", "remote_addr", "tag")}}
        descriptor["local_addr"] = rng.getrandbits(self.address_bits - 1) & -self.flit_bytes
        return int(self.part.i.payload.shape().const({"desc": descriptor}).as_bits())

    def drive(self, context: Any) -> None:
        """Drives data of descriptors, own ones and those of others, and returns slots."""
        rng, part = self.rng, self.part
        self.cycles_left -= 1
        if not self.inline and self.descriptors.offered is None and rng.random() < 0.3:
            self.inline.extend(enumerate([rng.getrandbits(self.width) for _ in range(self.n_words)]))
        word = self.inline.popleft() if self.inline else None
        context.set(part.inline_data, {"valid": word is not None, "index": word[0] if word else 0,
                                       "data": word[1] if word else rng.getrandbits(self.width)})
        if rng.random() < 0.02:
            self.failed = rng.getrandbits(N_ENTRIES) & rng.getrandbits(N_ENTRIES)
        self.ever = [seen | self.failed for seen in self.ever]
        context.set(part.failed, self.failed)
        context.set(part.node_id, self.node_id)
        # The sender takes the data of fragments that it has; a slot returns with the last of them.
        while self.due and self.due[0] == 0:
            self.due.popleft()
            self.returned += 1
        context.set(part.returned, self.returned > 0)
        self.returned -= self.returned > 0
        self.slow ^= rng.random() < 0.01
        self.data.rate = 0 if not self.due else 0.1 if self.slow and self.cycles_left > QUIET else 0.9

    @property
    def n_words(self) -> int:
        """Words of the data of a descriptor."""
        return PAYLOAD_BYTES // self.flit_bytes

    def settle(self, read: Any) -> None:
        """Hands data over behind a descriptor, and checks what holds in every cycle."""
        part = self.part
        room = bool(read(part.room))
        taken = self.descriptors.offered is not None and read(part.i.ready)
        assert self.descriptors.offered is None or read(part.i.ready) == room, "room, and it is not taken"
        assert room or not self.room, "room is taken back"
        self.room = room and not taken
        if taken:
            payload = [self.rng.getrandbits(self.width) for _ in range(self.n_words)]
            self.payloads.append(payload)
            self.ever.append(self.failed)
            self.inline.extend([None, *enumerate(payload)])
        assert self.memory.data.offered is None or read(part.read.data.ready), "data that there is no room for"
        whole = sum(beat >> self.width & 1 for beat in self.memory.data.taken)
        assert not read(part.o_read.valid) or whole > len(self.outcomes.taken), "an outcome before its data"
        if read(part.o_open.valid) and read(part.o_open.ready):
            self.asked.append(fields(Outstanding, read(part.outstanding.as_value())))
        if read(part.o_fragment.valid) and read(part.o_fragment.ready):
            fragment = fields(Fragment, read(part.o_fragment.payload.as_value()))
            length = fields(PacketHeader, fragment["header"])["length"]
            if fragment["stored"]:
                is_part = fields(PacketHeader, fragment["header"])["coll_end"]
                self.due.append(-(-length // self.flit_bytes) - is_part)
        if read(part.o_data.valid) and read(part.o_data.ready):
            self.due[0] -= 1


def refusal(desc: dict[str, int]) -> Status:
    """Reason why a descriptor is not carried out, OK if it is."""
    if desc["p2p_op"] not in (P2pOp.SEND, P2pOp.PUT):
        return Status.UNSUPPORTED
    if desc["p2p_op"] == P2pOp.SEND and desc["kind"] != Kind.MP:
        return Status.BAD_DESCRIPTOR
    return Status.BAD_LENGTH if desc["kind"] == Kind.MP and desc["length"] > PAYLOAD_BYTES else Status.OK


def header_of(
    desc: dict[str, int], given: int, node_id: int, *, offset: int, index: int, length: int, is_part: bool,
) -> int:
    """Header of the packet with `length` bytes from `offset` on, those of a range among them if it `is_part`; `given`:
    number and nonce.
    """
    is_send = desc["p2p_op"] == P2pOp.SEND
    return int(PacketHeader.const({
        "type": PacketType.SEND if is_send else PacketType.PUT, "version": 1, "length": length, "fragment": index,
        "dest_id": desc["dest_id"], "dest_vp": desc["dest_vp"], "source_vp": desc["source_vp"], "source_id": node_id,
        "tag": given & 0xFFFF, "coll_end": int(is_part),
        "addr": 0 if is_send else (desc["remote_addr"] + offset) % (1 << 64), **nonce_fields(given >> 16),
    }).as_bits())


@pytest.mark.parametrize(("width", "flits", "address_bits", "seed"), [(64, 8, 64, 0), (512, 2, 40, 1)])
def test_fragments(width: int, flits: int, address_bits: int, seed: int) -> None:
    whole = Fragments(width, flits, address_bits, random.Random(seed), cycles=CYCLES)
    run(whole.part, whole.ends, cycles=CYCLES, rng=whole.rng)
    fragments = deque(fields(Fragment, bits) for bits in whole.fragments.taken)
    reads, data, outcomes = iter(whole.memory.taken), iter(whole.data.taken), iter(whole.outcomes.taken)
    counts: Counter[str] = Counter()
    assert len(whole.opened.taken) == len(whole.asked) == len(whole.descriptors.taken) == len(whole.numbers.taken)
    for bits, given, opened, asked, payload, ever in zip(
            whole.descriptors.taken, whole.numbers.taken, whole.opened.taken, whole.asked, whole.payloads, whole.ever,
            strict=True):
        desc, number = fields(DescriptorControl, bits), given & 0xFFFF
        assert asked == {"number": number, "vp": desc["source_vp"], "node": desc["dest_id"],
                         "peer_vp": desc["dest_vp"], "nonce": given >> 16}
        found, name = fields(TrackerCommand, opened), P2pOp(desc["p2p_op"]).name
        assert {key: found[key] for key in ("number", "vp", "kind", "bytes", "tag")} == {
            "number": number, "vp": desc["source_vp"], "kind": CplKind[name], "bytes": desc["length"],
            "tag": desc["tag"]}
        status, length, index = refusal(desc), desc["length"], 0
        if status != Status.OK:
            fragment = fragments.popleft()
            assert (fragment["final"], fragment["stored"], fragment["status"]) == (1, 0, status)
            assert fragment["detail"] == length
            counts[status.name] += 1
            continue
        mini = desc["kind"] == Kind.MP or length == 0
        is_part = not mini and length > whole.mtu
        step = whole.mtu - whole.flit_bytes * is_part
        while True:
            fragment, offset = fragments.popleft(), index * step
            if not fragment["stored"]:
                assert (fragment["final"], fragment["status"], mini) == (1, Status.OK, False)
                assert ever >> number % N_ENTRIES & 1, "given up, and it had not failed"
                counts["given up"] += 1
                break
            size = min(length - offset, step) if not mini else length
            assert fragment["header"] == header_of(
                desc, given, whole.node_id, offset=offset, index=index, length=size + whole.flit_bytes * is_part,
                is_part=is_part)
            operation = fields(P2pRange, fragment["range"])
            assert not is_part or operation == {"before": offset, "left": length - offset}
            counts["part"] += is_part
            assert (fragment["read"], fragment["status"]) == (not mini, Status.OK)
            beats = payload[:-(-size // whole.flit_bytes)]
            if not mini:
                address, n_bytes, beats, error = next(reads)
                assert (address, n_bytes) == (desc["local_addr"] + offset, size)
                assert (next(outcomes), fragment["detail"]) == (error, address)
            assert [next(data) for _ in beats] == beats
            index += 1
            counts["mini" if mini else "fragment"] += 1
            assert fragment["final"] == (mini or offset + size == length)
            if fragment["final"]:
                break
    assert not fragments
    assert next(reads, None) is next(data, None) is next(outcomes, None) is None
    cases = ("UNSUPPORTED", "BAD_DESCRIPTOR", "BAD_LENGTH", "given up", "mini", "fragment")
    assert all(counts[case] for case in cases), counts
    assert min(counts[case] for case in ("mini", "fragment", "part")) > 5, counts


def test_mtu_holds_a_range() -> None:
    with pytest.raises(ValueError, match=r"^mtu must be at least two flits \(128\), not 64$"):
        Fragmenter(data_width=512, mtu=64, n=N_ENTRIES, n_held=N_HELD)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("(op.left <= self.part_bytes)", "(op.left < self.part_bytes)", id="one-fragment-more"),
    pytest.param("desc.length > self.mtu", "desc.length >= self.mtu", id="parts-of-an-mtu"),
    pytest.param("op.before.eq(op.before + self.part_bytes)", "op.before.eq(op.before)", id="before-stays"),
    pytest.param("fragment.range.left.eq(op.left)", "fragment.range.left.eq(op.size)", id="left-of-the-fragment"),
    pytest.param(" + Mux(op.is_part, flit_bytes, 0)", "", id="range-not-counted"),
    pytest.param("bytes.eq(op.size)", "bytes.eq(op.length)", id="range-read-from-memory"),
    pytest.param("(room.free != 0) & (room.reading == 0)", "(room.free != 0)", id="order-of-data"),
    pytest.param("op.index.eq(op.index + 1)", "op.index.eq(op.index)", id="numbers-of-fragments"),
    pytest.param("receives & self.inline_data.valid)", "self.inline_data.valid)", id="data-of-others"),
    pytest.param("Mux(is_send, 0, op.remote)", "Mux(is_send, op.remote, op.remote)", id="address-of-a-message"),
    pytest.param(
        "self.outstanding.peer_vp.eq(desc.dest_vp)", "self.outstanding.peer_vp.eq(desc.source_vp)", id="asks-itself",
    ),
    pytest.param("nonce_of(header).eq(op.number.nonce)", "nonce_of(header).eq(op.number.number)", id="number-as-nonce"),
    pytest.param("with m.Elif(room.free != 0):", "with m.Elif(1):", id="data-without-room"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Fragmenter", changed(Fragmenter, old, new))
    with pytest.raises(AssertionError):
        test_fragments(64, 8, 64, 2)
