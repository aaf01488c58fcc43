"""`--board`: a command on the NICs of an FPGA board instead of simulated ones."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import click

from sim.board.board import Board
from sim.board.open import DEFAULT_BAUD, open_board
from sim.board.run import board_preset
from sim.cli.shared.collective_options import CollectiveFlags
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


@contextmanager
def request_on_board(flags: CollectiveFlags, name: str, *, baud: int) -> Iterator[tuple[CollectiveRequest, Board]]:
    """Opens the board of that name; what the flags ask for there, by default with the preset that it was built from."""
    if flags.topology is not None:
        raise click.UsageError("--topology: is that of the board; leave it out with --board")
    if flags.host is not None or flags.host_based:
        raise click.UsageError("--host: is what a simulation assumes; leave it and --host-based out with --board")
    with open_board(name, baud=baud) as board:
        if flags.preset is None and flags.config is None:
            preset, _ = board_preset(board)
            flags = replace(flags, preset=preset)
        yield flags.request(), board
