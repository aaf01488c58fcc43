"""Projects for users of Vivado: ``python -m fpga.vivado genesys2 build/vivado/genesys2``.

Two things, each Verilog, constraints (XDC) and a Tcl script: the self-test design for the board, and the NIC by
itself as an IP core with AXI4, AXI4-Lite and AXI4-Stream interfaces for designs of one's own.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from firmware_models.config import load_preset
from fpga.bitstream import NAME
from fpga.board import VIVADO_BOARDS, Board, BoardError, find_vivado_board
from fpga.board_top import BoardTop
from rtl.emit import emit_verilog
from rtl.plain_verilog import plain_verilog

CORE = "conic_nic"
_CORE_MHZ = 100


def write_self_test(board: Board, folder: Path) -> list[Path]:
    """Writes the project of the self-test design: `NAME.v`, `.xdc`, `.tcl` and a shell script that runs Vivado."""
    plan = board.make_platform(toolchain="Vivado").prepare(BoardTop(board), NAME)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in sorted(plan.files.items()):
        path = folder / name
        text = content.decode() if isinstance(content, bytes) else content
        # Vivado reads .v as Verilog, which has no assertions.
        path.write_text(plain_verilog(text) if name == f"{NAME}.v" else text)
        written.append(path)
    return written


def write_core(board: Board, folder: Path) -> list[Path]:
    """Writes the NIC, its clock constraint, and a script that packages it as an IP core for the board's device."""
    folder.mkdir(parents=True, exist_ok=True)
    part = f"{board.device}{board.package}-{board.speed}"
    texts = {
        f"{CORE}.v": emit_verilog("nic", load_preset(board.preset)),
        f"{CORE}.xdc": _XDC.format(period=1000 / _CORE_MHZ),
        "package_ip.tcl": _PACKAGE_IP.format(core=CORE, part=part),
        "synthesise.tcl": _SYNTHESISE.format(core=CORE, part=part),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


_XDC = """\
# The one clock of the core, for synthesis out of context; a design that instantiates the core has its own.
create_clock -name clk -period {period:.3f} [get_ports clk]
set_property HD.CLK_SRC BUFGCTRL_X0Y0 [get_ports clk]
"""

_PACKAGE_IP = """\
# vivado -mode batch -source package_ip.tcl: an IP core in the folder ip, for the block designs of Vivado.
create_project -force -in_memory -part {part}
read_verilog {core}.v
set_property top {core} [current_fileset]
ipx::package_project -root_dir ip -vendor conic -library nic -taxonomy /UserIP -import_files -force
set core [ipx::current_core]
set_property name {core} $core
set_property display_name "Collective-offload NIC" $core
ipx::infer_bus_interfaces xilinx.com:interface:aximm_rtl:1.0 $core
ipx::infer_bus_interfaces xilinx.com:interface:axis_rtl:1.0 $core
ipx::infer_bus_interface clk xilinx.com:signal:clock_rtl:1.0 $core
ipx::infer_bus_interface rst xilinx.com:signal:reset_rtl:1.0 $core
set reset [ipx::get_bus_interfaces rst -of_objects $core]
set_property value ACTIVE_HIGH [ipx::add_bus_parameter POLARITY $reset]
foreach bus {{s_axil m_axi m_axis_tx s_axis_rx}} {{ ipx::associate_bus_interfaces -busif $bus -clock clk $core }}
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
"""

_SYNTHESISE = """\
# vivado -mode batch -source synthesise.tcl: cells and frequency of the core by itself.
create_project -force -in_memory -part {part}
read_verilog {core}.v
read_xdc -mode out_of_context {core}.xdc
synth_design -top {core} -part {part} -mode out_of_context
opt_design
place_design
route_design
report_utilization -hierarchical -file {core}_utilization.rpt
report_timing_summary -file {core}_timing.rpt
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes both projects for the board that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m fpga.vivado", description=__doc__.splitlines()[0])
    parser.add_argument("board", help=", ".join(VIVADO_BOARDS))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    try:
        board = find_vivado_board(options.board)
    except BoardError as error:
        parser.error(str(error))
    for path in (*write_self_test(board, options.folder / "selftest"), *write_core(board, options.folder / "core")):
        print(path)


if __name__ == "__main__":
    main()
