"""Records the steps by which the host library sets up an operation, so that another simulator can do the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.fabric.topology import Topology


class Recording:
    """A transport (:class:`firmware_models.host.Transport`) without hardware behind it: it keeps the accesses.

    Parameters
    ----------
    topology : Topology
        Nodes, and the routes that are written into the switch.
    memory_bytes : int
        Host memory of each node.
    """

    def __init__(self, topology: Topology, *, memory_bytes: int):
        self.topology = topology
        self._memories = [np.zeros(memory_bytes, np.uint8) for _ in range(topology.n_nodes)]
        self._writes: list[list[tuple[int, int]]] = [[] for _ in range(topology.n_nodes)]
        self._set_up: list[int] = []
        self._watched: list[list[int]] = [[] for _ in range(topology.n_nodes)]

    @property
    def memories(self) -> Sequence[NDArray[np.uint8]]:
        """Host memory of each node."""
        return self._memories

    @property
    def cycle(self) -> int:
        """No time passes."""
        return 0

    def answer_key(self, node: int) -> int:
        """The same key for all: nobody attacks what is recorded."""
        return 0

    def read_register(self, node: int, address: int) -> int:
        """Raises :class:`LookupError`: nothing is there that could answer."""
        raise LookupError(f"register {address:#x} of node {node} can't be read from a recording")

    def write_register(self, node: int, address: int, value: int, *, not_before: int = 0) -> None:
        """Keeps a write."""
        self._writes[node].append((address, value))

    def watch(self, node: int, address: int) -> None:
        """Keeps the address of a completion."""
        self._watched[node].append(address)

    def run(self, most: int) -> bool:
        """Ends the set-up: what comes now are doorbells."""
        self._set_up = [len(writes) for writes in self._writes]
        return True

    def run_for(self, cycles: int) -> None:
        """No time passes."""

    def check_registers(self) -> None:
        """No access has failed."""

    def as_json(
        self, *, switch: list[tuple[int, int]], warm_up: int, results: list[list[tuple[int, bytes]]]
    ) -> dict[str, Any]:
        """The recording for ``testbench.cluster.flat_bench``.

        Parameters
        ----------
        switch : list of (address, value)
            Writes to the registers of the switch.
        warm_up : int
            Cycles between set-up and doorbells.
        results : list of list of (address, bytes)
            For each node what must stand in its memory at the end.
        """
        return {
            "nodes": self.topology.n_nodes, "memory_bytes": len(self._memories[0]), "warm_up": warm_up,
            "switch": switch,
            "stores": [list(_stores(memory)) for memory in self._memories],
            "set_up": [writes[:count] for writes, count in zip(self._writes, self._set_up, strict=True)],
            "doorbells": [writes[count:] for writes, count in zip(self._writes, self._set_up, strict=True)],
            "completion": [watched[0] for watched in self._watched],
            "results": [[(address, content.hex()) for address, content in row] for row in results],
        }


def _stores(memory: NDArray[np.uint8], block: int = 64) -> Any:
    """Address and content of every block that is not empty."""
    for start in np.flatnonzero(memory.reshape(-1, block).any(axis=1)) * block:
        yield int(start), memory[start:start + block].tobytes().hex()
