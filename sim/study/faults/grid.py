"""Measures the study of faults: goodput of a link under errors, outages, and what becomes of every fault."""

import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from firmware_models.config import ConfigError, load_preset
from rtl.interface import header_flits
from rtl.link.link_layer import SILENCE_CYCLES
from sim.cluster import Execution, build_library
from sim.faults import FaultOutcome, FaultScript, Verdict, equipped, run_with_faults
from sim.faults.script import LinkDown, Links
from sim.operation.request import CollectiveRequest, RequestError
from sim.report.progress import ProgressCallback
from sim.study import GridOptions, StudyError
from sim.study.faults.cases import FULL, QUICK, WATCHDOG, Scale, Site, faults
from sim.study.grid import Grid, Point, run_as_asked
from sim.study.grid.head import fields_of, sources_of
from testbench.link.go_back_n import HOP_CYCLES, go_back_n_bound

Row = dict[str, Any]
Measure = Callable[..., Row]
PARTS = ("goodput", "outages", "faults")
_STREAM_BYTES = 1 << 16
_PATIENT = 1 << 20
"""A watchdog that outlasts every outage."""
_CUT_AT, _CUT_NODE = 500, 1
_PACKAGES = ("rtl", "firmware_models.abi", "firmware_models.host", "firmware_models.schedule", "sim.cluster",
             "sim.faults")
_CYCLES_A_SECOND = 20_000
_RUN_CYCLES = 10_000
"""About what a run takes at each node; one of a cable that is gone takes some watchdogs."""
_GONE_CYCLES = 100_000


def measured(
    *, is_quick: bool, parts: Sequence[str], folder: Path, options: GridOptions, progress: ProgressCallback,
) -> list[Row]:
    """The rows of some parts, or of all.

    Raises
    ------
    StudyError
        If hardware or nodes do not fit, and as :func:`run_as_asked`.
    """
    site, scale = Site(options.preset, options.nodes), QUICK if is_quick else FULL
    try:
        config = load_preset(options.preset)
        for collective, algorithm in scale.collectives:
            site.request(collective, algorithm, size=scale.size, seed=0)
    except (ConfigError, RequestError) as error:
        raise StudyError(str(error)) from None
    points = [point for part in parts or PARTS for point in POINTS[part](site, scale)]
    head = {
        "study": "faults", "preset": site.preset, "nodes": site.nodes,
        # Rows bear the names of cases; what these do is not to change behind them.
        "scripts": sha256(repr(list(faults(0, nodes=site.nodes))).encode()).hexdigest()[:16],
    }
    grid = Grid(
        head=head | fields_of("hardware", config) | sources_of(*_PACKAGES), points=points, measure=measure,
        work_a_second=_CYCLES_A_SECOND,
    )
    return run_as_asked(grid, folder, options, progress=progress, prepare=lambda: _build(site, parts, progress))


def measure(function: Measure, *arguments: Any) -> Row:
    """The row of one point, and how long it took."""
    begin = time.monotonic()
    return function(*arguments) | {"seconds": round(time.monotonic() - begin, 2)}


def beside_undisturbed(rows: Sequence[Row]) -> list[Row]:
    """The rows, those of goodput and outages beside the same without errors, where that has been measured."""
    clean = {row["kind"]: row["cycles"] for row in rows if row.get("rate", row.get("cycles_down", 1)) == 0}
    found = []
    for row in rows:
        without = clean.get(row["kind"])
        if row["kind"] == "goodput" and without is not None:
            row = row | {"relative": without / row["cycles"]}
        if row["kind"] == "outage" and without is not None:
            row = row | {"cycles_without": without,
                         "recovery_cycles": row["cycles"] - without - row["cycles_down"]}
        found.append(row)
    return found


def _build(site: Site, parts: Sequence[str], progress: ProgressCallback) -> None:
    """Every kind of hardware that a point needs, one after the other: points would build the same side by side."""
    kinds = [site.stream(_STREAM_BYTES).hardware()]
    if not parts or "faults" in parts:
        asked = site.request("allreduce", "recursive-doubling", size=QUICK.size, seed=0)
        kinds += [equipped(asked, case.script).hardware() for case in faults(0, nodes=site.nodes)]
    for kind in dict.fromkeys(kinds):
        build_library(kind, progress=progress)


def _run(asked: CollectiveRequest, script: FaultScript) -> FaultOutcome:
    """On one thread: points run beside each other."""
    return run_with_faults(asked, script, execution=Execution(threads=1))


def _goodput_points(site: Site, scale: Scale) -> Iterator[Point]:
    """A stream of packets of the largest size over two cables."""
    for rate in scale.rates:
        yield Point((("kind", "goodput"), ("rate", rate)), (_goodput, site, rate), 2 * _RUN_CYCLES)


def _goodput(site: Site, rate: float) -> Row:
    asked = site.stream(_STREAM_BYTES)
    datapath = asked.config.datapath
    outcome = _run(asked, FaultScript(watchdog=_PATIENT, links=Links(flipped=rate)))
    # Cables in a row work at once, so a single one bounds what comes over all of them.
    best, clean = (
        go_back_n_bound(
            flits=datapath.mtu // datapath.flit_bytes + header_flits(datapath.data_width), rate=share,
            trip_cycles=2 * (asked.stalls.links.latency + HOP_CYCLES),
        ) for share in (rate, 0.0)
    )
    return {
        "bytes": asked.size, "cycles": outcome.cycles, "injected": outcome.injected,
        "goodput": asked.size / datapath.flit_bytes / outcome.cycles, "bound": best / clean,
        "verdict": outcome.verdicts[0].value,
    }


def _outage_points(site: Site, scale: Scale) -> Iterator[Point]:
    """A cable that is down for a while in the middle of an operation, for no time, and for good."""
    for cycles in (0, *scale.outages):
        yield Point(
            (("kind", "outage"), ("bytes", scale.size), ("cycles_down", cycles)), (_outage, site, scale.size, cycles),
            site.nodes * (_RUN_CYCLES + cycles),
        )
    yield Point(
        (("kind", "detection"), ("bytes", scale.size)), (_detection, site, scale.size), site.nodes * _GONE_CYCLES,
    )


def _outage(site: Site, size: int, cycles: int) -> Row:
    script = FaultScript(watchdog=_PATIENT)
    if cycles:
        down = LinkDown(kind="link_down", node=_CUT_NODE, at=_CUT_AT, cycles=cycles)
        script = FaultScript(watchdog=_PATIENT, events=[down])
    outcome = _run(site.doubling(size), script)
    return {
        "cycles": outcome.cycles, "lost_words": outcome.injected.get("cut", 0), "verdict": outcome.verdicts[0].value,
    }


def _detection(site: Site, size: int) -> Row:
    """The link throws away what waits for it, and the watchdog tells of it, at every node."""
    asked = site.doubling(size)
    outcome = _run(asked, FaultScript(
        watchdog=WATCHDOG, events=[LinkDown(kind="link_down", node=_CUT_NODE, at=_CUT_AT)],
    ))
    return {
        "watchdog": WATCHDOG, "dead_cycles": SILENCE_CYCLES + asked.config.link.dead_cycles, "cycles": outcome.cycles,
        "detection_cycles": outcome.cycles - _CUT_AT, "verdict": outcome.verdicts[0].value, "again": outcome.again,
    }


def _fault_points(site: Site, scale: Scale) -> Iterator[Point]:
    """Every kind of fault at several times and nodes."""
    for seed in range(scale.seeds):
        for collective, algorithm in scale.collectives:
            for case in faults(seed, nodes=site.nodes):
                key = (("kind", "fault"), ("fault", case.name), ("collective", collective), ("algorithm", algorithm),
                       ("bytes", scale.size), ("seed", seed))
                yield Point(
                    key, (_fault, site, collective, algorithm, scale.size, seed, case.name),
                    site.nodes * (_GONE_CYCLES if case.is_for_good else _RUN_CYCLES),
                )


def _fault(site: Site, collective: str, algorithm: str, size: int, seed: int, name: str) -> Row:
    case = next(case for case in faults(seed, nodes=site.nodes) if case.name == name)
    outcome = _run(site.request(collective, algorithm, size=size, seed=seed), case.script)
    return {"is_private": case.is_private, "strikes_at": case.strikes_at, **outcome.as_json()}


POINTS = {"goodput": _goodput_points, "outages": _outage_points, "faults": _fault_points}
VERDICTS = tuple(verdict.value for verdict in Verdict)
