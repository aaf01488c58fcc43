"""Packets that answer: headers of ACKs and data of GETs go on, anything else is dropped with its payload."""

import random

import pytest

from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
from rtl.p2p.answers import AnswerReceiver
from testbench.parts.faults import changed
from testbench.parts.ports import PacketOffers, PacketTakes
from testbench.parts.simulation import Takes, fields, run

N_PACKETS = 150


@pytest.mark.parametrize("width", [64, 512])
@pytest.mark.parametrize("seed", range(2))
def test_answers(width: int, seed: int) -> None:
    rng, part = random.Random(seed), AnswerReceiver(data_width=width)
    flit_bytes = width // 8

    def n_beats(header: int) -> int:
        return -(-fields(PacketHeader, header)["length"] // flit_bytes)

    packets = []
    for _ in range(N_PACKETS):
        kind = rng.choice((PacketType.ACK, PacketType.ACK, PacketType.GET_DATA, PacketType.GET_DATA, *PacketType))
        # Even an ACK may have a payload, which nobody wants.
        length = rng.choice((0, 0, 1, flit_bytes, flit_bytes + 1, 3 * flit_bytes))
        header = PacketHeader.const({
            "type": kind, "length": length, "tag": rng.getrandbits(16), "status": rng.getrandbits(8),
            "addr": rng.getrandbits(64), "source_id": rng.getrandbits(24), "fragment": rng.getrandbits(16),
        }).as_bits()
        count = -(-length // flit_bytes)
        packets.append((header, [rng.getrandbits(width) | (k == count - 1) << width for k in range(count)]))
    source, answers = PacketOffers(part.i, rng, packets), Takes(part.o, rng)
    landing = PacketTakes(part.o_data, rng, n_beats)
    dropped = 0

    def step(read) -> None:
        nonlocal dropped
        dropped += read(part.unknown)
        # Nothing waits but for the one who gets it, and that without a cycle between.
        if source.header.offered is not None:
            kind = fields(PacketHeader, source.header.offered)["type"]
            takers = {PacketType.ACK: part.o.ready, PacketType.GET_DATA: part.o_data.header.ready}
            assert read(part.i.header.ready) == (read(takers[kind]) if kind in takers else 1)

    run(part, [source, answers, landing], step=step, cycles=N_PACKETS * 11, rng=rng)
    assert source.done
    kinds = [fields(PacketHeader, header)["type"] for header, _ in packets]
    assert answers.taken == [
        header for (header, _), kind in zip(packets, kinds, strict=True) if kind == PacketType.ACK]
    assert len(answers.taken) > 30
    assert landing.taken == [packet for packet, kind in zip(packets, kinds, strict=True)
                             if kind == PacketType.GET_DATA]
    assert dropped == sum(kind not in (PacketType.ACK, PacketType.GET_DATA) for kind in kinds) > 10


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("to_landing.eq(is_data)", "to_landing.eq(1)", id="payload-of-others"),
    pytest.param("onward.header.ready | ~is_data", "onward.header.ready", id="waits-for-landing"),
    pytest.param("Mux(is_ack, self.o.ready,", "Mux(is_ack, 1,", id="lost"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "AnswerReceiver", changed(AnswerReceiver, old, new))
    with pytest.raises(AssertionError):
        test_answers(64, 1)
