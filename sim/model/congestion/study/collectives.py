"""Collectives of this project under background traffic, by congestion control."""

from collections.abc import Iterable, Sequence

from sim.model.congestion.study import tables
from sim.model.congestion.study.plots import collective_plots
from sim.model.congestion.study.rows import collective_rows
from sim.model.congestion.study.study import SEED, Claim, CongestionStudy, Row, claim, sound
from sim.study.grid.tasks import Task

COLLECTIVES = (
    ("allreduce", "recursive-doubling", 8), ("allreduce", "recursive-doubling", 1 << 20),
    ("allreduce", "ring", 1 << 20),
    ("allreduce", "rabenseifner", 1 << 20), ("broadcast", "binomial", 1 << 20), ("barrier", "dissemination", 8),
    ("alltoall", "pairwise", 1 << 20),
)
"""Collective, algorithm, bytes."""
RANKS, LOAD = 64, 0.6
DURATION_NS, QUICK_NS = 500_000, 50_000


def tasks(is_quick: bool, controls: Sequence[str]) -> list[Task]:
    """A pair of runs a collective and algorithm."""
    chosen = [COLLECTIVES[0], COLLECTIVES[2]] if is_quick else COLLECTIVES
    duration = QUICK_NS if is_quick else DURATION_NS
    return [Task(f"{control}, {which} {algorithm}", collective_rows,
                 (control, which, algorithm, RANKS, n_bytes, LOAD, duration, SEED))
            for which, algorithm, n_bytes in chosen for control in controls]


def claims(rows: list[Row]) -> list[Claim]:
    """Claims that the rows can settle."""
    return [sound(rows), *_slower(rows)]


def _slower(rows: Sequence[Row]) -> Iterable[Claim]:
    # Background of quick runs ends within the collective: too short to slow down every one.
    chosen = [row for row in rows if row["kind"] == "collective" and row["duration_us"] * 1e3 == DURATION_NS]
    least = min((row["slowdown"] for row in chosen), default=None)
    if least is not None:
        yield claim("no collective is faster with background than alone by more than a hundredth", least >= 0.99,
                    round(least, 4), ">= 0.99")


STUDY = CongestionStudy(
    name="congestion-collectives", title="Congestion control: collectives under background traffic",
    about="64 of 320 hosts, a fat tree with several roots, 100 Gb/s and 1 µs: one collective by the schedules of this "
          "project, each message a flow that begins when what it needs has come in; the other 256 hosts have incasts, "
          "broadcasts and all-to-alls at a load of 60% from the moment the collective begins.",
    tasks=tasks, claims=claims, plots=collective_plots,
    tables={"Collectives": (tables.collectives, 3)})
run = STUDY.run
