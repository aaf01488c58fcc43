"""The table of boards and flows of ``docs/fpga.md``, from what each flow itself takes and refuses."""

from collections.abc import Callable, Iterator
from typing import Any

from firmware_models.config import preset_names
from fpga.board import BOARDS, VIVADO_BOARDS, Board, BoardError, find_board, find_vivado_board
from sim.board.open import MODEL
from sim.report.table import Row

ALL_BOARDS = BOARDS | VIVADO_BOARDS


def flows(_figures: Any) -> Iterator[Row]:
    """A line for each board: what each flow makes of it, or why it refuses it."""
    yield ("board", "device", "preset", "`conic build`", "`python -m fpga.vivado`", "`--board`", "`conic verilog`",
           "NICs")
    for board in ALL_BOARDS.values():
        yield (f"`{board.name}` {board.title}", f"{board.device}, speed {board.speed}", f"`{board.preset}`",
               _outcome(find_board, board, "bitstream"), _outcome(find_vivado_board, board, "projects"),
               _model(board), f"core: `--preset {board.preset}`", board.n_nics)


def _outcome(find: Callable[[str], Board], board: Board, made: str) -> str:
    try:
        find(board.name)
    except BoardError as error:
        return f"refused: {str(error).rpartition(': ')[2].partition(';')[0]}"
    return made


def _model(board: Board) -> str:
    """A simulated board is called by its preset; a board of Vivado shares that of another."""
    if board.name in preset_names():
        return f"`{MODEL}{board.name}`"
    return f"refused: its design is `{MODEL}{board.preset}`"
