"""Frequencies and cells of the boards: ``python -m fpga.board_figures docs/figures/boards.json [BOARD ...]``.

Of what ``make bitstream BOARD=…`` has left in ``build/fpga``, which is placed with other seeds besides: a frequency
that one seed reaches may be luck.
"""

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from fpga.bitstream import REPORT, place_design
from fpga.board import BOARDS, find_board
from fpga.place import Placement
from fpga.rows import replace_rows

SEEDS = (1, 2, 3)
"""Seeds of the placer. The bitstream's is the first one."""


def row_of(report: dict[str, Any], rates: dict[int, float]) -> dict[str, Any]:
    """Row of the table for a board.

    Parameters
    ----------
    report : dict
        Of its bitstream (:func:`fpga.bitstream.summary`).
    rates : dict of int to float
        MHz of the design's clock by other seeds.
    """
    board = BOARDS[report["board"]]
    clock = max(report["clocks"].values(), key=lambda clock: float(clock["required_mhz"]))
    return {
        "board": board.name, "device": board.device, "speed": int(board.speed), "n_nics": board.n_nics,
        "preset": board.preset, "seed": report["seed"], **clock, "timing_met": report["timing_met"],
        "fmax_mhz_by_seed": {str(seed): rate for seed, rate in ({report["seed"]: clock["fmax_mhz"]} | rates).items()},
        "critical_path": report["critical_path"], "cells": report["utilisation"]["cells"],
        "device_cells": report["utilisation"]["device"], "blocks": report["utilisation"]["blocks"],
    }


def read_report(folder: Path, name: str) -> dict[str, Any]:
    """The report of a board's bitstream. Raises :class:`FileNotFoundError` with the command that makes it."""
    path = folder / name / REPORT
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: `make bitstream BOARD={name}` makes it")
    return dict(json.loads(path.read_text()))


def _design_rate(placed: Placement) -> float:
    """MHz of the clock that has to be the fastest: the design's, not the oscillator's."""
    return round(placed.clocks[max(placed.clocks, key=lambda name: placed.required[name])], 2)


def measure(folder: Path, name: str) -> dict[str, Any]:
    """A board's row: its bitstream, and its netlist placed with the other seeds side by side."""
    report, board = read_report(folder, name), find_board(name)
    others = [seed for seed in SEEDS if seed != report["seed"]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda seed: place_design(board, folder / name, seed=seed), others)
        rates = {seed: _design_rate(placed) for seed, placed in zip(others, runs, strict=True)}
    return row_of(report, rates)


def main(file: Path, names: list[str]) -> None:
    """Puts the rows of the boards, all without a name, into the file."""
    boards = [find_board(name).name for name in names or BOARDS]
    rows: Iterator[dict[str, Any]] = map(partial(measure, Path("build", "fpga")), boards)
    replace_rows(file, rows, key="board", order=BOARDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
