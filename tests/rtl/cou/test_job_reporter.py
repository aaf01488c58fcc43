"""Reports to the job table: of packets that are gone, credits that return, operations that end."""

import random
from collections import Counter

import pytest

from rtl.buffer.layouts import Departure
from rtl.cou.job_reporter import JobReporter
from rtl.credit.credit_table import credit_rest
from rtl.interface import JobReport, JobReportKind
from testbench.parts.faults import changed
from testbench.parts.inputs import pack
from testbench.parts.simulation import Offers, Takes, fields, run

GONE = (JobReportKind.PACKET_LEFT, JobReportKind.DUPLICATE, JobReportKind.SHARED_DUPLICATE)


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def gone_reports(item: int) -> list[dict[str, int]]:
    """Reports that a packet is worth."""
    gone = fields(Departure, item)
    kind = JobReportKind.PACKET_LEFT
    if gone["duplicate"]:
        kind = JobReportKind.SHARED_DUPLICATE if gone["shared"] else JobReportKind.DUPLICATE
    return [{"kind": kind.value, "job_id": gone["job_id"], "owing": 0, "pulses": 0}] * gone["count"]


def test_reports(rng: random.Random) -> None:
    """Those of each source once and in order; the end of an operation with its pulses, after the credit table."""
    part = JobReporter()

    def packet() -> int:
        duplicate = rng.random() < 0.3
        return pack(Departure, {"job_id": rng.getrandbits(8), "count": 1 if duplicate else rng.randrange(3),
                           "duplicate": duplicate, "shared": rng.getrandbits(1)})

    def rest() -> int:
        # The table answers the endings in their order, and between them says of other jobs that they are settled.
        answered = sum(fields(credit_rest(), item)["ended"] for item in rests.taken)
        if answered < len(asked.taken) and rng.random() < 0.7:
            return pack(credit_rest(), {"job_id": asked.taken[answered], "ended": 1, "owing": rng.getrandbits(1)})
        return pack(credit_rest(), {"job_id": rng.getrandbits(8), "ended": 0, "owing": rng.getrandbits(1)})

    gone, unused, ended = Offers(part.i_departure, rng, packet), Offers(part.i_unused, rng), Offers(part.i_ended, rng)
    rests, asked, sink = Offers(part.i_rest, rng, rest), Takes(part.o_end, rng), Takes(part.o, rng)
    rests.may = lambda: rng.random() < 0.4
    unused.may = lambda: rng.random() < 0.4

    def step(read) -> None:
        offered = fields(Departure, gone.offered) if gone.offered is not None else None
        if offered is not None and not offered["count"]:
            assert read(part.i_departure.ready), "a packet that is worth no report waits"

    run(part, [gone, unused, ended, asked, rests, sink], step=step, cycles=800, rng=rng)
    reports = [fields(JobReport, item) for item in sink.taken]
    endings = iter(fields(part.i_ended.payload.shape(), item) for item in ended.taken)
    expected: dict[str, list[dict[str, int]]] = {
        "gone": [report for item in gone.taken for report in gone_reports(item)],
        "unused": [{"kind": JobReportKind.RETURNED.value, "job_id": item, "owing": 0, "pulses": 0}
                   for item in unused.taken],
        "rest": [],
    }
    for item in rests.taken:
        answer = fields(credit_rest(), item)
        report = {"kind": JobReportKind.SETTLED.value, "pulses": 0, "job_id": answer["job_id"],
                  "owing": answer["owing"]}
        if answer["ended"]:
            operation = next(endings)
            assert operation["job_id"] == answer["job_id"]
            report.update(kind=JobReportKind.ENDED.value, pulses=operation["pulses"])
        expected["rest"].append(report)
    kinds = {"gone": {kind.value for kind in GONE}, "unused": {JobReportKind.RETURNED.value}}
    kinds["rest"] = {kind.value for kind in JobReportKind} - kinds["gone"] - kinds["unused"]
    for source, wanted in expected.items():
        found = [report for report in reports if report["kind"] in kinds[source]]
        if source == "gone" and len(found) > len(wanted):
            # The first of two reports of a packet that still waits for the second one.
            wanted = wanted + gone_reports(gone.offered)[:1]
        assert found == wanted[:len(found)]
        assert len(wanted) - len(found) <= 2
    assert set(Counter(report["kind"] for report in reports)) == {kind.value for kind in JobReportKind}
    assert min(Counter(report["kind"] for report in reports).values()) > 5
    assert [item & 255 for item in ended.taken] == asked.taken


FAULTS = {
    "a third report": ("again.eq((count == 2) & ~again)", "again.eq(count == 2)"),
    "pulses that go with whatever settles": ("rest.ready & self.i_rest.payload.ended", "rest.ready"),
    "duplicates on shared credits": (
        "Mux(self.i_departure.payload.shared,", "Mux(self.i_departure.payload.count == 2,",
    ),
    "an ending that leaves no pulses": ("pulses.i.valid.eq(ended.valid & self.o_end.ready)",
                                        "pulses.i.valid.eq(ended.valid & self.o_end.ready & (self.i_rest.valid == 0))"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "JobReporter", changed(JobReporter, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_reports(random.Random(1))
