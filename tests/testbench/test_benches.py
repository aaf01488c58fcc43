"""A test of a bench that does not apply is skipped by name, with a reason: it does not pass by an early return."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def early_returns(source: str) -> list[str]:
    """Tests of a bench that can end by a `return`, whose run nobody could tell from one that checked something."""
    return [
        f"{node.name}:{found.lineno}"
        for node in ast.walk(ast.parse(source)) if isinstance(node, ast.AsyncFunctionDef)
        if any("cocotb.test" in ast.unparse(decorator) for decorator in node.decorator_list)
        for found in own_nodes(node) if isinstance(found, ast.Return)
    ]


def own_nodes(scope: ast.AST):
    """Nodes of a function without those of functions inside of it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from own_nodes(child)


def test_no_bench_passes_by_an_early_return() -> None:
    benches = sorted((ROOT / "testbench").rglob("*_bench.py"))
    assert len(benches) > 30
    found = {str(path.relative_to(ROOT)): early_returns(path.read_text()) for path in benches}
    assert not {name: tests for name, tests in found.items() if tests}


@pytest.mark.parametrize(("body", "n_found"), [
    ("    if not ecc:\n        return\n    check()\n", 1),
    ("    def last():\n        return 3\n    check(last)\n", 0),
    ("    while True:\n        await tick()\n        if done:\n            return\n", 1),
])
def test_planted(body: str, n_found: int) -> None:
    assert len(early_returns(f"@cocotb.test()\nasync def t(dut):\n{body}")) == n_found
    assert not early_returns(f"async def helper(dut):\n{body}")
