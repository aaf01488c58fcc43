"""Files that go with the Verilog of a top: they name the ports that there are, and the example is Verilog."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from firmware_models.abi.system_rdl import ipxact_text
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


@pytest.mark.parametrize("top", ["nic", "switch"])
def test_file_sets(top: str) -> None:
    """Every file that `conic verilog` writes is in the core, with its type; who depends on the core gets no bench."""
    core = yaml.safe_load(core_file(top).removeprefix("CAPI=2:\n"))
    types: dict[str, str] = {}
    for part in core["filesets"].values():
        for entry in part["files"]:
            name = entry if isinstance(entry, str) else next(iter(entry))
            types[name] = part["file_type"]
            assert name.endswith(".h") == (not isinstance(entry, str) and entry[name].get("is_include_file", False))
    module = f"conic_{top}"
    assert types == {
        f"{module}.v": "verilogSource-2005", f"{module}_example.v": "verilogSource-2005",
        f"{module}_tb.sv": "systemVerilogSource", "conic_abi.h": "cSource", "conic_driver.h": "cSource",
        "conic_driver.c": "cSource", f"{module}.rdl": "user", f"{module}.xml": "user", "conic_abi.md": "user",
        f"{module}.mk": "user", f"{module}.vlt": "user",
    }
    always = [part for part in core["targets"]["default"]["filesets"] if "?" not in part]
    assert always == ["rtl", "software", "registers"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that `conic verilog --top switch` writes."""
    made = tmp_path_factory.mktemp("exported")
    conic = Path(sys.executable).with_name("conic")
    command = [str(conic), "verilog", "--preset", "small", "--top", "switch", "--output-dir", str(made)]
    subprocess.run(command, capture_output=True, check=True)
    return made


@pytest.mark.parametrize("target", ["default", "lint", pytest.param("sim", marks=pytest.mark.long)])
def test_targets_run(target: str, exported: Path) -> None:
    """By FuseSoC: those that simulate end with the word of the bench."""
    if shutil.which("iverilog" if target != "lint" else "verilator", path="/usr/bin") is None:
        pytest.skip("the simulator of the distribution is not installed")
    fusesoc = Path(sys.executable).with_name("fusesoc")
    command = [str(fusesoc), "--cores-root", ".", "run", "--target", target, "conic:nic:conic_switch"]
    result = subprocess.run(command, cwd=exported, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert ("PASSED: conic_switch" in result.stdout + result.stderr) == (target != "lint")


_COCOTB_BENCH = """\
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles


@cocotb.test()
async def reset(dut):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.s_axil_arvalid.value = 0
    dut.rst.value = 1
    await ClockCycles(dut.clk, 10)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 10)
    assert dut.s_axil_arready.value == 1
"""
_COCOTB_MAKEFILE = """\
COCOTB_TEST_MODULES = test_mine
include conic_switch.mk
include $(shell cocotb-config --makefiles)/Makefile.sim
"""


@pytest.mark.long
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_makefiles_of_cocotb(simulator: str, exported: Path) -> None:
    """As docs/integration.md has it: a bench and a Makefile beside what was exported, in a plain environment."""
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    (exported / "test_mine.py").write_text(_COCOTB_BENCH)
    (exported / "Makefile").write_text(_COCOTB_MAKEFILE)
    around = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "SIM": simulator, "HOME": str(exported)}
    shutil.rmtree(exported / "sim_build", ignore_errors=True)
    result = subprocess.run(["make"], cwd=exported, env=around, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    assert "TESTS=1 PASS=1 FAIL=0" in result.stdout + result.stderr


_NMTOKEN = r"[-.:\w]+"
_NAME = r"[A-Za-z_:][-.:\w]*"
_SPIRIT = "{http://www.accellera.org/XMLSchema/IPXACT/1685-2014}"


@pytest.mark.parametrize("top", ["nic", "switch"])
def test_names_in_the_register_map(top: str, tmp_path: Path) -> None:
    """As IP-XACT types them: xs:Name for vendor and library, xs:NMTOKEN for others; unique among neighbours."""
    text = ipxact_text(top, n_vps=4)
    root = ElementTree.fromstring(text)
    identity = [root.findtext(_SPIRIT + part) or "" for part in ("vendor", "library", "name", "version")]
    assert identity[:3] == ["conic", "conic", f"conic_{top}"]
    assert all(re.fullmatch(_NAME, part) for part in identity[:2])
    assert all(re.fullmatch(_NMTOKEN, part) for part in identity[2:])
    for names in _neighbours(root):
        assert all(re.fullmatch(_NAME, name) for name in names), names
        assert len(set(names)) == len(names)
    if xmllint := shutil.which("xmllint"):
        path = tmp_path / "map.xml"
        path.write_text(text)
        subprocess.run([xmllint, "--noout", str(path)], check=True)


def _neighbours(parent: ElementTree.Element) -> Iterator[list[str]]:
    """Names of the children of every element."""
    for tag in {child.tag for child in parent}:
        names = [child.findtext(_SPIRIT + "name") for child in parent if child.tag == tag]
        yield [name for name in names if name is not None]
    for child in parent:
        yield from _neighbours(child)
