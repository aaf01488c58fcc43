"""The flags of studies that are grids: how long, by whom measured, where rows are kept, of which hardware."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from sim.cli.shared.duration import Duration
from sim.cli.shared.number import Number
from sim.cli.shared.paths import OUTPUT_FILE
from sim.host import host_names
from sim.study import STUDIES, GridOptions

Command = TypeVar("Command", bound=Callable[..., Any])
_OF_THE_STUDY = "the study's"
_OPTIONS = (
    click.option("--processes", type=Number(1), default=os.cpu_count() or 1, show_default="one a processor",
                 help="Of a grid: points that are measured at once; changes no row."),
    click.option("--scheduler", metavar="ADDRESS",
                 help="Of a grid: a Dask scheduler, as tcp://HOST:8786, whose workers measure instead of processes."),
    click.option("--limit", type=Duration(), help="Of a grid: 10min, 2h; refused before it starts if it takes longer."),
    click.option("--results", type=OUTPUT_FILE,
                 help="Of a grid: rows as they come; an interrupted run goes on from there.  "
                      "[default: rows.jsonl in --output-dir]"),
    click.option("--preset", show_default=_OF_THE_STUDY, help="Of a grid: the hardware."),
    click.option("--host", default=GridOptions.host, show_default=True,
                 help=f"Of a grid: what hosts take: {', '.join(host_names())}, or a YAML file."),
    click.option("--nodes", type=Number(2), show_default=_OF_THE_STUDY, help="Of a grid: nodes."),
)
_NAMES = ("processes", "scheduler", "limit", "results", "preset", "host", "nodes")


HOW_IT_IS_MEASURED = ("processes", "scheduler", "limit", "results")
"""Parameters that say nothing of rows that are there already."""


def grid_options(command: Command) -> Command:
    """Gives `command` the flags of grids."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def options_of(name: str, **values: Any) -> dict[str, GridOptions]:
    """The keyword that a study takes if it is a grid; none for another one.

    Raises
    ------
    click.UsageError
        If a flag was given that the study does not take.
    """
    study, context = STUDIES[name], click.get_current_context()
    refused = study.fixed if study.is_grid else dict.fromkeys(_NAMES, "which is no grid of runs on the RTL")
    for flag, why in refused.items():
        if context.get_parameter_source(flag) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{flag}: must be left out for {name}, {why}")
    if not study.is_grid:
        return {}
    usual = {"preset": study.preset, "nodes": study.nodes}
    return {"options": GridOptions(**values | {flag: value for flag, value in usual.items() if values[flag] is None})}
