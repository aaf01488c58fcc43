"""The emitted Verilog means the same to simulators of each language version, and to old and new linters."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from amaranth import Module, Signal
from amaranth.hdl import Assert
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.config import load_preset
from fpga.core_package import example
from fpga.synthesis import synthesise
from fpga.verilog_bench import bench
from rtl.emit import Boundary, emit_verilog, module_verilog
from testbench.toolchain import environment, verilator_root

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
DEBIAN_VERILATOR = Path("/usr/bin/verilator")
LANGUAGES = ("-g2001", "-g2005", "-g2009", "-g2012")


class Quiet(wiring.Component):
    """Combinational blocks whose inputs never change, a register that keeps its initial value, and an assertion."""

    def __init__(self, *, message: str | None = "a and b are both 1") -> None:
        self.message = message
        super().__init__({"a": In(1), "b": In(1), "constant": Out(4), "chosen": Out(4), "kept": Out(4)})

    def elaborate(self, platform):
        m = Module()
        kept, other = Signal(4, init=9), Signal(4, init=3)
        with m.If(other == 3):
            m.d.comb += self.chosen.eq(kept)
        with m.Else():
            m.d.comb += self.chosen.eq(1)
        with m.Switch(kept), m.Case(9):
            m.d.comb += self.constant.eq(6)
        with m.If(self.a & self.b):
            m.d.sync += [kept.eq(kept + 1), other.eq(other + 1)]
        m.d.comb += self.kept.eq(kept)
        m.d.sync += Assert(~(self.a & self.b), self.message)
        return m


BENCH = """
`timescale 1ns/1ps
module tb;
  reg clk = 0; always #5 clk = ~clk;
  reg a = 0, b = 0; wire [3:0] constant, chosen, kept;
  quiet dut (.clk(clk), .rst(1'b0), .a(a), .b(b), .constant(constant), .chosen(chosen), .kept(kept));
  initial begin
    #1 $display("%b %b %b", constant, chosen, kept);
    #20 $display("%b %b %b", constant, chosen, kept);
    @(negedge clk) a = 1; b = 1; @(negedge clk) b = 0;
    #1 $display("on");
    $finish;
  end
endmodule
"""


@needs_icarus
@pytest.mark.parametrize("defined", [(), ("-DSYNTHESIS",)], ids=["simulation", "synthesis"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_known_from_the_first_nanosecond(language: str, defined: tuple[str, ...], tmp_path: Path) -> None:
    text = module_verilog("quiet", Boundary(Quiet()))
    lines = simulated(tmp_path, text, BENCH, language, *defined).splitlines()
    assert lines[:2] == ["0110 1001 1001"] * 2
    failed = [] if defined else ["ERROR: tb.dut.core: a and b are both 1"]
    assert lines[2:] == [*failed, "on"]


@needs_icarus
@pytest.mark.parametrize("message", [None, "per cent: %", 'a "quoted" one', "a\\b", "two\nlines"])
def test_messages_of_assertions(message: str | None, tmp_path: Path) -> None:
    text = module_verilog("quiet", Boundary(Quiet(message=message)))
    said = simulated(tmp_path, text, BENCH, "-g2005")
    assert f"ERROR: tb.dut.core: {message or 'assertion failed'}\n" in said


@needs_icarus
def test_whoever_compiles_says_what_a_failure_does(tmp_path: Path) -> None:
    text = module_verilog("quiet", Boundary(Quiet()))
    said = simulated(tmp_path, text, BENCH, "-g2012", "-DCONIC_ASSERTION_FAILED=$fatal(1)", code=1)
    assert "ERROR: tb.dut.core: a and b" in said
    assert "\non\n" not in said


def test_nothing_of_system_verilog() -> None:
    """No assertion statement, and no register with a value in its declaration."""
    text = module_verilog("quiet", Boundary(Quiet()))
    assert not re.search(r"\bassert\b *\(|\$write|\balways_(?:comb|ff)\b|\blogic\b", text)
    assert not re.search(r"^ *reg [^;]*=", text, re.MULTILINE)
    assert "CONIC_ASSERTION_FAILED" in text


@pytest.mark.parametrize("language", ["1364-2001", "1364-2005", "1800-2017"])
@pytest.mark.parametrize("debian", [False, True], ids=["package", "debian"])
def test_lints(debian: bool, language: str, tmp_path: Path) -> None:
    """With all warnings as errors, by the Verilator that is a dependency, and by that of Debian 12 (5.006)."""
    if debian and not DEBIAN_VERILATOR.exists():
        pytest.skip("Debian's Verilator is not installed")
    (tmp_path / "quiet.v").write_text(module_verilog("quiet", Boundary(Quiet())))
    lint(tmp_path, debian, "--default-language", language, "--top-module", "quiet", "quiet.v")


def test_synthesis_reads_it() -> None:
    """Statements that start combinational blocks in a simulator are nothing to synthesis, and registers keep their
    values."""
    cells = synthesise(module_verilog("quiet", Boundary(Quiet())), top="quiet")
    assert cells["TRELLIS_FF"] > 0


@pytest.mark.skipif(not DEBIAN_VERILATOR.exists(), reason="Debian's Verilator is not installed")
def test_switch_lints(switch: Path) -> None:
    """By Debian's Verilator; by that of the package in tests/fpga/test_core_package.py."""
    lint(switch, True, "--top-module", "conic_switch_example", "conic_switch.v", "conic_switch_example.v")


@needs_icarus
@pytest.mark.parametrize("language", ["-g2005", "-g2012"])
def test_switch_runs(language: str, switch: Path) -> None:
    """The bench that goes with it; its own file is SystemVerilog, by its name."""
    sources = ["conic_switch.v", "conic_switch_example.v", "conic_switch_tb.sv"]
    run(switch, "iverilog", language, "-s", "conic_switch_tb", "-o", "switch.vvp", *sources)
    assert "PASSED: conic_switch\n" in run(switch, "vvp", "-n", "switch.vvp")


@needs_icarus
@pytest.mark.parametrize(("correct", "wrong", "said"), [
    ("32'h434f4e53", "32'h434f4e54", "FAILED: register id reads 434f4e53, not 434f4e54"),
    ("conic_switch_example dut (", "wire clk_off = 0; conic_switch_example dut (", "FAILED: no answer within"),
])
def test_bench_fails(correct: str, wrong: str, said: str, switch: Path) -> None:
    """On a register that reads something else, and on a switch whose clock stands still."""
    text = (switch / "conic_switch_tb.sv").read_text()
    assert correct in text
    text = text.replace(correct, wrong)
    if "clk_off" in wrong:
        text = text.replace(".clk(clk)", ".clk(clk_off)")
    (switch / "planted.sv").write_text(text)
    sources = ["conic_switch.v", "conic_switch_example.v", "planted.sv"]
    run(switch, "iverilog", "-g2012", "-s", "conic_switch_tb", "-o", "planted.vvp", *sources)
    assert said in run(switch, "vvp", "-n", "planted.vvp", code=1)


@needs_icarus
@pytest.mark.long
@pytest.mark.parametrize("preset", ["small", "ulx3s_85f"])
def test_nic(preset: str, tmp_path: Path) -> None:
    """The NIC in every language, with and without its assertions, and both linters."""
    config = load_preset(preset)
    texts = {"conic_nic.v": emit_verilog("nic", config), "conic_nic_example.v": example("nic", config),
             "conic_nic_tb.sv": bench("nic", config)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for language in LANGUAGES:
        for defined in ([], ["-DSYNTHESIS"]):
            run(tmp_path, "iverilog", language, *defined, "-s", "conic_nic_tb", "-o", "nic.vvp", *texts)
            assert "PASSED: conic_nic\n" in run(tmp_path, "vvp", "-n", "nic.vvp")
    for debian in (False, True):
        if not debian or DEBIAN_VERILATOR.exists():
            lint(tmp_path, debian, "-Wall", "--top-module", "conic_nic_example", *list(texts)[:2])


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the switch of preset `small`, its example and its bench."""
    made, config = tmp_path_factory.mktemp("switch"), load_preset("small")
    (made / "conic_switch.v").write_text(emit_verilog("switch", config))
    (made / "conic_switch_example.v").write_text(example("switch", config))
    (made / "conic_switch_tb.sv").write_text(bench("switch", config))
    return made


def simulated(folder: Path, text: str, around: str, *options: str, code: int = 0) -> str:
    """Output of Icarus for the design `text` in the bench `around`."""
    (folder / "design.v").write_text(text)
    (folder / "around.v").write_text(around)
    run(folder, "iverilog", *options, "-s", "tb", "-o", "design.vvp", "design.v", "around.v")
    return run(folder, "vvp", "-n", "design.vvp", code=code)


def lint(folder: Path, debian: bool, *arguments: str) -> None:
    """Lints with all warnings, which are errors."""
    if debian:
        tool, around = DEBIAN_VERILATOR, {k: v for k, v in os.environ.items() if k != "VERILATOR_ROOT"}
    else:
        tool, around = verilator_root() / "bin" / "verilator", environment()
    command = [str(tool), "--lint-only", "-Wall", *arguments]
    result = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "%" not in result.stderr


def run(folder: Path, *command: str, code: int = 0) -> str:
    """Standard output of `command`, which has to end with `code`."""
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout
