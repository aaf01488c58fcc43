"""`conic example`: programs whose collectives run on the simulated NICs, compared with the same under MPICH."""

import random
from pathlib import Path
from typing import Any

import click

from firmware_models.config import load_preset
from firmware_models.schedule import ScheduleError
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.number import Number
from sim.cli.shared.refusal import fails, refuses
from sim.collective import CollectiveError, RequestError
from sim.example.cg_run import run_on_cluster
from sim.example.conjugate_gradient import Problem
from sim.example.mpich import ALGORITHMS, MPIEXEC, MpichError, mpich_histories
from sim.example.plot import plot_histories

NAMES = ("cg",)


@click.command("example", epilog=example("conic example cg --nodes 5 --side 12 --orders 2 --plot build/cg.svg"))
@click.argument("name")
@click.option("--nodes", type=Number(2, 16), default=5, show_default=True, help="Ranks that the rows are spread over.")
@click.option("--side", type=Number(2, 1024), default=8, show_default=True, help="Points of the grid each way.")
@click.option("--algorithm", default="recursive-doubling", show_default=True,
              help=f"Of the allreduces: {', '.join(ALGORITHMS)}.")
@click.option("--orders", type=Number(0), default=1, show_default=True,
              help="Solve it so many times more, under random arrival orders, stalls and delays.")
@click.option("--preset", default="small", show_default=True, help="The hardware.")
@click.option("--seed", type=Number(0), help="Of everything random; drawn and printed if not given.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the residual, SVG or PNG.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(RequestError, ScheduleError, ValueError)
@fails(CollectiveError, MpichError)
def command(
    *, name: str, nodes: int, side: int, algorithm: str, orders: int, preset: str, seed: int | None, plot: Path | None,
    as_json: bool,
) -> int:
    """Solves a linear system (NAME cg: conjugate gradients), every sum over the nodes an allreduce on the RTL.

    The history of the residual must be the same at every node, under every order, and under MPICH, bit for bit.
    """
    if name not in NAMES:
        raise click.UsageError(f"NAME: must be one of {', '.join(NAMES)}, not {name!r}")
    if algorithm not in ALGORITHMS:
        raise click.UsageError(f"--algorithm: must be one of {', '.join(ALGORITHMS)}, not {algorithm!r}")
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise click.UsageError(f"--plot: must end in .svg or .png, not {str(plot)!r}")
    if side < nodes:
        raise click.UsageError(f"--side: must be at least the number of nodes, {nodes}, not {side}")
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    problem, config = Problem(side, nodes), load_preset(preset)
    with progress_bars() as progress:
        runs = [
            run_on_cluster(
                problem, algorithm=algorithm, config=config, preset=preset, seed=seed, order=order, progress=progress,
            )
            for order in (None, *range(orders))
        ]
        progress("MPICH", 0, 1)
        mpich = mpich_histories(side=side, ranks=nodes, algorithm=algorithm) if MPIEXEC.exists() else None
        progress("MPICH", 1, 1)
    history = runs[0].histories[0]
    distinct = {tuple(value.hex() for value in each) for run in runs for each in run.histories}
    values: dict[str, Any] = {
        "example": name, "nodes": nodes, "unknowns": side * side, "algorithm": algorithm, "preset": preset,
        "seed": seed, "iterations": len(history) - 1, "residual": history[-1] / history[0],
        "allreduces": sum(run.operations for run in runs), "cycles": runs[0].cycles,
        "mismatched_bits": sum(run.mismatched_bits for run in runs), "orders": orders,
        "distinct_histories": len(distinct),
        "same_as_mpich": None if mpich is None else all(each == history for each in mpich),
    }
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot_histories(history, mpich, plot)
        values["plot"] = str(plot)
    if as_json:
        values["history"] = [value.hex() for value in history]
    answer(values, as_json=as_json)
    if mpich is None:
        click.echo(f"not compared with MPICH: there is no {MPIEXEC}; the extra dev installs it", err=True)
    return 0 if len(distinct) == 1 and not values["mismatched_bits"] and values["same_as_mpich"] is not False else 1
