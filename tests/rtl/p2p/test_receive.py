"""The receiving half of the point-to-point path: each packet asked about, written, answered or passed on, in order."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import PacketType, Status
from rtl.abi import PacketHeader, Receive
from rtl.interface import ReceiveSlotSignature
from rtl.p2p.receive import P2pReceive
from testbench.parts.faults import changed
from testbench.parts.ports import Answers, MemoryWrites, PacketOffers, PacketTakes
from testbench.parts.simulation import Takes, fields, run

N_PACKETS, ENTRY_BYTES, PAYLOAD_BYTES = 80, 128, 64
SLOT = ReceiveSlotSignature().members["answer"].signature.members["payload"].shape
KINDS = (PacketType.SEND,) * 3 + (PacketType.PUT,) * 3 + (PacketType.GET,) * 3 + (PacketType.COLLECTIVE,)
TIME = 0x123456789ABCDEF


@pytest.mark.parametrize(("width", "address_bits", "seed"), [(64, 64, 0), (512, 40, 1)])
def test_packets(width: int, address_bits: int, seed: int) -> None:
    rng, part = random.Random(seed), P2pReceive(data_width=width, address_bits=address_bits)
    flit_bytes, node_id = width // 8, rng.getrandbits(24)
    packets = []
    for _ in range(N_PACKETS):
        kind = rng.choice(KINDS)
        length = rng.choice((0, 1, flit_bytes, flit_bytes + 1, PAYLOAD_BYTES, PAYLOAD_BYTES + 1))
        if kind == PacketType.GET and rng.random() < 0.6:
            length = 0
        header = PacketHeader.const({"type": kind, "length": length, **{
            name: rng.getrandbits(PacketHeader.members[name].width)
            for name in ("fragment", "source_id", "source_vp", "dest_vp", "tag")},
            "addr": rng.getrandbits(address_bits) & -flit_bytes}).as_bits()
        count = -(-length // flit_bytes)
        packets.append((header, [rng.getrandbits(width) | (k == count - 1) << width for k in range(count)]))
    source, gets = PacketOffers(part.i, rng, packets), Takes(part.o_get, rng)
    windows, slots = Takes(part.window.query, rng), Takes(part.receive_slot.query, rng)
    window_answers = Answers(part.window.answer, rng, windows, lambda _: int(rng.random() < 0.7))
    slot_answers = Answers(part.receive_slot.answer, rng, slots, lambda _: int(SLOT.const({
        "ok": int(rng.random() < 0.7), "phase": rng.getrandbits(1),
        "addr": rng.getrandbits(address_bits) & -ENTRY_BYTES}).as_bits()))
    memory, answers = MemoryWrites(part.write, rng, width=width), PacketTakes(part.o, rng, lambda _: 0)
    pulses: Counter[str] = Counter()

    class Node:
        def drive(self, context) -> None:
            context.set(part.node_id, node_id)
            context.set(part.cycles, TIME)

        def settle(self, read) -> None:
            pulses["delivered"] += read(part.delivered)
            pulses["unknown"] += read(part.unknown)

    ends = [Node(), source, gets, windows, slots, window_answers, slot_answers, memory, answers]
    run(part, ends, cycles=N_PACKETS * 24, rng=rng)
    assert source.done
    ok, found_slots = iter(window_answers.taken), iter(slot_answers.taken)
    written, errors, acks, asked = iter(memory.taken), iter(memory.errors), iter(answers.taken), iter(gets.taken)
    counts: Counter[str] = Counter()
    for bits, beats in packets:
        header = fields(PacketHeader, bits)
        kind, length = header["type"], header["length"]
        payload = [beat % (1 << width) for beat in beats]
        if kind == PacketType.GET and length == 0:
            assert next(asked) == bits
            counts["GET"] += 1
            continue
        if kind not in (PacketType.SEND, PacketType.PUT):
            counts["unknown"] += 1
            counts["GET with payload"] += kind == PacketType.GET
            continue
        status, accepted = Status.OK, False
        if kind == PacketType.SEND and length > PAYLOAD_BYTES:
            status = Status.BAD_LENGTH
        elif kind == PacketType.SEND:
            slot = fields(SLOT, next(found_slots))
            accepted = bool(slot["ok"])
            status = Status.OK if accepted else Status.RECEIVER_NOT_READY
        elif length:
            accepted = bool(next(ok))
            status = Status.OK if accepted else Status.REMOTE_ACCESS
        if accepted:
            address, size, data = next(written)
            if kind == PacketType.SEND:
                shown = sum(word << k * width for k, word in enumerate(payload)) & (1 << 8 * length) - 1
                entry = Receive.const({
                    "payload": shown, "source_id": header["source_id"], "source_vp": header["source_vp"],
                    "length": length, "timestamp": TIME, "phase": slot["phase"]}).as_bits()
                assert (address, size) == (slot["addr"], ENTRY_BYTES)
                assert sum(word << k * width for k, word in enumerate(data)) == entry
            else:
                assert (address, size, data) == (header["addr"], length, payload)
            error = next(errors)
            status = Status.MEMORY_ERROR if error else Status.OK
            counts["delivered"] += kind == PacketType.SEND and not error
        counts[status.name] += 1
        assert next(acks) == (PacketHeader.const({
            "type": PacketType.ACK, "version": 1, "fragment": header["fragment"], "dest_id": header["source_id"],
            "dest_vp": header["source_vp"], "source_id": node_id, "source_vp": header["dest_vp"],
            "tag": header["tag"], "status": status, "addr": header["addr"]}).as_bits(), [])
    assert next(acks, None) is next(asked, None) is next(written, None) is None
    assert (pulses["delivered"], pulses["unknown"]) == (counts["delivered"], counts["unknown"])
    cases = ("GET", "GET with payload", "unknown", "delivered", "OK", "MEMORY_ERROR", "REMOTE_ACCESS",
             "RECEIVER_NOT_READY")
    assert all(counts[case] for case in cases), counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param(" & (incoming.payload.length == 0)", "", id="payload-of-a-get"),
    pytest.param("Mux(is_get, self.o_get.ready, admission.i.ready)", "admission.i.ready", id="get-lost"),
    pytest.param("self.unknown.eq(admission.unknown)", "self.unknown.eq(delivery.delivered)", id="another-pulse"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "P2pReceive", changed(P2pReceive, old, new))
    with pytest.raises(AssertionError):
        test_packets(64, 64, 1)
