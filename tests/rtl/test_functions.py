"""Functions of the hardware are short enough to be read in one go."""

import ast
from pathlib import Path

import pytest

RTL = Path(__file__).resolve().parents[2] / "rtl"
MOST_LINES = 120


def lengths(source: str) -> dict[str, int]:
    """Lines of every function, by name; of several with one name, the most."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            found[node.name] = max(lines, found.get(node.name, 0))
    return found


def too_long(source: str) -> dict[str, int]:
    """Functions above the limit, and their lines."""
    return {name: lines for name, lines in lengths(source).items() if lines > MOST_LINES}


def test_no_function_is_too_long() -> None:
    paths = sorted(RTL.rglob("*.py"))
    assert len(paths) > 100
    found = {
        f"{path.relative_to(RTL)}: {name}": lines
        for path in paths for name, lines in too_long(path.read_text()).items()
    }
    assert not found


@pytest.mark.parametrize(("lines", "fails"), [(MOST_LINES, False), (MOST_LINES + 1, True)])
@pytest.mark.parametrize("head", ["def f():\n", "class A:\n    def f(self):\n", "def g():\n    def f():\n"])
def test_the_limit(head: str, lines: int, fails: bool) -> None:
    indent = "    " * head.count("\n")
    source = head + f"{indent}pass\n" * (lines - 1)
    assert ("f" in too_long(source)) == fails
