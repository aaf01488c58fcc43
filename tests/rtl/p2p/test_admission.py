"""Judgement of received packets: whom it asks about each, and what becomes of it."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import PacketType, Right, Status
from rtl.abi import PacketHeader
from rtl.interface import ReceiveSlotSignature, WindowQuery
from rtl.p2p.admission import Admission
from rtl.p2p.records import admitted_layout
from testbench.parts.faults import changed
from testbench.parts.ports import Answers, OffersOf
from testbench.parts.simulation import Takes, fields, run

N_PACKETS = 150
LONGEST_SEND = 64
SLOT = ReceiveSlotSignature().members["answer"].signature.members["payload"].shape


@pytest.mark.parametrize("address_bits", [40, 64])
@pytest.mark.parametrize("seed", range(2))
def test_admission(address_bits: int, seed: int) -> None:
    rng, part = random.Random(seed), Admission(address_bits=address_bits)
    headers = [PacketHeader.const({
        "type": rng.choice((PacketType.SEND, PacketType.SEND, PacketType.PUT, PacketType.PUT, *PacketType)),
        "length": rng.choice((0, 1, LONGEST_SEND - 1, LONGEST_SEND, LONGEST_SEND + 1, 256)),
        "dest_vp": rng.getrandbits(8), "addr": rng.getrandbits(64), "tag": rng.getrandbits(16),
        "source_id": rng.getrandbits(24), "status": rng.getrandbits(8),
    }).as_bits() for _ in range(N_PACKETS)]
    source, judged = OffersOf(part.i, rng, headers), Takes(part.o, rng)
    windows, slots = Takes(part.window.query, rng), Takes(part.receive_slot.query, rng)
    window_answers = Answers(part.window.answer, rng, windows, lambda _: rng.randrange(2))
    slot_answers = Answers(part.receive_slot.answer, rng, slots, lambda _: rng.getrandbits(SLOT.size))
    unknown = 0
    counts: Counter[str] = Counter()

    def step(read) -> None:
        nonlocal unknown
        unknown += read(part.unknown)

    run(part, [source, judged, windows, slots, window_answers, slot_answers], step=step, cycles=1800, rng=rng)
    asked_windows, asked_slots = iter(windows.taken), iter(slots.taken)
    windows_ok, slots_found = iter(window_answers.taken), iter(slot_answers.taken)
    assert len(judged.taken) == N_PACKETS
    for header, bits in zip(headers, judged.taken, strict=True):
        sent, found = fields(PacketHeader, header), fields(admitted_layout(address_bits), bits)
        is_send, is_put = sent["type"] == PacketType.SEND, sent["type"] == PacketType.PUT
        case, accept, status = "dropped", False, Status.OK
        if is_send and sent["length"] > LONGEST_SEND:
            case, status = "too long", Status.BAD_LENGTH
        elif is_send:
            assert next(asked_slots) == sent["dest_vp"]
            slot = fields(SLOT, next(slots_found))
            accept = bool(slot["ok"])
            case, status = ("SEND", status) if accept else ("no entry", Status.RECEIVER_NOT_READY)
            assert not accept or (found["addr"], found["phase"]) == (slot["addr"] % (1 << address_bits), slot["phase"])
        elif is_put and sent["length"]:
            query = fields(WindowQuery, next(asked_windows))
            assert query == {"vp": sent["dest_vp"], "addr": sent["addr"], "bytes": sent["length"],
                             "right": Right.REMOTE_WRITE}
            accept = bool(next(windows_ok))
            case, status = ("PUT", status) if accept else ("no window", Status.REMOTE_ACCESS)
            assert not accept or found["addr"] == sent["addr"] % (1 << address_bits)
        elif is_put:
            case = "empty PUT"
        counts[case] += 1
        assert found["header"] == header
        assert (found["accept"], found["answer"]) == (accept, is_send or is_put), case
        assert not found["answer"] or found["status"] == status, case
        assert (found["send"], found["empty"]) == (is_send, sent["length"] == 0)
    assert next(asked_windows, None) is next(asked_slots, None) is None
    assert unknown == counts["dropped"]
    assert len(counts) == 7
    assert min(counts.values()) > 2, counts


def test_full_rate() -> None:
    """A judgement that asks nobody takes two cycles."""
    rng, part = random.Random(0), Admission()
    headers = [PacketHeader.const({"type": PacketType.SEND, "length": LONGEST_SEND + 1}).as_bits()] * 20
    source, judged = OffersOf(part.i, rng, headers), Takes(part.o, rng)
    source.rate = judged.rate = 1
    run(part, [source, judged], cycles=2 * len(headers), rng=rng)
    assert len(judged.taken) == len(headers)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("> formats.PAYLOAD_BYTES", ">= formats.PAYLOAD_BYTES", id="longest-refused"),
    pytest.param("Right.REMOTE_WRITE", "Right.LOCAL_WRITE", id="another-right"),
    pytest.param("with m.If(~window.answer.payload.ok):", "with m.If(0):", id="all-windows"),
    pytest.param("result.addr.eq(slot.answer.payload.addr),", "", id="address-of-the-packet"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Admission", changed(Admission, old, new))
    with pytest.raises(AssertionError):
        test_admission(64, 1)
