"""The FPGA boards: what amaranth-boards knows of them, and the preset that fits each."""

from dataclasses import dataclass
from typing import Any

from amaranth_boards.ecpix5 import ECPIX585Platform
from amaranth_boards.ulx3s import ULX3S_85F_Platform
from amaranth_boards.versa_ecp5_5g import VersaECP55GPlatform


class BoardError(ValueError):
    """No such board; the message names those that there are."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board with a Lattice ECP5.

    Parameters
    ----------
    name : str
        How the command line calls it.
    title : str
        How its maker calls it.
    platform : class
        Its platform in amaranth-boards: the one source for pins, device and clock.
    preset : str
        Preset of the hardware that is built for it.
    """

    name: str
    title: str
    platform: type[Any]
    preset: str

    @property
    def device(self) -> str:
        """Device as the maker orders it, for example ``LFE5U-85F``."""
        return str(self.platform.device)

    @property
    def package(self) -> str:
        """Package, for example ``BG381``."""
        return str(self.platform.package)

    @property
    def speed(self) -> str:
        """Speed grade: 6 is the slowest, 8 the fastest."""
        return str(self.platform.speed)

    @property
    def clock_hz(self) -> int:
        """Frequency of the oscillator that clocks the design."""
        name = self.platform.default_clk
        frequencies = {r.name: r.clock.frequency for r in self.platform.resources if r.clock is not None}
        return int(frequencies[name])


BOARDS = {board.name: board for board in (
    Board(name="ulx3s-85f", title="Radiona ULX3S 85F", platform=ULX3S_85F_Platform, preset="small"),
    Board(name="ecpix5-85f", title="LambdaConcept ECPIX-5 85F", platform=ECPIX585Platform, preset="small"),
    Board(name="versa-ecp5-5g", title="Lattice ECP5-5G Versa", platform=VersaECP55GPlatform, preset="small"),
)}
"""Every board by name."""


def find_board(name: str) -> Board:
    """The board of that name. Raises :class:`BoardError` if there is none."""
    if name not in BOARDS:
        raise BoardError(f"board must be one of {', '.join(BOARDS)}, not {name!r}")
    return BOARDS[name]
