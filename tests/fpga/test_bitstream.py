"""From a board to its bitstream: blocks, refusals; the whole way in the long tests."""

import json
from pathlib import Path

import pytest
from amaranth import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from fpga.bitstream import board_part, build_bitstream, hastened
from fpga.blocks import by_block
from fpga.board import BOARDS, VIVADO_BOARDS, Board
from fpga.board_top import BoardTop
from fpga.mmcm import VCO_MHZ, MmcmError, plan_mmcm
from fpga.place import PATIENT_ROUTER, Placement
from fpga.vivado import write_core


def test_blocks() -> None:
    cells = [
        ("core.nic.dma.x_LUT4_Z", "LUT4"), ("core.nic.dma.y", "TRELLIS_FF"), ("core.nic.cou.z", "DP16KD"),
        ("$abc$core.nic.cou.w", "LUT4"), ("top_LUT4", "LUT4"), ("core.nic.cou.v", "PFUMX"),
    ]
    rows = by_block(cells, depth=3)
    assert list(rows) == ["core.nic.cou", "core.nic.dma", "other"]
    assert (rows["core.nic.dma"]["lut4"], rows["core.nic.dma"]["ff"]) == (1, 1)
    assert (rows["core.nic.cou"]["lut4"], rows["core.nic.cou"]["block_ram"]) == (1, 1)
    assert rows["other"]["lut4"] == 1


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_parts(board: Board) -> None:
    part = board_part(board)
    assert str(part.speed) == board.speed
    assert part.device.removeprefix("um5g-") == board.device[-3:-1] + "k"


class Wires(wiring.Component):
    """The ports of the self-test design, without the design."""

    rx: In(1)
    tx: Out(1)
    passed: Out(1)
    failed: Out(1)
    alive: Out(1)
    irq: Out(1)

    def elaborate(self, platform: object) -> Module:
        """A register, so that the clock is of use."""
        m = Module()
        m.d.sync += self.tx.eq(self.rx)
        return m


@pytest.mark.parametrize(("name", "dark"), [("ulx3s_85f", 0), ("ecpix5_85f", 8), ("versa_ecp5_5g", 0)])
def test_pins(monkeypatch: pytest.MonkeyPatch, name: str, dark: int) -> None:
    """Clock, button, two of the serial port and four lights, whose other colours are driven too."""
    monkeypatch.setattr("fpga.board_top.SelfTest", lambda **_: Wires())
    board = BOARDS[name]
    constraints = board.platform(toolchain="Trellis").prepare(BoardTop(board)).files["top.lpf"]
    assert constraints.count("LOCATE COMP") == 8 + dark
    assert constraints.count("FREQUENCY PORT") == 1
    clock = f"{float(board.clock_hz)} HZ"
    assert clock in constraints
    # Of what the router is asked for nothing else differs.
    asked = hastened(constraints)
    assert asked.replace(f"{1.10 * board.clock_hz} HZ", clock) == constraints != asked


class FiveWords(Wires):
    """The ports of the self-test design in front of a memory whose words need three bits of the four of a table."""

    def elaborate(self, platform: object) -> Module:
        """Words go in and come out in turn."""
        m = Module()
        m.submodules.store = store = memory.Memory(shape=4, depth=5, init=[])
        write, read = store.write_port(), store.read_port(domain="comb")
        m.d.sync += [read.addr.eq(read.addr + 1), write.addr.eq(read.addr), self.tx.eq(read.data.xor())]
        m.d.comb += [write.en.eq(self.rx), write.data.eq(read.addr + 1)]
        return m


def test_what_nextpnr_gets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A netlist whose tables have no address bit tied to zero, with the settings of the router."""
    class PlacedError(Exception):
        """The netlist is there."""

    def stop(*_: object, **__: object) -> Placement:
        raise PlacedError

    monkeypatch.setattr("fpga.board_top.SelfTest", lambda **_: FiveWords())
    monkeypatch.setattr("fpga.bitstream.place_design", stop)
    with pytest.raises(PlacedError):
        build_bitstream(BOARDS["versa_ecp5_5g"], tmp_path)
    top = json.loads((tmp_path / "conic_selftest.json").read_text())["modules"]["conic_selftest"]
    tables = [cell["connections"] for cell in top["cells"].values() if cell["type"] == "TRELLIS_DPR16X4"]
    assert tables
    assert all(isinstance(bit, int) for table in tables for bit in table["RAD"] + table["WAD"])
    assert top["settings"].items() >= PATIENT_ROUTER.items()


@pytest.mark.parametrize("board", VIVADO_BOARDS.values(), ids=lambda board: board.name)
def test_mmcm(board: Board) -> None:
    mmcm = plan_mmcm(family=board.family, input_mhz=board.clock_hz / 1e6, output_mhz=board.design_hz / 1e6)
    assert VCO_MHZ[0] <= mmcm.vco_mhz <= VCO_MHZ[1]
    assert mmcm.vco_mhz / mmcm.divider == pytest.approx(board.design_hz / 1e6)


def test_mmcm_refusals() -> None:
    with pytest.raises(MmcmError, match=r"^no divisors of the MMCM give 333.3 MHz from 100 MHz$"):
        plan_mmcm(family="series7", input_mhz=100, output_mhz=333.3)
    with pytest.raises(MmcmError, match="family must be one of series7, ultrascale, not 'ecp5'"):
        plan_mmcm(family="ecp5", input_mhz=100, output_mhz=50)


def test_core_for_vivado(tmp_path: Path) -> None:
    names = {path.name for path in write_core(VIVADO_BOARDS["arty_a7_100"], tmp_path)}
    assert names == {"conic_nic.v", "conic_nic.xdc", "package_ip.tcl", "synthesise.tcl"}
    assert "xc7a100ticsg324-1L" in (tmp_path / "package_ip.tcl").read_text()
    assert "create_clock -name clk -period 10.000" in (tmp_path / "conic_nic.xdc").read_text()


@pytest.mark.long
@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_timing_is_met(board: Board, tmp_path: Path) -> None:
    result = build_bitstream(board, tmp_path)
    assert result.timing_met, result.clocks
    assert result.bitstream.stat().st_size > 100_000
