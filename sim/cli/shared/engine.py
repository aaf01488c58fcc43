"""`--engine`, which all commands have that simulate clusters."""

import os

import click

from sim.environment.engine import ENVIRONMENT, Engine, EngineError, wanted_engine

_WITHOUT_ENGINE = frozenset({"builds", "congestion", "latency", "simulator", "switch"})
"""Benches that simulate no cluster, or clusters by both engines."""


def with_engine(command: click.Command) -> click.Command:
    """`command` with the option, and the commands below it if it is a group."""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            if name not in _WITHOUT_ENGINE:
                with_engine(below)
    elif not any(parameter.name == "engine" for parameter in command.params):
        command.params.append(click.Option(
            ["--engine"], type=click.Choice([engine.value for engine in Engine]), expose_value=False, callback=_chosen,
            help="What evaluates NICs and switches: several nodes in the lanes of a word, or Verilator, the second "
            f"opinion.  [default: what {ENVIRONMENT} says, or lanes]",
        ))
    return command


def check_environment() -> None:
    """Refuses a CONIC_ENGINE that names no engine, and a CONIC_ISA that the machine has not."""
    try:
        wanted_engine()
    except EngineError as error:
        raise click.UsageError(str(error)) from None
    if "CONIC_ISA" in os.environ:
        # Not above: it brings the compiler's room along, which takes time that --help has not.
        from sim.cluster.lanes.machine import IsaError, isa

        try:
            isa()
        except IsaError as error:
            raise click.UsageError(str(error)) from None


def _chosen(_context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    """Tells all that is built from here on, in other processes too."""
    if value is not None:
        os.environ[ENVIRONMENT] = value
