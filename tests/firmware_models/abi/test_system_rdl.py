"""SystemRDL and IP-XACT, read back by the compiler and as XML, say what the register map says."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
from systemrdl import RDLCompiler
from systemrdl.node import FieldNode, RegNode
from systemrdl.rdltypes import AccessType, OnWriteType, PrecedenceType

from firmware_models.abi import registers
from firmware_models.abi.register import Access, RegisterField
from firmware_models.abi.register_page import Counters, Page
from firmware_models.abi.system_rdl import ipxact_text, rdl_text

N_VPS = 5
NAMESPACE = "{http://www.accellera.org/XMLSchema/IPXACT/1685-2014}"
MAPS: dict[str, tuple[Page, dict[str, Counters]]] = {
    "nic": (registers.CONTROL_PAGE,
            {"counter": registers.EVENT_COUNTERS, "state_counter": registers.STATE_COUNTERS}),
    "switch": (registers.SWITCH_PAGE, {"counter": registers.SWITCH_COUNTERS}),
}
SOFTWARE = {Access.RO: "r", Access.RW: "rw", Access.WO: "w", Access.W1C: "rw"}
IPXACT_ACCESS = {"r": "read-only", "rw": "read-write", "w": "write-only"}


def expected(top: str) -> dict[tuple[str, int], tuple[int, int, str]]:
    """Every field by its path and the address of its register: low bit, high bit, software's access."""
    page, counters = MAPS[top]
    fields = {
        (f"{register.name}.{field.name}", register.offset + 4 * number): (field.low, field.high, SOFTWARE[field.access])
        for register in page for number in range(register.count) for field in register.fields
    }
    for prefix, block in counters.items():
        fields |= {(f"{prefix}_{counter.name}.count", block.offset(counter.name)): (0, 63, "r") for counter in block}
    if top == "nic":
        fields |= {(f"{register.name}.{field.name}", registers.vp_address(vp, register.name)):
                   (field.low, field.high, SOFTWARE[field.access])
                   for vp in range(N_VPS) for register in registers.VP_PAGE for field in register.fields}
    return fields


def compiled_registers(top: str, folder: Path) -> Iterator[RegNode]:
    """The registers of the text, as the compiler understands it."""
    path = folder / f"{top}.rdl"
    path.write_text(rdl_text(top, n_vps=N_VPS))
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    found = compiler.elaborate(f"conic_{top}").top.descendants(unroll=True)
    yield from (node for node in found if isinstance(node, RegNode))


@pytest.mark.parametrize("top", MAPS)
def test_system_rdl(top: str, tmp_path: Path) -> None:
    found = {
        (f"{register.inst_name}.{field.inst_name}", register.absolute_address):
        (field.low, field.high, field.get_property("sw").name)
        for register in compiled_registers(top, tmp_path) for field in register.fields()
    }
    assert found == expected(top)


@pytest.mark.parametrize("top", MAPS)
def test_who_writes_what(top: str, tmp_path: Path) -> None:
    """Reset values, what a written 1 does, and who wins."""
    page = MAPS[top][0]
    nodes = {node.inst_name: node for node in compiled_registers(top, tmp_path)}
    for register in page:
        for field in register.fields:
            node = nodes[register.name].get_child_by_name(field.name)
            assert isinstance(node, FieldNode)
            check_field(node, field)


def check_field(node: FieldNode, field: RegisterField) -> None:
    """Compares one field with its entry of the map."""
    assert (node.get_property("reset") or 0) == field.reset
    assert node.get_property("onwrite") == (OnWriteType.woclr if field.access is Access.W1C else None)
    if field.access is Access.W1C:
        assert node.get_property("hwset")
        assert node.get_property("precedence") is PrecedenceType.hw
    assert node.get_property("singlepulse") == (field.access is Access.WO and field.width == 1)
    assert (node.get_property("hw") is AccessType.w) == (field.access is Access.RO and not field.reset)


@pytest.mark.parametrize("top", MAPS)
def test_ipxact(top: str) -> None:
    """Addresses, bits and accesses as XML; rows of registers and pages of VPs are arrays there."""
    root = ElementTree.fromstring(ipxact_text(top, n_vps=N_VPS))
    found = {}
    files = list(root.iter(f"{NAMESPACE}registerFile"))
    inner = {register for file in files for register in file.iter(f"{NAMESPACE}register")}
    for register in root.iter(f"{NAMESPACE}register"):
        base = registers.VP_PAGES if register in inner else 0
        for field in register.iter(f"{NAMESPACE}field"):
            low, width = (number(field, tag) for tag in ("bitOffset", "bitWidth"))
            name = f"{text(register, 'name')}.{text(field, 'name')}"
            found[name, base + number(register, "addressOffset")] = (low, low + width - 1, text(field, "access"))
    page, _ = MAPS[top]
    firsts = {key: (low, high, IPXACT_ACCESS[access]) for key, (low, high, access) in expected(top).items()
              if key[1] < registers.VP_PAGES + registers.VP_PAGE_BYTES
              and not any(register.offset < key[1] < register.offset + 4 * register.count for register in page)}
    assert found == firsts
    assert [number(file, "dim") for file in files] == ([N_VPS] if top == "nic" else [])


def text(node: ElementTree.Element, tag: str) -> str:
    """Text of a child."""
    found = node.find(f"{NAMESPACE}{tag}")
    assert found is not None
    assert found.text is not None
    return found.text


def number(node: ElementTree.Element, tag: str) -> int:
    """A number of IP-XACT: decimal, or hexadecimal as 'h10."""
    value = text(node, tag)
    return int(value.removeprefix("'h"), 16 if value.startswith("'h") else 10)


def test_unknown_top() -> None:
    with pytest.raises(KeyError):
        rdl_text("bridge", n_vps=1)
