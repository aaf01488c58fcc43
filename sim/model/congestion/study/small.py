"""Two long flows and a burst of short ones on two switches (the paper's section 2, figures 1 to 4, table 1)."""

from collections.abc import Iterable, Sequence
from typing import Any

from sim.model.congestion.study import tables
from sim.model.congestion.study.plots import small_plots
from sim.model.congestion.study.rows import small_row
from sim.model.congestion.study.study import SEED, Claim, CongestionStudy, Row, claim, sound
from sim.study.grid.tasks import Task

BUFFER_MB = 4
"""Buffer that gives the paper's picture; the paper does not say its own."""
BUFFERS_MB = (2, 4, 8, 16, 32)
UNDISTURBED = 0.95
"""Of its rate before the burst, a flow that was not disturbed has at least this much in it."""


def tasks(is_quick: bool, controls: Sequence[str]) -> list[Task]:
    """A run an algorithm, and one for each other buffer unless quick."""
    buffers = (BUFFER_MB,) if is_quick else BUFFERS_MB
    return [Task(f"{control}, {buffer} MB", small_row, (control, buffer, SEED, buffer == BUFFER_MB))
            for buffer in buffers for control in controls]


def claims(rows: list[Row]) -> list[Claim]:
    """Claims of the paper about figures 2 to 4, as far as the rows can settle them."""
    found = {row["control"]: row for row in rows if row["kind"] == "small" and row["buffer_mb"] == BUFFER_MB}
    made = [sound(rows)]
    if {"none", "dctcp", "dcqcn", "timely", "hpcc", "pint"} <= set(found):
        made += [*_long(found), *_short(found), *_pauses(found)]
        made += _buffers([row for row in rows if row["kind"] == "small"])
    return made


def _rounded(found: dict[str, Row], figure: str, places: int = 2) -> dict[str, Any]:
    return {control: round(row[figure], places) for control, row in found.items()}


def _long(found: dict[str, Row]) -> Iterable[Claim]:
    """Figure 2: throughput of F0 and F1."""
    for control in ("hpcc", "pint"):
        row = found[control]
        yield claim(f"{control}: F0 is undisturbed by the burst: nowhere in it below {UNDISTURBED:.0%} of before",
                    row["f0_burst_least"] >= UNDISTURBED * row["f0_before"], round(row["f0_burst_least"], 2),
                    f">= {UNDISTURBED * row['f0_before']:.2f} Gb/s")
    row = found["dcqcn"]
    yield claim("dcqcn: F0 falls in the burst, to less than 70% of its rate before on average",
                row["f0_burst"] < 0.7 * row["f0_before"], round(row["f0_burst"], 2),
                f"< {0.7 * row['f0_before']:.2f} Gb/s")
    bursts = _rounded(found, "f0_burst")
    yield claim("none is the worst for F0 in the burst", min(bursts, key=bursts.__getitem__) == "none", bursts,
                "least: none")
    calm = found["hpcc"]["oscillation"]
    for control in ("dctcp", "timely"):
        yield claim(f"{control}: F0 oscillates, five times as much as with hpcc or more",
                    found[control]["oscillation"] >= 5 * calm, round(found[control]["oscillation"], 4),
                    f">= {5 * calm:.4f}")
    recoveries = {control: found[control]["f1_recovered_ms"] for control in ("hpcc", "pint")}
    yield claim("pint: F1 recovers more slowly than with hpcc (ms after the burst)",
                recoveries["hpcc"] is not None
                and (recoveries["pint"] is None or recoveries["pint"] > recoveries["hpcc"]),
                recoveries, "pint > hpcc")


def _short(found: dict[str, Row]) -> Iterable[Claim]:
    """Figure 3: completion times of short flows."""
    means = _rounded(found, "short_mean_us", 1)
    yield claim("pint: short flows are fastest on average", min(means, key=means.__getitem__) == "pint", means,
                "least: pint")
    yield claim("dcqcn, timely: short flows are faster on average than with none",
                max(means["dcqcn"], means["timely"]) < means["none"], [means["dcqcn"], means["timely"]],
                f"< {means['none']} µs")
    yield claim("hpcc: short flows take about as long as with none", abs(means["hpcc"] / means["none"] - 1) < 0.05,
                means["hpcc"], f"{means['none']} µs within 5%")
    deviations = _rounded(found, "short_std_us", 1)
    yield claim("dctcp: completion times of short flows spread the most",
                max(deviations, key=deviations.__getitem__) == "dctcp", deviations, "most: dctcp")


def _pauses(found: dict[str, Row]) -> Iterable[Claim]:
    """Figure 4: PFC time."""
    pauses = _rounded(found, "pause_ms", 3)
    yield claim("none has the most PFC time", max(pauses, key=pauses.__getitem__) == "none", pauses, "most: none")
    least = min(pauses[control] for control in ("none", "dctcp", "dcqcn", "timely"))
    most = max(pauses["hpcc"], pauses["pint"])
    yield claim("hpcc and pint: PFC time is an order of magnitude below that of all others", 10 * most <= least,
                round(least / max(most, 1e-9), 1), ">= 10 times")


def _buffers(rows: Sequence[Row]) -> Iterable[Claim]:
    """Claims about the effect of the buffer's size, which the paper does not give."""
    large = {row["control"]: row["pause_ms"] for row in rows if row["buffer_mb"] == max(BUFFERS_MB)}
    if len(large) > 1:
        pausing = [control for control, pause in large.items() if pause > 0]
        yield claim(f"{max(BUFFERS_MB)} MB, the buffer of the HPCC release at this rate: only none pauses at all",
                    pausing == ["none"], pausing, ["none"])


STUDY = CongestionStudy(
    name="congestion-small", title="Congestion control: long flows and a burst",
    about="Hosts 0 and 1 send 100 MB each to hosts 4 (F0) and 5 (F1) over one link between two switches; 5 ms later 14 "
          "other hosts at the second switch send 16 flows of 64 kB each to host 5. F0 shares no port with the burst: "
          "what it suffers it suffers by pauses. 100 Gb/s, 1 µs, 4 MB of buffer a switch.",
    tasks=tasks, claims=claims, plots=lambda rows: small_plots(rows, BUFFER_MB),
    tables={"Long flows, short flows, PFC": (tables.small, 1),
            "PFC time, ms, by buffer of a switch": (tables.buffers, 1)})
run = STUDY.run
