"""Verilog with stable port names: the interface of record.

Buses keep the names that bus models and vendor tools look for: ``s_axil_*``, ``m_axi_*``, ``m_axis_*``, ``s_axis_*``.
Everything else is its path in the component, joined by ``_``.
"""

from collections.abc import Iterator

from amaranth import Elaboratable, Module, Signal
from amaranth.back import verilog
from amaranth.hdl import ValueCastable
from amaranth.lib import data, wiring

from firmware_models.config import Config
from rtl.interface import LinkSignature
from rtl.nic.nic import Nic
from rtl.switch.switch import Switch

TOPS = {"nic": Nic, "switch": Switch}
"""Names that :func:`emit_verilog` knows, and the components behind them."""


class EmitError(ValueError):
    """No such top."""


def emit_verilog(top: str, config: Config) -> str:
    """The Verilog of `top` ("nic" or "switch") for `config`.

    Raises
    ------
    EmitError
        If there is no top of that name.
    """
    if top not in TOPS:
        raise EmitError(f"top must be one of {', '.join(sorted(TOPS))}, not {top!r}")
    boundary = Boundary(TOPS[top](config))
    return verilog.convert(boundary, name=f"conic_{top}", ports=boundary.ports, emit_src=False)


class Boundary(Elaboratable):
    """Wraps a component so that its ports have their Verilog names and no structs."""

    def __init__(self, component: wiring.Component):
        self.component = component
        self._wires = list(_wires(component))
        self.ports = [port for port, _, _ in self._wires]

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = self.component
        for port, inside, flow in self._wires:
            m.d.comb += port.eq(inside) if flow is wiring.Out else inside.eq(port)
        return m


def _wires(component: wiring.Component) -> Iterator[tuple[Signal, ValueCastable, wiring.Flow]]:
    """Yields every scalar port with the signal inside of the component and its direction."""
    links = dict(_links(component.signature))
    for path, member, value in component.signature.flatten(component):
        prefix = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in links), None)
        name = _name(path) if prefix is None else _link_name(prefix, path[len(prefix):], links[prefix])
        if isinstance(value, data.View):
            for field, _ in value.shape():
                inner = value[field]
                inner = inner.as_value() if isinstance(inner, ValueCastable) else inner
                label = _axis_name(prefix, field, links[prefix]) if prefix else f"{name}_{field}"
                yield Signal(len(inner), name=label), inner, member.flow
        else:
            yield Signal(len(value), name=name), value, member.flow


def _name(path: tuple[str | int, ...]) -> str:
    return "_".join(str(part) for part in path)


def _links(signature: wiring.Signature) -> Iterator[tuple[tuple[str | int, ...], wiring.Flow]]:
    """Yields the path of every link with its direction: Out where this component sends the flits."""
    for name, member in signature.members.items():
        if member.is_signature and isinstance(member.signature, LinkSignature | wiring.FlippedSignature):
            if not member.dimensions:
                yield (name,), member.flow
            for index in range(member.dimensions[0] if member.dimensions else 0):
                yield (name, index), member.flow


_AXIS_FIELDS = {"data": "tdata", "last": "tlast", "vc": "tuser"}


def _stem(prefix: tuple[str | int, ...]) -> str:
    return "".join(str(part) for part in prefix)


def _axis_name(prefix: tuple[str | int, ...], field: str, flow: wiring.Flow) -> str:
    return f"{'m' if flow is wiring.Out else 's'}_axis_{_stem(prefix)}_{_AXIS_FIELDS[field]}"


def _link_name(prefix: tuple[str | int, ...], rest: tuple[str | int, ...], flow: wiring.Flow) -> str:
    if rest[0] in ("valid", "ready"):
        return f"{'m' if flow is wiring.Out else 's'}_axis_{_stem(prefix)}_t{rest[0]}"
    return f"{_stem(prefix)}_{_name(rest)}"
