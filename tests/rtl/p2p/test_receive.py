"""The receiving half of the point-to-point path: each packet asked about, written, answered or passed on, in order."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import PacketType, Status
from rtl.abi import P2pRange, PacketHeader, Receive
from rtl.interface import ReceiveSlotSignature, WindowQuery
from rtl.p2p.receive import P2pReceive
from rtl.p2p.records import RangedHeader
from testbench.parts.faults import changed
from testbench.parts.ports import Answers, MemoryWrites, PacketOffers, PacketTakes
from testbench.parts.simulation import Takes, fields, run

N_PACKETS, ENTRY_BYTES, PAYLOAD_BYTES = 160, 128, 64
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
        is_part = rng.random() < 0.5
        if kind == PacketType.GET and rng.random() < 0.8:
            length = flit_bytes * (is_part and rng.random() < 0.7)
        if kind == PacketType.PUT and is_part:
            length += flit_bytes * rng.randrange(2)
        address = rng.getrandbits(address_bits) & -flit_bytes
        header = PacketHeader.const({"type": kind, "length": length, "coll_end": int(is_part), **{
            name: rng.getrandbits(PacketHeader.members[name].width)
            for name in ("fragment", "source_id", "source_vp", "dest_vp", "tag", "pulse")},
            "addr": address}).as_bits()
        count = -(-length // flit_bytes)
        payload = [rng.getrandbits(width) for _ in range(count)]
        if is_part and payload:
            before = min(address, flit_bytes * rng.choice((0, 1, rng.randrange(1 << 24))))
            # Behind a range stands what stood in the sender's buffer.
            payload[0] = payload[0] >> P2pRange.size << P2pRange.size | before | (length + rng.randrange(1 << 20)) << 32
        packets.append((header, [beat | (k == count - 1) << width for k, beat in enumerate(payload)]))
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
    queries = (fields(WindowQuery, query) for query in windows.taken)
    counts: Counter[str] = Counter()
    for bits, beats in packets:
        header = fields(PacketHeader, bits)
        kind, length = header["type"], header["length"]
        payload = [beat % (1 << width) for beat in beats]
        is_get = kind == PacketType.GET and length in ((0, flit_bytes) if header["coll_end"] else (0,))
        is_part = header["coll_end"] and (is_get or kind == PacketType.PUT)
        operation = (0, header["pulse"] if is_get else length) if not is_part else (0, 0)
        if is_part and payload:
            # The first flit is the range, and no data.
            operation = payload[0] % (1 << 32), payload[0] >> 32 & 0xFFFFFFFF
            payload, length = payload[1:], max(0, length - flit_bytes)
        if is_get:
            ranged = fields(RangedHeader, next(asked))
            assert ranged["header"] == bits & ~((1 << 13) - 1 << PacketHeader["length"].offset)
            assert ranged["range"] == operation[0] | operation[1] << 32
            counts["part of a GET" if is_part else "GET"] += 1
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
        elif is_part and length == 0:
            status = Status.BAD_LENGTH
        elif length:
            before, left = operation
            query = next(queries)
            assert (query["addr"], query["bytes"]) == (header["addr"] - before, before + left)
            accepted = bool(next(ok))
            status = Status.OK if accepted else Status.REMOTE_ACCESS
            counts["part of a PUT"] += accepted and is_part
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
    assert next(acks, None) is next(asked, None) is next(written, None) is next(queries, None) is None
    assert (pulses["delivered"], pulses["unknown"]) == (counts["delivered"], counts["unknown"])
    cases = ("GET", "part of a GET", "GET with payload", "unknown", "delivered", "OK", "part of a PUT", "MEMORY_ERROR",
             "REMOTE_ACCESS", "RECEIVER_NOT_READY", "BAD_LENGTH")
    assert all(counts[case] for case in cases), counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("get & (is_get_part | (sent.length == 0))", "get", id="payload-of-a-get"),
    pytest.param("Mux(is_get, self.o_get.ready, admission.i.ready)", "admission.i.ready", id="get-lost"),
    pytest.param("beats.i.valid.eq(payload.valid & ~awaits_range)", "beats.i.valid.eq(payload.valid)",
                 id="range-written"),
    pytest.param("Mux(sent.length > flit_bytes, sent.length - flit_bytes, 0)", "sent.length", id="range-counted"),
    pytest.param("header.o.valid & ~is_get & ~awaits_range", "header.o.valid & ~is_get", id="range-not-awaited"),
    pytest.param("header.o.valid & is_get & ~awaits_range", "header.o.valid & is_get", id="range-of-a-get-not-awaited"),
    pytest.param("Mux(is_part(sent), 0, Mux(get", "Mux(0, 0, Mux(get", id="no-range-is-any"),
    pytest.param("operation.before.eq(0)", "operation.before.eq(operation.before)", id="range-of-another"),
    pytest.param("(sent.type == PacketType.PUT) & is_part(sent)", "is_part(sent)", id="range-of-a-send"),
    pytest.param("self.unknown.eq(admission.unknown)", "self.unknown.eq(delivery.delivered)", id="another-pulse"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "P2pReceive", changed(P2pReceive, old, new))
    with pytest.raises(AssertionError):
        test_packets(64, 64, 1)
