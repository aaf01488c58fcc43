"""The FPGA boards: what amaranth-boards knows of them, and the design that fits each."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from amaranth.build import Attrs, Pins, Resource
from amaranth_boards.arty_a7 import ArtyA7_100Platform
from amaranth_boards.ecpix5 import ECPIX585Platform
from amaranth_boards.genesys2 import Genesys2Platform
from amaranth_boards.kcu105 import KCU105Platform
from amaranth_boards.resources import UARTResource
from amaranth_boards.ulx3s import ULX3S_85F_Platform
from amaranth_boards.versa_ecp5_5g import VersaECP55GPlatform


class BoardError(ValueError):
    """No such board; the message names those that there are."""


@dataclass(frozen=True, kw_only=True)
class Light:
    """A light of a board: a resource of its platform, and the part of it if it has several colours."""

    resource: str
    number: int
    part: str | None = None


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board and the self-test design for it.

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
    n_nics, memory_bytes : int
        NICs of the design, and bytes of the memory of each.
    design_hz : int
        Frequency of the design.
    baud : int
        Bits a second of its serial port.
    reset : tuple of str and int
        Resource and number of the button that resets it.
    passed, failed, alive, irq : Light
        What shows what.
    family : str
        ``ecp5``, ``series7`` or ``ultrascale``: which clock primitives it has.
    resources : tuple of Resource
        What the board has and its platform does not know.
    memory_bits : int
        Bits of block RAM of the device, by its maker's table; 0 where open tools know and check.
    look_up_tables : int
        Tables of six inputs of the device, likewise.
    """

    name: str
    title: str
    platform: type[Any]
    preset: str
    n_nics: int
    memory_bytes: int
    design_hz: int
    reset: tuple[str, int]
    passed: Light
    failed: Light
    alive: Light
    irq: Light
    baud: int = 1_000_000
    family: str = "ecp5"
    resources: tuple[Resource, ...] = ()
    memory_bits: int = 0
    look_up_tables: int = 0

    def make_platform(self, **options: Any) -> Any:
        """A platform of the board, with those of `options` that it has: some know only one toolchain, and take none."""
        known = signature(self.platform).parameters
        return self.platform(**{name: value for name, value in options.items() if name in known})

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

    @property
    def divisor(self) -> int:
        """Clock cycles of a bit of the serial port."""
        return round(self.design_hz / self.baud)


def _row(resource: str) -> dict[str, Any]:
    """Four lights in a row."""
    return {name: Light(resource=resource, number=n) for n, name in enumerate(("passed", "failed", "alive", "irq"))}


BOARDS = {board.name: board for board in (
    Board(
        name="ulx3s_85f", title="Radiona ULX3S 85F", platform=ULX3S_85F_Platform, preset="ulx3s_85f", n_nics=2,
        memory_bytes=1 << 15, design_hz=50_000_000, reset=("button_fire", 0), **_row("led"),
    ),
    Board(
        name="ecpix5_85f", title="LambdaConcept ECPIX-5 85F", platform=ECPIX585Platform, preset="ecpix5_85f", n_nics=2,
        memory_bytes=1 << 15, design_hz=50_000_000, reset=("rst", 0),
        passed=Light(resource="rgb_led", number=0, part="g"), failed=Light(resource="rgb_led", number=1, part="r"),
        alive=Light(resource="rgb_led", number=2, part="b"), irq=Light(resource="rgb_led", number=3, part="b"),
    ),
    Board(
        name="versa_ecp5_5g", title="Lattice ECP5-5G Versa", platform=VersaECP55GPlatform, preset="versa_ecp5_5g",
        n_nics=1, memory_bytes=1 << 15, design_hz=50_000_000, reset=("rst", 0), **_row("led"),
    ),
)}
"""Boards for which bitstreams are built, by name."""

_BRAM_BITS = 36 * 1024
VIVADO_BOARDS = {board.name: board for board in (
    Board(
        name="kcu105", title="AMD KCU105", platform=KCU105Platform, preset="ulx3s_85f", n_nics=2, memory_bytes=1 << 15,
        design_hz=50_000_000, reset=("cpu_reset", 0), family="ultrascale", **_row("led"),
        memory_bits=600 * _BRAM_BITS, look_up_tables=242_400,  # XCKU040: DS890
        # The user guide, UG917: the first port of the USB bridge, and the reset button.
        resources=(
            UARTResource(0, rx="G25", tx="K26", attrs=Attrs(IOSTANDARD="LVCMOS18")),
            Resource("cpu_reset", 0, Pins("AN8", dir="i"), Attrs(IOSTANDARD="LVCMOS18")),
        ),
    ),
    Board(
        name="genesys2", title="Digilent Genesys 2", platform=Genesys2Platform, preset="ulx3s_85f", n_nics=2,
        memory_bytes=1 << 15, design_hz=50_000_000, reset=("rst", 0), family="series7", **_row("led"),
        memory_bits=445 * _BRAM_BITS, look_up_tables=203_800,  # XC7K325T: DS180
    ),
    Board(
        name="arty_a7_100", title="Digilent Arty A7-100T", platform=ArtyA7_100Platform, preset="ulx3s_85f", n_nics=2,
        memory_bytes=1 << 15, design_hz=50_000_000, reset=("button", 0), family="series7", **_row("led"),
        memory_bits=135 * _BRAM_BITS, look_up_tables=63_400,  # XC7A100T: DS180
    ),
)}
"""Boards for which projects for Vivado are written, by name."""


def find_board(name: str) -> Board:
    """The board of that name, dashes or underscores, for the open flow.

    Raises
    ------
    BoardError
        If there is none, or only the flow of Vivado has it.
    """
    return _found(name, BOARDS, VIVADO_BOARDS, (
        "no open tools place and route its device; python -m fpga.vivado {} FOLDER writes projects for Vivado"
    ))


def find_vivado_board(name: str) -> Board:
    """The board of that name, dashes or underscores, for the flow of Vivado.

    Raises
    ------
    BoardError
        If there is none, or only the open flow has it.
    """
    return _found(name, VIVADO_BOARDS, BOARDS, (
        "Vivado does not know its device; conic build {} makes its bitstream"
    ))


def _found(name: str, boards: Mapping[str, Board], others: Mapping[str, Board], reason: str) -> Board:
    """The board of a flow; `reason`: why the flow has none of the others, with a place for the board's name."""
    known = name.replace("-", "_")
    if known in boards:
        return boards[known]
    why = f": {reason.format(known)}" if known in others else ""
    raise BoardError(f"board must be one of {', '.join(boards)}, not {name!r}{why}")
