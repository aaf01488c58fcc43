"""Every board of every flow is built as far as open tools go, or refused by name, as the table of docs/fpga.md says."""

import re
from pathlib import Path

import pytest

import fpga.vivado
from firmware_models.config import load_preset
from fpga.bitstream import NAME
from fpga.board import BOARDS, VIVADO_BOARDS, Board, BoardError, find_board
from fpga.vivado import write_core, write_self_test

ALL = BOARDS | VIVADO_BOARDS
_ROW = re.compile(r"\| `(\w+)` [^|]*\| (\S+), speed (\S+) \| (\d) \| `(\w+)` \| ([^|]*) \| ([^|]*) \|")
_PAGE = Path(__file__).resolve().parents[2] / "docs" / "fpga.md"


@pytest.mark.parametrize("board", ALL.values(), ids=lambda board: board.name)
def test_platform_has_what_the_design_asks_for(board: Board) -> None:
    """The platform is made for its flow, and knows oscillator, button, serial port and lights: all but the design."""
    asked = {"toolchain": "Vivado" if board.name in VIVADO_BOARDS else "Trellis"}
    platform = board.make_platform(**asked)
    assert getattr(platform, "toolchain", asked["toolchain"]) == asked["toolchain"]
    platform.add_resources(board.resources)
    lights = (board.passed, board.failed, board.alive, board.irq)
    for name, number in ((platform.default_clk, 0), board.reset, ("uart", 0)):
        platform.request(name, number, dir="-")
    for resource in {(light.resource, light.number) for light in lights}:
        platform.request(*resource, dir="-")
    assert board.clock_hz > 0
    assert load_preset(board.preset).nic.n_vps > 0


@pytest.mark.parametrize("name", ALL)
def test_is_built_or_refused_by_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name in BOARDS:
        assert find_board(name).name == name
        with pytest.raises(SystemExit) as refusal:
            fpga.vivado.main([name, str(tmp_path)])
        assert refusal.value.code == 2
        assert f"invalid choice: '{name}'" in capsys.readouterr().err
    else:
        with pytest.raises(BoardError, match=f"python -m fpga.vivado {name} FOLDER writes projects for Vivado$"):
            find_board(name)


def test_the_page_has_every_board() -> None:
    rows = {}
    for line in _PAGE.read_text().splitlines():
        if match := _ROW.fullmatch(line):
            rows[match[1]] = match.groups()[1:]
    assert rows == {
        board.name: (
            board.device, board.speed, str(board.n_nics), board.preset,
            "bitstream" if board.name in BOARDS else "refused: no open router",
            "projects" if board.name in VIVADO_BOARDS else "refused: no device of Vivado's",
        ) for board in ALL.values()
    }


@pytest.mark.long
@pytest.mark.parametrize("board", VIVADO_BOARDS.values(), ids=lambda board: board.name)
def test_projects_for_vivado(board: Board, tmp_path: Path) -> None:
    """Verilog without SystemVerilog, whose memories fit the device's block RAM with half of it to spare."""
    written = {path.name for path in (*write_self_test(board, tmp_path), *write_core(board, tmp_path))}
    assert {f"{NAME}.v", f"{NAME}.xdc", f"{NAME}.tcl", "conic_nic.v", "package_ip.tcl"} <= written
    text = (tmp_path / f"{NAME}.v").read_text()
    assert not re.search(r"\bassert *\(", text)
    words = re.findall(r"^ *reg \[(\d+):0\] \S+ ?\[(\d+):0\];", text, re.MULTILINE)
    bits = sum((int(width) + 1) * (int(depth) + 1) for width, depth in words)
    assert 100_000 < bits < board.memory_bits // 2
