"""Frequencies and cells of the boards: ``python -m fpga.board_figures docs/figures/boards.json [BOARD ...]``."""

import json
import sys
from pathlib import Path
from typing import Any

from fpga.bitstream import Bitstream, build_bitstream
from fpga.board import BOARDS, find_board


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
    known = {row["board"]: row for row in json.loads(file.read_text())} if file.exists() else {}
    for board in map(find_board, names or BOARDS):
        known[board.name] = row_of(build_bitstream(board, Path("build", "fpga", board.name)))
        file.write_text(json.dumps([known[name] for name in BOARDS if name in known], indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
