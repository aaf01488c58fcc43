"""Shortest ways between the switches of a network, as a compiled search: one for each switch that has hosts.

Hosts have one link each, so what a host sees is what its switch sees, and that link.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
UNREACHED = np.iinfo(np.int32).max
NO_LIMIT = 1 << 62
"""The rate of a way without links."""


@dataclass(frozen=True)
class Way:
    """From one switch to every switch, by the first of the shortest ways: arrays by number of the node.

    Members
    -------
    hops : array of int64
        Links; `UNREACHED` for hosts, and for switches that no links lead to.
    delay_ns, transmission_ns : arrays of int64
        Propagation, and transmission of one payload on each link.
    rate : array of int64
        The least, bits a second.
    """

    hops: Ints
    delay_ns: Ints
    transmission_ns: Ints
    rate: Ints


@dataclass(frozen=True)
class SwitchGraph:
    """Links between switches: those of node `n` are ``start[n]`` up to ``start[n + 1]``, in the order of its ports."""

    start: Ints
    to: Ints
    delay_ns: Ints
    rate: Ints

    @staticmethod
    def of(ports_of: Sequence[Sequence[int]], ends: Ints, delay_ns: Ints, rate: Ints, is_switch: Ints) -> "SwitchGraph":
        """From the ports of every node and what each port leads to."""
        kept = [[port for port in ports if is_switch[node] and is_switch[ends[port]]]
                for node, ports in enumerate(ports_of)]
        flat = np.array([port for ports in kept for port in ports], np.int64)
        start = np.cumsum([0, *map(len, kept)]).astype(np.int64)
        return SwitchGraph(start, ends[flat], delay_ns[flat // 2], rate[flat // 2])

    def way_from(self, switch: int, bit_ns: int) -> Way:
        """The ways from `switch`; a payload of ``bit_ns / 1e9`` bits is what transmission is of."""
        return Way(*_search(self.start, self.to, self.delay_ns, self.rate, switch, bit_ns))


@njit(cache=True)
def _search(start: Ints, to: Ints, delay: Ints, rate: Ints, switch: int, bit_ns: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Breadth first: of equal ways the first that is found."""
    n = len(start) - 1
    hops = np.full(n, UNREACHED, np.int64)
    delays, transmissions, rates = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    queue = np.empty(n, np.int64)
    queue[0], hops[switch], rates[switch] = switch, 0, NO_LIMIT
    head, tail = 0, 1
    while head < tail:
        here = queue[head]
        head += 1
        for k in range(start[here], start[here + 1]):
            there = to[k]
            if hops[there] == UNREACHED:
                hops[there] = hops[here] + 1
                delays[there] = delays[here] + delay[k]
                transmissions[there] = transmissions[here] + bit_ns // rate[k]
                rates[there] = min(rates[here], rate[k])
                queue[tail] = there
                tail += 1
    return hops, delays, transmissions, rates
