"""How a cluster is wired: switches, nodes, cables, routes. Knows nothing of hardware or simulation."""

import re
from dataclasses import dataclass
from typing import NamedTuple


class TopologyError(ValueError):
    """No such topology; the message names what is allowed."""


class End(NamedTuple):
    """One end of a cable: a port of a switch, or a node (port 0)."""

    is_switch: bool
    number: int
    port: int = 0


@dataclass(frozen=True)
class Topology:
    """A wired network.

    Members
    -------
    name : str
        As given on the command line.
    n_nodes : int
        Nodes, numbered from 0; the NodeID of a node is its number.
    radixes : tuple of int
        Ports of each switch.
    cables : tuple of (End, End)
        All cables.
    routes : tuple of tuple of int
        For each switch the port towards each NodeID.
    """

    name: str
    n_nodes: int
    radixes: tuple[int, ...]
    cables: tuple[tuple[End, End], ...]
    routes: tuple[tuple[int, ...], ...]


MAX_RADIX = 64
"""Ports of the largest switch that can be built."""


def parse_topology(name: str) -> Topology:
    """The topology that `name` describes: ``star:N``, N nodes on one switch.

    Raises
    ------
    TopologyError
        If it is not of that form, or N is out of range.

    Examples
    --------
    >>> parse_topology("star:3").radixes
    (4,)
    """
    match = re.fullmatch(r"star:(\d+)", name)
    if match is None:
        raise TopologyError(f"topology must be star:N with N from 2 to {MAX_RADIX}, not {name!r}")
    return star(int(match[1]))


def star(n_nodes: int) -> Topology:
    """All nodes on one switch whose radix is the next power of two."""
    if not 2 <= n_nodes <= MAX_RADIX:
        raise TopologyError(f"topology must be star:N with N from 2 to {MAX_RADIX}, not 'star:{n_nodes}'")
    radix = 1 << (n_nodes - 1).bit_length()
    cables = tuple((End(is_switch=False, number=n), End(is_switch=True, number=0, port=n)) for n in range(n_nodes))
    return Topology(f"star:{n_nodes}", n_nodes, (radix,), cables, (tuple(range(n_nodes)),))
