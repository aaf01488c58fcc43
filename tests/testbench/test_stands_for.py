"""Every component of the RTL is built by a test, a bench or a proof, or a bench says that it stands for it."""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_STOOD_FOR = 2
"""Parts that something larger stands for: the paths of a NIC between link and units, which only put parts together."""


def components() -> dict[str, set[str]]:
    """Components of the RTL, and the other components that their source names: their parts."""
    classes = {
        node.name: node for path in sorted((ROOT / "rtl").rglob("*.py")) for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and "wiring.Component" in [ast.unparse(base) for base in node.bases]
    }
    # A part may be made by a function of the module, as the tag table of the packet buffer is.
    makers = {
        node.name: {name.id for name in ast.walk(node) if isinstance(name, ast.Name)} & set(classes)
        for path in (ROOT / "rtl").rglob("*.py") for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    parts = {}
    for name, node in classes.items():
        named = {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}
        made = {part for maker in named & set(makers) for part in makers[maker]}
        parts[name] = (named & set(classes) | made) - {name}
    return parts


def whole(hub: str, parts: Mapping[str, set[str]]) -> set[str]:
    """A component with all its parts, and theirs."""
    found, open_ = set(), {hub}
    while open_:
        part = open_.pop()
        found.add(part)
        open_ |= parts[part] - found
    return found


def run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A syntax tree without blocks that expect an exception: a refused parameter or a planted error is no bench."""
    yield node
    expects = isinstance(node, ast.With) and any(
        isinstance(item.context_expr, ast.Call) and ast.unparse(item.context_expr.func) == "pytest.raises"
        for item in node.items
    )
    if not expects:
        for child in ast.iter_child_nodes(node):
            yield from run_nodes(child)


def built_in(source: str, names: set[str]) -> set[str]:
    """Components that a file makes, or gives to something that makes them."""
    built = set()
    for node in run_nodes(ast.parse(source)):
        if isinstance(node, ast.Call):
            makes = [node.func, *node.args[:1]] if ast.unparse(node.func) == "partial" else [node.func]
            built |= {made.id for made in makes if isinstance(made, ast.Name)} & names
    return built


def benches(path: Path) -> bool:
    """True if components that a file builds are run there. Tests of budgets and of pages about the hardware build them
    too: to measure their cells, or to read the names of their states.
    """
    return path.parts[0] == "testbench" or path.parts[:2] in {("tests", "rtl"), ("tests", "testbench")}


def made_for(source: str, names: set[str]) -> set[str]:
    """Components that a test builds, itself or by a module of the testbench that it imports."""
    built = built_in(source, names)
    for name in re.findall(r"^from (testbench\.[\w.]+) import", source, re.MULTILINE):
        path = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        built |= built_in(path.read_text(), names) if path.exists() else set()
    return built


def claims() -> Iterator[tuple[str, str]]:
    """Each bench's import name with each component that it says it stands for."""
    for path in sorted((ROOT / "testbench").rglob("*_bench.py")):
        if re.search(r"^STANDS_FOR = ", path.read_text(), re.MULTILINE):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield from ((name, part) for part in importlib.import_module(name).STANDS_FOR)


def problems(parts: Mapping[str, set[str]], alone: set[str], claimed: list[tuple[str, str]],
             hubs: Mapping[str, set[str]]) -> list[str]:
    """Lists the problems, a line each."""
    stood_for = {part for _, part in claimed}
    lines = [
        f"{name} is built by nothing, and no bench stands for it" for name in parts if name not in alone | stood_for
    ]
    lines += [f"{bench} stands for {part}, which is built alone" for bench, part in claimed if part in alone]
    lines += [
        f"{bench} stands for {part}, which is no part of what it is run on" for bench, part in claimed
        if not any(part in whole(hub, parts) for hub in hubs.get(bench, set()))
    ]
    return sorted(lines)


def test_every_component_has_a_test() -> None:
    parts = components()
    assert len(parts) > 90
    alone, hubs = {"SharedModule"}, {}  # SharedModule is what shared() makes: tests/rtl/kit/test_library.py
    for folder in ("tests", "testbench"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if benches(path.relative_to(ROOT)):
                alone |= built_in(text, set(parts))
            for bench in re.findall(r'"(testbench\.[\w.]+_bench)"', text):
                hubs.setdefault(bench, set()).update(made_for(text, set(parts)))
    claimed = list(claims())
    assert not problems(parts, alone, claimed, hubs)
    assert len({part for _, part in claimed}) <= MOST_STOOD_FOR


def test_planted() -> None:
    """A component that nobody builds, a claim that is stale, and one about a part of something else."""
    parts = {"Hub": {"Part"}, "Part": {"Inner"}, "Inner": set(), "Other": set()}
    hubs = {"b": {"Hub"}}
    assert not problems(parts, {"Hub", "Other"}, [("b", "Part"), ("b", "Inner")], hubs)
    assert problems(parts, {"Hub", "Other"}, [("b", "Part")], hubs) == [
        "Inner is built by nothing, and no bench stands for it"]
    assert problems(parts, {"Hub", "Part", "Inner"}, [("b", "Other"), ("b", "Inner")], hubs) == [
        "b stands for Inner, which is built alone", "b stands for Other, which is no part of what it is run on"]
    refused = "with pytest.raises(ValueError):\n    Hub(0)\nwith pytest.warns(W), pytest.raises(E):\n    Other()"
    assert not built_in(refused, set(parts))
    assert built_in(f"{refused}\nwith opened():\n    Part(1)", set(parts)) == {"Part"}
    run_here = "tests/rtl/kit/test_kit.py", "testbench/kit/parts.py"
    assert all(benches(Path(name)) for name in run_here)
    assert not any(benches(Path(name)) for name in ("tests/fpga/test_budget.py", "tests/sim/walk/test_walk.py"))
    assert built_in("run(partial(Hub, 3))\nPart(1)\nOther.size", set(parts)) == {"Hub", "Part"}
