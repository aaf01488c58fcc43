"""Delivery of judged packets: entries of receive queues and ranges of memory beside lists of bytes; and the answers."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import PacketType, Status
from firmware_models.abi.formats import NONCE_FIELDS
from rtl.abi import PacketHeader, Receive
from rtl.p2p.delivery import Delivery
from rtl.p2p.records import admitted_layout
from testbench.parts.faults import changed
from testbench.parts.ports import MemoryWrites, OffersOf
from testbench.parts.simulation import Takes, run

N_PACKETS = 60
ENTRY_BYTES, PAYLOAD_BYTES = 128, 64
ANY_STATUS = (Status.BAD_LENGTH, Status.RECEIVER_NOT_READY, Status.REMOTE_ACCESS)


@pytest.mark.parametrize(("width", "address_bits", "seed"), [(64, 64, 0), (512, 40, 1)])
def test_delivery(width: int, address_bits: int, seed: int) -> None:
    rng, part = random.Random(seed), Delivery(data_width=width, address_bits=address_bits)
    flit_bytes, node_id = width // 8, rng.getrandbits(24)
    judged, beats, packets = [], [], []
    for _ in range(N_PACKETS):
        is_send = rng.random() < 0.5
        length = rng.choice((0, 1, flit_bytes, flit_bytes + 1, PAYLOAD_BYTES - 1, PAYLOAD_BYTES, 2 * PAYLOAD_BYTES))
        accept = int(rng.random() < 0.7 and (length <= PAYLOAD_BYTES if is_send else length > 0))
        answer = int(accept or rng.random() < 0.8)
        header = {
            "type": PacketType.SEND if is_send else PacketType.PUT, "length": length,
            **{name: rng.getrandbits(PacketHeader.members[name].width) for name in (
                "fragment", "source_id", "source_vp", "dest_id", "dest_vp", "tag", "addr", *NONCE_FIELDS)},
        }
        packet = {"header": header, "accept": accept, "answer": answer,
                  "status": Status.OK if accept else rng.choice(ANY_STATUS),
                  "addr": rng.getrandbits(address_bits) & -flit_bytes, "phase": rng.getrandbits(1),
                  "send": int(is_send), "empty": int(length == 0)}
        count = -(-length // flit_bytes)
        # Behind the last byte stands what stood in the sender's buffer.
        payload = [rng.getrandbits(width) for _ in range(count)]
        judged.append(admitted_layout(address_bits).const(packet).as_bits())
        beats += [data | (k == count - 1) << width for k, data in enumerate(payload)]
        packets.append((packet, payload))
    source, payloads = OffersOf(part.i, rng, judged), OffersOf(part.i_payload, rng, beats)
    memory, answers = MemoryWrites(part.write, rng, width=width), Takes(part.o, rng)
    delivered, cycle, seen = 0, rng.getrandbits(60), list[tuple[int, int]]()

    class Clock:
        """The time, which goes on while a packet waits."""

        def drive(self, context) -> None:
            nonlocal cycle
            cycle += rng.randrange(3)
            context.set(part.cycles, cycle)
            context.set(part.node_id, node_id)

        def settle(self, read) -> None:
            nonlocal delivered
            delivered += read(part.delivered)
            if read(part.write.request.valid) and read(part.write.request.ready):
                seen.append((len(memory.request.taken), cycle))

    run(part, [Clock(), source, payloads, memory, answers], cycles=N_PACKETS * 34, rng=rng)
    assert len(source.taken) == N_PACKETS
    assert payloads.taken == beats
    written, errors, stamps = iter(memory.taken), iter(memory.errors), dict(seen)
    number, entries = 0, 0
    acks = iter(answers.taken)
    counts: Counter[str] = Counter()
    for packet, payload in packets:
        header, status = packet["header"], packet["status"]
        if packet["accept"]:
            address, size, data = next(written)
            assert address == packet["addr"]
            if packet["send"]:
                bits = sum(word << k * width for k, word in enumerate(payload)) & (1 << 8 * header["length"]) - 1
                entry = Receive.const({
                    "payload": bits, "source_id": header["source_id"], "source_vp": header["source_vp"],
                    "length": header["length"], "timestamp": stamps[number], "phase": packet["phase"],
                }).as_bits()
                assert size == ENTRY_BYTES
                assert sum(word << k * width for k, word in enumerate(data)) == entry
            else:
                assert (size, data) == (header["length"], payload)
            number += 1
            error = next(errors)
            status = Status.MEMORY_ERROR if error else Status.OK
            entries += packet["send"] and not error
            counts["error" if error else "SEND" if packet["send"] else "PUT"] += 1
        else:
            counts["refused" if packet["answer"] else "dropped"] += 1
        if packet["answer"]:
            expected = PacketHeader.const({
                "type": PacketType.ACK, "version": 1, "fragment": header["fragment"], "dest_id": header["source_id"],
                "dest_vp": header["source_vp"], "source_id": node_id, "source_vp": header["dest_vp"],
                "tag": header["tag"], "status": status, "addr": header["addr"],
                **{name: header[name] for name in NONCE_FIELDS},
            }).as_bits()
            assert next(acks) == expected
    assert next(acks, None) is next(written, None) is None
    assert delivered == entries
    assert min(counts[case] for case in ("error", "SEND", "PUT", "refused", "dropped")) > 0, counts


@pytest.mark.parametrize("width", [64, 512])
def test_full_rate(width: int) -> None:
    """A packet takes two cycles more than its beats, of which a SEND has those of its entry; two if it has nothing."""
    rng, part, flit_bytes = random.Random(width), Delivery(data_width=width), width // 8
    judged, beats, cycles = [], [], 0
    for _ in range(30):
        is_send, count = rng.getrandbits(1), rng.randint(0, PAYLOAD_BYTES // flit_bytes)
        accept = int(is_send or count > 0)
        judged.append(admitted_layout().const({
            "header": {"type": PacketType.SEND if is_send else PacketType.PUT, "length": count * flit_bytes},
            "accept": accept, "answer": 1, "send": is_send, "empty": int(count == 0)}).as_bits())
        beats += [(k == count - 1) << width for k in range(count)]
        cycles += 2 + (ENTRY_BYTES // flit_bytes if is_send else count)
    source, payloads = OffersOf(part.i, rng, judged), OffersOf(part.i_payload, rng, beats)
    memory, answers = MemoryWrites(part.write, rng, width=width), Takes(part.o, rng)
    for stream in (source, payloads, memory.request, memory.data, memory.done, answers):
        stream.rate = 1
    run(part, [source, payloads, memory, answers], cycles=cycles, rng=rng)
    assert len(source.taken) == len(judged)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("self.i_payload.payload.last & ~is_send", "self.i_payload.payload.last", id="mark-within-an-entry"),
    pytest.param("(1 << 8 * count) - 1", "(1 << 8 * count + 8) - 1", id="a-byte-beyond-the-length"),
    pytest.param("entry.phase.eq(self.i.payload.phase)", "entry.phase.eq(1)", id="phase"),
    pytest.param("& is_entry & (status == Status.OK)", "& is_entry", id="delivered-though-refused"),
    pytest.param("nonce_of(ack).eq(nonce_of(note.header)),", "", id="no-nonce"),
    pytest.param("ack.dest_vp.eq(note.header.source_vp)", "ack.dest_vp.eq(note.header.dest_vp)", id="answer-to-itself"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Delivery", changed(Delivery, old, new))
    with pytest.raises(AssertionError):
        test_delivery(64, 64, 1)
