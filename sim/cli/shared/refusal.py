"""Turns the errors of other modules into those of the command line: what they refuse, and what fails."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from firmware_models.files import shown

P = ParamSpec("P")
R = TypeVar("R")


def refuses(*errors: type[Exception]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a command: any of `errors` that it raises is bad input (exit code 2, its message in one line).

    `OSError` counts as well, naming the file: whatever files a command touches were named by its user.
    """
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except click.UsageError as error:
                error.ctx = error.ctx or click.get_current_context()
                raise
            except errors as error:
                raise click.UsageError(str(error), click.get_current_context()) from error
            except OSError as error:
                if error.filename is None:
                    raise
                text = f"{shown(str(error.filename))}: {error.strerror}"
                raise click.UsageError(text, click.get_current_context()) from error
            except MemoryError as error:
                text = "needs more memory than there is; a smaller size or fewer nodes would be right"
                raise click.UsageError(text, click.get_current_context()) from error

        return wrapped

    return decorate


def fails(*errors: type[Exception]) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Decorates a command: any of `errors` that it raises means that what was checked does not hold (exit code 1)."""
    def decorate(function: Callable[P, int]) -> Callable[P, int]:
        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> int:
            try:
                return function(*args, **kwargs)
            except errors as error:
                click.echo(f"{click.get_current_context().command_path}: {error}", err=True)
                return 1

        return wrapped

    return decorate
