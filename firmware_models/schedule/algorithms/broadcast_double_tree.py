"""Broadcast down two binary trees."""

from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("broadcast", "double-binary-tree", blocks=lambda n_nodes: 2)
def broadcast_double_tree(n_nodes: int, root: int) -> list[list[Step]]:
    """Each half of the message has a tree of its own, and who forwards in one is a leaf in the other.

    The root sends to the heads of both. The other ranks, numbered from 1, make a binary tree in order, whose inner
    nodes are even; the second tree is its mirror image or, if their number is odd, its shift by one. Source:
    P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel
    Computing 35 (2009).

    All ranks take the first half first: so nobody waits in a circle.
    """
    trees = two_trees(n_nodes - 1)
    sequences: list[list[Step]] = []
    for rank in range(n_nodes):
        label = (rank - root) % n_nodes
        steps: list[Step] = []
        for half, (parents, children) in enumerate(trees):
            targets = [(child + root) % n_nodes for child in children[label]]
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
