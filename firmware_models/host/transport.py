"""Transport under the host library: registers, host memories, and time of some NICs, simulated or on a board."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class HostMemory(Protocol):
    """Bytes of a host memory, read and written as slices of an array."""

    def __len__(self) -> int:
        """Bytes."""

    def __getitem__(self, place: slice, /) -> NDArray[np.uint8]:
        """A copy of some bytes."""

    def __setitem__(self, place: slice, data: NDArray[np.uint8], /) -> None:
        """Writes bytes."""


class Transport(Protocol):
    """NICs that a host can reach; :class:`sim.cluster.Cluster` is one, :class:`sim.board.Board` another.

    Members
    -------
    memories : sequence
        Host memory of each node.
    cycle : int
        Cycles since reset.
    """

    @property
    def memories(self) -> Sequence[Any]:
        """Host memory of each node."""

    @property
    def cycle(self) -> int:
        """Cycles since reset."""

    def read_register(self, node: int, address: int) -> int:
        """Reads a register."""

    def write_register(self, node: int, address: int, value: int, *, not_before: int = 0) -> None:
        """Writes a register, now or by the time that :meth:`run` has returned; writes stay in order."""

    def watch(self, node: int, address: int) -> None:
        """Makes :meth:`run` wait until the NIC of `node` writes the memory word at `address`."""

    def run(self, most: int) -> bool:
        """Lets `most` cycles pass, or fewer if all that is watched has been written; says whether it was."""

    def run_for(self, cycles: int) -> None:
        """Lets a number of cycles pass."""

    def answer_key(self, node: int) -> int:
        """Draws a key of 64 bits for the nonces of a node: nobody can guess it, unless all is simulated."""

    def check_registers(self) -> None:
        """Raises an error if some access to a register has failed."""


def wait(transport: Transport, *, most: int) -> bool:
    """Lets time pass until all that is watched has been written, for at most so many cycles; says whether it was.

    Raises the transport's error if some access to a register has failed.
    """
    ended = transport.run(most)
    transport.check_registers()
    return ended
