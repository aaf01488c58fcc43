"""The sending half of the point-to-point path: each descriptor beside its message, as packets with their data."""

import random
from collections import Counter, deque
from typing import Any

import pytest

from firmware_models.abi.encoding import Kind, P2pOp, PacketType, Status
from firmware_models.abi.formats import nonce_fields
from rtl.abi import DescriptorControl, P2pRange, PacketHeader
from rtl.p2p.records import TrackerCommand
from rtl.p2p.transmit import P2pTransmit
from testbench.parts.faults import changed
from testbench.parts.ports import MemoryReads, PacketTakes
from testbench.parts.simulation import Offers, Takes, fields, run

N_ENTRIES, N_HELD, PAYLOAD_BYTES, CYCLES, QUIET = 8, 4, 64, 1500, 450


class Sender:
    """The part with those around it: descriptors and their data, numbers, memory, the tracker and the network."""

    def __init__(self, width: int, flits: int, rng: random.Random):
        self.rng, self.width, self.flit_bytes, self.mtu = rng, width, width // 8, flits * width // 8
        self.part = part = P2pTransmit(data_width=width, mtu=self.mtu, n=N_ENTRIES, n_held=N_HELD)
        self.cycles_left, self.inline = CYCLES, deque[tuple[int, int] | None]()
        self.payloads: list[list[int]] = []
        self.descriptors, self.numbers = Offers(part.i, rng, self._descriptor), Offers(part.i_number, rng)
        # Descriptors are handed over when the data of the one before are through.
        self.descriptors.may = lambda: not self.inline and self.cycles_left > QUIET
        self.opened, self.progress = Takes(part.o_open, rng), Takes(part.o_progress, rng)
        self.packets = PacketTakes(
            part.o, rng, lambda bits: -(-fields(PacketHeader, bits)["length"] // self.flit_bytes))
        self.memory = MemoryReads(part.read, rng, width=width, refused=0.1)
        self.ends = [self, self.descriptors, self.numbers, self.opened, self.progress, self.packets, self.memory]
        self.node_id = rng.getrandbits(24)

    def _descriptor(self) -> int:
        rng, mtu = self.rng, self.mtu
        kind = rng.choice((Kind.MP, Kind.RDMA))
        op = P2pOp.SEND if kind == Kind.MP and rng.random() < 0.5 else P2pOp.PUT
        lengths = (0, 1, PAYLOAD_BYTES, PAYLOAD_BYTES + 1) if kind == Kind.MP else (
            0, 1, mtu, mtu + 1, 3 * mtu, 2 * (mtu - self.flit_bytes))
        descriptor = {"kind": kind, "p2p_op": op, "length": rng.choice(lengths), **{
            name: rng.getrandbits(DescriptorControl.members[name].width)
            for name in ("dest_id", "dest_vp", "source_vp", "remote_addr", "tag")}}
        descriptor["local_addr"] = rng.getrandbits(63) & -self.flit_bytes
        return int(self.part.i.payload.shape().const({"desc": descriptor}).as_bits())

    def drive(self, context: Any) -> None:
        """Drives the data that follow a descriptor. The network is slow for a while, then fast."""
        self.cycles_left -= 1
        if self.cycles_left < QUIET or self.rng.random() < 0.02:
            self.packets.payload.rate = 1 if self.cycles_left < QUIET else self.rng.choice((0.05, 1))
        word = self.inline.popleft() if self.inline else None
        context.set(self.part.inline_data, {"valid": word is not None, "index": word[0] if word else 0,
                                            "data": word[1] if word else self.rng.getrandbits(self.width)})
        context.set(self.part.node_id, self.node_id)

    def settle(self, read: Any) -> None:
        """Draws the data of a descriptor that is handed over; the tracker knows of packets before they leave."""
        if self.descriptors.offered is not None and read(self.part.i.ready):
            words = [self.rng.getrandbits(self.width) for _ in range(PAYLOAD_BYTES // self.flit_bytes)]
            self.payloads.append(words)
            self.inline.extend([None, *enumerate(words)])
        assert self.memory.data.offered is None or read(self.part.read.data.ready), "data that there is no room for"
        if read(self.part.o.header.valid):
            known = sum(fields(TrackerCommand, bits)["sent"] for bits in self.progress.taken)
            assert len(self.packets.taken) < known, "a packet of which the tracker does not know"


@pytest.mark.parametrize(("width", "flits", "seed"), [(64, 8, 0), (512, 2, 1)])
def test_messages(width: int, flits: int, seed: int) -> None:
    sender = Sender(width, flits, random.Random(seed))
    run(sender.part, sender.ends, cycles=CYCLES, rng=sender.rng)
    packets, reads = iter(sender.packets.taken), iter(sender.memory.taken)
    progress = iter(fields(TrackerCommand, bits) for bits in sender.progress.taken)
    counts: Counter[str] = Counter()
    assert len(sender.opened.taken) == len(sender.descriptors.taken)
    for bits, given, words in zip(
            sender.descriptors.taken, sender.numbers.taken, sender.payloads, strict=True):
        desc, number = fields(DescriptorControl, bits), given & 0xFFFF
        is_send, mini = desc["p2p_op"] == P2pOp.SEND, desc["kind"] == Kind.MP or desc["length"] == 0
        length = desc["length"]
        if desc["kind"] == Kind.MP and length > PAYLOAD_BYTES:
            found = next(progress)
            assert (found["number"], found["sent"], found["final"]) == (number, 0, 1)
            assert found["status"] == Status.BAD_LENGTH
            counts["refused"] += 1
            continue
        failing, is_part = False, not mini and length > sender.mtu
        step = PAYLOAD_BYTES + 1 if mini else sender.mtu - sender.flit_bytes * is_part
        for index, offset in enumerate(range(0, max(length, 1), step)):
            size = length if mini else min(step, length - offset)
            beats, status = words[:-(-size // sender.flit_bytes)], Status.OK
            if not mini:
                address, n_bytes, beats, error = next(reads)
                assert (address, n_bytes) == (desc["local_addr"] + offset, size)
                status = Status.MEMORY_ERROR if error else Status.OK
            failing |= status != Status.OK
            found = next(progress)
            assert (found["number"], found["sent"], found["final"], found["status"]) == (
                number, not failing, offset + size == length, status)
            counts["not sent" if failing else "mini" if mini else "fragment"] += 1
            if failing:
                continue
            header = PacketHeader.const({
                "type": PacketType.SEND if is_send else PacketType.PUT, "version": 1,
                "length": size + sender.flit_bytes * is_part, "coll_end": int(is_part), "fragment": index,
                "dest_id": desc["dest_id"], "dest_vp": desc["dest_vp"],
                "source_vp": desc["source_vp"], "source_id": sender.node_id, "tag": number,
                **nonce_fields(given >> 16),
                "addr": 0 if is_send else (desc["remote_addr"] + offset) % (1 << 64)}).as_bits()
            if is_part:
                beats = [P2pRange.const({"before": offset, "left": length - offset}).as_bits(), *beats]
            last = len(beats) - 1
            assert next(packets) == (header, [beat | (k == last) << width for k, beat in enumerate(beats)])
    assert next(packets, None) is next(reads, None) is next(progress, None) is None
    assert min(counts[case] for case in ("refused", "not sent")) > 0, counts
    assert min(counts[case] for case in ("mini", "fragment")) > 5, counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("fragmenter.returned.eq(sender.returned)", "fragmenter.returned.eq(self.o.header.ready)", id="room"),
    pytest.param("fragmenter.inline_data.eq(self.inline_data),", "", id="data-of-descriptors"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "P2pTransmit", changed(P2pTransmit, old, new))
    with pytest.raises(AssertionError):
        test_messages(64, 8, 1)
