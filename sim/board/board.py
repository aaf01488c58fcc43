"""A board with the self-test design, as the host library sees it: a transport like the simulated cluster."""

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi import registers
from firmware_models.abi.board import BOARD_ID, BOARD_PAGE, BOARD_VERSION, Target
from sim.board.frame_link import BoardError, BusError, FrameLink
from sim.cluster import RegisterAccessError

_PAGE = {register.name: register.offset for register in BOARD_PAGE}
_SWITCH = {register.name: register.offset for register in registers.SWITCH_PAGE}


class BoardMemory:
    """Host memory of a NIC on a board: slices of bytes."""

    def __init__(self, board: "Board", node: int, n_bytes: int):
        self.board, self.node, self.n_bytes = board, node, n_bytes

    def __len__(self) -> int:
        return self.n_bytes

    def __getitem__(self, place: slice) -> NDArray[np.uint8]:
        first, last, _ = place.indices(self.n_bytes)
        if last <= first:
            return np.zeros(0, np.uint8)
        base = first // 4 * 4
        self.board.flush()
        words = self.board.link.read(Target.MEMORY + self.node, base, -(-(last - base) // 4))
        return np.array(words, "<u4").view(np.uint8)[first - base:last - base]

    def __setitem__(self, place: slice, data: NDArray[np.uint8]) -> None:
        first, last, _ = place.indices(self.n_bytes)
        if last <= first:
            return
        base, end = first // 4 * 4, -(-last // 4) * 4
        image = np.zeros(end - base, np.uint8)
        # Words that are written in part only keep the rest.
        if base != first:
            image[:4] = self[base:base + 4]
        if end != last:
            image[-4:] = self[end - 4:end]
        image[first - base:last - base] = data
        self.board.flush()
        self.board.link.write(Target.MEMORY + self.node, base, image.view("<u4").tolist())


class Board:
    """A board: what it says that it is, its NICs' registers and memories.

    Writes of registers are kept and sent together, before anything else is asked of the board: doorbells of several
    NICs are then rung within a few cycles of each other.

    Parameters
    ----------
    link : FrameLink
        The line to it.
    preset : str, optional
        Name of the preset of its design, where that is known: presets of several boards may be the same hardware.

    Members
    -------
    n_nodes, memory_bytes, clock_hz, digest : int
        What it is.
    memories : list of BoardMemory
        Host memory of each NIC.

    Raises
    ------
    BoardError
        If it does not answer, or is no such board.
    """

    def __init__(self, link: FrameLink, *, preset: str | None = None):
        self.link, self.preset = link, preset
        self._pending: list[tuple[int, int, int]] = []
        self._watched: dict[tuple[int, int], int] = {}
        self._bus_error: str | None = None
        values = dict(zip(_PAGE, link.read(Target.BOARD, 0, _PAGE["config"] // 4 + 1), strict=False))
        if values["id"] != BOARD_ID or values["version"] != BOARD_VERSION:
            raise BoardError(
                f"board must have id {BOARD_ID:#x} and version {BOARD_VERSION}, not {values['id']:#x} and "
                f"{values['version']}"
            )
        self.n_nodes, self.memory_bytes = values["n_nics"], values["memory_bytes"]
        self.clock_hz, self.digest = values["clock_hz"], values["config"]
        self.memories = [BoardMemory(self, node, self.memory_bytes) for node in range(self.n_nodes)]

    def reset(self) -> None:
        """Resets NICs and switch, and gives the switch its routes."""
        self._pending.clear()
        self._watched.clear()
        self.link.write(Target.BOARD, _PAGE["control"], [BOARD_PAGE.pack("control", hold=1)])
        self.link.write(Target.BOARD, _PAGE["control"], [BOARD_PAGE.pack("control", hold=0)])
        self.show(passed=False, failed=False)
        routes = [(name, value) for node in range(self.n_nodes) for name, value in (
            ("table_select", node), ("table_port", node))]
        self.link.write_list([(Target.SWITCH, _SWITCH[name], value) for name, value in routes])

    def show(self, *, passed: bool, failed: bool) -> None:
        """Lights for the verdict."""
        self.link.write(Target.BOARD, _PAGE["leds"], [BOARD_PAGE.pack("leds", passed=passed, failed=failed)])

    @property
    def cycle(self) -> int:
        """Cycles since reset."""
        low, high = self.link.read(Target.BOARD, _PAGE["cycles_lo"], 2)
        return low | high << 32

    @property
    def start(self) -> int:
        """Cycle in which the last registers that were sent together began to be written."""
        low, high = self.link.read(Target.BOARD, _PAGE["start_lo"], 2)
        return low | high << 32

    def answer_key(self, node: int) -> int:
        """Draws a key of the nonces of a NIC, from the randomness of the operating system."""
        return secrets.randbits(64)

    def read_register(self, node: int, address: int) -> int:
        """Reads a register of a NIC. Raises ``RegisterAccessError`` if it answers with an error."""
        self.flush()
        try:
            return self.link.read(Target.NIC + node, address, 1)[0]
        except BusError:
            raise RegisterAccessError(f"register {address:#x} of node {node} was answered with an error") from None

    def write_register(self, node: int, address: int, value: int, *, not_before: int = 0) -> None:
        """Keeps the write of a register; `not_before` is for simulations."""
        self._pending.append((Target.NIC + node, address, value))

    def flush(self) -> None:
        """Makes the writes that have been kept."""
        pending, self._pending = self._pending, []
        try:
            self.link.write_list(pending)
        except BusError as error:
            self._bus_error = str(error)

    def watch(self, node: int, address: int) -> None:
        """Makes :meth:`run` wait until the word of 8 bytes at `address` is no more what it is now."""
        self._watched[node, address] = self._word(node, address)

    def run(self, most: int) -> bool:
        """Makes all writes, and waits until all watched words have changed, or for about `most` cycles."""
        self.flush()
        end = self.cycle + most
        while self._watched:
            self._watched = {
                (node, address): value for (node, address), value in self._watched.items()
                if self._word(node, address) == value
            }
            if self._watched and self.cycle > end:
                return False
        return True

    def run_for(self, cycles: int) -> None:
        """Waits until at least that many cycles have passed."""
        self.flush()
        end = self.cycle + cycles
        while self.cycle < end:
            pass

    def check_registers(self) -> None:
        """Raises ``RegisterAccessError`` if a write has been answered with an error."""
        self.flush()
        if self._bus_error is not None:
            raise RegisterAccessError(self._bus_error)

    def _word(self, node: int, address: int) -> int:
        low, high = self.link.read(Target.MEMORY + node, address, 2)
        return low | high << 32

    def __enter__(self) -> "Board":
        return self

    def __exit__(self, *_error: Any) -> None:
        close = getattr(self.link.port, "close", None)
        if close is not None:
            close()
