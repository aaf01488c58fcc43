"""GOAL traces: schedules of LogGOPSim in their text form (Hoefler, Schneider, Lumsdaine 2010; its ``txt2bin.re``)."""

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from firmware_models.connections.error import ConnectionsError, refuse, require
from firmware_models.connections.trace.levels import levels
from firmware_models.connections.trace.lines import lines_of, number
from firmware_models.connections.trace.messages import MAX_MESSAGE_BYTES, Trace, trace_of

_ANY = -1
_OPERATION = re.compile(r"(?:([A-Za-z]\w*)\s*:\s*)?(send|recv|calc)\s+(\S+)(.*)")
_PEER = re.compile(r"\s+(to|from)\s+(\S+)(.*)")
_OPTION = re.compile(r"\s+(tag|cpu|nic)\s+(\S+)")
_REQUIRES = re.compile(r"([A-Za-z]\w*)\s+(i?requires)\s+(\S+)")
_STATEMENTS = "a statement: 'num_ranks N', 'rank R {', '}', 'l1: send 8b to R', 'l2: recv 8b from R', 'l3: calc N', " \
    "'l2 requires l1' or 'l2 irequires l1'"


@dataclass
class _Operations:
    """What has been read: operations of all ranks one after the other, and what waits for what."""

    n: int = 0
    edges: list[tuple[int, int]] = field(default_factory=list)
    sends: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    """Operation, source, destination, tag, bytes, line."""
    receives: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """Operation, source, destination, tag, line."""


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
    found, n_ranks = _parse(path)
    processes = n_ranks if n_processes is None else n_processes
    require(processes >= n_ranks, "processes", f"at least {n_ranks}, the num_ranks of {path}", processes)
    sends, receives = _match(path, found)
    edges = np.array(found.edges, np.int64).reshape(-1, 2)
    level = levels(found.n, np.concatenate([edges[:, 0], sends]), np.concatenate([edges[:, 1], receives]),
                   np.concatenate([np.zeros(len(edges), np.int64), np.ones(len(sends), np.int64)]))
    for operation, *_, line in found.sends:
        if level[operation] < 0:
            raise ConnectionsError(f"{path}:{line}: dependencies must end, not go in a circle: this send never begins")
    columns = np.array([send[1:5] for send in found.sends], np.int64).reshape(-1, 4).T
    return trace_of(str(path), processes, columns[0], columns[1], columns[3], level[sends])


def _parse(path: Path) -> tuple[_Operations, int]:
    """Reads all statements."""
    found = _Operations()
    n_ranks: int | None = None
    rank: int | None = None
    labels: dict[str, int] = {}
    is_comment, seen, line = False, set[int](), 0
    for line, raw in lines_of(path):
        text, is_comment = _without_comments(raw, is_comment)
        if not text:
            continue
        if match := re.fullmatch(r"num_ranks\s+(\S+)", text):
            n_ranks = number(path, line, "num_ranks", match[1], 1, 1 << 30)
        elif match := re.fullmatch(r"rank\s+(\S+)\s*\{", text):
            if n_ranks is None:
                refuse(path, line, "statement", "num_ranks before the first rank", text)
            if rank is not None:
                refuse(path, line, "statement", f"'}}' before the next rank, for rank {rank} is open", text)
            rank, labels = number(path, line, "rank", match[1], 0, n_ranks - 1), {}
            if rank in seen:
                refuse(path, line, "rank", "one that has not been described yet", match[1])
            seen.add(rank)
        elif rank is None or n_ranks is None:
            refuse(path, line, "statement", "'rank R {' or num_ranks", text)
        elif text == "}":
            rank = None
        elif match := _OPERATION.fullmatch(text):
            _add(path, line, found, rank, n_ranks, labels, match)
        elif match := _REQUIRES.fullmatch(text):
            for label in (match[1], match[3]):
                if label not in labels:
                    refuse(path, line, "label", "one that this rank has set before", label)
            found.edges.append((labels[match[3]], labels[match[1]]))
        else:
            refuse(path, line, "statement", _STATEMENTS, text)
    if rank is not None:
        refuse(path, line, "statement", f"'}}' at the end of rank {rank}", "end of file")
    if n_ranks is None:
        refuse(path, 1, "statement", "num_ranks", "end of file")
    return found, n_ranks


def _without_comments(text: str, is_comment: bool) -> tuple[str, bool]:
    """The line without comments, and whether one goes on."""
    if is_comment:
        _, end, text = text.partition("*/")
        if not end:
            return "", True
    text = re.sub(r"/\*.*?\*/", " ", text).partition("//")[0]
    text, begin, _ = text.partition("/*")
    return text.strip(), bool(begin)


def _add(path: Path, line: int, found: _Operations, rank: int, n_ranks: int, labels: dict[str, int],
         match: re.Match[str]) -> None:
    """Takes up one operation."""
    label, kind, amount, rest = match.groups()
    operation, found.n = found.n, found.n + 1
    if label is not None:
        if label in labels:
            refuse(path, line, "label", "one that this rank has not set yet", label)
        labels[label] = operation
    if kind == "calc":
        number(path, line, "calc", amount, 0, 1 << 63)
        _options(path, line, rest, {"cpu"})
        return
    joined = re.match(r"\s+b(?=\s)", rest)  # "8 b" is as good as "8b"
    if not amount.endswith("b") and joined is None:
        refuse(path, line, "bytes", "a number followed by b", amount)
    n_bytes = number(path, line, "bytes", amount.removesuffix("b"), 0, MAX_MESSAGE_BYTES)
    peer = _PEER.fullmatch(rest if joined is None else rest[joined.end():])
    word = "to" if kind == "send" else "from"
    if peer is None or peer[1] != word:
        refuse(path, line, kind, f"followed by '{word}' and a rank", rest.strip())
    options = _options(path, line, peer[3], {"tag", "cpu", "nic"})
    is_any = kind == "recv" and peer[2] == "-1"
    other = _ANY if is_any else number(path, line, "rank", peer[2], 0, n_ranks - 1)
    tag = options.get("tag", 0)
    if kind == "send":
        found.sends.append((operation, rank, other, tag, n_bytes, line))
    else:
        found.receives.append((operation, other, rank, tag, line))


def _options(path: Path, line: int, text: str, allowed: set[str]) -> dict[str, int]:
    """Options at the end of an operation."""
    options = {}
    for match in _OPTION.finditer(text):
        low = _ANY if match[1] == "tag" else 0
        options[match[1]] = number(path, line, match[1], match[2], low, 1 << 32)
    if _OPTION.sub("", text).strip() or not options.keys() <= allowed:
        refuse(path, line, "option", f"one of {', '.join(sorted(allowed))} and a number", text.strip())
    return options


def _match(path: Path, found: _Operations) -> tuple[np.ndarray, np.ndarray]:
    """Operations of sends, and of the receives that they meet."""
    waiting: dict[tuple[int, int, int], deque[tuple[int, int]]] = defaultdict(deque)
    for operation, source, destination, tag, line in found.receives:
        waiting[source, destination, tag].append((operation, line))
    receives = []
    for _, source, destination, tag, _, line in found.sends:
        for key in ((source, destination, tag), (_ANY, destination, tag), (source, destination, _ANY),
                    (_ANY, destination, _ANY)):
            if waiting.get(key):
                receives.append(waiting[key].popleft()[0])
                break
        else:
            refuse(path, line, "send", f"met by a receive of rank {destination} from {source} with tag {tag}", "none")
    for (source, destination, tag), left in waiting.items():
        if left:
            asked = "any rank" if source == _ANY else f"rank {source}"
            refuse(path, left[0][1], "recv", f"met by a send of {asked} to {destination} with tag {tag}", "none")
    return np.array([send[0] for send in found.sends], np.int64), np.array(receives, np.int64)
