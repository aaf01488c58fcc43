"""Queue depths and sizes of requests and buffers: what one connection takes of memory."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firmware_models.connections.error import require
from firmware_models.connections.scheme import Scheme

Counts = npt.NDArray[np.int64]

MAX_DEPTH = 65536
"""Entries of a queue."""
MAX_BUFFER_BYTES = 1 << 30
"""Bytes of a receive buffer."""
MAX_CLASSES = 16
"""Lengths of receive buffers."""


@dataclass(frozen=True, kw_only=True)
class QueueSizes:
    """Depths and sizes, with the letters that the paper has for them (sections 1 and 3.2).

    Completion queues and the management of queues are left out, as in the paper (section 1, last paragraph but two).

    Members
    -------
    buffer_bytes : int
        Bytes of a (the largest) receive buffer, `s1`. The paper's 8 kB; 8,192 here, its tables count 8,000.
    n_receive_buffers : int
        Receive buffers that every queue pair keeps posted without a shared receive queue, `n`.
    send_depth, receive_depth : int
        Entries of a queue pair's queues, `sd` and `rd`; `rd` is above `n` (section 1).
    work_request_bytes : int
        Bytes of an entry, `s2`; 64 is the least of a ConnectX (section 1).
    n_size_classes : int
        Lengths of receive buffers where there are several: `s1`, `s1`/2, …, equally many of each; 6 in section 3.2.
    srq_depth : int or None
        Queue pairs that share one receive queue, and the receive buffers that it has whether they are needed or not:
        8,192 in the implementation of section 5. None: as many as there are queue pairs, as in all formulas.

    Raises
    ------
    ConnectionsError
        If one of them is out of range.
    """

    buffer_bytes: int = 8192
    n_receive_buffers: int = 5
    send_depth: int = 16
    receive_depth: int = 16
    work_request_bytes: int = 64
    n_size_classes: int = 6
    srq_depth: int | None = None

    def __post_init__(self) -> None:
        for name, low, high in (
            ("buffer_bytes", 1, MAX_BUFFER_BYTES), ("n_receive_buffers", 1, MAX_DEPTH - 1),
            ("send_depth", 1, MAX_DEPTH), ("work_request_bytes", 64, 4096), ("n_size_classes", 1, MAX_CLASSES),
        ):
            value = getattr(self, name)
            require(low <= value <= high, name, f"{low} to {high}", value)
        require(self.n_receive_buffers < self.receive_depth <= MAX_DEPTH, "receive_depth",
                f"{self.n_receive_buffers + 1} to {MAX_DEPTH}, above n_receive_buffers", self.receive_depth)
        least = 1 << self.n_size_classes - 1
        require(self.buffer_bytes % least == 0, "buffer_bytes",
                f"a multiple of {least}, for {self.n_size_classes} sizes each half of the one before",
                self.buffer_bytes)
        require(self.srq_depth is None or 1 <= self.srq_depth <= 1 << 20, "srq_depth", f"1 to {1 << 20}",
                self.srq_depth)

    @property
    def class_bytes(self) -> tuple[int, ...]:
        """Lengths of receive buffers where there are several, the largest first: `s1`, `s1`/2, … (section 3.2)."""
        return tuple(self.buffer_bytes >> number for number in range(self.n_size_classes))

    @property
    def mean_class_bytes(self) -> float:
        """Their mean, ((1 + 1/2 + … + 1/32) / 6) x `s1` for six (section 3.2)."""
        return sum(self.class_bytes) / self.n_size_classes

    def srq_buffers(self, n_queue_pairs: Counts) -> Counts:
        """Receive buffers in the shared receive queues of a process with so many queue pairs (any shape)."""
        if self.srq_depth is None:
            return n_queue_pairs
        return -(-n_queue_pairs // self.srq_depth) * self.srq_depth

    def held_bytes(self, scheme: Scheme, n_queue_pairs: Counts) -> Counts:
        """Bytes that a process holds for so many queue pairs, counted buffer by buffer (any shape).

        Where buffers have several lengths they are posted in turns, the largest first: exact, and equal to
        the formula of section 3.2, which has fractions of buffers, whenever the turns come out even.
        """
        traits = scheme.traits
        if not traits.has_srq:
            queues = (self.send_depth + self.receive_depth) * self.work_request_bytes
            return n_queue_pairs * (self.n_receive_buffers * self.buffer_bytes + queues)
        buffers = self.srq_buffers(n_queue_pairs)
        held = n_queue_pairs * (self.send_depth * self.work_request_bytes) + buffers * self.work_request_bytes
        if not traits.has_sizes:
            return held + buffers * self.buffer_bytes
        first_bytes = np.concatenate([[0], np.cumsum(self.class_bytes)])
        turns, rest = np.divmod(buffers, self.n_size_classes)
        posted: Counts = turns * first_bytes[-1] + first_bytes[rest]
        return held + posted
