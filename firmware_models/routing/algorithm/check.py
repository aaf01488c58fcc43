"""The invariants of routing, checked from what the tables say and not from how they came about."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from firmware_models.routing.algorithm.forest import Forest, Group, Tree
from firmware_models.routing.network import ForwardingTables, Network

Entries = Mapping[tuple[int, int], list[int]]


def violations(
    forest: Forest, groups: Mapping[str, Group], *, trees: Iterable[Tree] | None = None,
    tables: ForwardingTables | None = None,
) -> list[str]:
    """Lists the invariants that do not hold, in words; empty if all is well.

    - Every group with two members or more has a tree, and that tree has the group and all its members.
    - A packet that enters at any switch of a tree, copied as the tables say, meets every switch of the tree once and
      no other, and every member of the tree once and no other endpoint: so the tree spans the group and is a tree, and
      the tables are what the trees say.
    - No two trees have one colour on one switch, and no table has more entries than are allowed.
    - Bitmaps, entries and loads of links are what the trees make them.
    - A tree that must be lowest is of minimal height: every one that Algorithm 4 has not merged.

    Parameters
    ----------
    trees : iterable of Tree, optional
        Check these trees only, and not what concerns all.
    tables : ForwardingTables, optional
        The tables to check, if not those of the forest (a dump that was read).
    """
    found: list[str] = []
    if trees is None:
        whole = forest.tables() if tables is None else tables
        found += _overall(forest, groups, whole)
        entries = _entries(whole)
        checked: Iterable[Tree] = forest.trees.values()
    else:
        checked = list(trees)
        entries = {}
        for tree in checked:
            part = ForwardingTables.of(tree.switches, np.full(len(tree.switches), tree.colour), tree.ports)
            entries |= _entries(part)
    for tree in checked:
        found += (f"tree {tree.number} (colour {tree.colour}, groups {', '.join(tree.groups[:3])}): {what}"
                  for what in _of_tree(forest, groups, tree, entries))
    return found


def _entries(tables: ForwardingTables) -> dict[tuple[int, int], list[int]]:
    """The ports of every switch and colour."""
    return dict(zip(zip(tables.switch.tolist(), tables.colour.tolist(), strict=True), tables.port_lists(), strict=True))


def _overall(forest: Forest, groups: Mapping[str, Group], tables: ForwardingTables) -> Iterator[str]:
    for name, group in groups.items():
        if len(group.members) > 1 and (group.tree is None or forest.trees.get(group.tree.number) is not group.tree):
            yield f"group {name} has no tree"
    trees = list(forest.trees.values())
    named = [name for tree in trees for name in tree.groups]
    if sorted(named) != sorted(name for name, group in groups.items() if group.tree is not None):
        yield "the groups of the trees are not the groups that have trees"
    total = sum(len(tree.switches) for tree in trees)
    if len(tables) != total:
        yield f"tables must have {total} entries, one a tree and switch, not {len(tables)}"
    n_switches = forest.network.n_switches
    counts = np.bincount(tables.switch, minlength=n_switches)
    if int(counts.max(initial=0)) > forest.limit:
        yield f"a table must have at most {forest.limit} entries, not {counts.max()}"
    if any(tree.colour >= forest.limit for tree in trees):
        yield f"colours must be less than {forest.limit}"
    if not np.array_equal(counts, forest.entries):
        yield "numbers of entries are not those of the tables"
    bits = np.zeros_like(forest.busy)
    np.bitwise_or.at(bits, (tables.switch, tables.colour // 64),
                     np.left_shift(np.uint64(1), (tables.colour % 64).astype(np.uint64)))
    if not np.array_equal(bits, forest.busy):
        yield "bitmaps of colours are not those of the tables"
    load = np.zeros_like(forest.load)
    for tree in trees:
        slots = tree.up[tree.up >= 0]
        load[slots] += len(tree.groups)
        load[forest.network.peer_slot[slots]] += len(tree.groups)
    if not np.array_equal(load, forest.load):
        yield "loads of links are not those of the trees"


def _of_tree(forest: Forest, groups: Mapping[str, Group], tree: Tree, entries: Entries) -> Iterator[str]:
    network, members = forest.network, set(tree.members.tolist())
    for name in tree.groups:
        if name not in groups or groups[name].tree is not tree:
            yield f"group {name} does not use it"
        elif not members.issuperset(groups[name].members.tolist()):
            yield f"it does not have all members of group {name}"
    switches = tree.switches.tolist()
    reached, heard, faults = deliver(network, entries, tree.colour, switches[0])
    yield from faults
    if set(reached) != set(switches) or len(switches) != len(set(switches)):
        yield "a packet does not meet exactly the switches of the tree"
    if set(heard) != members:
        yield "a packet does not meet exactly the members of the tree"
    if tree.is_lowest and not faults:
        yield from _height(forest, groups, tree, entries, reached)


def deliver(
    network: Network, entries: Entries, colour: int, start: int,
) -> tuple[dict[int, int], list[int], list[str]]:
    """Where a packet goes that enters `start` from its own port 0 or from outside: what the hardware would do.

    Returns
    -------
    reached : dict
        Hops of every switch that it meets.
    heard : list
        Endpoints that it meets, as often as it does.
    faults : list of str
        Ports that lead nowhere, switches without an entry, switches that it meets twice.
    """
    owner, base, peer_slot, at_port = _wiring(network)
    reached: dict[int, int] = {start: 0}
    heard: list[int] = []
    faults: list[str] = []
    queue = [(start, -1)]
    for here, ingress in queue:
        if (here, colour) not in entries:
            faults.append(f"switch {network.switch_names[here]} has no entry")
            continue
        for port in entries[here, colour]:
            slot = base[here] + port - 1
            if port == 0:
                heard.append(network.n_terminals + here)
            elif slot == ingress:
                continue
            elif (far := peer_slot[slot]) >= 0:
                there = owner[far]
                if there in reached:
                    faults.append(f"a packet meets switch {network.switch_names[there]} twice")
                else:
                    reached[there] = reached[here] + 1
                    queue.append((there, far))
            elif slot in at_port:
                heard.append(at_port[slot])
            else:
                faults.append(f"port {port} of switch {network.switch_names[here]} leads nowhere")
    if len(heard) != len(set(heard)):
        faults.append("a packet meets an endpoint twice")
    return reached, heard, faults


_Wiring = tuple[list[int], list[int], list[int], dict[int, int]]
_WIRINGS: dict[str, _Wiring] = {}


def _wiring(network: Network) -> _Wiring:
    """Owners, first slots and peers as lists, and the terminal at every slot that has one; kept for the last
    network."""
    if network.fingerprint not in _WIRINGS:
        _WIRINGS.clear()
        slots = network.base[network.leaf] + network.leaf_port - 1
        _WIRINGS[network.fingerprint] = (network.owner.tolist(), network.base.tolist(), network.peer_slot.tolist(),
                                         {slot: t for t, slot in enumerate(slots.tolist())})
    return _WIRINGS[network.fingerprint]


def _height(
    forest: Forest, groups: Mapping[str, Group], tree: Tree, entries: Entries, reached: Mapping[int, int],
) -> Iterator[str]:
    """For the first group from the tree's root, for one that was admitted later from the best switch of the tree."""
    for name in tree.groups:
        group = groups[name]
        lowest = int((forest.hops[group.leaves].astype(np.int64) + group.extra[:, None]).max(axis=0).min())

        def height(depth: Mapping[int, int], group: Group = group) -> int:
            leaves = zip(group.leaves.tolist(), group.extra.tolist(), strict=True)
            return max(int(depth.get(leaf, 1 << 20)) + int(more) for leaf, more in leaves)

        if height(reached) > lowest and not any(
                height(deliver(forest.network, entries, tree.colour, s)[0]) <= lowest for s in reached):
            yield f"it must be {lowest} high for group {name}, not {height(reached)}"
