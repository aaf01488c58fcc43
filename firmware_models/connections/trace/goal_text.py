"""The text form of GOAL, the schedules of LogGOPSim and ATLAHS (Hoefler, Schneider, Lumsdaine 2010): its statements.

Beyond it, a reader may take collectives of all ranks as statements: ``l4: allreduce 1024b op max``.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from firmware_models.connections.error import refuse
from firmware_models.connections.trace.lines import lines_of, number
from firmware_models.connections.trace.messages import MAX_MESSAGE_BYTES

MOST_RANKS = 1 << 30
ANY = -1
"""Source or tag of a receive that takes any."""
_OPERATION = re.compile(r"(?:([A-Za-z]\w*)\s*:\s*)?(send|recv|calc)\s+(\S+)(.*)")
_COLLECTIVE = re.compile(r"(?:([A-Za-z]\w*)\s*:\s*)?([a-z][a-z-]*)(?![\w:-])(.*)")
_PEER = re.compile(r"\s+(to|from)\s+(\S+)(.*)")
_OPTION = re.compile(r"\s+(tag|cpu|nic)\s+(\S+)")
_TIGHT = (
    re.compile(r"([A-Za-z]\w*\s*:)?\s*(send|recv)\s*(\d+)\s*(b)\s*(to|from)\s*(-1|\d+)(?:\s*(tag)\s*(-1|\d+))?"
               r"(?:\s*(cpu)\s*(\d+))?(?:\s*(nic)\s*(\d+))?"),
    re.compile(r"([A-Za-z]\w*\s*:)?\s*(calc)\s*(\d+)(?:\s*(cpu)\s*(\d+))?"),
    re.compile(r"([A-Za-z]\w*)\s+(i?requires)\s*([A-Za-z]\w*)"),
)
"""Statements as LogGOPSim's txt2bin scans them: it wants no blank between a word and a number."""
_WORD = re.compile(r"\s+([a-z]+)\s+(\S+)")
_REQUIRES = re.compile(r"([A-Za-z]\w*)\s+(i?requires)\s+(\S+)")
_FRAME = re.compile(r"num_ranks\s*[0-9]+(?![^\s}])|rank\s*[0-9]+\s*\{|\}")
"""Tokens that may stand before something else on a line."""
_STATEMENTS = "a statement: 'num_ranks N', 'rank R {', '}', 'l1: send 8b to R', 'l2: recv 8b from R', 'l3: calc N', " \
    "'l2 requires l1' or 'l2 irequires l1'"
_WORDS = ("root", "op", "dtype", "algorithm", "cpu")


@dataclass(slots=True)
class Operation:
    """Operation of a rank.

    Members
    -------
    rank, line : int
        Whose it is, and where it stands.
    label : str, optional
        Its name.
    kind : str
        ``send``, ``recv``, ``calc``, or a collective.
    amount : int
        Bytes, or nanoseconds of a ``calc``.
    peer, tag : int
        Of messages; `ANY` of a receive that takes any.
    cpu : int
        Where it runs.
    words : dict of str
        What a collective says besides: `root`, `op`, `dtype`, `algorithm`.
    """

    rank: int
    line: int
    label: str | None
    kind: str
    amount: int
    peer: int = ANY
    tag: int = 0
    cpu: int = 0
    words: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        name = f"rank {self.rank} {self.label or self.kind} (line {self.line})"
        match self.kind:
            case "send" | "recv":
                other = "any" if self.peer == ANY else self.peer
                tag = "any" if self.tag == ANY else self.tag
                return f"{name}: {self.kind} {self.amount}b {'to' if self.kind == 'send' else 'from'} {other} tag {tag}"
            case "calc":
                return f"{name}: calc {self.amount}"
        return f"{name}: {self.kind} {self.amount}b"


@dataclass
class GoalText:
    """A schedule as it stands in its file: operations of all ranks one after the other, and what waits for what.

    Members
    -------
    n_ranks : int
        Ranks.
    operations : list of Operation
        As they stand there.
    edges : list of (int, int, bool)
        An operation, one that waits for it, and whether for its begin only.
    """

    n_ranks: int = 0
    operations: list[Operation] = field(default_factory=list)
    edges: list[tuple[int, int, bool]] = field(default_factory=list)


def parse_goal(path: Path, *, collectives: Collection[str] = ()) -> GoalText:
    """Reads all statements; those of `collectives` too.

    As LogGOPSim's txt2bin, it stops behind the last rank once all have been described, and takes several of
    ``num_ranks N``, ``rank R {`` and ``}`` on a line, before a statement too.

    Raises
    ------
    ConnectionsError
        If a line does not parse, or a rank or label does not exist: file, line, field, and what is allowed.
    """
    found = GoalText()
    rank: int | None = None
    labels: dict[str, int] = {}
    seen, line = set[int](), 0
    for line, text in _statements(path):
        if not text:
            continue
        if match := re.fullmatch(r"num_ranks\s*(\S+)", text):
            found.n_ranks = number(path, line, "num_ranks", match[1], 1, MOST_RANKS)
        elif match := re.fullmatch(r"rank\s*(\S+)\s*\{", text):
            if rank is not None:
                refuse(path, line, "statement", f"'}}' before the next rank, for rank {rank} is open", text)
            rank, labels = number(path, line, "rank", match[1], 0, (found.n_ranks or MOST_RANKS) - 1), {}
            if rank in seen:
                refuse(path, line, "rank", "one that has not been described yet", match[1])
            seen.add(rank)
        elif rank is None:
            refuse(path, line, "statement", "'rank R {' or num_ranks", text)
        elif text == "}":
            if not found.n_ranks:
                refuse(path, line, "statement", f"num_ranks before the end of rank {rank}", text)
            if rank == found.n_ranks - 1 and len(seen) == found.n_ranks:
                rank = None
                break
            rank = None
        elif match := _OPERATION.fullmatch(text):
            _take(found, labels, _operation(path, line, rank, found.n_ranks or MOST_RANKS, match))
        elif match := _REQUIRES.fullmatch(text):
            for label in (match[1], match[3]):
                if label not in labels:
                    refuse(path, line, "label", "one that this rank has set before", label)
            found.edges.append((labels[match[3]], labels[match[1]], match[2] == "irequires"))
        elif (match := _COLLECTIVE.fullmatch(text)) and match[2] in collectives:
            _take(found, labels, _collective(path, line, rank, found.n_ranks or MOST_RANKS, match))
        else:
            further = f"; 'l4: NAME 8b' of {', '.join(collectives)}" if collectives else ""
            refuse(path, line, "statement", _STATEMENTS + further, text)
    if rank is not None:
        refuse(path, line, "statement", f"'}}' at the end of rank {rank}", "end of file")
    if not found.n_ranks:
        refuse(path, 1, "statement", "num_ranks", "end of file")
    for each in found.operations:  # once it is known how many ranks there are
        for which in (each.rank, each.peer, int(each.words.get("root", "0"))):
            if which >= found.n_ranks:
                refuse(path, each.line, "rank", f"0 to {found.n_ranks - 1}", str(which))
    return found


def _statements(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every statement, with blanks as this reader wants them; of other lines, no text."""
    is_comment = False
    for line, raw in lines_of(path, errors="replace"):
        text, is_comment = _without_comments(raw, is_comment)
        while match := _FRAME.match(text):
            yield line, match[0]
            text = text[match.end():].strip()
        for form in _TIGHT:
            if match := form.fullmatch(text):
                text = " ".join(part for part in match.groups() if part).replace(" b ", "b ")
                break
        yield line, text


def _take(found: GoalText, labels: dict[str, int], operation: Operation) -> None:
    """Adds an operation. A label that is set twice is the first one's, as LogGOPSim has it."""
    if operation.label is not None:
        labels.setdefault(operation.label, len(found.operations))
    found.operations.append(operation)


def _without_comments(text: str, is_comment: bool) -> tuple[str, bool]:
    """The line without comments, and whether one goes on."""
    if is_comment:
        _, end, text = text.partition("*/")
        if not end:
            return "", True
    text = re.sub(r"/\*.*?\*/", " ", text).partition("//")[0]
    text, begin, _ = text.partition("/*")
    return text.strip(), bool(begin)


def _operation(path: Path, line: int, rank: int, n_ranks: int, match: re.Match[str]) -> Operation:
    label, kind, amount, rest = match.groups()
    if kind == "calc":
        nanoseconds = number(path, line, "calc", amount, 0, 1 << 63)
        return Operation(rank, line, label, kind, nanoseconds, cpu=_options(path, line, rest, {"cpu"}).get("cpu", 0))
    n_bytes, rest = _bytes(path, line, amount, rest)
    peer = _PEER.fullmatch(rest)
    word = "to" if kind == "send" else "from"
    if peer is None or peer[1] != word:
        refuse(path, line, kind, f"followed by '{word}' and a rank", rest.strip())
    options = _options(path, line, peer[3], {"tag", "cpu", "nic"})
    is_any = kind == "recv" and peer[2] == "-1"
    other = ANY if is_any else number(path, line, "rank", peer[2], 0, n_ranks - 1)
    return Operation(rank, line, label, kind, n_bytes, other, options.get("tag", 0), options.get("cpu", 0))


def _bytes(path: Path, line: int, amount: str, rest: str) -> tuple[int, str]:
    """Bytes, and what follows: "8 b" is as good as "8b"."""
    joined = re.match(r"\s+b(?=\s|$)", rest)
    if not amount.endswith("b") and joined is None:
        refuse(path, line, "bytes", "a number followed by b", amount)
    n_bytes = number(path, line, "bytes", amount.removesuffix("b"), 0, MAX_MESSAGE_BYTES)
    return n_bytes, rest if joined is None else rest[joined.end():]


def _collective(path: Path, line: int, rank: int, n_ranks: int, match: re.Match[str]) -> Operation:
    label, kind, rest = match.groups()
    n_bytes = 0
    if amount := re.match(r"\s+([0-9]\S*)(.*)", rest):
        n_bytes, rest = _bytes(path, line, *amount.groups())
    words = dict(_WORD.findall(rest))
    if _WORD.sub("", rest).strip() or not words.keys() <= set(_WORDS):
        refuse(path, line, "option", f"one of {', '.join(_WORDS)} and a word", rest.strip())
    if "root" in words:
        number(path, line, "root", words["root"], 0, n_ranks - 1)
    cpu = number(path, line, "cpu", words.pop("cpu", "0"), 0, 1 << 32)
    return Operation(rank, line, label, kind, n_bytes, cpu=cpu, words=words)


def _options(path: Path, line: int, text: str, allowed: set[str]) -> dict[str, int]:
    """Options at the end of an operation."""
    options = {}
    for match in _OPTION.finditer(text):
        low = ANY if match[1] == "tag" else 0
        options[match[1]] = number(path, line, match[1], match[2], low, 1 << 32)
    if _OPTION.sub("", text).strip() or not options.keys() <= allowed:
        refuse(path, line, "option", f"one of {', '.join(sorted(allowed))} and a number", text.strip())
    return options
