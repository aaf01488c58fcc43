"""Measures the study of faults: goodput of a link under errors, outages, and what becomes of every fault."""

from collections.abc import Iterator, Sequence
from typing import Any

from rtl.link.frame_sender import RUN_WORDS
from rtl.link.link_layer import SILENCE_CYCLES
from sim.faults import FaultScript, Verdict, run_with_faults
from sim.faults.script import LinkDown, Links
from sim.report.progress import ProgressCallback
from sim.study.faults_cases import FULL, QUICK, WATCHDOG, faults, reliable, request, stream

Row = dict[str, Any]
PARTS = ("goodput", "outages", "faults")
_HOP_CYCLES = 6
_STREAM_BYTES = 1 << 16


def rows(*, is_quick: bool, parts: Sequence[str], progress: ProgressCallback) -> Iterator[Row]:
    """All rows of some parts."""
    for part in PARTS:
        if not parts or part in parts:
            yield from _PARTS[part](is_quick, progress)


def go_back_n_bound(*, packet_words: int, rate: float, trip_cycles: int) -> float:
    """Goodput under errors over goodput without, of a link that sends everything again from a damaged packet on.

    A packet of `packet_words` comes whole with probability p; one that does not costs itself and what is sent until its
    sender hears of that: p / (p + (1 - p)(1 + t)), with a round trip of t packets.
    """
    whole = (1 - rate) ** packet_words
    return whole / (whole + (1 - whole) * (1 + trip_cycles / packet_words))


def _goodput(is_quick: bool, progress: ProgressCallback) -> Iterator[Row]:
    """A stream of packets of the largest size over two cables."""
    rates = (QUICK if is_quick else FULL).rates
    asked = stream(_STREAM_BYTES)
    flits = asked.config.datapath.mtu // asked.config.datapath.flit_bytes + 4
    words = flits + -(-flits // RUN_WORDS)
    trip = 2 * (asked.stalls.links.latency + _HOP_CYCLES)
    clean: int | None = None
    for number, rate in enumerate(rates):
        progress("goodput", number, len(rates))
        outcome = run_with_faults(asked, FaultScript(watchdog=1 << 20, links=Links(flipped=rate)))
        clean = clean or outcome.cycles
        # Each of the two cables on the way may damage a packet.
        yield {
            "kind": "goodput", "rate": rate, "bytes": asked.size, "cycles": outcome.cycles,
            "injected": outcome.injected, "relative": clean / outcome.cycles,
            "goodput": asked.size / asked.config.datapath.flit_bytes / outcome.cycles,
            "bound": go_back_n_bound(packet_words=words, rate=rate, trip_cycles=trip) ** 2,
            "verdict": outcome.verdicts[0].value,
        }
    progress("goodput", len(rates), len(rates))


def _outages(is_quick: bool, progress: ProgressCallback) -> Iterator[Row]:
    """A cable that is down for a while in the middle of an operation."""
    scale = QUICK if is_quick else FULL
    asked = reliable(request("allreduce", "recursive-doubling", size=scale.size, seed=0, jobs=1))
    patient = 1 << 20
    clean = run_with_faults(asked, FaultScript(watchdog=patient)).cycles
    for number, cycles in enumerate(scale.outages):
        progress("outages", number, len(scale.outages))
        outcome = run_with_faults(asked, FaultScript(
            watchdog=patient, events=[LinkDown(kind="link_down", node=1, at=500, cycles=cycles)],
        ))
        yield {
            "kind": "outage", "cycles_down": cycles, "cycles": outcome.cycles, "cycles_without": clean,
            "recovery_cycles": outcome.cycles - clean - cycles, "lost_words": outcome.injected.get("cut", 0),
            "verdict": outcome.verdicts[0].value,
        }
    # For good: the link throws away what waits for it, and the watchdog tells of it, at every node.
    outcome = run_with_faults(asked, FaultScript(
        watchdog=WATCHDOG, events=[LinkDown(kind="link_down", node=1, at=500)],
    ))
    yield {
        "kind": "detection", "watchdog": WATCHDOG, "dead_cycles": SILENCE_CYCLES + asked.config.link.dead_cycles,
        "cycles": outcome.cycles, "detection_cycles": outcome.cycles - 500, "verdict": outcome.verdicts[0].value,
        "again": outcome.again,
    }
    progress("outages", len(scale.outages), len(scale.outages))


def _faults(is_quick: bool, progress: ProgressCallback) -> Iterator[Row]:
    """Every kind of fault at several times and nodes."""
    scale = QUICK if is_quick else FULL
    total = scale.seeds * len(scale.collectives)
    for number, (seed, (collective, algorithm)) in enumerate(
        (seed, what) for seed in range(scale.seeds) for what in scale.collectives
    ):
        progress("faults", number, total)
        for case in faults(seed):
            outcome = run_with_faults(request(collective, algorithm, size=scale.size, seed=seed), case.script)
            yield {
                "kind": "fault", "fault": case.name, "collective": collective, "algorithm": algorithm, "seed": seed,
                "is_private": case.is_private, "strikes_at": case.strikes_at, **outcome.as_json(),
            }
    progress("faults", total, total)


_PARTS = {"goodput": _goodput, "outages": _outages, "faults": _faults}
VERDICTS = tuple(verdict.value for verdict in Verdict)
