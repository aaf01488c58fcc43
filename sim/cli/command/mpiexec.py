"""`conic mpiexec`: an MPI program, unchanged, whose collectives run on the simulated NICs."""

import shutil
from pathlib import Path
from typing import Any

import click
from rich.console import Console, ConsoleOptions
from rich.table import Table

from firmware_models.config import ConfigError
from firmware_models.files import write_text
from firmware_models.schedule import algorithm_names, collective_names
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware, hardware_options
from sim.cli.shared.idle import refuse_idle
from sim.cli.shared.number import Decimal, Number
from sim.cli.shared.paths import OUTPUT_FILE
from sim.cli.shared.refusal import fails, refuses
from sim.cluster.stalls import StallProfile, random_stalls
from sim.fabric.topology import TopologyError
from sim.mpi.error import FabricError
from sim.mpi.interposer import MpiError
from sim.mpi.page import program_page
from sim.mpi.policy import Policy
from sim.mpi.run import LEAST_NICS, Program, run_program
from sim.mpi.sections import MOST_RANKS, SectionError, check_name, parse_sections
from sim.mpi.standing import Standing
from sim.operation.session import CollectiveError
from sim.report.chrome_trace import write_chrome_trace

_SPOKEN = {"bcast": "broadcast"}
_CLOCKS = ("machine", "simulated")
_MEGAHERTZ = 1e6


@click.command(
    "mpiexec", epilog=example("conic mpiexec -n 4 --algorithm allreduce=rabenseifner python3 train.py"),
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.option("-n", "-np", "--ranks", "ranks", type=Number(1, MOST_RANKS), required=True,
              help="Processes, 1 to 64, a NIC each.")
@hardware_options
@click.option("--topology", help="How the NICs are wired.  [default: star:N]")
@click.option("--algorithm", "algorithms", multiple=True, metavar="COLLECTIVE=ALGORITHM",
              help="How the NICs carry out a collective; may be given for each.")
@click.option("--patience", type=Decimal(0), default=3.0, show_default=True,
              help="Seconds that ranks wait for one that does nothing; 0: for ever.")
@click.option("--work-patience", type=Decimal(0), default=600.0, show_default=True,
              help="Seconds that ranks wait for one that works outside of MPI; 0: for ever.")
@click.option("-disable-auto-cleanup", "--disable-auto-cleanup", "leaves", is_flag=True,
              help="When a rank aborts or dies, the others go on, as under MPICH's mpiexec.")
@click.option("-genv", "--genv", "everywhere", nargs=2, multiple=True, metavar="NAME VALUE",
              help="A variable of all processes, as under MPICH's mpiexec.")
@click.option("-env", "--env", "first", nargs=2, multiple=True, metavar="NAME VALUE",
              help="A variable of the processes of the first program; those behind a colon have their own.")
@click.option("-wdir", "--wdir", "folder", type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="Where all processes run.")
@click.option("--check", metavar="mpich", help="MPI does it too, and every element is compared.")
@click.option("--clock", default="machine", show_default=True, help="What MPI_Wtime says: machine or simulated.")
@click.option("--frequency", type=Decimal(0, above=True), default=500.0, show_default=True,
              help="MHz of NICs and switches, for simulated time and the host model.")
@click.option("--compute-scale", type=Decimal(0), default=1.0, show_default=True,
              help="Simulated seconds for a second that a process computes.")
@click.option("--disturb", type=Number(0), metavar="SEED",
              help="Delay memories, links and starts, in a way drawn from this seed: no bit may change.")
@click.option("--trace", type=OUTPUT_FILE,
              help="t.json: what every NIC did, for chrome://tracing and Perfetto.")
@click.option("--report", type=OUTPUT_FILE, help="r.html: the report as a page.")
@click.option("--json", "as_json", is_flag=True,
              help="One JSON object on standard output; what the program prints goes to standard error.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@refuses(ConfigError, TopologyError, SectionError)
@fails(MpiError, FabricError, CollectiveError)
def command(
    *, ranks: int, preset: str | None, config: Path | None, topology: str | None, algorithms: tuple[str, ...],
    patience: float, work_patience: float, leaves: bool, everywhere: tuple[tuple[str, str], ...],
    first: tuple[tuple[str, str], ...], folder: Path | None, check: str | None, clock: str, frequency: float,
    compute_scale: float, disturb: int | None, trace: Path | None, report: Path | None, as_json: bool, program: str,
    arguments: tuple[str, ...],
) -> int:
    """Starts PROGRAM under MPI; its collectives run on one simulated NIC a rank, and come back with the NICs' bits.

    Whatever is not offloaded is MPI's own, and the table at the end says what and why. Several programs stand between
    colons: PROGRAM ARGUMENTS : -n 2 -env NAME VALUE PROGRAM ARGUMENTS.
    """
    if check not in (None, "mpich"):
        raise click.UsageError(f"--check: must be mpich, not {check!r}")
    if clock not in _CLOCKS:
        raise click.UsageError(f"--clock: must be one of {', '.join(_CLOCKS)}, not {clock!r}")
    if clock != "simulated":
        refuse_idle(("compute_scale",), "without --clock simulated")
    sections = parse_sections(ranks, (program, *arguments), _variables("-env", first))
    for section in sections:
        if not _is_program(section.command[0], folder):
            raise click.UsageError(f"PROGRAM: must be a program that can be run, not {section.command[0]!r}")
    name, tree = hardware(preset, config)
    total = sum(section.ranks for section in sections)
    wired = topology or f"star:{max(LEAST_NICS, total)}"
    with progress_bars() as progress:
        result = run_program(
            Program(
                sections=sections, config=tree, topology=wired, check=check is not None,
                compute_scale=compute_scale, trace=trace is not None, quiet=as_json, cleanup=not leaves,
                variables=_variables("-genv", everywhere), folder=folder,
                seed=disturb or 0, stalls=StallProfile() if disturb is None else random_stalls(disturb),
                policy=Policy(
                    algorithms=_algorithms(algorithms), patience=patience, work_patience=work_patience,
                    frequency=frequency * _MEGAHERTZ, simulated=clock == "simulated",
                ),
            ),
            progress=progress, tell=None if as_json else _tell,
        )
    values: dict[str, Any] = {
        "program": " ".join((program, *arguments)), "ranks": total, "preset": name, "topology": wired, "clock": clock,
        "exit_code": result.code, "error": result.error, **result.report,
    }
    if trace is not None:
        write_chrome_trace(trace, result.events)
    if report is not None:
        write_text(report, program_page(values))
    if as_json:
        answer(values, as_json=True)
    else:
        _print(values)
    if result.error is not None:
        click.echo(f"conic mpiexec: {result.error}", err=True)
    elif result.code:
        click.echo(f"conic mpiexec: the program ended with {result.code}", err=True)
    for line in values["differences"]:
        click.echo(f"conic mpiexec: {line}", err=True)
    return result.code or int(result.error is not None or bool(values["differing_elements"]))


def _variables(flag: str, given: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Values of a flag that may be repeated, by name; of two of a name the last, as in MPICH's mpiexec."""
    return {check_name(flag, name): value for name, value in given}


def _is_program(name: str, folder: Path | None) -> bool:
    """True if it is on the search path, or where the processes run."""
    return shutil.which(str((folder or Path.cwd()) / name) if "/" in name else name) is not None


def _tell(standing: Standing) -> None:
    """A line of its own, on a terminal too: the program writes there whenever it likes."""
    click.echo(f"conic mpiexec: {standing.line}", err=True)


def _algorithms(given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in given:
        collective, _, algorithm = pair.partition("=")
        collective = _SPOKEN.get(collective, collective)
        if collective not in collective_names():
            raise click.UsageError(
                f"--algorithm: must be COLLECTIVE=ALGORITHM with one of {', '.join(collective_names())}, not {pair!r}"
            )
        if algorithm not in algorithm_names(collective):
            able = ", ".join(algorithm_names(collective))
            raise click.UsageError(f"--algorithm: of {collective} must be one of {able}, not {algorithm!r}")
        if collective in found:
            raise click.UsageError(f"--algorithm: {collective} must be given once, not twice")
        found[collective] = algorithm
    return found


_COLUMNS = (
    "bytes: of the message, all blocks together; cycles: from the last rank's doorbell to the last completion; "
    "goodput: bytes that the busiest rank received, over what its link carries in the median of the cycles, as of "
    "conic run; by hosts: cycles if hosts carried out the same steps, by a model"
)


def _print(values: dict[str, Any]) -> None:
    """The tables, on standard error: standard output is the program's."""
    console = Console(stderr=True)
    if values["operations"]:
        table = Table("operation", "bytes", "ranks", "algorithm", "operations", "cycles min", "median", "max",
                      "goodput", "by hosts (model)")
        for row in values["operations"]:
            table.add_row(
                row["operation"], f"{row['bytes']:,}", str(row["ranks"]), row["algorithm"], f"{row['operations']:,}",
                f"{row['cycles_min']:,}", f"{row['cycles_median']:,}", f"{row['cycles_max']:,}",
                f"{row['goodput_fraction']:.1%}", f"{row['cycles_by_hosts']:,}",
            )
        _print_whole(console, table)
        console.print(_COLUMNS, highlight=False, soft_wrap=True)
    if values["passed"]:
        table = Table("by MPI itself", "calls", "because")
        for row in values["passed"]:
            table.add_row(row["operation"], f"{row['calls']:,}", row["reason"])
        _print_whole(console, table)
    checked = (
        f"; {values['checked_elements']:,} elements compared with MPI's, {values['differing_elements']:,} differ"
        if values["checked_elements"] else ""
    )
    console.print(
        f"{values['offloaded']:,} of {values['calls']:,} calls on the NICs, {values['cycles']:,} cycles{checked}",
        highlight=False, soft_wrap=True,
    )
    if values["note"] is not None:
        console.print(values["note"], highlight=False, soft_wrap=True)


def _print_whole(console: Console, table: Table) -> None:
    """Every name whole, however narrow the terminal is: lines are wrapped by it, not cut."""
    console.width = max(Console(stderr=True).width, console.measure(table, options=_wide(console)).maximum)
    console.print(table)
    console.width = Console(stderr=True).width


def _wide(console: Console) -> ConsoleOptions:
    return console.options.update(width=1_000)
