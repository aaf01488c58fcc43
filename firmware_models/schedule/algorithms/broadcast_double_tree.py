"""Broadcast down two binary trees."""

import networkx as nx

from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("broadcast", "double-binary-tree", blocks=lambda n_nodes: 2)
def broadcast_double_tree(n_nodes: int, root: int) -> list[list[Step]]:
    """Each half of the message has a tree of its own, and who forwards in one is a leaf in the other.

    The root sends to the heads of both. The other ranks, numbered from 1, make a binary tree in order, whose inner
    nodes are even; the second tree is its mirror image or, if their number is odd, its shift by one. Source:
    P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel
    Computing 35 (2009).

    Each edge has a time, which the same paper gives by two colours: what a rank receives in both trees, and what it
    sends to both children, falls into steps of different parity. A rank takes what comes first by that time first, and
    sends in the order of time; so the trees do not meet at a switch's output if all keep pace. Nobody waits in a
    circle, for a reception waits for earlier times of its pulse only.
    """
    trees = two_trees(n_nodes - 1)
    times = edge_times(trees)
    sequences: list[list[Step]] = []
    for rank in range(n_nodes):
        label = (rank - root) % n_nodes
        steps: list[Step] = []
        halves = sorted(range(2), key=lambda half: times[half, label if label else trees[half][1][0][0]])
        for half in halves:
            parents, children = trees[half]
            targets = [
                (child + root) % n_nodes for child in sorted(children[label], key=lambda child: times[half, child])
            ]
            blocks = (half, 1)
            if label:
                steps.append(Step(
                    source=Source.NOTHING, receive_from=((parents[label] + root) % n_nodes,), combine=Combine.REPLACE,
                    send_to=targets[0] if targets else None, deliver=True, blocks=blocks,
                ))
            else:
                steps.append(Step(source=Source.OWN, send_to=targets[0], deliver=True, blocks=blocks))
            steps += [Step(source=Source.RESULT, send_to=target, blocks=blocks) for target in targets[1:]]
        sequences.append(steps)
    return sequences


Tree = tuple[list[int], list[list[int]]]


def two_trees(count: int) -> tuple[Tree, Tree]:
    """Parents and children in both trees over labels 1 to `count`; label 0, the root, has the head as its child."""
    parents, children = [0] * (count + 1), [[] for _ in range(count + 1)]  # type: tuple[list[int], list[list[int]]]
    stack = [(0, count, 0)]
    while stack:
        offset, size, parent = stack.pop()
        if size:
            # Offsets are even, and so are heads of more than one label.
            head = 1 << (size.bit_length() - 1)
            parents[offset + head] = parent
            children[parent].append(offset + head)
            stack += [(offset + head, size - head, offset + head), (offset, head - 1, offset + head)]
    moved = [0, *(label % count + 1 if count % 2 else count + 1 - label for label in range(1, count + 1))]
    second: Tree = ([0] * (count + 1), [[] for _ in range(count + 1)])
    for label, parent in enumerate(parents):
        second[0][moved[label]] = moved[parent] if label else 0
        second[1][moved[label]] = [moved[child] for child in children[label]]
    return (parents, children), second


def edge_times(trees: tuple[Tree, Tree]) -> dict[tuple[int, int], int]:
    """Step in which each edge carries a pulse's half, the first one of the root being step 0; keys are (half, child).

    A rank sends on in the two steps after the one in which it has received, in the order that the colours give. Source:
    Sanders, Speck, Träff (as above), section 2.2, whose colouring is that of a bipartite graph.
    """
    conflicts: nx.Graph[tuple[int, int]] = nx.Graph()
    for label, both in enumerate(zip(trees[0][1], trees[1][1], strict=True)):
        sends = [(half, child) for half, children in enumerate(both) for child in children]
        receives = [(half, label) for half in range(2) if label]
        for edges in (sends, receives):
            conflicts.add_nodes_from(edges)
            if len(edges) == 2:
                conflicts.add_edge(*edges)
    colours = nx.bipartite.color(conflicts)
    first = colours[0, trees[0][1][0][0]]
    times: dict[tuple[int, int], int] = {}
    for half, (_, children) in enumerate(trees):
        waiting = [(child, (colours[half, child] - first) % 2) for child in children[0]]
        while waiting:
            label, time = waiting.pop()
            times[half, label] = time
            for child in children[label]:
                odd = (colours[half, child] - first - time) % 2
                waiting.append((child, time + (1 if odd else 2)))
    return times
