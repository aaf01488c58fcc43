"""Every board of every flow is built as far as open tools go, or refused by name, as the table of docs/fpga.md says."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import fpga.vivado
from firmware_models.config import ConfigError, load_preset
from fpga.bitstream import NAME
from fpga.board import BOARDS, VIVADO_BOARDS, Board, BoardError, find_board, find_vivado_board
from fpga.synthesis import synthesise
from fpga.vivado import write_core, write_self_test
from sim.board.open import MODEL, open_board
from sim.page.board_tables import flows
from testbench.toolchain import environment, verilator_root

ALL = BOARDS | VIVADO_BOARDS


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
        said = capsys.readouterr().err.splitlines()[-1]
        assert f"not {name!r}: Vivado does not know its device; conic build {name} makes its bitstream" in said
    else:
        with pytest.raises(BoardError, match=f"python -m fpga.vivado {name} FOLDER writes projects for Vivado$"):
            find_board(name)


@pytest.mark.parametrize("find", [find_board, find_vivado_board])
def test_no_such_board(find: Callable[[str], Board]) -> None:
    with pytest.raises(BoardError, match=r"^board must be one of \w+, \w+, \w+, not 'none'$"):
        find("none")


def test_the_table_has_every_board_of_every_flow() -> None:
    """tests/docs compares it with the page."""
    heads, *rows = flows(None)
    assert len(rows) == len(ALL)
    for board, row in zip(ALL.values(), rows, strict=True):
        cells = dict(zip(map(str, heads), map(str, row), strict=True))
        assert cells["board"] == f"`{board.name}` {board.title}"
        refused = {head for head, cell in cells.items() if cell.startswith("refused: ")}
        assert refused == ({"`python -m fpga.vivado`"} if board.name in BOARDS else {"`conic build`", "`--board`"})
        assert all(cells.values())


@pytest.mark.parametrize("name", ALL)
def test_a_simulated_board_is_called_by_its_preset(name: str) -> None:
    """A board that has no preset of its own is refused, with the names that there are."""
    if name in BOARDS:
        assert ALL[name].preset == name
    else:
        with pytest.raises(ConfigError, match=rf"preset must be one of .*ulx3s_85f.*, not '{name}'$"), \
                open_board(f"{MODEL}{name}"):
            pass


def lint(file: Path, *, top: str, primitives: bool = False) -> None:
    """Verilator reads it, all but the `primitives` of the device: Vivado has those."""
    missing = ["-Wno-MODMISSING"] if primitives else []
    result = subprocess.run(
        [str(verilator_root() / "bin" / "verilator"), "--lint-only", "-Wno-fatal", *missing, "--top-module", top,
         file.name],
        env=environment(), cwd=file.parent, capture_output=True, text=True, check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]


@pytest.mark.long
@pytest.mark.parametrize("board", VIVADO_BOARDS.values(), ids=lambda board: board.name)
def test_projects_for_vivado(board: Board, tmp_path: Path) -> None:
    """Verilog without SystemVerilog, whose memories fit the device's block RAM with half of it to spare."""
    written = {path.name for path in (*write_self_test(board, tmp_path), *write_core(board, tmp_path))}
    assert {f"{NAME}.v", f"{NAME}.xdc", f"{NAME}.tcl", "conic_nic.v", "package_ip.tcl"} <= written
    text = (tmp_path / f"{NAME}.v").read_text()
    lint(tmp_path / f"{NAME}.v", top=NAME, primitives=True)
    lint(tmp_path / "conic_nic.v", top="conic_nic")
    assert not re.search(r"\bassert *\(", text)
    words = re.findall(r"^ *reg \[(\d+):0\] \S+ ?\[(\d+):0\];", text, re.MULTILINE)
    bits = sum((int(width) + 1) * (int(depth) + 1) for width, depth in words)
    assert 100_000 < bits < board.memory_bits // 2


@pytest.mark.long
@pytest.mark.parametrize("board", VIVADO_BOARDS.values(), ids=lambda board: board.name)
def test_projects_map_to_the_device(board: Board, tmp_path: Path) -> None:
    """Open tools map what is written for Vivado to the cells of the device, and they are there: a quarter to spare."""
    write_self_test(board, tmp_path)
    cells = synthesise((tmp_path / f"{NAME}.v").read_text(), top=NAME, family=board.family)
    # A cell of RAM32M or RAM64M is four tables.
    tables = sum(count for cell, count in cells.items() if re.fullmatch(r"LUT[2-6]|SRL16E|SRLC32E", cell))
    tables += 4 * sum(count for cell, count in cells.items() if cell.startswith(("RAM32M", "RAM64M")))
    blocks = sum(count for cell, count in cells.items() if cell.startswith("RAMB36"))
    halves = sum(count for cell, count in cells.items() if cell.startswith("RAMB18"))
    print(f"{board.name}: {tables:,} tables, {blocks + halves / 2} block RAMs")
    assert 10_000 < tables < board.look_up_tables * 3 // 4
    assert 0 < (2 * blocks + halves) * 18 * 1024 < board.memory_bits * 3 // 4
