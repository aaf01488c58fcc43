"""Docstrings state their subject: none begins with a question word (``docs/glossary.md``)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("rtl", "sim", "testbench", "fpga", "firmware_models", "tests")
QUESTION = re.compile(r"\s*(What|Whether|Who)\b")
PENDING: set[str] = set()
"""Files whose docstrings are not reworded yet. None may be added."""


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings of modules, classes, functions and of the attributes that they stand behind, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def questions(source: str) -> list[str]:
    """Docstrings of a file that begin with a question word, as ``line: first line``."""
    found = [(line, text) for line, text in docstrings(ast.parse(source)) if QUESTION.match(text)]
    return [f"{line}: {text.strip().splitlines()[0]}" for line, text in sorted(found)]


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_state_their_subject(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    found = {str(path.relative_to(ROOT)): questions(path.read_text()) for path in files}
    lines = [f"{name}:{line}" for name, each in found.items() if name not in PENDING for line in each]
    assert lines == [], 'name the thing: "Outcome of a test.", "True if a unit is free."'
    assert [name for name in PENDING & set(found) if not found[name]] == [], "reworded: take them off the list"


@pytest.mark.parametrize(("source", "found"), [
    ('"""What became of a test."""', ["1: What became of a test."]),
    ('"""\nWhether a unit is free.\n"""', ["1: Whether a unit is free."]),
    ('class A:\n    """Who asks.\n\n    Often.\n    """', ["2: Who asks."]),
    ('async def f():\n    """What\'s left."""', ["2: What's left."]),
    ('class A:\n    def f(self):\n        r"""What it does."""', ["3: What it does."]),
    ('X = 1\n"""Whether it rests."""', ["2: Whether it rests."]),
    ('class A:\n    x: int\n    """What it holds."""', ["3: What it holds."]),
    ('"""Outcome of a test."""\nx = "What became of it"\nprint("Who")', []),
    ('"""Whose turn it is."""', []),
    ('"""Says whether it rests."""', []),
])
def test_questions_are_found(source: str, found: list[str]) -> None:
    assert questions(source) == found
