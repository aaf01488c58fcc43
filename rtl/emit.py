"""Verilog with stable port names: the interface of record.

Buses keep the names that bus models and vendor tools look for: ``s_axil_*``, ``m_axi_*``, ``m_axis_*``, ``s_axis_*``.
Everything else is its path in the component, joined by ``_``.
"""

from collections.abc import Iterable, Iterator
from functools import cache, partial

from amaranth import Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from firmware_models.config import Config
from rtl.initial_blocks import short_initial_blocks
from rtl.interface import LinkSignature
from rtl.kit.library import verilog_modules
from rtl.kit.quiescent import with_moving
from rtl.nic.nic import Nic
from rtl.plain_verilog import plain_verilog
from rtl.switch.switch import Switch

TOPS = {"nic": Nic, "switch": Switch}
"""Names that :func:`emit_verilog` knows, and the components behind them."""


class EmitError(ValueError):
    """No such top."""


@cache  # elaboration takes seconds, and a process that runs several operations asks again and again
def emit_verilog(top: str, config: Config) -> str:
    """The Verilog of `top` ("nic" or "switch") for `config`. Its assertions are for simulators only.

    Raises
    ------
    EmitError
        If there is no top of that name.
    """
    if top not in TOPS:
        raise EmitError(f"top must be one of {', '.join(sorted(TOPS))}, not {top!r}")
    name = f"conic_{top}"
    return _verilog(verilog_modules(name, Boundary(TOPS[top](config)), change=partial(with_moving, top=name)))


def module_verilog(name: str, boundary: "Boundary") -> str:
    """The Verilog of any component as module `name`, in the same manner, but without `quiescent`."""
    return _verilog(verilog_modules(name, boundary))


def _verilog(modules: Iterable[str]) -> str:
    return plain_verilog(short_initial_blocks("".join(modules)))


class Boundary(wiring.Component):
    """Wraps a component so that its ports have their Verilog names and no structs.

    Members
    -------
    One scalar for each scalar of the component's signature.
    """

    def __init__(self, component: wiring.Component):
        self.component = component
        self._wires = list(_wires(component))
        super().__init__({name: flow(len(inside)) for name, inside, flow in self._wires})

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = self.component
        for name, inside, flow in self._wires:
            port = getattr(self, name)
            m.d.comb += port.eq(inside) if flow is Out else inside.eq(port)
        return m


def _wires(component: wiring.Component) -> Iterator[tuple[str, Value, wiring.Flow]]:
    """Yields every scalar port: its name, the signal inside of the component, its direction."""
    links = dict(_links(component.signature))
    for path, member, value in component.signature.flatten(component):
        prefix = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in links), None)
        if isinstance(value, data.View):
            for field, _ in value.shape():
                name = f"{_name(path)}_{field}" if prefix is None else _axis_name(prefix, field, links[prefix])
                yield name, Value.cast(value[field]), member.flow
        else:
            name = _name(path) if prefix is None else _link_name(prefix, path[len(prefix):], links[prefix])
            yield name, Value.cast(value), member.flow


def _name(path: tuple[str | int, ...]) -> str:
    return "_".join(str(part) for part in path)


def _links(signature: wiring.Signature) -> Iterator[tuple[tuple[str | int, ...], wiring.Flow]]:
    """Yields the path of every link with its direction: Out where this component sends the flits."""
    for name, member in signature.members.items():
        if not member.is_signature or not _is_link(member.signature):
            continue
        if not member.dimensions:
            yield (name,), member.flow
        for index in range(member.dimensions[0] if member.dimensions else 0):
            yield (name, index), member.flow


def _is_link(signature: wiring.Signature) -> bool:
    plain = signature.flip() if isinstance(signature, wiring.FlippedSignature) else signature
    return isinstance(plain, LinkSignature)


_AXIS_FIELDS = {"data": "tdata", "last": "tlast", "vc": "tuser"}


def _axis(prefix: tuple[str | int, ...], flow: wiring.Flow) -> str:
    return f"{'m' if flow is Out else 's'}_axis_{_stem(prefix)}"


def _stem(prefix: tuple[str | int, ...]) -> str:
    return "".join(str(part) for part in prefix)


def _axis_name(prefix: tuple[str | int, ...], field: str, flow: wiring.Flow) -> str:
    return f"{_axis(prefix, flow)}_{_AXIS_FIELDS[field]}"


def _link_name(prefix: tuple[str | int, ...], rest: tuple[str | int, ...], flow: wiring.Flow) -> str:
    if rest[0] in ("valid", "ready"):
        return f"{_axis(prefix, flow)}_t{rest[0]}"
    return f"{_stem(prefix)}_{_name(rest)}"
