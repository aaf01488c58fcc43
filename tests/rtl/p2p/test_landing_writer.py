"""Data of GETs on their way to memory: written where they were judged to go, dropped otherwise, and each reported."""

import random

import pytest

from firmware_models.abi.encoding import Status
from rtl.p2p.landing_writer import LandingWriter
from rtl.p2p.records import TrackerCommand, landing_layout
from testbench.parts.faults import changed
from testbench.parts.ports import MemoryWrites, OffersOf
from testbench.parts.simulation import Takes, fields, run

N_PACKETS = 120


@pytest.mark.parametrize(("width", "address_bits"), [(64, 64), (512, 40)])
@pytest.mark.parametrize("seed", range(2))
def test_landing(width: int, address_bits: int, seed: int) -> None:
    rng, part = random.Random(seed), LandingWriter(data_width=width, address_bits=address_bits)
    flit_bytes = width // 8
    landings, beats, expected, reports = [], [], [], []
    for _ in range(N_PACKETS):
        length = rng.choice((0, 1, flit_bytes - 1, flit_bytes, flit_bytes + 1, 4 * flit_bytes))
        accept = int(length > 0 and rng.random() < 0.7)
        judged = {
            "number": rng.getrandbits(16), "accept": accept, "answer": int(accept or rng.random() < 0.5),
            "status": Status.OK if accept else rng.choice((Status.BAD_ADDRESS, Status.REMOTE_ACCESS)),
            "addr": rng.getrandbits(address_bits) & -flit_bytes, "detail": rng.getrandbits(64), "length": length,
        }
        landings.append(landing_layout(address_bits).const(judged).as_bits())
        count = -(-length // flit_bytes)
        payload = [rng.getrandbits(width) for _ in range(count)]
        beats += [data | (k == count - 1) << width for k, data in enumerate(payload)]
        if accept:
            expected.append((judged["addr"], length, payload))
        if judged["answer"]:
            reports.append(judged)
    packets, payloads = OffersOf(part.i, rng, landings), OffersOf(part.i_payload, rng, beats)
    memory, reported = MemoryWrites(part.write, rng, width=width), Takes(part.o_landed, rng)

    def step(read) -> None:
        written = sum(report["accept"] for report in reports[:len(reported.taken)])
        if read(part.o_landed.valid) and reports[len(reported.taken)]["accept"]:
            assert memory.whole > written, "a report of data that memory does not have"

    run(part, [packets, payloads, memory, reported], step=step, cycles=N_PACKETS * 14, rng=rng)
    assert len(packets.taken) == N_PACKETS
    assert payloads.taken == beats
    assert memory.taken == expected
    found = [fields(TrackerCommand, bits) for bits in reported.taken]
    assert len(found) == len(reports)
    errors = iter(memory.errors)
    for one, judged in zip(found, reports, strict=True):
        status = judged["status"]
        if judged["accept"] and next(errors):
            status = Status.MEMORY_ERROR
        assert (one["number"], one["status"]) == (judged["number"], status)
        assert one["detail"] == judged["addr" if judged["accept"] else "detail"]
    assert 3 < sum(memory.errors) < len(expected)
    assert sum(not judged["accept"] for judged in reports) > 10


@pytest.mark.parametrize("width", [64, 512])
def test_full_rate(width: int) -> None:
    """A packet takes a cycle more than its beats, one without beats two."""
    rng, part = random.Random(width), LandingWriter(data_width=width)
    lengths = [rng.choice((0, 1, 2, 5)) * width // 8 for _ in range(40)]
    landings = [landing_layout().const({"accept": length > 0, "answer": 1, "length": length}).as_bits()
                for length in lengths]
    counts = [-(-8 * length // width) for length in lengths]
    beats = [(k == count - 1) << width for count in counts for k in range(count)]
    packets, payloads = OffersOf(part.i, rng, landings), OffersOf(part.i_payload, rng, beats)
    memory, reported = MemoryWrites(part.write, rng, width=width), Takes(part.o_landed, rng)
    for stream in (packets, payloads, memory.request, memory.data, memory.done, reported):
        stream.rate = 1
    run(part, [packets, payloads, memory, reported], cycles=sum(counts) + len(lengths) + counts.count(0), rng=rng)
    assert len(packets.taken) == len(lengths)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("notes.o.payload.written & done.payload.error", "done.payload.error", id="error-of-another"),
    pytest.param("(~notes.o.payload.written | done.valid)", "1", id="before-memory-has-answered"),
    pytest.param("Mux(landing.accept, landing.addr, landing.detail)", "landing.detail", id="detail"),
    pytest.param("with m.Elif(landing.length != 0):", "with m.Elif(landing.length[2:] != 0):", id="short-payload-left"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LandingWriter", changed(LandingWriter, old, new))
    with pytest.raises(AssertionError):
        test_landing(64, 64, 1)
