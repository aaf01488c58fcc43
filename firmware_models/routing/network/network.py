"""A wired network as arrays: switches, terminals, cables."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from firmware_models.routing.network.error import RoutingError

Ints = npt.NDArray[np.int32]
Guids = npt.NDArray[np.uint64]

SWITCH_GUID = 0x2000000
TERMINAL_GUID = 0x1000000
"""Where the GUIDs of generated networks begin; a terminal's port has the GUID of its node plus 1."""


@dataclass(frozen=True, eq=False)
class Network:
    """Switches with numbered ports, cables between them, and terminals at some of the ports.

    A *slot* is a port of a switch: slot ``base[s] + p - 1`` is port `p` (from 1) of switch `s`. An *endpoint* is what
    can be a member of a group: terminal `t` is endpoint `t`, port 0 of switch `s` is endpoint ``n_terminals + s``.

    Members
    -------
    name : str
        As given on the command line.
    base : array of int32, shape (n_switches + 1,)
        First slot of every switch.
    peer_slot : array of int32, shape (n_slots,)
        The slot at the other end of the cable; -1 where no switch is.
    leaf, leaf_port : arrays of int32, shape (n_terminals,)
        Switch and port (from 1) of every terminal.
    terminal_port : array of int32
        Port of the terminal's own node that the cable is in.
    switch_guids, node_guids, port_guids : arrays of uint64
        Of switches, terminals' nodes, terminals' ports.
    switch_names, terminal_names : sequences of str
        Free text.
    """

    name: str
    base: Ints
    peer_slot: Ints
    leaf: Ints
    leaf_port: Ints
    terminal_port: Ints
    switch_guids: Guids
    node_guids: Guids
    port_guids: Guids
    switch_names: Sequence[str]
    terminal_names: Sequence[str]

    @staticmethod
    def wire(
        *, name: str, radixes: npt.ArrayLike, cables: npt.ArrayLike, leaf: npt.ArrayLike, leaf_port: npt.ArrayLike,
        **identity: Any,
    ) -> "Network":
        """Builds a network from `cables`, rows of (switch, port, switch, port).

        Parameters
        ----------
        radixes : array of int
            Ports of every switch.
        identity
            Any of `terminal_port`, the GUIDs and names, where they are not those of a generated network.

        Raises
        ------
        RoutingError
            If a port does not exist, or has two cables.
        """
        sizes = np.asarray(radixes, dtype=np.int32)
        base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        ends = np.asarray(cables, dtype=np.int64).reshape(-1, 4)
        at, at_port = np.asarray(leaf, dtype=np.int32), np.asarray(leaf_port, dtype=np.int32)
        switches = np.concatenate([ends[:, 0], ends[:, 2], at])
        ports = np.concatenate([ends[:, 1], ends[:, 3], at_port])
        for wrong in np.flatnonzero((ports < 1) | (ports > sizes[switches]))[:1]:
            s = switches[wrong]
            raise RoutingError(f"port of switch {s} must be 1 to {sizes[s]}, not {ports[wrong]}")
        slots = base[switches] + ports - 1
        used, count = np.unique(slots, return_counts=True)
        for twice in used[count > 1][:1]:
            owner = int(np.searchsorted(base, twice, side="right")) - 1
            raise RoutingError(f"port {twice - base[owner] + 1} of switch {owner} must have one cable, not two")
        n = len(ends)
        peer_slot = np.full(base[-1], -1, dtype=np.int32)
        peer_slot[slots[:n]], peer_slot[slots[n:2 * n]] = slots[n:2 * n], slots[:n]
        n_terminals = len(at)
        nodes = TERMINAL_GUID + 16 * np.arange(n_terminals, dtype=np.uint64)
        given: dict[str, Any] = {
            "terminal_port": np.ones(n_terminals, dtype=np.int32), "node_guids": nodes,
            "port_guids": nodes + np.uint64(1),
            "switch_guids": max(SWITCH_GUID, int(nodes[-1]) + 16 if n_terminals else 0)
            + np.arange(len(sizes), dtype=np.uint64),
            "switch_names": [f"S{s}" for s in range(len(sizes))],
            "terminal_names": [f"H{t}" for t in range(n_terminals)],
        } | identity
        return Network(name=name, base=base, peer_slot=peer_slot, leaf=at, leaf_port=at_port, **given)

    @property
    def n_switches(self) -> int:
        return len(self.base) - 1

    @property
    def n_terminals(self) -> int:
        return len(self.leaf)

    @property
    def n_cables(self) -> int:
        """Cables between switches."""
        return int(np.count_nonzero(self.peer_slot >= 0)) // 2

    @property
    def radixes(self) -> Ints:
        """Ports of every switch."""
        return np.diff(self.base)

    @cached_property
    def owner(self) -> Ints:
        """The switch of every slot."""
        return np.repeat(np.arange(self.n_switches, dtype=np.int32), self.radixes)

    @cached_property
    def peer(self) -> Ints:
        """The switch at the other end of every slot's cable; -1 where none is."""
        return np.where(self.peer_slot >= 0, self.owner[self.peer_slot], -1).astype(np.int32)

    @cached_property
    def attach(self) -> Ints:
        """The switch of every endpoint."""
        return np.concatenate([self.leaf, np.arange(self.n_switches, dtype=np.int32)])

    @cached_property
    def attach_port(self) -> Ints:
        """The port at which `attach` reaches every endpoint; 0 for the switch itself."""
        return np.concatenate([self.leaf_port, np.zeros(self.n_switches, dtype=np.int32)])

    @cached_property
    def opensm_order(self) -> Ints:
        """The switches in ascending order of their byte-swapped GUIDs: OpenSM keeps them in network order on x86."""
        return np.argsort(self.switch_guids.byteswap(), kind="stable").astype(np.int32)

    @cached_property
    def endpoint_of_guid(self) -> dict[int, int]:
        """The endpoint of every port GUID."""
        guids = np.concatenate([self.port_guids, self.switch_guids])
        return {guid: endpoint for endpoint, guid in enumerate(guids.tolist())}

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the wiring: state saved on one network is refused on another."""
        digest = hashlib.sha256()
        for array in (self.base, self.peer_slot, self.leaf, self.leaf_port, self.port_guids, self.switch_guids):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def cables(self) -> npt.NDArray[np.int64]:
        """All cables between switches as rows of (switch, port, switch, port), each once."""
        here = np.flatnonzero(self.peer_slot > np.arange(len(self.peer_slot)))
        there = self.peer_slot[here]
        return np.stack([self.owner[here], here - self.base[self.owner[here]] + 1,
                         self.owner[there], there - self.base[self.owner[there]] + 1], axis=1).astype(np.int64)

    def guid(self, endpoint: int) -> int:
        """The GUID of an endpoint's port."""
        if endpoint < self.n_terminals:
            return int(self.port_guids[endpoint])
        return int(self.switch_guids[endpoint - self.n_terminals])

    def label(self, endpoint: int) -> str:
        """Name of an endpoint."""
        if endpoint < self.n_terminals:
            return self.terminal_names[endpoint]
        return self.switch_names[endpoint - self.n_terminals]
