"""A bench in SystemVerilog for whoever has the exported Verilog and a simulator: it comes out of reset and answers."""

from firmware_models.abi import registers
from firmware_models.config import Config
from fpga.core_package import Port, open_ports
from rtl.kit.quiescent import PORT

_PAGES = {"nic": registers.CONTROL_PAGE, "switch": registers.SWITCH_PAGE}
_HANDSHAKES = ("valid", "ready", "irq", PORT)
"""Ends of the names of outputs that have a value in every cycle; others have one beside their `valid`."""
_MOST_CYCLES = 10_000


def bench(top: str, config: Config) -> str:
    """Reads the registers that name the component, and looks for unknown outputs; ends in PASSED or with ``$fatal``.

    Instantiates the example (:func:`fpga.core_package.example`) as module ``conic_TOP_tb``. Inputs that the bench does
    not drive are 0, or 1 where they are a ready.
    """
    module, ports = f"conic_{top}", open_ports(top, config)
    constant = [port for port in ports if port.is_input and not _is_driven(port.name)]
    known = [port.name for port in ports if not port.is_input and port.name.endswith(_HANDSHAKES)]
    reads = [
        f"        read({register.offset}, 32'h{register.reset:08x}, \"{register.name}\");"
        for register in _PAGES[top] if register.name in ("id", "version")
    ]
    address = next(port.bit_range for port in ports if port.name == "s_axil_araddr")
    lines = [
        f"// {module} in a simulator: out of reset, its registers answer, and no handshake is unknown.",
        f"module {module}_tb;", "    reg clk = 0;", "    always #5 clk = ~clk;", "    reg rst = 1;",
        f"    reg {address}s_axil_araddr = 0;", "    reg s_axil_arvalid = 0;", "    integer waited, unknown = 0;",
        *(f"    wire {port.bit_range}{port.name} = {_idle(port)};" for port in constant),
        *(f"    wire {port.bit_range}{port.name};" for port in ports if not port.is_input), "",
        f"    {module}_example dut (",
        *(f"        .{port.name}({port.name}){',' if port is not ports[-1] else ''}" for port in ports), "    );", "",
        f"    task read(input {address}address, input [31:0] expected, input [8*16-1:0] name); begin",
        "        @(negedge clk) s_axil_araddr = address; s_axil_arvalid = 1; waited = 0;",
        "        while (!s_axil_arready) tick;", "        @(negedge clk) s_axil_arvalid = 0;",
        "        while (!s_axil_rvalid) tick;",
        "        if (s_axil_rdata !== expected || s_axil_rresp !== 2'd0)",
        '            $fatal(1, "FAILED: register %0s reads %h, not %h", name, s_axil_rdata, expected);',
        "        @(negedge clk);", "    end endtask", "",
        "    task tick; begin", "        @(negedge clk) waited = waited + 1;",
        f'        if (waited > {_MOST_CYCLES}) $fatal(1, "FAILED: no answer within {_MOST_CYCLES} cycles");',
        "    end endtask", "",
        "    initial begin", "        repeat (4) @(negedge clk);", "        rst = 0;", *reads,
        "        repeat (1000) begin", "            @(negedge clk);",
        f"            if (^{{{', '.join(known)}}} === 1'bx) unknown = unknown + 1;", "        end",
        '        if (unknown != 0) $fatal(1, "FAILED: outputs are unknown in %0d of 1000 cycles", unknown);',
        f'        $display("PASSED: {module}");', "        $finish;", "    end", "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _is_driven(name: str) -> bool:
    return name in ("clk", "rst", "s_axil_araddr", "s_axil_arvalid")


def _idle(port: Port) -> str:
    """Value of an input at which nothing happens."""
    return f"{port.width}'d{int(port.name.endswith('ready'))}"
