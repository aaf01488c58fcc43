"""The measure on 320 hosts and 56 switches with the HPC traffic model (the paper's section 5, figures 7 and 10)."""

from collections.abc import Iterable, Sequence

from sim.model.congestion.study import tables
from sim.model.congestion.study.plots import metric_plots, scatter_plots
from sim.model.congestion.study.rows import large_rows, scatter_row
from sim.model.congestion.study.study import SEED, Claim, CongestionStudy, Row, claim, sound
from sim.study.grid.tasks import MAX_PROCESSES, Task

LOAD = 0.6
"""Of the comparison: the middle one of the paper's figure 7, with which there are as many flows as in its table 2."""
LOADS = (0.3, 0.6, 0.9)
UPLINKS_GBPS = (400, 100)
"""Links between switches: those of the network in the HPCC release, and 100 Gb/s as the paper says of all links."""
DURATION_NS, QUICK_NS = 1_250_000, 250_000
MINUTES = 30
PAPER_FLOWS, PAPER_LONG_SHARE, PAPER_LONG_BYTES = 19_181, 0.014, 0.5876
"""Table 2: flows, share of long ones among them, and of their bytes."""


def tasks(is_quick: bool, controls: Sequence[str]) -> list[Task]:
    """A pair of runs an algorithm, for each kind of uplinks; and the flows that the model draws at each load."""
    duration = QUICK_NS if is_quick else DURATION_NS
    found = [Task(f"{control}, uplinks {uplink}G", large_rows, (control, LOAD, uplink, duration, SEED))
             for uplink in UPLINKS_GBPS for control in controls]
    return [*found, *(Task(f"flows, load {load:.0%}", scatter_row, (load, SEED)) for load in LOADS)]


def claims(rows: list[Row]) -> list[Claim]:
    """Claims that the rows can settle."""
    return [sound(rows), *_traffic(rows), *_order(rows), *_time(rows)]


def _traffic(rows: Sequence[Row]) -> Iterable[Claim]:
    """Table 2."""
    chosen = [row for row in rows if row["kind"] == "run" and row["run"] == "loaded" and row["load"] == LOAD
              and row["duration_us"] * 1e3 == DURATION_NS]
    if chosen:
        row = chosen[0]
        yield claim("as many flows as in the paper's table 2", abs(row["flows"] / PAPER_FLOWS - 1) < 0.02, row["flows"],
                    f"{PAPER_FLOWS} within 2%")
        kinds = row["by_kind"]
        n_long = kinds["long"]["flows"] + kinds["all-to-all"]["flows"]
        share = n_long / row["flows"]
        yield claim("long flows, all-to-all included: as large a share of the flows",
                    abs(share - PAPER_LONG_SHARE) < 0.0005, round(share, 4), PAPER_LONG_SHARE)
        long_bytes = row["long_bytes_share"]
        yield claim("long flows, all-to-all included: as large a share of the bytes",
                    abs(long_bytes - PAPER_LONG_BYTES) < 0.01, round(long_bytes, 4), f"{PAPER_LONG_BYTES} within 0.01")


def _order(rows: Sequence[Row]) -> Iterable[Claim]:
    """Table 3 and figure 10, on the network of the HPCC release; quick runs are too short for an order."""
    found = {row["control"]: row for row in rows if row["kind"] == "metric" and row["load"] == LOAD
             and row["uplink_gbps"] == 400 and row["duration_us"] * 1e3 == DURATION_NS}
    controls = {"dctcp", "dcqcn", "timely", "hpcc", "pint"}
    if not controls | {"none"} <= set(found):
        return
    equal = {control: round(found[control]["s_1"], 3) for control in (*sorted(controls), "none")}
    yield claim("equal weights: none degrades the most", max(equal, key=equal.__getitem__) == "none", equal,
                "most: none")
    yield claim("equal weights: pint degrades the least", min(equal, key=equal.__getitem__) == "pint", equal,
                "least: pint")
    reduced = {control: round(found[control]["s_a"], 3) for control in (*sorted(controls), "none")}
    best = sorted(controls, key=reduced.__getitem__)
    yield claim("all-reduce flows: hpcc and pint are among the three that degrade least",
                {"hpcc", "pint"} <= set(best[:3]), reduced, "hpcc and pint in the first three")
    yield claim("hpcc is ahead of dcqcn under each of the three weights",
                all(found["hpcc"][name] < found["dcqcn"][name] for name in ("s_1", "s_2", "s_3")),
                [round(found["hpcc"][name], 3) for name in ("s_1", "s_2", "s_3")],
                [f"< {found['dcqcn'][name]:.3f}" for name in ("s_1", "s_2", "s_3")])


def _time(rows: Sequence[Row]) -> Iterable[Claim]:
    """Claims about cost: all runs of one kind of uplinks and load are the experiment of the paper."""
    chosen = [row for row in rows if row["kind"] == "run" and row["load"] == LOAD]
    for uplink in UPLINKS_GBPS:
        mine = [row for row in chosen if row["uplink_gbps"] == uplink]
        if mine:
            minutes = sum(row["seconds"] for row in mine) / 60 / MAX_PROCESSES
            yield claim(f"uplinks of {uplink} Gb/s: {len(mine)} runs take at most {MINUTES} minutes in {MAX_PROCESSES} "
                        "processes", minutes <= MINUTES, round(minutes, 2), f"<= {MINUTES}")


STUDY = CongestionStudy(
    name="congestion-large", title="Congestion control: 320 hosts",
    about="Fat tree, several roots: 320 hosts, 20 switches above them, 20 above those, 16 roots; 100 Gb/s and 1 µs. "
          "A fifth of the hosts have flows under test, the others background. How much longer the same flows take with "
          "background than alone: long flows (S_L), short ones (S_S), all-reduce (S_A); W is their variance, "
          "S the weighted sum and W.",
    tasks=tasks, claims=claims, plots=lambda rows: [*metric_plots(rows), *scatter_plots(rows)],
    tables={"The measure": (tables.metric, 3), "Flows under test": (tables.kinds, 4)})
run = STUDY.run
