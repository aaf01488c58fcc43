"""Frequencies and cells of the boards: ``python -m fpga.board_figures docs/figures/boards.json [BOARD ...]``."""

import sys
from pathlib import Path
from typing import Any

from fpga.bitstream import Bitstream, build_bitstream
from fpga.board import BOARDS, find_board
from fpga.rows import replace_rows


def row_of(result: Bitstream) -> dict[str, Any]:
    """What the table shows of a board."""
    board = BOARDS[result.board]
    clock = max(result.clocks.values(), key=lambda clock: clock["required_mhz"])
    return {
        "board": board.name, "device": board.device, "speed": int(board.speed), "n_nics": board.n_nics,
        "seed": result.seed, **clock, "timing_met": result.timing_met, "critical_path": result.critical_path,
        "cells": result.cells, "blocks": result.blocks,
    }


def main(file: Path, names: list[str]) -> None:
    """Builds the boards, all without a name, and puts their rows into the file."""
    boards = map(find_board, names or BOARDS)
    rows = (row_of(build_bitstream(board, Path("build", "fpga", board.name))) for board in boards)
    replace_rows(file, rows, key="board", order=BOARDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
