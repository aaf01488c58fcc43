"""The register map as SystemRDL and IP-XACT: what vendor flows and generators of drivers take.

Both come from the model of the SystemRDL compiler, which refuses what the language does not allow.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peakrdl_ipxact import IPXACTExporter
from peakrdl_systemrdl import SystemRDLExporter
from systemrdl import RDLCompiler
from systemrdl.component import Addrmap, Regfile
from systemrdl.importer import RDLImporter
from systemrdl.node import RootNode
from systemrdl.rdltypes import AccessType, OnWriteType, PrecedenceType
from systemrdl.source_ref import FileSourceRef

from . import registers
from .register import REGISTER_BITS, Access, Register, RegisterField, Winner
from .register_page import Counter, Counters, Page

VENDOR, LIBRARY = "conic", "conic"
_SOFTWARE = {
    Access.RO: AccessType.r, Access.RW: AccessType.rw, Access.WO: AccessType.w, Access.W1C: AccessType.rw,
}
_PRECEDENCE = {Winner.HARDWARE: PrecedenceType.hw, Winner.SOFTWARE: PrecedenceType.sw}


def register_map(top: str, *, n_vps: int) -> RootNode:
    """The elaborated map of `top`.

    Parameters
    ----------
    top : str
        "nic" or "switch".
    n_vps : int
        Virtual ports of the NIC: so many pages of theirs.

    Raises
    ------
    KeyError
        If there is no such top.
    """
    compiler = RDLCompiler()
    {"nic": _nic, "switch": _switch}[top](_Builder(compiler), n_vps)
    return compiler.elaborate(f"conic_{top}")


def rdl_text(top: str, *, n_vps: int) -> str:
    """The map of `top` as SystemRDL 2.0."""
    return _exported(SystemRDLExporter(), top, n_vps)


def ipxact_text(top: str, *, n_vps: int) -> str:
    """The map of `top` as a component of IP-XACT, IEEE 1685-2014."""
    version = f"{registers.VERSION_VALUE}.0"
    exporter = IPXACTExporter(vendor=VENDOR, library=LIBRARY, version=version)
    # The exporter would name it after the root of the compiler's model, "$root", which IP-XACT does not allow.
    return _exported(exporter, top, n_vps, component_name=f"conic_{top}")


def _exported(exporter: Any, top: str, n_vps: int, **options: str) -> str:
    """Text that an exporter writes to its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / top
        exporter.export(register_map(top, n_vps=n_vps), str(path), **options)
        return path.read_text()


def _nic(builder: "_Builder", n_vps: int) -> None:
    top = builder.top("conic_nic", "Registers of the NIC")
    builder.add_page(top, registers.CONTROL_PAGE)
    builder.add_counters(top, "counter", registers.EVENT_COUNTERS)
    builder.add_counters(top, "state_counter", registers.STATE_COUNTERS)
    builder.add_vp_pages(top, registers.VP_PAGE, n_vps)


def _switch(builder: "_Builder", n_vps: int) -> None:
    top = builder.top("conic_switch", "Registers of the switch")
    builder.add_page(top, registers.SWITCH_PAGE)
    builder.add_counters(top, "counter", registers.SWITCH_COUNTERS)


class _Builder(RDLImporter):
    """Puts registers into the compiler's model."""

    def __init__(self, compiler: RDLCompiler):
        super().__init__(compiler)
        self.default_src_ref = FileSourceRef(registers.__file__)

    def top(self, name: str, title: str) -> Addrmap:
        """An address map that can be elaborated by its name."""
        top = self.create_addrmap_definition(name)
        self.assign_property(top, "name", title)
        self.register_root_component(top)
        return top

    def add_page(self, parent: Addrmap | Regfile, page: Page) -> None:
        """Adds registers, with their children in the order of addresses, as the compiler wants them."""
        for register in page:
            self._add_register(parent, register)

    def add_vp_pages(self, top: Addrmap, page: Page, n_vps: int) -> None:
        """Adds the pages of all virtual ports."""
        definition = self.create_regfile_definition()
        self.assign_property(definition, "desc", "Page of a virtual port, for the process that owns it.")
        self.add_page(definition, page)
        stride = registers.VP_PAGE_BYTES
        self.add_child(top, self.instantiate_regfile(definition, "vp", registers.VP_PAGES, [n_vps], stride))

    def add_counters(self, top: Addrmap, prefix: str, counters: Counters) -> None:
        """Adds counters of 64 bits, which are read in two halves."""
        for counter in counters:
            definition = self.create_reg_definition()
            bits = 8 * Counter.BYTES
            self._assign(definition, {"regwidth": bits, "accesswidth": REGISTER_BITS, "desc": counter.doc})
            field = self.create_field_definition()
            self._assign(field, {"sw": AccessType.r, "hw": AccessType.w, "desc": counter.doc})
            self.add_child(definition, self.instantiate_field(field, "count", 0, bits))
            name, address = f"{prefix}_{counter.name}", counters.offset(counter.name)
            self.add_child(top, self.instantiate_reg(definition, name, address))

    def _add_register(self, parent: Addrmap | Regfile, register: Register) -> None:
        definition = self.create_reg_definition()
        self._assign(definition, {"regwidth": REGISTER_BITS, "desc": register.doc})
        for field in register.fields:
            self._add_field(definition, field)
        row = ([register.count], REGISTER_BITS // 8) if register.count > 1 else (None, None)
        self.add_child(parent, self.instantiate_reg(definition, register.name, register.offset, *row))

    def _add_field(self, register: Any, field: RegisterField) -> None:
        is_constant = field.access is Access.RO and field.reset
        definition = self.create_field_definition()
        self._assign(definition, {"desc": field.doc, "sw": _SOFTWARE[field.access]})
        if is_constant:
            self._assign(definition, {"hw": AccessType.na, "reset": field.reset})
        elif field.access is Access.RO:
            self._assign(definition, {"hw": AccessType.w})
        else:
            self._assign(definition, {"hw": AccessType.r, "reset": field.reset})
        if field.access is Access.W1C:
            self._assign(definition, {
                "onwrite": OnWriteType.woclr, "hwset": True, "precedence": _PRECEDENCE[field.winner],
            })
        if field.access is Access.WO and field.width == 1:
            self._assign(definition, {"singlepulse": True})
        self.add_child(register, self.instantiate_field(definition, field.name, field.low, field.width))

    def _assign(self, component: Any, properties: Mapping[str, Any]) -> None:
        for name, value in properties.items():
            self.assign_property(component, name, value)
