"""Frequencies and cells of the boards: ``python -m fpga.board_figures docs/figures/boards.json [BOARD ...]``.

Of what ``make bitstream BOARD=…`` has left in ``build/fpga``.
"""

import json
import sys
from pathlib import Path
from typing import Any

from fpga.bitstream import REPORT
from fpga.board import BOARDS, find_board
from fpga.rows import replace_rows


def row_of(report: dict[str, Any]) -> dict[str, Any]:
    """What the table shows of a board, from its report (:func:`fpga.bitstream.summary`)."""
    board = BOARDS[report["board"]]
    clock = max(report["clocks"].values(), key=lambda clock: float(clock["required_mhz"]))
    return {
        "board": board.name, "device": board.device, "speed": int(board.speed), "n_nics": board.n_nics,
        "preset": board.preset, "seed": report["seed"], **clock, "timing_met": report["timing_met"],
        "critical_path": report["critical_path"], "cells": report["utilisation"]["cells"],
        "device_cells": report["utilisation"]["device"], "blocks": report["utilisation"]["blocks"],
    }


def read_report(folder: Path, name: str) -> dict[str, Any]:
    """The report of a board's bitstream. Raises :class:`FileNotFoundError` with the command that makes it."""
    path = folder / name / REPORT
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: `make bitstream BOARD={name}` makes it")
    return dict(json.loads(path.read_text()))


def main(file: Path, names: list[str]) -> None:
    """Puts the rows of the boards, all without a name, into the file."""
    boards = [find_board(name).name for name in names or BOARDS]
    rows = [row_of(read_report(Path("build", "fpga"), name)) for name in boards]
    replace_rows(file, rows, key="board", order=BOARDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
