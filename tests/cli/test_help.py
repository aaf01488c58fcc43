"""Every `--help` shows an example, and the example is one that the command takes."""

import shlex

import click
import pytest

from sim.cli.main import COMMANDS, cli, main


@pytest.mark.parametrize("name", COMMANDS)
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    example = text[text.index("Example:\n") + len("Example:\n"):].strip()
    conic, used, *arguments = shlex.split(example)
    assert (conic, used) == ("conic", name)
    context = click.Context(cli, info_name="conic")
    command = cli.get_command(context, name)
    assert command is not None
    command.make_context(name, arguments, parent=context)  # raises if a flag is wrong


@pytest.mark.parametrize("name", COMMANDS)
def test_takes_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert "--json" in capsys.readouterr().out


def test_group_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert "Example:\n  conic run" in text.replace("    conic", "  conic")
    assert all(f"  {name} " in text for name in COMMANDS)
