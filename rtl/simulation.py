# amaranth: UnusedElaboratable=no
"""Verilog of a top as a fast simulator wants it: inputs pass through registers with a clock of their own."""

from dataclasses import dataclass
from functools import cache

from amaranth.lib.wiring import Out

from firmware_models.config import Config
from rtl.emit import Boundary, EmitError, module_verilog
from rtl.nic.nic import Nic
from rtl.switch.switch import Switch

DIRECT_INPUTS = ("skipped",)
"""Inputs that follow no register: they hold for the clock edge at which they are driven."""


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
    if top not in ("nic", "switch"):
        raise EmitError(f"top must be one of nic, switch, not {top!r}")
    boundary = Boundary(Nic(config, skips=True) if top == "nic" else Switch(config))
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
        *(f"  input [{width - 1}:0] {name}," for name, width in inputs),
        ",\n".join(f"  output [{width - 1}:0] {name}" for name, width in outputs),
        ");",
        *(
            f"  reg [{width - 1}:0] taken_{name} = 0;\n  always @(posedge in_clk) taken_{name} <= {name};"
            for name, width in inputs if name not in DIRECT_INPUTS
        ),
        f"  conic_{top} top(",
        "    .clk(clk),",
        *(f"    .{name}({name if name in DIRECT_INPUTS else f'taken_{name}'})," for name, _ in inputs),
        ",\n".join(f"    .{name}({name})" for name, _ in outputs),
        "  );",
        "endmodule",
    ]
    return SimulationVerilog(
        core + "\n".join(lines) + "\n", module, tuple(name for name, _ in inputs), tuple(name for name, _ in outputs),
    )
