# amaranth: UnusedElaboratable=no
"""Verilog of a top as a fast simulator wants it: inputs pass through registers with a clock of their own."""

from dataclasses import dataclass, field
from functools import cache

from amaranth.lib.wiring import Out

from firmware_models.config import Config
from rtl.emit import Boundary, EmitError, module_verilog
from rtl.nic.nic import Nic
from rtl.switch.switch import Switch


@dataclass(frozen=True)
class SimulationVerilog:
    """A design for the simulator of clusters.

    Members
    -------
    text : str
        Verilog.
    top : str
        Its top module.
    inputs, outputs : tuple of str
        Ports of the top, without the clocks.
    """

    text: str
    top: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def simulated(top: str, config: Config) -> "tuple[Boundary, ClusterPorts]":
    """`top` ("nic" or "switch") as clusters simulate it, and what they call its ports.

    Raises
    ------
    EmitError
        If there is no top of that name.
    """
    if top not in ("nic", "switch"):
        raise EmitError(f"top must be one of nic, switch, not {top!r}")
    boundary = Boundary(Nic(config) if top == "nic" else Switch(config))
    # The simulator knows one kind of cable. The words of a reliable link are its flits, `control` its `last`.
    words = _words(config.switch.radix if top == "switch" else 1) if config.link.reliable else ClusterPorts()
    return boundary, words


@cache
def simulation_verilog(top: str, config: Config) -> SimulationVerilog:
    """`top` ("nic" or "switch") behind registers for its inputs, which ``in_clk`` loads.

    Amaranth writes the next value of a register as logic that also looks at the reset, so nearly everything follows an
    input, and a simulator would evaluate it when inputs are driven and again at the clock edge. Behind registers
    nothing follows a port: both clocks rise together, and a cycle is one evaluation, which takes the next inputs as it
    begins.

    Raises
    ------
    EmitError
        If there is no top of that name.
    """
    boundary, words = simulated(top, config)
    core = module_verilog(f"conic_{top}", boundary)
    ports = [
        (name, len(getattr(boundary, name)), member.flow is Out) for name, member in boundary.signature.members.items()
    ]
    inputs = [("rst", 1), *((name, width) for name, width, is_output in ports if not is_output)]
    outputs = [(name, width) for name, width, is_output in ports if is_output]
    module = f"conic_{top}_simulation"
    lines = [
        f"module {module}(",
        "  input clk,",
        "  input in_clk,",
        *(f"  input [{width - 1}:0] {words.outside(name)}," for name, width in inputs),
        *(f"  input {name}," for name in words.ignored),
        *(f"  output {name}," for name in words.constant),
        ",\n".join(f"  output [{width - 1}:0] {words.outside(name)}" for name, width in outputs),
        ");",
        *(
            f"  reg [{width - 1}:0] taken_{name} = 0;\n"
            f"  always @(posedge in_clk) taken_{name} <= {words.outside(name)};"
            for name, width in inputs
        ),
        f"  conic_{top} top(",
        "    .clk(clk),",
        *(f"    .{name}(taken_{name})," for name, _ in inputs),
        ",\n".join(f"    .{name}({words.outside(name)})" for name, _ in outputs),
        "  );",
        *(f"  assign {name} = {value};" for name, value in words.constant.items()),
        "endmodule",
    ]
    return SimulationVerilog(
        core + "\n".join(lines) + "\n", module,
        (*(words.outside(name) for name, _ in inputs), *words.ignored),
        (*(words.outside(name) for name, _ in outputs), *words.constant),
    )


@dataclass(frozen=True)
class ClusterPorts:
    """How ports of reliable links are called where the simulator wants those of links.

    Members
    -------
    names : dict of str to str
        By the name of the design's port.
    ignored : tuple of str
        Inputs that nothing looks at.
    constant : dict of str to int
        Outputs, and their value.
    """

    names: dict[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    constant: dict[str, int] = field(default_factory=dict)

    def outside(self, name: str) -> str:
        return self.names.get(name, name)


def _words(n_ports: int) -> ClusterPorts:
    """Those of a NIC, or of a switch with so many ports."""
    names: dict[str, str] = {}
    ignored: list[str] = []
    constant: dict[str, int] = {}
    for port in range(n_ports) if n_ports > 1 else [""]:
        prefix = f"_{port}" if n_ports > 1 else ""
        for member, other in (("valid", "tvalid"), ("control", "tlast"), ("data", "tdata")):
            names[f"tx{prefix}_{member}"] = f"m_axis_tx{port}_{other}"
            names[f"rx{prefix}_{member}"] = f"s_axis_rx{port}_{other}"
        ignored += [
            f"m_axis_tx{port}_tready", f"tx{port}_credit_valid", f"tx{port}_credit_vc", f"s_axis_rx{port}_tuser",
        ]
        constant |= {
            f"m_axis_tx{port}_tuser": 0, f"s_axis_rx{port}_tready": 1, f"rx{port}_credit_valid": 0,
            f"rx{port}_credit_vc": 0,
        }
    return ClusterPorts(names, tuple(ignored), constant)
