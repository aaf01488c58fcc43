"""`conic verilog`: a file that Verilator lints, with the ports that bus models look for; header and page beside it."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rtl.initial_blocks import LONGEST
from testbench.toolchain import environment, verilator_root

Conic = Callable[..., Any]

PORTS = {
    "nic": ("s_axil_awaddr", "s_axil_rdata", "m_axi_araddr", "m_axi_wdata", "m_axis_tx_tdata", "s_axis_rx_tdata",
            "irq"),
    "switch": ("s_axil_awaddr", "m_axis_", "s_axis_"),
}


@pytest.mark.parametrize("top", PORTS)
def test_small(top: str, conic: Conic, tmp_path: Path) -> None:
    outcome = conic("verilog", "--preset", "small", "--top", top, "--output-dir", str(tmp_path), "--json")
    answer = json.loads(outcome.out)
    assert outcome.code == 0
    source = Path(answer["verilog"])
    assert source == tmp_path / f"conic_{top}.v"
    text = source.read_text()
    header = text[text.rindex(f"module conic_{top}("):]
    ports = header[:header.index(";")]
    for port in PORTS[top]:
        assert re.search(rf"\b{port}", ports), port
    # Who bears the name of a signal beside it is renamed, and whoever looks for it in a waveform finds nothing.
    assert not re.findall(r"^  \\\S+ +\\(\S+\$\d+) +\($", text, re.MULTILINE)
    # Yosys takes time that grows with the square of the words of a block.
    blocks = re.findall(r"^ *initial begin\n(?: .* = .*;\n)+", text, re.MULTILINE)
    assert max(block.count(";") for block in blocks) == LONGEST
    lint = subprocess.run(
        [str(verilator_root() / "bin" / "verilator"), "--lint-only", "-Wno-fatal", "--top-module", f"conic_{top}",
         str(source)], env=environment(), capture_output=True, text=True, check=False,
    )
    assert lint.returncode == 0, lint.stderr
    assert "%Error" not in lint.stderr
    compiled = subprocess.run(
        ["gcc", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", answer["driver"]],
        capture_output=True, text=True, check=False,
    )
    assert compiled.returncode == 0, compiled.stderr
    assert Path(answer["system_rdl"]).read_text().startswith(f"addrmap conic_{top} {{")
    assert f"<ipxact:name>conic_{top}</ipxact:name>" in Path(answer["ip_xact"]).read_text()
    assert "### `descriptor`" in Path(answer["markdown"]).read_text()


@pytest.mark.parametrize("top", ["switch", pytest.param("nic", marks=pytest.mark.long)])
def test_reliable(top: str, conic: Conic, tmp_path: Path) -> None:
    config = tmp_path / "reliable.yaml"
    config.write_text("base: ulx3s_85f\nlink: {reliable: true}\n")
    outcome = conic("verilog", "--config", str(config), "--top", top, "--output-dir", str(tmp_path))
    assert outcome.code == 0
    text = (tmp_path / f"conic_{top}.v").read_text()
    for port in ("tx_control", "rx_data", "link_status_up") if top == "nic" else ("tx_0_control", "link_status_1_up"):
        assert re.search(rf"\b{port}\b", text)
    assert "axis" not in text


def test_output_names_the_verilog_file(conic: Conic, tmp_path: Path) -> None:
    target = tmp_path / "mine.v"
    outcome = conic("verilog", "--top", "switch", "--output-dir", str(tmp_path), "--output", str(target))
    assert outcome.code == 0
    assert "module conic_switch(" in target.read_text()


@pytest.mark.long
@pytest.mark.parametrize("top", PORTS)
def test_paper(top: str, conic: Conic, tmp_path: Path) -> None:
    assert conic("verilog", "--preset", "paper", "--top", top, "--output-dir", str(tmp_path)).code == 0
    assert (tmp_path / f"conic_{top}.v").stat().st_size > 0
