"""Multicast in a cluster: trees and colours from the routing model, tables of switches, membership of NICs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from firmware_models.abi import registers
from firmware_models.abi.formats import FIRST_MLID
from firmware_models.abi.register import REGISTER_BYTES
from firmware_models.host import NodeDriver
from firmware_models.routing.algorithm import Options, Router
from firmware_models.routing.network import ForwardingTables, RoutingError
from firmware_models.schedule import MulticastGroup
from sim.cluster.cluster import Cluster
from sim.fabric.topology import End, Topology, TopologyError

_BLOCK = registers.MFT_BLOCK_ENTRIES
_GROUP_PORTS = registers.MFT_GROUP_PORTS
Channel = tuple[int, int]
"""A switch and one of its ports: what leaves there."""


@dataclass(frozen=True, kw_only=True)
class MulticastPlan:
    """Groups of nodes, and the tables that carry them.

    Members
    -------
    groups : tuple of MulticastGroup
        As descriptors address them, in the order asked for.
    tables : ForwardingTables
        For all switches.
    """

    groups: tuple[MulticastGroup, ...]
    tables: ForwardingTables


def plan_multicast(
    topology: Topology, groups: Iterable[Sequence[int]], *, mft_entries: int, algorithm: str = "mr4lms",
    policy: str = "paper",
) -> MulticastPlan:
    """Routes groups of nodes: MR4LMS gives each a tree and a colour; group i has MGID i.

    Parameters
    ----------
    topology : Topology
        Where.
    groups : iterable of sequences of int
        NodeIDs of each group, senders included.
    mft_entries : int
        Entries of a switch's table. If they do not suffice groups are merged: NICs get packets that are not theirs.
    algorithm, policy : str
        Of the routing model.

    Raises
    ------
    TopologyError
        If the groups cannot be routed, or their trees could make packets wait for each other in a circle.
    """
    members = [sorted(set(group)) for group in groups]
    for number, group in enumerate(members):
        for node in group:
            if not 0 <= node < topology.n_nodes:
                raise TopologyError(f"member of group {number} must be 0 to {topology.n_nodes - 1}, not {node}")
    is_limited = algorithm == "mr4lms"
    try:
        options = Options(algorithm=algorithm, policy=policy, mft_size=min(mft_entries, 16383) if is_limited else None)
        router = Router(topology.network, options)
        for number, group in enumerate(members):
            router.join(str(number), group)
    except RoutingError as error:
        raise TopologyError(str(error)) from None
    found = []
    for number, group in enumerate(members):
        tree = router.groups[str(number)].tree
        if tree is None:
            raise TopologyError(f"group {number} must have at least 2 members, not {len(group)}")
        found.append(MulticastGroup(mgid=number, mlid=FIRST_MLID + tree.colour, node_ids=frozenset(group)))
    plan = MulticastPlan(groups=tuple(found), tables=router.forest.tables())
    check_tables(topology, plan.tables, mft_entries=mft_entries)
    return plan


def check_tables(topology: Topology, tables: ForwardingTables, *, mft_entries: int) -> None:
    """Refuses tables that do not fit the switches, or with which packets could wait for each other in a circle.

    A packet that has come by one cable and is to leave by another waits for that. If these dependencies, of
    all unicast routes and all trees together, have no circle, the last cables of all drain, then those before them,
    and so on: nothing waits for ever. In fat trees routes and trees go up and then down, so there is none.

    Raises
    ------
    TopologyError
        If so.
    """
    colours = tables.colour.tolist()
    if colours and max(colours) >= mft_entries:
        raise TopologyError(f"colours must be below {mft_entries} (switch.mft_entries), not {max(colours)}")
    ends = {end: other for cable in topology.cables for end, other in (cable, cable[::-1])}
    before: dict[Channel, set[Channel]] = {}

    def depend(switch: int, into: int, out: int) -> None:
        """Records that packets which enter `switch` by port `into` may leave by port `out`."""
        source, target = ends.get(End(True, switch, into)), ends.get(End(True, switch, out))
        if source is not None and target is not None and source.is_switch and target.is_switch:
            before.setdefault((source.number, source.port), set()).add((switch, out))

    for switch, ports in zip(tables.switch.tolist(), tables.port_lists(), strict=True):
        for into in ports:
            for out in ports:
                if into != out and into and out:
                    depend(switch, into - 1, out - 1)
    for switch, into, out in _unicast_turns(topology, ends):
        depend(switch, into, out)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        circle = " -> ".join(f"switch {switch} port {port}" for switch, port in error.args[1])
        what = f"topology {topology.name!r}: multicast trees and routes could deadlock"
        raise TopologyError(f"{what}: {circle}") from None


def _unicast_turns(topology: Topology, ends: dict[End, End]) -> set[tuple[int, int, int]]:
    """(switch, port in, port out) of all unicast routes."""
    turns = set()
    for source in range(topology.n_nodes):
        for dest in range(topology.n_nodes):
            at = ends[End(False, source)]
            while at.is_switch:
                out = topology.routes[at.number][dest]
                turns.add((at.number, at.port, out))
                at = ends[End(True, at.number, out)]
    return turns


def load_tables(cluster: Cluster, tables: ForwardingTables) -> None:
    """Writes multicast tables into the switches over their registers: whole blocks of 32 entries, 16 ports at a time.

    Takes what the routing model makes, or what :func:`firmware_models.routing.formats.read_tables` has read from an
    OpenSM dump. Blocks in which a switch has no entry are left alone.
    """
    page = {register.name: register.offset for register in registers.SWITCH_PAGE}
    blocks: dict[tuple[int, int, int], list[int]] = {}
    for switch, colour, ports in zip(tables.switch.tolist(), tables.colour.tolist(), tables.port_lists(), strict=True):
        block, place = divmod(colour, _BLOCK)
        for group in range(-(-cluster.topology.radixes[switch] // _GROUP_PORTS)):
            # Port 0 of a dump is the switch itself, which takes no part here.
            mask = sum(1 << port - 1 - _GROUP_PORTS * group for port in ports
                       if _GROUP_PORTS * group < port <= _GROUP_PORTS * (group + 1))
            blocks.setdefault((switch, group, block), [0] * _BLOCK)[place] = mask
    for (switch, group, block), masks in sorted(blocks.items()):
        cluster.write_switch_register(
            switch, page["mft_block"], registers.SWITCH_PAGE.pack("mft_block", block=block, group=group)
        )
        for place, mask in enumerate(masks):
            cluster.write_switch_register(switch, page["mft_mask"] + REGISTER_BYTES * place, mask)


def set_up_groups(
    cluster: Cluster, drivers: Sequence[NodeDriver], groups: Iterable[Sequence[int]], *, mft_entries: int
) -> tuple[MulticastGroup, ...]:
    """Routes groups of nodes, loads the switches' tables, makes the nodes join; errors as :func:`plan_multicast`."""
    wanted = list(groups)
    if not wanted:
        return ()
    plan = plan_multicast(cluster.topology, wanted, mft_entries=mft_entries)
    load_tables(cluster, plan.tables)
    join_groups(drivers, plan.groups)
    return plan.groups


def join_groups(drivers: Sequence[NodeDriver], groups: Iterable[MulticastGroup]) -> None:
    """Makes every member of every group join it."""
    for group in groups:
        for node in sorted(group.node_ids):
            drivers[node].join_group(group.mgid)
