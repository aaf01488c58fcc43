"""Modules that stand in the Verilog once, however often they are instantiated.

Amaranth writes a module of its own for every submodule. Eight offload units with four lanes each would be eight and
thirty-two texts that differ in nothing, which every tool behind has to read, and to compile, one by one.
"""

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from amaranth import ClockSignal, Elaboratable, Instance, Module, ResetSignal, Value
from amaranth.back import rtlil, verilog
from amaranth.lib import wiring
from amaranth.lib.wiring import Out


class ModuleLibrary:
    """The platform of an elaboration that leaves shared modules out; they are converted one by one afterwards.

    Members
    -------
    modules : dict of str to Component
        The first component that asked for each name.
    """

    def __init__(self) -> None:
        self.modules: dict[str, wiring.Component] = {}
        self._shapes: dict[str, list[tuple[str, int, wiring.Flow]]] = {}

    def instance(self, name: str, component: wiring.Component) -> Instance:
        """An instance of module `name`, whose ports are `component`'s.

        Raises
        ------
        ValueError
            If `name` is that of a module of another kind.
        """
        members = list(flat_ports(component))
        shape = [(port, len(value), flow) for port, value, flow in members]
        known = self.modules.setdefault(name, component)
        if self._shapes.setdefault(name, shape) != shape:
            raise ValueError(f"shared module {name} must have the ports of {known!r}, not those of {component!r}")
        ports = {f"{'o' if flow is Out else 'i'}_{port}": value for port, value, flow in members}
        return Instance(name, i_clk=ClockSignal(), i_rst=ResetSignal(), **ports)


def shared(name: str, component: wiring.Component, platform: Any) -> Elaboratable:
    """`component`, or an instance of its module where Verilog is written (`platform` is a :class:`ModuleLibrary`).

    Parameters
    ----------
    name : str
        Name of the module; says all that tells it from other modules of the design.
    component : Component
        Used as ever: its ports are the instance's.
    platform
        What ``elaborate`` was given.
    """
    return platform.instance(name, component) if isinstance(platform, ModuleLibrary) else component


def verilog_modules(
    name: str, component: wiring.Component, *, share: bool = True,
    change: Callable[[str], str] = str,
) -> Iterator[str]:
    """Verilog of `component` as module `name`, with what it alone uses, then each shared module. `change` gets the
    RTLIL of each, and gives what is to be written out in its place.

    Without `share` no module is shared: for several designs under one top, whose shared modules may bear one name.
    """
    library = ModuleLibrary()
    waiting: dict[str, wiring.Component] = {name: component}
    written: set[str] = set()
    while waiting:
        for module, one in waiting.items():
            with collection_paused():
                text = rtlil.convert(one, name=module, platform=library if share else None, emit_src=False)
                text = verilog._convert_rtlil_text(change(text), strip_internal_attrs=True)
            yield evaluated_at_start(text)
        written |= waiting.keys()
        waiting = {module: SharedModule(one) for module, one in library.modules.items() if module not in written}


_STARTER = re.compile(r"^( *reg )(\S*verilog_backend\S* ) = 0;\n", re.MULTILINE)


def evaluated_at_start(text: str) -> str:
    """The Verilog `text`, whose combinational blocks every simulator evaluates at time zero.

    A block ``always @*`` runs when one of its inputs changes, which constants and registers that keep their initial
    value do not. Yosys therefore has each read a register that becomes 0, by its declaration. In SystemVerilog that
    happens before any block waits, so nothing changes and the outputs of the block stay X. A non-blocking assignment
    comes after all blocks have begun to wait, in either language.
    """
    return _STARTER.sub(r"\1\2;\n  initial \2 <= 0;\n", text)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Keeps the garbage collector still: it would go through millions of objects in use, for half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class SharedModule(wiring.Component):
    """Wraps a component as :class:`ModuleLibrary` instantiates it.

    Members
    -------
    One scalar for each of the component's signals.
    """

    def __init__(self, component: wiring.Component):
        self.component = component
        super().__init__({name: flow(len(value)) for name, value, flow in flat_ports(component)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = self.component
        for name, value, flow in flat_ports(self.component):
            port = getattr(self, name)
            m.d.comb += port.eq(value) if flow is Out else value.eq(port)
        return m


def flat_ports(component: wiring.Component) -> Iterator[tuple[str, Value, wiring.Flow]]:
    """Every port of a shared module that has any width: its name, the component's value, its direction."""
    for path, member, value in component.signature.flatten(component):
        plain = Value.cast(value)
        if len(plain):
            yield "__".join(map(str, path)), plain, member.flow
