"""Which modules of this project a module or a test needs, and through how many steps."""

import ast
from collections import deque
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

from testbench.toolchain import build_folder

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("firmware_models", "rtl", "testbench", "sim", "fpga")


@cache
def graph() -> grimp.ImportGraph:
    """Graph of the imports between modules of the project."""
    return grimp.build_graph(*ROOMS, cache_dir=str(build_folder() / "imports"))


def module_of(path: Path) -> str | None:
    """The module that a file, relative to the top folder, is the source of; None if it is none."""
    if path.suffix != ".py" or path.parts[0] not in ROOMS:
        return None
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_of(module: str) -> Path:
    """The file of a module."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def distances(start: Iterable[str]) -> dict[str, int]:
    """Every module that those in `start` need, with the fewest imports that lead there; 0 for themselves."""
    imports = graph()
    found = {module: 0 for module in start if module in imports.modules}
    waiting = deque(found)
    while waiting:
        module = waiting.popleft()
        for other in imports.find_modules_directly_imported_by(module):
            if other not in found:
                found[other] = found[module] + 1
                waiting.append(other)
    return found


def named_in(source: str) -> set[str]:
    """The modules that a file outside of the rooms, a test, imports or names in a string (as benches are named)."""
    modules = graph().modules
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            found.add(text)
            if text.endswith(".") and text[:-1] in modules:  # the rest of the name is computed
                found |= {module for module in modules if module.startswith(text)}
    return found & modules
