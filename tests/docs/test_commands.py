"""Every `conic` command that a page or the Makefile names has flags that there are; the quick ones are run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sim.cli.main import cli, main

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = [
    _ROOT / "README.md", _ROOT / "Makefile", *sorted(_ROOT.glob("docs/*.md")), *sorted(_ROOT.glob("rtl/*/README.md")),
]
_PLACEHOLDER = re.compile(r"(?<![\w./-])[A-Z][A-Z_]*\b|…|\.\.\.|\$|<| -- | \. ")
QUICK = [
    ("schedule", "allreduce", "--algorithm", "ring", "--nodes", "4", "--check"),
    ("route", "star:4", "--pattern", "2x2"),
    ("connections", "--processes", "16", "--cores", "2"),
    ("congestion", "dumbbell:5", "--load", "0.1", "--duration-us", "10", "--control", "dctcp"),
    ("study",),
]


def commands() -> Iterator[tuple[str, str]]:
    """Page and text of every command without placeholders, in code blocks, behind back ticks and in the Makefile."""
    for page in _PAGES:
        text = page.read_text()
        found = re.findall(r"^\s*(?:\$\(BIN\)/)?(conic [^\n]*)$", text, re.MULTILINE)
        # In a sentence a flag may stand without its value.
        found += [line for line in re.findall(r"`(conic [^`\n]*)`", text) if not re.search(r" --[\w-]+$", line)]
        for line in dict.fromkeys(found):
            command = line.partition(" #")[0].partition(" > ")[0].partition(" | ")[0].partition(" && ")[0].strip(" \\")
            if page.name != "Makefile" and line.endswith("\\"):
                continue
            if not _PLACEHOLDER.search(command):
                yield str(page.relative_to(_ROOT)), command


COMMANDS = sorted(set(commands()))


def parse(arguments: list[str]) -> None:
    """Goes down to the command and has it take its flags, without running it."""
    command: click.Command = cli
    context = click.Context(cli, info_name="conic")
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None, name
        command, context = found, click.Context(found, info_name=name, parent=context)
    if isinstance(command, click.Group):
        return
    parser = command.make_parser(context)
    values, rest, _ = parser.parse_args(list(arguments))
    assert not rest, rest
    for parameter in command.params:  # values of choices and numbers; files need not be there
        value = values.get(str(parameter.name))
        if isinstance(value, str) and not isinstance(parameter.type, click.Path | click.File):
            parameter.type_cast_value(context, value)


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_command_of_a_page_is_understood(page: str, command: str) -> None:
    parse(shlex.split(command)[1:])


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 60


@pytest.mark.parametrize("wrong", ["conic run reduce --nodse 4", "conic bench swich", "conic run reduce --nodes x"])
def test_a_wrong_one_is_found(wrong: str) -> None:
    with pytest.raises((click.UsageError, AssertionError)):
        parse(shlex.split(wrong)[1:])


@pytest.mark.parametrize("arguments", QUICK, ids=lambda arguments: arguments[0])
def test_quick_commands_end_well(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert end.value.code == 0
