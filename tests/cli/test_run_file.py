"""`--run-file` of options that may be repeated: of every command that has both."""

from collections.abc import Iterator
from pathlib import Path

import click
import click.testing
import pytest

from sim.cli.main import cli
from sim.cli.shared.run_file import run_file_option


def repeatable(command: click.Command = cli) -> Iterator[tuple[click.Command, click.Option]]:
    """Every command that takes a run file, with each of its options that may be repeated."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            assert one is not None
            yield from repeatable(one)
    elif any(param.name == "run_file" for param in command.params):
        yield from ((command, param) for param in command.params if isinstance(param, click.Option) and param.multiple)


PAIRS = list(repeatable())


def taken(folder: Path, text: str) -> object:
    """Outcome of a command with ``--control`` and this file."""
    @click.command()
    @click.option("--control", multiple=True)
    @run_file_option
    def command(control: tuple[str, ...]) -> None:
        click.echo(",".join(control))

    file = folder / "run.yaml"
    file.write_text(text)
    return click.testing.CliRunner().invoke(command, ["--run-file", str(file)])


@pytest.mark.parametrize(("text", "printed"), [
    ("control: hpcc", "hpcc\n"), ("control: [hpcc, dcqcn]", "hpcc,dcqcn\n"), ("control: [hpcc]", "hpcc\n"),
])
def test_values(text: str, printed: str, tmp_path: Path) -> None:
    assert taken(tmp_path, text).output == printed


@pytest.mark.parametrize("entry", ["[]", "{a: 1}", "true", "[[a]]", "null"])
def test_refused(entry: str, tmp_path: Path) -> None:
    outcome = taken(tmp_path, f"control: {entry}")
    assert outcome.exit_code == 2
    assert "control must be a value or a list of values, not " in outcome.output


@pytest.mark.parametrize(("command", "option"), PAIRS, ids=lambda one: str(one.name))
def test_every_repeatable_option(command: click.Command, option: click.Option, tmp_path: Path) -> None:
    """A list reaches it: what is refused then, if anything, is not the form."""
    file = tmp_path / "run.yaml"
    file.write_text(f"{option.opts[0].lstrip('-')}: [1, 2]\n")
    context = click.Context(command, info_name=command.name)
    run_file = next(param for param in command.params if param.name == "run_file")
    run_file.process_value(context, str(file))
    assert context.default_map == {option.name: [1, 2]}


def test_there_are_some() -> None:
    assert PAIRS
