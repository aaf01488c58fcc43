"""An exception that is a bug never appears as bad input: commands refuse named errors of checks, nothing broader."""

import ast
from pathlib import Path
from typing import Any

import pytest

import sim.cli.command.buffer
from sim.cli import main

COMMANDS = Path(main.__file__).parent / "command"
BROAD = {"Exception", "BaseException", "ValueError", "RuntimeError", "TypeError", "KeyError", "LookupError",
         "ArithmeticError", "AttributeError", "AssertionError"}


def broad(text: str) -> list[str]:
    """Names of broad errors that a decorator of a command takes for bad input, or for something that does not hold."""
    return [
        name.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
        for call in node.decorator_list if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        and call.func.id in ("refuses", "fails") for name in call.args
        if isinstance(name, ast.Name) and name.id in BROAD
    ]


def test_only_named_errors() -> None:
    found = {path.name: names for path in COMMANDS.glob("*.py") if (names := broad(path.read_text()))}
    assert not found


def test_a_broad_one_would_be_seen() -> None:
    assert broad("@refuses(ConfigError, ValueError)\ndef command(): ...") == ["ValueError"]


def test_a_planted_bug_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug under a command ends in a traceback, not in a line about the user's flags."""
    def buggy(**_: Any) -> None:
        raise ValueError("list.remove(x): x not in list")

    monkeypatch.setattr(sim.cli.command.buffer, "measure", buggy)
    with pytest.raises(ValueError, match="not in list"):
        main.main(["buffer", "--load", "0.5"])
