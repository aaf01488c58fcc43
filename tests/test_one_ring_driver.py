"""The number of ring drivers in the tree is one: `firmware_models/host` (and its sister in C, for bare metal).

Who drives rings knows two things: where doorbells are, and what stands in an entry. Benches that write doorbells at
random, or make descriptors for the library to post, know one of them.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "firmware_models/host"
DOORBELLS = {"dq_prod", "cq_cons", "rq_cons", "VP_PAGES", "vp_address"}
ENTRIES = {"COMPLETION", "RECEIVE", "DESCRIPTOR"}
HARDWARE = ("rtl/", "firmware_models/abi/")
"""Folders that implement the other side, and that define both."""


def known(text: str) -> set[str]:
    """Names, attributes and strings of a module, docstrings left out."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if name in ENTRIES and owner != "formats":
                pass  # a member of an enum
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                found.add(name.rpartition(".")[2])
            case ast.Constant(value=str() as name):
                found.add(name)
    return found


def is_driver(text: str) -> bool:
    """It knows both."""
    names = known(text)
    return bool(names & DOORBELLS) and bool(names & ENTRIES)


def test_one() -> None:
    drivers = {
        path.parent.relative_to(ROOT).as_posix()
        for folder in ("firmware_models", "rtl", "testbench", "sim", "fpga") for path in (ROOT / folder).rglob("*.py")
        if not path.relative_to(ROOT).as_posix().startswith(HARDWARE) and is_driver(path.read_text())
    }
    assert drivers == {LIBRARY}


def test_one_in_c() -> None:
    """In C and C++ too: doorbells are rung in one file."""
    files = [path for folder in ("firmware_models", "testbench", "sim", "fpga") for suffix in ("c", "cpp", "h")
             for path in (ROOT / folder).rglob(f"*.{suffix}")]
    assert [path.name for path in files if "DQ_PROD" in path.read_text()] == ["conic_driver.c"]


COMPILERS = {"sim/board/run.py"}
"""Modules that compile sequences themselves: for a board whose one NIC takes the part of its peer too."""


def test_collectives_are_posted_by_the_library() -> None:
    """Sessions, MPI and soaks have their sequences compiled by `Job`."""
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("sim", "testbench", "fpga") for path in (ROOT / folder).rglob("*.py")
        if known(path.read_text()) & {"compile_schedule", "pack_sequence", "pack_sequences"}
    }
    assert found == COMPILERS


@pytest.mark.parametrize("text", [
    """
def post(self, raw):
    self.memory.write(self.dq + self.produced % 8 * DESCRIPTOR.bytes, raw)
    self.write(registers.VP_PAGES + self.vp * registers.VP_PAGE_BYTES, self.produced + 1)
""",
    """
from firmware_models.abi import formats
async def poll(self, port):
    entry = formats.COMPLETION.unpack(self.memory.read(port.cq, 64))
    await self.page(port, "cq_cons", port.completed + 1)
""",
])
def test_another_would_be_seen(text: str) -> None:
    """Two that stood in benches."""
    assert is_driver(text)
