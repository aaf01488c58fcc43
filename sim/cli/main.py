"""The command `conic`: finds the subcommand, turns every refusal into one line and an exit code.

Exit codes: 0 if what was checked holds, 1 if it does not, 2 on bad input.
"""

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

import click

from sim.cli.shared.engine import check_environment, with_engine
from sim.cli.shared.example import example
from sim.cli.shared.repeats import refuse_repeats
from sim.environment.threads import ThreadsError, wanted_threads

COMMANDS = {
    "run": "One collective on the RTL of a cluster, every bit checked.",
    "verify": "The same under many random orders: one bit pattern.",
    "mpiexec": "An MPI program, unchanged, its collectives on the simulated NICs.",
    "goal": "A GOAL schedule (LogGOPSim, ATLAHS) on the simulated NICs, every byte checked.",
    "soak": "Thousands of random operations, at once and back to back, every bit checked.",
    "schedule": "What every node does, and the proof that it works.",
    "route": "Multicast trees and colours for the groups of a network.",
    "connections": "Memory of connections by formula, and kept by a manager for a trace.",
    "congestion": "Flows or collectives on a packet network under congestion control.",
    "fp": "The floating-point units: TestFloat vectors, and their bench on an FPGA.",
    "study": "An experiment of a paper: table, plots, one page, claims.",
    "buffer": "The tag table of the packet buffer at a load, on the RTL.",
    "bench": "One unit at full load, on the RTL; the simulators.",
    "config": "The configuration of the hardware: every field, its range and meaning; how two differ.",
    "verilog": "The hardware as Verilog, its contract as C header and page.",
    "example": "A solver whose sums the NICs make: the same bits as under MPICH.",
    "build": "The bitstream of an FPGA board, with clocks and utilisation.",
    "demo": "Four nodes all-reduce a real data set.",
}
"""Subcommands in the order of the help, and what each does.

A subcommand is `command` of the module of its name in `sim.cli.command`, which is imported when it is called for: that
takes time.
"""


SIMULATING = frozenset({"run", "verify", "mpiexec", "goal", "soak", "study", "bench", "example", "demo"})
"""Those that simulate clusters: they take `--engine`."""
_MOST_CHARACTERS = 2000
"""Of a refusal: whatever somebody wrote, it stays one line that can be read."""

_OUTPUT_ERRORS = (errno.ENOSPC, errno.EPIPE, errno.EDQUOT, errno.EIO)
"""Errors of standard output: it is full, or nobody reads it."""


class LazyGroup(click.Group):
    """A group that imports a subcommand only when it is used, so that `--help` and refusals are quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            raise click.UsageError(f"command must be one of {', '.join(COMMANDS)}, not {cmd_name!r}", ctx)
        command = importlib.import_module(f"sim.cli.command.{cmd_name}").command
        assert isinstance(command, click.Command)
        return with_engine(command) if cmd_name in SIMULATING else command

    def resolve_command(
        self, ctx: click.Context, args: list[str],
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            refuse_repeats(command, ctx, rest)
        return name, command, rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            raise click.UsageError(f"command is required: one of {', '.join(COMMANDS)}", ctx)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _show_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from sim.cluster.build import LANES
    from sim.cluster.lanes.machine import IsaError, isa

    try:
        words = f"words of {LANES} lanes, {isa().name}"
    except IsaError as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"conic, version {version('conic')}; clusters: {words}")
    context.exit()


@click.group(cls=LazyGroup, epilog=example("conic run allreduce --algorithm recursive-doubling --nodes 4 --size 4KiB"))
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version,
              help="Show the version, and what clusters are built for on this machine.")
def cli() -> None:
    """Runs and checks collectives on the RTL of a simulated cluster, and exports the hardware."""
    try:
        wanted_threads()
    except ThreadsError as error:
        raise click.UsageError(str(error)) from None
    check_environment()


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs `conic` with `arguments` (those of the process by default) and ends the process."""
    try:
        result = cli.main(arguments, prog_name="conic", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        click.echo(refusal(error), err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("conic: interrupted", err=True)
        sys.exit(130)
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS or error.filename is not None:
            raise
        # The null device takes the text left in the buffer, which would raise the same error again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"conic: standard output: {error.strerror}", err=True)
        sys.exit(2)
    sys.exit(result if isinstance(result, int) else 0)


def refusal(error: click.ClickException) -> str:
    """The one line that says what is wrong and what would be right."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    place = context.command_path if context is not None else "conic"
    message = error.message
    match error:
        case click.NoSuchOption() if context is not None:
            flags = [option for param in context.command.params for option in param.opts if option.startswith("--")]
            message = f"{error.option_name}: no such option; allowed: {', '.join(sorted(flags))}"
        case click.MissingParameter(param=click.Parameter() as param):
            choice = param.type.get_missing_message(param, context)
            message = f"{_name(param)}: is required{'' if choice is None else f'; {choice}'}"
        case click.BadParameter(param=click.Parameter() as param):
            message = f"{_name(param)}: {message}"
    line = f"{place}: {' '.join(message.split())}"
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"


def _name(param: click.Parameter) -> str:
    """A flag as it is typed, an argument as the help shows it."""
    return param.opts[0] if isinstance(param, click.Option) else (param.name or "").upper()


if __name__ == "__main__":
    main()
