"""`conic example`: MPI programs whose collectives run on the simulated NICs, compared with the same under MPICH."""

import random
from pathlib import Path
from typing import Any

import click

from firmware_models.config import ConfigError, load_preset
from firmware_models.schedule import ScheduleError
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.number import Number
from sim.cli.shared.paths import OUTPUT_FILE_ANYWHERE
from sim.cli.shared.refusal import fails, refuses
from sim.example.plot import plot_histories
from sim.example.run import ALGORITHMS, PROGRAM, ExampleError, Solution, on_nics, under_mpich
from sim.mpi.error import FabricError
from sim.mpi.interposer import MpiError
from sim.operation.session import CollectiveError

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
@click.option("--plot", type=OUTPUT_FILE_ANYWHERE, help="Draw the residual, SVG or PNG.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(ScheduleError, ConfigError)
@fails(ExampleError, FabricError, MpiError, CollectiveError)
def command(
    *, name: str, nodes: int, side: int, algorithm: str, orders: int, preset: str, seed: int | None, plot: Path | None,
    as_json: bool,
) -> int:
    """Runs an MPI program (NAME cg: heat in a plate, by conjugate gradients), its allreduces on the simulated NICs.

    The history of the residual must be the same at every rank, under every order, and under MPICH, bit for bit. The
    program is a plain one of mpi4py: the answer says where it stands and how to run it by oneself.
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
    config = load_preset(preset)
    with progress_bars() as progress:
        runs: list[Solution] = []
        for order in (None, *range(orders)):
            progress("on the NICs", len(runs), 1 + orders)
            runs.append(on_nics(
                side=side, ranks=nodes, algorithm=algorithm, config=config, progress=progress,
                disturbance=None if order is None else random.Random(f"{seed} {order}").getrandbits(32),
            ))
        progress("on the NICs", len(runs), 1 + orders)
        progress("MPICH", 0, 1)
        mpich = under_mpich(side=side, ranks=nodes, algorithm=algorithm)
        progress("MPICH", 1, 1)
    history = runs[0].histories[0]
    distinct = {tuple(each) for run in runs for each in run.histories}
    values: dict[str, Any] = {
        "example": name, "program": str(PROGRAM), "nodes": nodes, "unknowns": side * side, "algorithm": algorithm,
        "preset": preset, "seed": seed, "iterations": len(history) - 1, "residual": history[-1] / history[0],
        "allreduces": sum(row["operations"] for row in runs[0].report["operations"] if row["operation"] == "Allreduce"),
        "offloaded": runs[0].report["offloaded"], "calls": runs[0].report["calls"], "cycles": runs[0].report["cycles"],
        "orders": orders, "distinct_histories": len(distinct),
        "same_as_mpich": all(each == history for each in mpich),
        "by_hand": f"conic mpiexec -n {nodes} --preset {preset} --algorithm allreduce={algorithm} "
                   f"python3 {PROGRAM} --side {side}",
    }
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot_histories(history, mpich, plot)
        values["plot"] = str(plot)
    if as_json:
        values["history"] = [value.hex() for value in history]
    answer(values, as_json=as_json)
    return 0 if len(distinct) == 1 and values["same_as_mpich"] else 1
