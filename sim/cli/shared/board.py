"""`--board`: a command on the NICs of an FPGA board instead of simulated ones."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sim.board.open import DEFAULT_BAUD, open_board
from sim.board.run import BoardResult, board_preset, run_on_board
from sim.cli.shared.collective_options import collective_request
from sim.cli.shared.number import Number
from sim.operation.request import CollectiveRequest

Command = TypeVar("Command", bound=Callable[..., Any])


def board_options(command: Command) -> Command:
    """Gives `command` the flags `--board` and `--baud`."""
    for option in (
        click.option("--baud", type=Number(1), default=DEFAULT_BAUD, show_default=True,
                     help="Bits a second of --board."),
        click.option("--board", help="Serial port of a board with the self-test design, /dev/ttyUSB0, or "
                                     "model:ulx3s_85f, that design simulated as a whole."),
    ):
        command = option(command)
    return command


def collective_on_board(*, board: str, baud: int, **flags: Any) -> tuple[CollectiveRequest, BoardResult]:
    """Carries out what the flags say on a board; its preset is the default."""
    if flags.get("topology") is not None:
        raise click.UsageError("--topology: is that of the board; leave it out with --board")
    if flags["host"] is not None or flags["host_based"]:
        raise click.UsageError("--host: is what a simulation assumes; leave it and --host-based out with --board")
    with open_board(board, baud=baud) as opened:
        if flags["preset"] is None and flags["config"] is None:
            flags["preset"], _ = board_preset(opened)
        request = collective_request(**flags)
        return request, run_on_board(request, opened)
