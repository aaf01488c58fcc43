"""Flags that would do nothing beside another, or without it: they are refused, not ignored."""

import click
from click.core import ParameterSource


def is_given(name: str) -> bool:
    """True if a flag of this command was written, on the command line or in a run file; `name` is its parameter's."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT)


def refuse_idle(names: tuple[str, ...], why: str) -> None:
    """Refuses each of these flags that was given.

    Parameters
    ----------
    names : tuple of str
        Parameters of the command.
    why : str
        Completes "does nothing", such as "without --board".

    Raises
    ------
    click.UsageError
        Naming the flag.
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in names and is_given(parameter.name):
            flag = max(parameter.opts, key=len)
            raise click.UsageError(f"{flag}: does nothing {why}; leave it out")
