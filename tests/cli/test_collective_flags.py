"""The flags that describe a collective, as one object that is handed on."""

import ast
import inspect
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

from sim.cli.command import run, verify
from sim.cli.shared import board, faults
from sim.cli.shared.collective_options import CollectiveFlags, collective_options


def gathered(*arguments: str) -> CollectiveFlags:
    """The object that a command with these arguments is called with."""
    seen: list[CollectiveFlags] = []

    @click.command
    @collective_options
    def command(*, flags: CollectiveFlags, as_json: bool) -> int:
        seen.append(flags)
        return 0

    outcome = CliRunner().invoke(command, arguments)
    assert outcome.exit_code == 0, outcome.output
    return seen[0]


def test_all_that_was_given() -> None:
    flags = gathered(
        "reduce", "--algorithm", "binomial", "--nodes", "5", "--size", "4KiB", "--root", "2", "--jobs", "3",
        "--dtype", "int32", "--op", "max", "--config", "c.yaml", "--topology", "star:8", "--seed", "9",
        "--host", "paper", "--host-based", "--input", "x.npy",
    )
    assert flags == CollectiveFlags(
        collective="reduce", algorithm="binomial", nodes=5, size=4096, root=2, jobs=3, dtype="int32", op="max",
        preset=None, config=Path("c.yaml"), host="paper", host_based=True, topology="star:8", input_file=Path("x.npy"),
        seed=9,
    )
    with pytest.raises(FrozenInstanceError):
        flags.nodes = 6  # type: ignore[misc]


def test_its_members_are_the_flags_of_a_collective() -> None:
    """A flag that is added to the commands reaches the request, or stands beside it by name."""
    beside = {
        "run": {"as_json", "run_file", "output_file", "waves", "waves_from", "waves_for", "trace", "timeline", "faults",
                "board", "baud"},
        "verify": {"as_json", "run_file", "orders", "workers", "frame_errors", "faults"},
    }
    members = {each.name for each in fields(CollectiveFlags)}
    for module in (run, verify):
        # `conic` itself adds --engine, once it has looked the command up.
        names = {parameter.name for parameter in module.command.params if parameter.name != "engine"}
        assert names - beside[module.command.name] == members


def test_the_request_is_that_of_the_flags() -> None:
    flags = gathered("allreduce", "--algorithm", "auto", "--nodes", "4", "--size", "64", "--preset", "paper")
    with click.Context(run.command):
        request = flags.request()
    assert (request.collective, request.nodes, request.size, request.preset) == ("allreduce", 4, 64, "paper")
    assert request.topology == "star:4"


@pytest.mark.parametrize("module", [run, verify, board, faults], ids=lambda module: module.__name__)
def test_no_function_takes_any_keywords(module: ModuleType) -> None:
    """Commands and the functions that they call take one object."""
    functions = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.FunctionDef)]
    assert functions
    assert [each.name for each in functions if each.args.kwarg is not None] == []
