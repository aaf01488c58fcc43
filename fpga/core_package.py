# amaranth: UnusedElaboratable=no
"""Files that go with the Verilog of a top: a page of its ports, a FuseSoC core file, an example that instantiates it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version

import yaml
from amaranth.hdl import Shape
from amaranth.lib.wiring import In

from firmware_models.config import Config
from rtl.emit import TOPS, Boundary
from rtl.kit.quiescent import PORT

_BUSES = (
    ("s_axil_", "AXI4-Lite subordinate, 32 bits", "registers and doorbells: the register page"),
    ("m_axi_", "AXI4 manager", "host memory; INCR bursts that cross no 4 KiB boundary, one identifier"),
    ("m_axis_tx", "AXI4-Stream transmitter", "flits to the network; tuser is the virtual channel, tlast ends a packet"),
    ("s_axis_rx", "AXI4-Stream receiver", "flits from the network; tready is 1 for a sender that keeps to its credits"),
    ("tx", "credits", "room at the other end: a flit of channel credit_vc for each cycle of credit_valid"),
    ("rx", "credits", "room here, to be given to the other end"),
    ("irq", "interrupt, level", "a completion or a receive entry has been written, and irq_enable is set"),
    (PORT, "level", "nothing in here changes until an input does; may be left open, and costs nothing then"),
    ("trace_", "trace", "what each offload unit does, for timelines; may be left open"),
)
_ABOUT = (
    "One clock, `clk`; everything is sampled and driven at its rising edge. `rst` is synchronous and active high;",
    "one cycle of it is enough. No output follows an input within a cycle.",
)


@dataclass(frozen=True)
class Port:
    """A port of the Verilog module."""

    name: str
    is_input: bool
    width: int

    @property
    def declaration(self) -> str:
        """As Verilog declares it."""
        return f"{'input' if self.is_input else 'output'} wire {self.bit_range}{self.name}"

    @property
    def bit_range(self) -> str:
        """Its range, or nothing for a single bit."""
        return "" if self.width == 1 else f"[{self.width - 1}:0] "


def ports_of(top: str, config: Config) -> list[Port]:
    """Every port of a top, clock and reset first, as :func:`rtl.emit.emit_verilog` names them."""
    members = Boundary(TOPS[top](config)).signature.members
    return [
        Port("clk", True, 1), Port("rst", True, 1),
        *(Port(name, member.flow is In, Shape.cast(member.shape).width) for name, member in members.items()),
        Port(PORT, False, 1),
    ]


def port_page(top: str, config: Config) -> str:
    """Markdown: what each group of ports is, and every port."""
    ports = ports_of(top, config)
    lines = [
        f"# Ports of `conic_{top}`", "",
        *_ABOUT, "",
        "| ports | interface | carries |", "| --- | --- | --- |",
    ]
    for prefix, interface, about in _BUSES:
        if any(port.name.startswith(prefix) for port in ports):
            lines.append(f"| `{prefix}{'' if prefix in ('irq', PORT) else '*'}` | {interface} | {about} |")
    lines += ["", "| port | direction | bits |", "| --- | --- | ---: |"]
    lines += [f"| `{port.name}` | {'in' if port.is_input else 'out'} | {port.width} |" for port in ports]
    return "\n".join(lines) + "\n"


def core_file(top: str) -> str:
    """A FuseSoC core (CAPI 2): the module with its driver and register map, its example, a simulation, a lint target.

    Target ``default`` is what a design that depends on the core gets. Run by itself it simulates the bench, which no
    design around the core is given.
    """
    module = f"conic_{top}"
    simulation = {
        "flow": "sim",
        "flow_options": {"tool": "icarus", "iverilog_options": ["-g2012"], "timescale": "1ns/1ps"},
    }
    core = {
        "name": f"conic:nic:{module}:{version('conic')}",
        "description": f"conic: {'collective-offload NIC' if top == 'nic' else 'multicast switch'}",
        "filesets": {
            "rtl": {"files": [f"{module}.v"], "file_type": "verilogSource-2005"},
            "software": {
                "files": [
                    {"conic_abi.h": {"is_include_file": True}}, {"conic_driver.h": {"is_include_file": True}},
                    "conic_driver.c",
                ],
                "file_type": "cSource",
            },
            "registers": {"files": [f"{module}.rdl", f"{module}.xml", "conic_abi.md"], "file_type": "user"},
            "cocotb": {"files": [f"{module}.mk", f"{module}.vlt"], "file_type": "user"},
            "example": {"files": [f"{module}_example.v"], "file_type": "verilogSource-2005"},
            "bench": {"files": [f"{module}_tb.sv"], "file_type": "systemVerilogSource"},
        },
        "targets": {
            "default": {
                "filesets": ["rtl", "software", "registers", "is_toplevel? (example)", "is_toplevel? (bench)"],
                "toplevel": [f"is_toplevel? ({module}_tb)"], **simulation,
            },
            "sim": {"filesets": ["rtl", "example", "bench"], "toplevel": f"{module}_tb", **simulation},
            "sim_verilator": {
                "filesets": ["rtl", "example", "bench"], "toplevel": f"{module}_tb", "flow": "sim",
                "flow_options": {"tool": "verilator", "mode": "binary", "verilator_options": ["--timing"]},
            },
            "lint": {
                "filesets": ["rtl", "example"], "toplevel": f"{module}_example", "flow": "lint",
                "flow_options": {"tool": "verilator"},
            },
        },
    }
    return "CAPI=2:\n" + yaml.safe_dump(core, sort_keys=False)


def example(top: str, config: Config) -> str:
    """The least Verilog around the module: its link goes back to itself, all else is handed on."""
    module, ports, outer = f"conic_{top}", ports_of(top, config), open_ports(top, config)
    wires = [port for port in ports if _other_end(port.name) is not None and not port.is_input]
    lines = [
        f"// {module} with every link back to itself: what is sent to its own NodeID arrives.",
        f"module {module}_example (", *_listed(f"    {port.declaration}" for port in outer), ");",
        *(f"    wire {port.bit_range}{port.name};" for port in wires), "",
        f"    {module} instance_0 (",
        *_listed(f"        .{port.name}({_source(port)})" for port in ports),
        "    );", "endmodule",
    ]
    return "\n".join(lines) + "\n"


def open_ports(top: str, config: Config) -> list[Port]:
    """The ports of the example: those of the module but for its link."""
    return [port for port in ports_of(top, config) if _other_end(port.name) is None]


def _source(port: Port) -> str:
    """Signal that a port of the module is connected to."""
    return (_other_end(port.name) if port.is_input else None) or port.name


def _other_end(name: str) -> str | None:
    """The port at the other end of a link that goes back to where it came from."""
    for one, other in (("m_axis_tx", "s_axis_rx"), ("s_axis_rx", "m_axis_tx"), ("tx", "rx"), ("rx", "tx")):
        if name.startswith(one):
            return other + name.removeprefix(one)
    return None


def _listed(parts: Iterable[str]) -> list[str]:
    """Lines with a comma behind each but the last."""
    lines = list(parts)
    return [f"{line}," for line in lines[:-1]] + lines[-1:]
