"""Synthesis counts the cells that a design of known size takes."""

import json
from pathlib import Path

import pytest
from amaranth import Module, Signal
from amaranth.back import rtlil, verilog
from amaranth.lib import data

from firmware_models.config import load_preset
from fpga.synthesis import READERS, SynthesisError, synthesise
from fpga.unit import export
from rtl.emit import emit_verilog
from rtl.kit.skid import SkidBuffer

ADDER = """
module adder(input clk, input [15:0] a, b, output reg [16:0] sum);
    always @(posedge clk) sum <= a + b;
endmodule
"""


def test_adder(tmp_path: Path) -> None:
    """A 16-bit adder with a registered sum: 17 flip-flops, 9 carry cells of two bits, and nothing else."""
    netlist = tmp_path / "adder.json"
    assert synthesise(ADDER, top="adder", keep=netlist) == {"CCU2C": 9, "TRELLIS_FF": 17}
    assert "adder" in json.loads(netlist.read_text())["modules"]


def test_wire_delay() -> None:
    """With longer wires tables are mapped anew: the registers stay, and what is computed in carry cells."""
    assert synthesise(ADDER, top="adder", wire_delay=900) == {"CCU2C": 9, "TRELLIS_FF": 17}
    text = export(SkidBuffer(shape=8))
    assert synthesise(text, top="unit", wire_delay=900)["TRELLIS_FF"] == synthesise(text, top="unit")["TRELLIS_FF"]


def test_skid_buffer() -> None:
    """Amaranth to ECP5: two places of payload, a flag each, and the registered ready; no carries, memories or DSPs."""
    text = verilog.convert(SkidBuffer(shape=data.StructLayout({"data": 32})), name="skid", emit_src=False)
    cells = synthesise(text, top="skid")
    assert 64 <= cells["TRELLIS_FF"] <= 68
    assert set(cells) <= {"TRELLIS_FF", "LUT4", "PFUMX"}


@pytest.mark.parametrize(("attributes", "registers"), [({}, 1), ({"keep": 1}, 2)])
def test_registers_that_are_kept(attributes: dict[str, int], registers: int) -> None:
    """Two registers that hold the same are one, unless they are to be kept."""
    m = Module()
    value, outputs = Signal(), Signal(2)
    for n in range(2):
        register = Signal(name=f"register_{n}", attrs=attributes)
        m.d.sync += register.eq(value)
        m.d.comb += outputs[n].eq(register)
    text = rtlil.convert(m, ports=[value, outputs], name="unit")
    assert synthesise(text, top="unit", language="rtlil")["TRELLIS_FF"] == registers


def test_error_is_yosys_own() -> None:
    with pytest.raises(SynthesisError, match="adder"):
        synthesise(ADDER, top="no_adder")
    with pytest.raises(SynthesisError, match="ERROR"):
        synthesise("module broken(", top="broken")


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("language", READERS)
def test_languages(language: str) -> None:
    """Whatever a unit is written in, it has the same registers; and what nobody reads is refused."""
    text = export(SkidBuffer(shape=8), language=language)
    assert synthesise(text, top="unit", language=language)["TRELLIS_FF"] == 18
    for refuses in (lambda: export(SkidBuffer(shape=8), language="vhdl"),
                    lambda: synthesise(text, top="unit", language="vhdl")):
        with pytest.raises(ValueError, match=r"^language must be one of verilog, rtlil, not 'vhdl'$"):
            refuses()


@pytest.mark.long
@pytest.mark.parametrize(("top", "times"), [("nic", 2), ("switch", 1)])
def test_exported_hardware(top: str, times: int) -> None:
    """The output of `conic verilog` is plain Verilog to Yosys; everything maps to ECP5 cells and fits the ULX3S as many
    times. Preset `small` fits no ECP5, and its NIC takes Yosys 18 minutes: `python -m fpga.figures`, `docs/fpga.md`."""
    cells = synthesise(emit_verilog(top, load_preset("ulx3s_85f")), top=f"conic_{top}")
    assert not [name for name in cells if name.startswith("$")]
    assert times * (cells["LUT4"] + 2 * cells["CCU2C"]) < 84_000
    assert times * cells.get("DP16KD", 0) <= 208
