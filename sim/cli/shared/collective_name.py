"""The names of a collective and of its algorithm: what there is to choose from."""

from typing import Any

import click

from firmware_models.schedule import algorithm_names, collective_names
from sim.selection import AUTO, choose


class CollectiveName(click.ParamType[str]):
    """The name of a collective."""

    name = "collective"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in collective_names():
            self.fail(f"must be {self._choice}, not {value!r}", param, ctx)
        return str(value)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return self._choice

    @property
    def _choice(self) -> str:
        return f"one of {', '.join(collective_names())}"


def required_algorithm(collective: str, algorithm: str | None) -> str:
    """The algorithm, if it is one of those that `collective` has."""
    choice = f"one of {', '.join(algorithm_names(collective))} for {collective}"
    if algorithm is None:
        raise click.UsageError(f"--algorithm: is required; {choice}")
    if algorithm not in algorithm_names(collective):
        raise click.UsageError(f"--algorithm: must be {choice}, not {algorithm!r}")
    return algorithm


def algorithm_for(collective: str, algorithm: str | None, *, nodes: int, size: int, host_based: bool) -> str:
    """The algorithm that is asked for; chosen for `nodes` and `size` if it is `auto`."""
    if algorithm == AUTO:
        return choose(collective, nodes=nodes, size=size, multicast=not host_based)
    return required_algorithm(collective, algorithm)
