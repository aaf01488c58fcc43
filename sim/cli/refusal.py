"""Turns the errors by which other modules refuse input into those of the command line."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

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
                text = f"{str(error.filename)!r}: {error.strerror}"
                raise click.UsageError(text, click.get_current_context()) from error

        return wrapped

    return decorate
