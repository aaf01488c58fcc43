"""`conic verilog`: the hardware as one Verilog file, and its contract as C header, Markdown, SystemRDL and IP-XACT."""

from pathlib import Path

import click

from firmware_models.abi.c_header import abi_header
from firmware_models.abi.markdown import abi_page
from firmware_models.abi.system_rdl import ipxact_text, rdl_text
from firmware_models.config import ConfigError
from firmware_models.files import write_text
from firmware_models.host import DRIVER_FILES
from fpga.cocotb_makefile import makefile, settings
from fpga.core_package import core_file, port_page
from fpga.core_package import example as verilog_example
from fpga.verilog_bench import bench
from rtl.emit import TOPS, EmitError, emit_verilog
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware, hardware_options
from sim.cli.shared.paths import OUTPUT_FILE, OUTPUT_FOLDER
from sim.cli.shared.refusal import refuses
from sim.cli.shared.run_file import run_file_option


@click.command("verilog", epilog=example("conic verilog --preset small --top nic --output-dir build/verilog"))
@hardware_options
@click.option("--top", default="nic", show_default=True, help=f"What to export: {', '.join(sorted(TOPS))}.")
@click.option("--output-dir", type=OUTPUT_FOLDER, default=Path("build/verilog"),
              show_default=True,
              help="Folder for all that is written: conic_TOP.v, its ports, core file, example, "
                   "bench, registers (.rdl, .xml), C header, driver.")
@click.option("--output", "output_file", type=OUTPUT_FILE,
              help="Another place for the Verilog file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@run_file_option
@refuses(ConfigError, EmitError)
def command(
    *, preset: str | None, config: Path | None, top: str, output_dir: Path, output_file: Path | None, as_json: bool,
) -> int:
    """Writes one Verilog file with stable port names; ports and registers for people and tools, C header, driver."""
    if top not in TOPS:
        raise click.UsageError(f"--top: must be one of {', '.join(sorted(TOPS))}, not {top!r}")
    name, tree = hardware(preset, config, simulated=False)
    output_dir.mkdir(parents=True, exist_ok=True)
    verilog_file = output_dir / f"conic_{top}.v" if output_file is None else output_file
    texts = {output_dir / "conic_abi.h": abi_header(), output_dir / "conic_abi.md": abi_page()}
    texts |= {output_dir / path.name: path.read_text() for path in DRIVER_FILES}
    with progress_bars() as progress:
        progress(f"exporting {top} ({name})", 0, 1)
        texts[verilog_file] = emit_verilog(top, tree)
        texts |= {
            output_dir / f"conic_{top}.md": port_page(top, tree), output_dir / f"conic_{top}.core": core_file(top),
            output_dir / f"conic_{top}_example.v": verilog_example(top, tree),
            output_dir / f"conic_{top}_tb.sv": bench(top, tree),
            output_dir / f"conic_{top}.mk": makefile(top), output_dir / f"conic_{top}.vlt": settings(top),
            output_dir / f"conic_{top}.rdl": rdl_text(top, n_vps=tree.nic.n_vps),
            output_dir / f"conic_{top}.xml": ipxact_text(top, n_vps=tree.nic.n_vps),
        }
        progress(f"exporting {top} ({name})", 1, 1)
    for path, text in texts.items():
        write_text(path, text)
    answer({
        "top": top, "preset": name, "module": f"conic_{top}", "verilog": str(verilog_file),
        "c_header": str(output_dir / "conic_abi.h"),
        "driver": str(output_dir / "conic_driver.c"), "markdown": str(output_dir / "conic_abi.md"),
        "ports": str(output_dir / f"conic_{top}.md"), "core": str(output_dir / f"conic_{top}.core"),
        "system_rdl": str(output_dir / f"conic_{top}.rdl"), "ip_xact": str(output_dir / f"conic_{top}.xml"),
        "example": str(output_dir / f"conic_{top}_example.v"), "bench": str(output_dir / f"conic_{top}_tb.sv"),
        "cocotb": str(output_dir / f"conic_{top}.mk"),
        "lines": texts[verilog_file].count("\n"),
    }, as_json=as_json)
    return 0
