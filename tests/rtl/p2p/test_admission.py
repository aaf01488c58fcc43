"""Judgement of received packets: whom it asks about each, and what becomes of it."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import PacketType, Right, Status
from rtl.abi import P2pRange, PacketHeader
from rtl.interface import ReceiveSlotSignature, WindowQuery
from rtl.p2p.admission import Admission
from rtl.p2p.records import RangedHeader, admitted_layout
from testbench.parts.faults import changed
from testbench.parts.ports import Answers, OffersOf
from testbench.parts.simulation import Takes, fields, run

N_PACKETS = 300
LONGEST_SEND = 64
TOP, MOST, FLIT_BYTES = 1 << 64, 1 << 32, 8
SLOT = ReceiveSlotSignature().members["answer"].signature.members["payload"].shape


def ranged(rng: random.Random) -> int:
    """A header with the range of its operation: its own bytes, or those of an operation of several fragments."""
    part, length = rng.getrandbits(1), rng.choice((0, 1, LONGEST_SEND - 1, LONGEST_SEND, LONGEST_SEND + 1, 256))
    header = {
        "type": rng.choice((PacketType.SEND, PacketType.PUT, PacketType.PUT, PacketType.PUT, *PacketType)),
        "coll_end": part, "length": length, "dest_vp": rng.getrandbits(8), "addr": rng.getrandbits(64),
        "tag": rng.getrandbits(16), "source_id": rng.getrandbits(24), "status": rng.getrandbits(8),
    }
    before = FLIT_BYTES * rng.choice((0, 1, 255, MOST // FLIT_BYTES - 40)) * part
    left = length + part * rng.choice((0, 1, 2040, 300, rng.getrandbits(31)))
    case = rng.random() * part
    if case > 0.9:
        left = max(0, length - 1)
    elif case > 0.8:
        before += 4
    elif case > 0.6:
        before += FLIT_BYTES
        header["addr"] = rng.randrange(before)
    return int(RangedHeader.const({"header": header, "range": {"before": before, "left": left}}).as_bits())


def refusal(sent: dict[str, int], before: int, left: int) -> Status:
    """Reason why nobody is asked about a PUT, OK if the window is."""
    if left < sent["length"] or sent["length"] == 0 or before + left >= MOST or before % FLIT_BYTES:
        return Status.BAD_LENGTH
    return Status.REMOTE_ACCESS if before > sent["addr"] else Status.OK


@pytest.mark.parametrize("address_bits", [40, 64])
@pytest.mark.parametrize("seed", range(2))
def test_admission(address_bits: int, seed: int) -> None:
    rng, part = random.Random(seed), Admission(data_width=8 * FLIT_BYTES, address_bits=address_bits)
    headers = [ranged(rng) for _ in range(N_PACKETS)]
    source, judged = OffersOf(part.i, rng, headers), Takes(part.o, rng)
    windows, slots = Takes(part.window.query, rng), Takes(part.receive_slot.query, rng)
    window_answers = Answers(part.window.answer, rng, windows, lambda _: rng.randrange(2))
    slot_answers = Answers(part.receive_slot.answer, rng, slots, lambda _: rng.getrandbits(SLOT.size))
    unknown = 0
    counts: Counter[str] = Counter()

    def step(read) -> None:
        nonlocal unknown
        unknown += read(part.unknown)

    run(part, [source, judged, windows, slots, window_answers, slot_answers], step=step, cycles=12 * N_PACKETS, rng=rng)
    asked_windows, asked_slots = iter(windows.taken), iter(slots.taken)
    windows_ok, slots_found = iter(window_answers.taken), iter(slot_answers.taken)
    assert len(judged.taken) == N_PACKETS
    for both, bits in zip(headers, judged.taken, strict=True):
        header, operation = (fields(RangedHeader, both)[name] for name in ("header", "range"))
        before, left = (fields(P2pRange, operation)[name] for name in ("before", "left"))
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
        elif is_put and (sent["length"] or sent["coll_end"]) and (status := refusal(sent, before, left)) != Status.OK:
            case = f"range {status.name}"
        elif is_put and sent["length"]:
            query = fields(WindowQuery, next(asked_windows))
            assert query == {"vp": sent["dest_vp"], "addr": sent["addr"] - before, "bytes": before + left,
                             "right": Right.REMOTE_WRITE}
            counts["several"] += sent["coll_end"]
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
    assert len(counts) == 10
    assert min(counts.values()) > 2, counts


def test_full_rate() -> None:
    """A judgement that asks nobody takes two cycles."""
    rng, part = random.Random(0), Admission(data_width=64)
    headers = [RangedHeader.const({"header": {"type": PacketType.SEND, "length": LONGEST_SEND + 1}}).as_bits()] * 20
    source, judged = OffersOf(part.i, rng, headers), Takes(part.o, rng)
    source.rate = judged.rate = 1
    run(part, [source, judged], cycles=2 * len(headers), rng=rng)
    assert len(judged.taken) == len(headers)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("> formats.PAYLOAD_BYTES", ">= formats.PAYLOAD_BYTES", id="longest-refused"),
    pytest.param("Right.REMOTE_WRITE", "Right.LOCAL_WRITE", id="another-right"),
    pytest.param("with m.If(~window.answer.payload.ok):", "with m.If(0):", id="all-windows"),
    pytest.param("(incoming.length == 0) & ~is_part(incoming)", "incoming.length == 0", id="part-without-data"),
    pytest.param("window.query.payload.addr.eq(whole.whole_addr)", "window.query.payload.addr.eq(header.addr)",
                 id="before-not-looked-at"),
    pytest.param("window.query.payload.bytes.eq(whole.whole_bytes)", "window.query.payload.bytes.eq(header.length)",
                 id="left-not-looked-at"),
    pytest.param("window.query.valid.eq(whole.fits & ~whole.below)", "window.query.valid.eq(1)", id="any-range"),
    pytest.param("Mux(whole.fits, Status.REMOTE_ACCESS, Status.BAD_LENGTH)", "Status.BAD_LENGTH", id="below-zero"),
    pytest.param("result.addr.eq(slot.answer.payload.addr),", "", id="address-of-the-packet"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Admission", changed(Admission, old, new))
    with pytest.raises(AssertionError):
        test_admission(64, 1)
