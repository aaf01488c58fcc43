"""An operation under way: which piece of it is on the NICs, what each rank brings to that and gets of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from firmware_models.host import Operation as Posted
from firmware_models.host import Port
from firmware_models.schedule import Schedule
from sim.mpi.jobs import Job
from sim.mpi.operation import Operation

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Lane:
    """A VP at every node, with room for one operation."""

    ports: list[Port]
    operands: list[int]
    results: list[int]


@dataclass(kw_only=True)
class Running:
    """An operation under way: `width` bytes of each block from `position` on are on the NICs.

    Members
    -------
    operation, schedule : Operation, Schedule
        What is done, and how.
    nodes : tuple of int
        Where each rank is.
    job, lane : Job, Lane
        As which, and with which VPs.
    operands, results : list of arrays
        Memory of the program's.
    skews : list of int
        Cycles after which each rank rings.
    begin, doorbells, cycles : int, list of int, int
        When the piece was posted and its doorbells rung; cycles that all pieces before it have taken.
    posted : firmware_models.host.Operation
        The piece at the NICs.
    waited : int
        Cycles from the first doorbell to the last one.
    ended : list of int
        Cycles from the first doorbell to the completion of each rank.
    """

    operation: Operation
    schedule: Schedule
    nodes: tuple[int, ...]
    job: Job
    lane: Lane
    operands: Sequence[Bytes]
    results: Sequence[Bytes]
    skews: list[int]
    position: int = 0
    width: int = 0
    begin: int = 0
    doorbells: list[int] = field(default_factory=list)
    posted: Posted = field(default_factory=lambda: Posted([]))
    cycles: int = 0
    waited: int = 0
    ended: list[int] = field(default_factory=list)

    def cut(self, most: int) -> None:
        """Takes the next piece: as much as makes a message of at most so many bytes."""
        self.width = min(most // self.operation.n_blocks // 64 * 64, max(self.operation.sizes) - self.position)

    def pass_piece(self) -> bool:
        """The piece is done; whether there is another one, which all ranks begin at once."""
        self.position += self.width
        self.skews = [0] * len(self.nodes)
        return self.position < max(self.operation.sizes)

    @property
    def ports(self) -> list[Port]:
        """Port of each rank."""
        return [self.lane.ports[node] for node in self.nodes]

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """Bytes of each block of the schedule, which may cut a message that is one to MPI."""
        sizes, count = self.operation.sizes, self.schedule.block_count
        if len(sizes) == count:
            return sizes
        base, more = divmod(sum(sizes), count)
        return tuple(base + (block < more) for block in range(count))

    @property
    def padded(self) -> int:
        """Bytes of each block of the piece in hardware: bits of short integers fill up their last lane."""
        return -(-self.width // self.operation.element) * self.operation.element

    @property
    def length(self) -> int:
        """Bytes of the piece's message."""
        return self.padded * self.operation.n_blocks

    def message(self, rank: int) -> Bytes | None:
        """The operand of a rank as its NIC reads it: all blocks, those that it does not bring zero."""
        operation = self.operation
        blocks = operation.brings(rank)
        if not blocks or not self.padded:
            return None
        message = np.zeros((operation.n_blocks, self.padded), np.uint8)
        base = 0
        for block in blocks:
            low, high = self._part(block)
            message[block, :high - low] = self.operands[rank][base + low:base + high]
            base += operation.sizes[block]
        return message.reshape(-1)

    def take(self, rank: int, found: Bytes) -> None:
        """Copies the result of a rank, as its NIC has written it, to where the program has its own."""
        result, base = self.results[rank], 0
        if not len(result):  # the root of a scatter leaves its own where it is
            return
        for block in self.operation.gets(rank):
            low, high = self._part(block)
            at = block * self.padded
            result[base + low:base + high] = found[at:at + high - low]
            base += self.operation.sizes[block]

    def _part(self, block: int) -> tuple[int, int]:
        """Which bytes of a block are in the piece."""
        size = self.operation.sizes[block]
        return min(self.position, size), min(self.position + self.width, size)
