"""GOAL traces: schedules of LogGOPSim in their text form, as messages in phases."""

from collections import defaultdict, deque
from pathlib import Path

import numpy as np

from firmware_models.connections.error import ConnectionsError, refuse, require
from firmware_models.connections.trace.goal_text import ANY, GoalText, parse_goal
from firmware_models.connections.trace.levels import levels
from firmware_models.connections.trace.messages import Trace, trace_of


def read_goal(path: Path, n_processes: int | None = None) -> Trace:
    """The messages of a GOAL file, in phases by its dependencies and by what receives which send.

    A send meets the first receive of the same source, destination and tag that has met none, or else one that takes any
    source (``from -1``) or any tag (``tag -1``). ``calc`` counts as a dependency only.

    Parameters
    ----------
    path : Path
        The file.
    n_processes : int, optional
        Processes of the layout, at least ``num_ranks``; by default as many.

    Raises
    ------
    ConnectionsError
        If a line does not parse, a rank or label does not exist, a send or receive stays alone, or dependencies go
        in a circle: file, line, field, and what is allowed.
    """
    found = parse_goal(path)
    n_ranks = found.n_ranks
    processes = n_ranks if n_processes is None else n_processes
    require(processes >= n_ranks, "processes", f"at least {n_ranks}, the num_ranks of {path}", processes)
    sends, receives = _match(path, found)
    edges = np.array([edge[:2] for edge in found.edges], np.int64).reshape(-1, 2)
    level = levels(len(found.operations), np.concatenate([edges[:, 0], sends]), np.concatenate([edges[:, 1], receives]),
                   np.concatenate([np.zeros(len(edges), np.int64), np.ones(len(sends), np.int64)]))
    messages = [found.operations[number] for number in sends]
    for number, send in zip(sends, messages, strict=True):
        if level[number] < 0:
            raise ConnectionsError(
                f"{path}:{send.line}: dependencies must end, not go in a circle: this send never begins"
            )
    columns = np.array([(send.rank, send.peer, send.amount) for send in messages], np.int64).reshape(-1, 3).T
    return trace_of(str(path), processes, columns[0], columns[1], columns[2], level[sends])


def _match(path: Path, found: GoalText) -> tuple[np.ndarray, np.ndarray]:
    """Operations of sends, and of the receives that they meet."""
    waiting: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    for number, each in enumerate(found.operations):
        if each.kind == "recv":
            waiting[each.peer, each.rank, each.tag].append(number)
    sends, receives = [], []
    for number, each in enumerate(found.operations):
        if each.kind != "send":
            continue
        source, destination, tag = each.rank, each.peer, each.tag
        for key in ((source, destination, tag), (ANY, destination, tag), (source, destination, ANY),
                    (ANY, destination, ANY)):
            if waiting.get(key):
                sends.append(number)
                receives.append(waiting[key].popleft())
                break
        else:
            refuse(
                path, each.line, "send", f"met by a receive of rank {destination} from {source} with tag {tag}", "none"
            )
    for (source, destination, tag), left in waiting.items():
        if left:
            asked = "any rank" if source == ANY else f"rank {source}"
            line = found.operations[left[0]].line
            refuse(path, line, "recv", f"met by a send of {asked} to {destination} with tag {tag}", "none")
    return np.array(sends, np.int64), np.array(receives, np.int64)
