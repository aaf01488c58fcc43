"""The command `conic`: finds the subcommand, turns every refusal into one line and an exit code.

Exit codes: 0 if what was checked holds, 1 if it does not, 2 on bad input.
"""

import importlib
import sys
from collections.abc import Sequence

import click

COMMANDS = {
    "run": "sim.cli.run",
    "verify": "sim.cli.verify",
    "verilog": "sim.cli.verilog",
    "demo": "sim.cli.demo",
}
"""Subcommands and the modules that hold them (as `command`), imported when they are called for."""


class LazyGroup(click.Group):
    """A group that imports a subcommand only when it is used, so that `--help` and refusals are quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            raise click.UsageError(f"command must be one of {', '.join(COMMANDS)}, not {cmd_name!r}", ctx)
        command = importlib.import_module(COMMANDS[cmd_name]).command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, epilog="Example: conic run allreduce --algorithm recursive-doubling --nodes 4 --size 4KiB")
@click.version_option(package_name="conic")
def cli() -> None:
    """Runs and checks collectives on the RTL of a simulated cluster, and exports the hardware."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs `conic` with `arguments` (those of the process by default) and ends the process."""
    try:
        result = cli.main(arguments, prog_name="conic", standalone_mode=False)
    except click.ClickException as error:
        click.echo(refusal(error), err=True)
        sys.exit(2)
    except click.Abort:
        click.echo("conic: interrupted", err=True)
        sys.exit(130)
    sys.exit(result if isinstance(result, int) else 0)


def refusal(error: click.ClickException) -> str:
    """The one line that says what is wrong and what would be right."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    place = context.command_path if context is not None else "conic"
    message = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption) and context is not None:
        flags = [option for param in context.command.params for option in param.opts if option.startswith("--")]
        message = f"{error.option_name}: no such option; allowed: {', '.join(sorted(flags))}"
    return f"{place}: {message}"


if __name__ == "__main__":
    main()
