"""Multicast forwarding tables: which ports of which switch an MLID leads to."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class ForwardingTables:
    """The multicast tables of all switches, one row an entry in use, ascending by switch and colour.

    Members
    -------
    switch, colour : arrays of int32, shape (n_entries,)
        Where the entry is. Colour `c` is MLID ``0xC000 + c``.
    ports : array of uint64, shape (n_entries, n_words)
        Bit ``p % 64`` of word ``p // 64`` is port `p`; port 0 is the switch itself.
    """

    switch: npt.NDArray[np.int32]
    colour: npt.NDArray[np.int32]
    ports: npt.NDArray[np.uint64]

    @staticmethod
    def of(switch: npt.ArrayLike, colour: npt.ArrayLike, ports: npt.NDArray[np.uint64]) -> "ForwardingTables":
        """Tables from entries in any order; entries of one switch and colour are united."""
        at, number = np.asarray(switch, dtype=np.int32), np.asarray(colour, dtype=np.int32)
        order = np.lexsort((number, at))
        at, number, ports = at[order], number[order], ports[order]
        first = np.ones(len(at), dtype=bool)
        first[1:] = (at[1:] != at[:-1]) | (number[1:] != number[:-1])
        starts = np.flatnonzero(first)
        united = np.bitwise_or.reduceat(ports, starts, axis=0) if len(starts) else ports
        return ForwardingTables(at[starts], number[starts], united)

    def __len__(self) -> int:
        return len(self.switch)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForwardingTables):
            return NotImplemented
        width = max(self.ports.shape[1], other.ports.shape[1])
        return np.array_equal(self.switch, other.switch) and np.array_equal(self.colour, other.colour) and \
            np.array_equal(_widened(self.ports, width), _widened(other.ports, width))

    def __hash__(self) -> int:
        return id(self)

    def port_lists(self) -> list[list[int]]:
        """The ports of every entry, ascending."""
        bits = np.unpackbits(self.ports.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        entry, port = np.nonzero(bits)
        ends = np.cumsum(np.bincount(entry, minlength=len(self))).tolist()
        flat = port.tolist()
        return [flat[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)] if len(self) else []


def port_words(ports: list[int], n_words: int) -> list[int]:
    """`ports` as the words of an entry.

    Examples
    --------
    >>> port_words([0, 65], 2)
    [1, 2]
    """
    words = [0] * n_words
    for port in ports:
        words[port // 64] |= 1 << port % 64
    return words


def _widened(ports: npt.NDArray[np.uint64], width: int) -> npt.NDArray[np.uint64]:
    return np.pad(ports, ((0, 0), (0, width - ports.shape[1])))
