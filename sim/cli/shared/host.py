"""`--host` and `--host-based`: what hosts take, and whether they carry out a collective themselves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sim.host import DEFAULT, Host, host_names, load_host, load_host_file

Command = TypeVar("Command", bound=Callable[..., Any])


def host_options(command: Command) -> Command:
    """Gives `command` the flags `--host` and `--host-based`."""
    for option in (
        click.option("--host-based", is_flag=True,
                     help=f"Hosts carry it out, by messages over the NICs; host {DEFAULT} unless --host says which."),
        click.option("--host", help=f"Count what hosts take: {', '.join(host_names())}, or a YAML file (.yaml)."),
    ):
        command = option(command)
    return command


def host_of(name: str | None, *, host_based: bool) -> tuple[str, Host | None]:
    """The host that the flags name, and what to call it in a report; none if they name none.

    Raises
    ------
    HostError
        If it cannot be loaded.
    """
    if name is None and not host_based:
        return "", None
    chosen = DEFAULT if name is None else name
    if chosen.endswith((".yaml", ".yml")):
        return chosen, load_host_file(Path(chosen))
    return chosen, load_host(chosen)
