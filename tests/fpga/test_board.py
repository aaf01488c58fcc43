"""The boards are those that amaranth-boards describes, and each has a preset that loads."""

import pytest

from firmware_models.config import load_preset
from fpga.board import BOARDS, Board, BoardError, find_board

# From the makers' manuals: device, package, speed grade, oscillator.
MANUALS = {
    "ulx3s_85f": ("LFE5U-85F", "BG381", "6", 25_000_000),
    "ecpix5_85f": ("LFE5UM5G-85F", "BG554", "8", 100_000_000),
    "versa_ecp5_5g": ("LFE5UM5G-45F", "BG381", "8", 100_000_000),
}


def test_manuals() -> None:
    found = {name: (board.device, board.package, board.speed, board.clock_hz) for name, board in BOARDS.items()}
    assert found == MANUALS


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_preset_loads(board: Board) -> None:
    load_preset(board.preset)


def test_unknown_board() -> None:
    with pytest.raises(BoardError) as error:
        find_board("ulx3s")
    assert str(error.value) == "board must be one of ulx3s_85f, ecpix5_85f, versa_ecp5_5g, not 'ulx3s'"


def test_dashes_are_underscores() -> None:
    assert find_board("ulx3s-85f") is BOARDS["ulx3s_85f"]
