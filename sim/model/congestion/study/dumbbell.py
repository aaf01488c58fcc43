"""The measure on two switches with five hosts each (the paper's section 4, figure 8)."""

from collections.abc import Iterable, Sequence
from statistics import mean

from sim.model.congestion.study import tables
from sim.model.congestion.study.plots import metric_plots
from sim.model.congestion.study.rows import dumbbell_rows
from sim.model.congestion.study.study import Claim, CongestionStudy, Row, claim, sound
from sim.study.grid.tasks import Task

SEEDS = range(1, 9)
"""Ten hosts have few flows: one drawing says little."""


def tasks(is_quick: bool, controls: Sequence[str]) -> list[Task]:
    """A pair of runs an algorithm and seed."""
    return [Task(f"{control}, seed {seed}", dumbbell_rows, (control, seed))
            for seed in (SEEDS[:2] if is_quick else SEEDS) for control in controls]


def claims(rows: list[Row]) -> list[Claim]:
    """Claims of the paper about figure 8, of the mean over the seeds."""
    return [sound(rows), *_figure_8([row for row in rows if row["kind"] == "metric"])]


def _figure_8(rows: Sequence[Row]) -> Iterable[Claim]:
    controls = list(dict.fromkeys(row["control"] for row in rows))
    if not {"dcqcn", "timely", "hpcc"} <= set(controls):
        return
    means = {part: {control: round(mean(row[part] for row in rows if row["control"] == control), 3)
                    for control in ("dcqcn", "timely", "hpcc")} for part in ("s_l", "s_s", "s_a")}
    yield claim("every part of the measure is at least 1: background never helps",
                min(min(part.values()) for part in means.values()) >= 0.99, means, ">= 0.99")
    yield claim("long flows suffer least with hpcc", min(means["s_l"], key=means["s_l"].__getitem__) == "hpcc",
                means["s_l"], "least: hpcc")


STUDY = CongestionStudy(
    name="congestion-dumbbell", title="Congestion control: the measure on two switches",
    about="Ten hosts on two switches, four of them with flows under test, six with background at a load of 90%: how "
          "much longer the same flows take with background than alone, for long flows (S_L), short ones (S_S) and "
          "all-reduce (S_A); W is the variance of the three, S the weighted sum and W.",
    tasks=tasks, claims=claims, plots=metric_plots,
    tables={"The measure": (tables.metric, 2), "Flows under test": (tables.kinds, 3)})
run = STUDY.run
