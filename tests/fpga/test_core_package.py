"""What goes with the Verilog of a top: it names the ports that there are, and the example is Verilog."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from firmware_models.config import load_preset
from fpga.core_package import core_file, example, port_page, ports_of
from rtl.emit import emit_verilog
from testbench.toolchain import environment, verilator_root

CONFIG = load_preset("ulx3s_85f")


@pytest.mark.parametrize("top", ["nic", "switch"])
def test_example_is_verilog(top: str, tmp_path: Path) -> None:
    (tmp_path / f"conic_{top}.v").write_text(emit_verilog(top, CONFIG))
    (tmp_path / f"conic_{top}_example.v").write_text(example(top, CONFIG))
    core = yaml.safe_load(core_file(top).removeprefix("CAPI=2:\n"))
    files = [name for part in core["targets"]["lint"]["filesets"] for name in core["filesets"][part]["files"]]
    lint = subprocess.run(
        [str(verilator_root() / "bin" / "verilator"), "--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module",
         core["targets"]["lint"]["toplevel"], *files],
        env=environment(), cwd=tmp_path, capture_output=True, text=True, check=False,
    )
    assert lint.returncode == 0, lint.stderr


@pytest.mark.parametrize("top", ["nic", "switch"])
def test_ports_are_those_of_the_verilog(top: str) -> None:
    text = emit_verilog(top, CONFIG)
    header = text[text.rindex(f"module conic_{top}("):]
    listed = [name.strip() for name in header[header.index("(") + 1:header.index(")")].split(",")]
    ports = ports_of(top, CONFIG)
    assert sorted(port.name for port in ports) == sorted(listed)
    for port in ports:
        span = rf"\[{port.width - 1}:0\] " if port.width > 1 else ""
        assert re.search(rf"{'input' if port.is_input else 'output'} {span}{port.name};", header), port
    rows = re.findall(r"^\| `(\w+)` \| (?:in|out) \| \d+ \|$", port_page(top, CONFIG), re.MULTILINE)
    assert rows == [port.name for port in ports]
