"""From fragments to packets: what each report says, which packets leave, and whose data are thrown away."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import Status
from rtl.abi import P2pRange, PacketHeader
from rtl.p2p.records import Fragment, TrackerCommand
from rtl.p2p.sender import FragmentSender
from testbench.parts.faults import changed
from testbench.parts.ports import OffersOf, PacketTakes
from testbench.parts.simulation import Takes, fields, run

N_FRAGMENTS, N_ENTRIES = 120, 8


@pytest.mark.parametrize("width", [64, 512])
@pytest.mark.parametrize("seed", range(2))
def test_fragments(width: int, seed: int) -> None:
    rng, part = random.Random(seed), FragmentSender(data_width=width, n=N_ENTRIES)
    flit_bytes = width // 8

    def n_beats(header: int) -> int:
        return -(-fields(PacketHeader, header)["length"] // flit_bytes)

    fragments, reads, payloads = [], [], []
    for _ in range(N_FRAGMENTS):
        stored = int(rng.random() < 0.85)
        length = rng.choice((0, 1, flit_bytes - 1, flit_bytes, flit_bytes + 1, 4 * flit_bytes)) * stored
        read = int(length > 0 and rng.random() < 0.7)
        is_part = int(length > 0 and rng.random() < 0.5)
        header = PacketHeader.const({
            "length": length + flit_bytes * is_part, "coll_end": is_part, "tag": rng.getrandbits(16),
            "dest_id": rng.getrandbits(24), "addr": rng.getrandbits(64),
        }).as_bits()
        fragments.append({
            "header": header, "range": {"before": rng.getrandbits(32), "left": rng.getrandbits(32)},
            "final": int(not stored or rng.random() < 0.15), "stored": stored, "read": read,
            "status": Status.OK if rng.random() < 0.9 else Status.BAD_ADDRESS, "detail": rng.getrandbits(64),
        })
        payloads.append([rng.getrandbits(width) for _ in range(n_beats(header) - is_part)])
        if read:
            reads.append(int(rng.random() < 0.15))
    items = [Fragment.const({**one, "header": PacketHeader.from_bits(one["header"])}).as_bits() for one in fragments]
    source, outcomes = OffersOf(part.i_fragment, rng, items), OffersOf(part.i_read, rng, reads)
    data = OffersOf(part.i_data, rng, [beat for payload in payloads for beat in payload])
    progress, packets = Takes(part.o_progress, rng), PacketTakes(part.o, rng, n_beats)
    failed, before, waits, returned = 0, 0, False, 0
    failures: list[int] = []
    sent: list[int] = []

    class Tracker:
        """Operations fail, and their entries are used again."""

        def drive(self, context) -> None:
            nonlocal failed
            if rng.random() < 0.1:
                failed = rng.getrandbits(N_ENTRIES) & rng.getrandbits(N_ENTRIES)
            context.set(part.failed, failed)

        def settle(self, read) -> None:
            nonlocal before, waits, returned
            # Decided is by what had failed in the cycle before the report.
            valid = read(part.o_progress.valid)
            if valid and not waits:
                failures.append(before)
            waits, before = valid and not read(part.o_progress.ready), failed
            returned += read(part.returned)
            assert not read(part.o.header.valid) or len(packets.taken) < sum(sent[:len(progress.taken)]), (
                "a packet of which the tracker does not know")
            if valid and read(part.o_progress.ready):
                sent.append(fields(TrackerCommand, read(part.o_progress.payload.as_value()))["sent"])

    run(part, [Tracker(), source, outcomes, data, progress, packets], cycles=N_FRAGMENTS * 13, rng=rng)
    assert len(progress.taken) == len(failures) == N_FRAGMENTS
    expected, errors, failing = [], iter(reads), False
    counts: Counter[str] = Counter()
    for one, payload, shown, bits in zip(fragments, payloads, failures, progress.taken, strict=True):
        tag, found = fields(PacketHeader, one["header"])["tag"], fields(TrackerCommand, bits)
        error = bool(one["read"]) and bool(next(errors))
        status = Status.MEMORY_ERROR if error else one["status"]
        reason = ("no packet" if not one["stored"] else "error" if error else "after an error" if failing
                  else "failed" if shown >> tag % N_ENTRIES & 1 else "sent")
        counts[reason] += 1
        assert (found["number"], found["final"], found["status"]) == (tag, one["final"], status)
        assert found["detail"] == one["detail"]
        assert found["sent"] == (reason == "sent"), reason
        failing = not one["final"] and (failing or status != Status.OK)
        if reason == "sent":
            ranges = [P2pRange.const(one["range"]).as_bits()] * fields(PacketHeader, one["header"])["coll_end"]
            counts["range"] += len(ranges)
            beats = [*ranges, *payload]
            last = len(beats) - 1
            expected.append((one["header"], [beat | (k == last) << width for k, beat in enumerate(beats)]))
    assert packets.taken == expected
    assert data.taken == [beat for payload in payloads for beat in payload]
    assert outcomes.taken == reads
    assert returned == sum(one["stored"] for one in fragments)
    assert len(counts) == 6
    assert min(counts.values()) > 3, counts


@pytest.mark.parametrize("is_part", [0, 1])
@pytest.mark.parametrize("count", [4, 8])
def test_full_rate(count: int, is_part: int) -> None:
    """Headers of packets in a row are a header, the beats and at most an idle cycle apart. A range is one beat more."""
    rng, part = random.Random(count), FragmentSender(data_width=64, n=N_ENTRIES)
    header = {"length": 8 * (count + is_part), "coll_end": is_part}
    items = [Fragment.const({"header": header, "stored": 1, "read": 1}).as_bits()] * 20
    source, outcomes = OffersOf(part.i_fragment, rng, items), OffersOf(part.i_read, rng, [0] * len(items))
    data = OffersOf(part.i_data, rng, [0] * count * len(items))
    progress, packets = Takes(part.o_progress, rng), PacketTakes(part.o, rng, lambda _: count + is_part)
    for stream in (source, outcomes, data, progress, packets.header, packets.payload):
        stream.rate = 1
    run(part, [source, outcomes, data, progress, packets], cycles=5 + len(items) * (count + 2 + is_part), rng=rng)
    assert len(packets.taken) == len(items)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("~fragment.final & (failing | (status != Status.OK))", "~fragment.final & (status != Status.OK)",
                 id="forgets-an-error"),
    pytest.param("self.i_read.ready.eq(fragment.read)", "self.i_read.ready.eq(fragment.stored)",
                 id="outcome-of-another"),
    pytest.param("~fragment.stored | read_error | failing", "~fragment.stored | read_error", id="sent-after-an-error"),
    pytest.param("throwing.eq(packet.discard)", "throwing.eq(0)", id="thrown-data-sent"),
    pytest.param("m.d.sync += sends_range.eq(1)", "pass", id="data-in-place-of-the-range"),
    pytest.param("left.eq(n_flits - part)", "left.eq(n_flits)", id="range-counted-as-data"),
    pytest.param("part & ~packet.discard", "part", id="range-of-what-is-thrown-away"),
    pytest.param("last.eq(~sends_range & (left == 1))", "last.eq(left == 1)", id="range-ends-the-packet"),
    pytest.param("with m.If(n_flits == 0):\n                        m.d.comb += self.returned.eq(1)",
                 "with m.If(n_flits == 0):\n                        m.d.comb += self.returned.eq(~packet.discard)",
                 id="slot-lost"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "FragmentSender", changed(FragmentSender, old, new))
    with pytest.raises(AssertionError):
        test_fragments(64, 1)
