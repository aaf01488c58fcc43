"""Docstrings of components name the members of their signatures, with their directions: all of them and no others."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECTION = re.compile(r"^\s*Members\n\s*-{7}\n(.*?)(?=^\s*\w+\n\s*-{3,}\n|\Z)", re.MULTILINE | re.DOTALL)
NAMES = r"[a-z_]\w*(?:, [a-z_]\w*)*"


def documented(docstring: str) -> dict[str, set[str]] | None:
    """Members by name, each with the directions that its line gives; nothing if there is no such section."""
    section = SECTION.search(docstring + "\n")
    if section is None:
        return None
    lines = [line for line in section.group(1).splitlines() if line.strip()]
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    members: dict[str, set[str]] = {}
    for line in lines:
        if len(line) - len(line.lstrip()) > indent:
            continue
        # Entries may share a line, and names their directions: a, b : ``In(1)``, ``Out(2)``, c : ``In(3)``.
        text = line.strip()
        flows = re.findall(r"``(In|Out)\b", text)
        groups = re.findall(rf"({NAMES}) : ", text) or [text]
        names = [name for group in groups for name in re.findall(r"[a-z_]\w*", group)]
        members |= {name: set(flows) for name in names}
    return members


def declared(cls: ast.ClassDef) -> dict[str, str] | None:
    """Members of the signature by name, with their directions ("" if the source does not show one)."""
    members = {
        node.target.id: flow_of(node.annotation) for node in cls.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and flow_of(node.annotation)
    }
    calls = [
        node for node in ast.walk(cls)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__" and node.args
    ]
    for call in calls:
        if not isinstance(call.args[0], ast.Dict):
            return None
        for part in (node for node in ast.walk(call.args[0]) if isinstance(node, ast.Dict)):
            if part is not call.args[0] and not is_spread(call.args[0], part):
                continue
            for key, value in zip(part.keys, part.values, strict=True):
                if isinstance(key, ast.Constant):
                    members[key.value] = flow_of(value)
    return members


def is_spread(outer: ast.Dict, inner: ast.Dict) -> bool:
    """It is spread into the outer one by ``**``, under a condition perhaps."""
    spread = [value for key, value in zip(outer.keys, outer.values, strict=True) if key is None]
    return any(
        inner is branch for value in spread
        for branch in ((value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,))
    )


def flow_of(node: ast.expr) -> str:
    """The direction of a member, from ``In(…)`` or ``Out(…).array(n)``."""
    found = re.match(r"(In|Out)\(", ast.unparse(node))
    return found.group(1) if found else ""


def differences(source: str) -> list[str]:
    """A line for each member that docstring and signature do not agree on."""
    lines = []
    for cls in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)):
        if "wiring.Component" not in [ast.unparse(base) for base in cls.bases]:
            continue
        signature, members = declared(cls), documented(ast.get_docstring(cls) or "")
        if signature is None or (not signature and members is None):
            continue
        if members is None:
            lines.append(f"{cls.name}: no Members")
            continue
        lines += [f"{cls.name}.{name} is not documented" for name in signature if name not in members]
        lines += [f"{cls.name}.{name} is no member" for name in members if name not in signature]
        lines += [
            f"{cls.name}.{name} is {flow}" for name, flow in signature.items()
            if flow and members.get(name) and flow not in members[name]
        ]
    return lines


def test_members() -> None:
    paths = sorted(path for room in ("rtl", "fpga") for path in (ROOT / room).rglob("*.py"))
    found = {str(path.relative_to(ROOT)): differences(path.read_text()) for path in paths}
    assert sum(path.read_text().count("(wiring.Component)") for path in paths) > 90
    assert not {name: lines for name, lines in found.items() if lines}


SOURCE = '''
class Part(wiring.Component):
    """Does something.

    Members
    -------
    i, enable : ``In(8)``, ``In(1)``
        What comes in.
    o : array of 2 ``Out(8)``
        What goes out.
    """

    def __init__(self, *, more: bool):
        super().__init__({"i": In(8), "enable": In(1), "o": Out(8).array(2), **({"extra": Out(1)} if more else {})})
'''


@pytest.mark.parametrize(("old", "new", "found"), [
    ("**({\"extra\": Out(1)} if more else {})", "", []),
    ("", "", ["Part.extra is not documented"]),
    ("i, enable :", "i :", ["Part.enable is not documented", "Part.extra is not documented"]),
    ("**({\"extra\": Out(1)} if more else {})", "\"extra\": Out(shape)", ["Part.extra is not documented"]),
    ("\"enable\": In(1), ", "", ["Part.extra is not documented", "Part.enable is no member"]),
    ("``Out(8)``", "``In(8)``", ["Part.extra is not documented", "Part.o is Out"]),
    ("    Members\n    -------", "    Notes\n    -----", ["Part: no Members"]),
])
def test_planted(old: str, new: str, found: list[str]) -> None:
    assert differences(SOURCE.replace(old, new) if old else SOURCE) == found
