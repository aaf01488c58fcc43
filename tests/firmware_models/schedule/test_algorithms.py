"""Shapes of the algorithms, against figures written down by hand and by formula; names and ranges of the registry."""

import math
import re

import pytest

from firmware_models.schedule import (
    ScheduleError,
    algorithm_names,
    build,
    check,
    collective_names,
    default_algorithm,
)
from firmware_models.schedule.algorithms.broadcast_double_tree import broadcast_double_tree, edge_times, two_trees
from firmware_models.schedule.registry import _collective

NODES = [*range(2, 34), 64, 100]


TREES = ("broadcast", "reduce", "allreduce", "barrier")
"""Collectives whose default algorithm takes log2(n) steps."""


def roots(collective: str, n_nodes: int) -> range:
    """All roots that the collective may have."""
    return range(n_nodes if _collective(collective).has_root else 1)


@pytest.mark.parametrize("collective", TREES)
def test_checker_passes_every_root(collective):
    """Any number of nodes, any root: right, and within the paper's 16 peers and 32 descriptors."""
    for n_nodes in NODES:
        for root in roots(collective, n_nodes) if n_nodes < 34 else (0,):
            report = check(build(collective, n_nodes=n_nodes, root=root), n_peers=16, sequence_depth=32)
            assert report.ok, (n_nodes, root, report.violations)


@pytest.mark.parametrize("collective", TREES)
def test_thousand_nodes(collective):
    """1,024 nodes: 10 steps, 10 peers."""
    report = check(build(collective, n_nodes=1024), n_peers=16, sequence_depth=32)
    assert report.ok
    assert report.steps == 10
    assert max(report.max_senders, report.max_receivers) == 10


EVERY = [(name, way) for name in collective_names() for way in algorithm_names(name)]


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_checker_passes_every_algorithm(collective, algorithm):
    """Every algorithm at 2 to 33 nodes and where pacing begins: no violation with one credit a pair."""
    for n_nodes in (*range(2, 34), 40, 65):
        for root in {0, 1, n_nodes - 1} & set(roots(collective, n_nodes)):
            report = check(build(collective, algorithm, n_nodes=n_nodes, root=root))
            assert report.ok, (n_nodes, root, report.violations)
            assert report.max_live_seq_ids <= 32


@pytest.mark.parametrize("n_nodes", NODES)
def test_counts(n_nodes):
    """Packets and steps by the formulas of the papers."""
    rounds, power = math.ceil(math.log2(n_nodes)), 2 ** int(math.log2(n_nodes))
    extra = n_nodes - power
    # A rank's distance from the root of a binomial tree is the number of ones in its relative rank.
    depth = max(rank.bit_count() for rank in range(n_nodes))
    # Data of folded ranks meet a folded rank again in the last round only if both halves have folded ranks.
    folds = (extra > 0) + (extra > power // 2)
    for collective, packets, steps in (
        ("broadcast", n_nodes - 1, depth),
        ("reduce", n_nodes - 1, depth),
        ("barrier", n_nodes * rounds, rounds),
        ("allreduce", 2 * extra + power * int(math.log2(power)), int(math.log2(power)) + folds),
    ):
        report = check(build(collective, n_nodes=n_nodes))
        assert report.packets == packets
        assert report.steps == steps


def test_broadcast_tree():
    """Six nodes, root 2: the largest subtree first, as MPICH sends."""
    schedule = build("broadcast", n_nodes=6, root=2)
    sends = {packet.sender: [] for packet in schedule.packets()}
    for packet in schedule.packets():
        sends[packet.sender].append(packet.receiver)
    assert sends == {2: [0, 4, 3], 4: [5], 0: [1]}
    assert all(sequence[-1].deliver for sequence in schedule.sequences)


def test_reduce_order():
    """Six nodes, root 2: own data, then children at distance 1, 2, 4."""
    schedule = build("reduce", n_nodes=6, root=2)
    assert [schedule.receives(rank) for rank in range(6)] == [(1,), (), (3, 4, 0), (), (5,), ()]
    assert [step.deliver for sequence in schedule.sequences for step in sequence].count(True) == 1


def test_allreduce_fold():
    """Five nodes: rank 0 gives its data to rank 1 and gets the result from it; the others are ranks 0 to 3."""
    schedule = build("allreduce", n_nodes=5)
    assert [schedule.receives(rank) for rank in range(5)] == [(1,), (0, 2, 3), (1, 4), (4, 1), (3, 2)]


def test_names():
    """The registry knows all collectives; a default is one of the algorithms."""
    assert collective_names() == [
        "broadcast", "reduce", "allreduce", "barrier", "allgather", "reduce-scatter", "scatter", "gather", "alltoall",
        "scan", "exscan",
    ]
    assert all(default_algorithm(name) in algorithm_names(name) for name in collective_names())


@pytest.mark.parametrize(("names", "numbers", "message"), [
    (("sort",), {"n_nodes": 4}, "collective must be one of broadcast, reduce, allreduce, barrier, allgather, "
     "reduce-scatter, scatter, gather, alltoall, scan, exscan, not 'sort'"),
    (("reduce", "ring"), {"n_nodes": 4}, "algorithm of reduce must be one of binomial, rabenseifner, not 'ring'"),
    (("reduce",), {"n_nodes": 0}, "nodes must be 2 to 16777216, not 0"),
    (("reduce",), {"n_nodes": 1}, "nodes must be 2 to 16777216, not 1"),
    (("reduce",), {"n_nodes": 4, "root": 4}, "root must be 0 to 3, not 4"),
    (("reduce",), {"n_nodes": 4, "root": -1}, "root must be 0 to 3, not -1"),
    (("barrier",), {"n_nodes": 4, "root": 1}, "root must be 0 for barrier, which has none, not 1"),
])
def test_refused(names, numbers, message):
    """One line: field, what is allowed, value."""
    with pytest.raises(ScheduleError, match=f"^{re.escape(message)}$"):
        build(*names, **numbers)


@pytest.mark.parametrize("n_nodes", NODES)
def test_two_trees_take_turns(n_nodes):
    """No rank receives twice in steps of one parity, nor sends twice; who receives sends in the two steps after it."""
    trees = two_trees(n_nodes - 1)
    times = edge_times(trees)
    assert times[0, trees[0][1][0][0]] == 0
    for label in range(n_nodes):
        if label:
            assert (times[0, label] + times[1, label]) % 2
        sends = [(half, child) for half in range(2) for child in trees[half][1][label]]
        assert len({times[edge] % 2 for edge in sends}) == len(sends) <= 2
        for half, child in sends:
            assert not label or times[half, child] - times[half, label] in (1, 2)


@pytest.mark.parametrize("n_nodes", NODES)
def test_double_tree_keeps_to_its_times(n_nodes):
    """Each rank's receptions, and its sends of a half, stand in the order of the edges' times."""
    times = edge_times(two_trees(n_nodes - 1))
    for rank, sequence in enumerate(broadcast_double_tree(n_nodes, 0)):
        received = [times[step.blocks[0], rank] for step in sequence if step.receive_from]
        assert received == sorted(received)
        for half in range(2):
            targets = [step.send_to for step in sequence if step.blocks[0] == half and step.send_to is not None]
            sent = [times[half, target] for target in targets]
            assert sent == sorted(sent)
