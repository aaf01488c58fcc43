"""Traces by name."""

import re
from pathlib import Path

from firmware_models.connections.error import ConnectionsError, require
from firmware_models.connections.trace.collective import collective
from firmware_models.connections.trace.goal import read_goal
from firmware_models.connections.trace.messages import MAX_MESSAGE_BYTES, Trace
from firmware_models.connections.trace.pattern import SHAPES, all_to_all, random_partners, stencil
from firmware_models.connections.trace.table_file import read_csv

TRACES = (
    "schedule:COLLECTIVE/ALGORITHM[,root=R]", "stencil:AxBxC[,shape=star|box][,periodic=yes|no][,repeat=N]",
    "alltoall[:AxB][,repeat=N]", "random:rounds=N[,seed=S]", "a file (.goal, .csv)",
)
"""Forms of a name; all but files take `bytes=N` besides."""

_MAX_REPEATS = 10**6


def parse_trace(name: str, n_processes: int) -> Trace:
    """The trace of that name, for so many processes.

    Raises
    ------
    ConnectionsError
        If it is none of :data:`TRACES`, does not fit the processes, or its file is wrong.

    Examples
    --------
    >>> trace = parse_trace("stencil:3x2,periodic=no", 8)
    >>> [chunk.destination.tolist() for chunk in trace.chunks()]
    [[0, 1, 3, 4], [0, 1, 2], [3, 4, 5], [1, 2, 4, 5]]
    """
    if name.endswith(".goal"):
        return read_goal(Path(name), n_processes)
    if name.endswith(".csv"):
        return read_csv(Path(name), n_processes)
    match = re.fullmatch(r"(schedule|stencil|alltoall|random)(?:[:,](.*))?", name)
    if match is None:
        raise _unknown(name)
    kind = match[1]
    first, options = _split(kind, match[2] or "")
    taken = _Options(name, options)
    n_bytes = taken.number("bytes", 8192, 0, MAX_MESSAGE_BYTES)
    found: Trace | None = None
    if kind == "schedule" and (words := re.fullmatch(r"([\w-]+)/([\w-]+)", first)):
        root = taken.number("root", 0, 0, n_processes - 1)
        taken.end()
        found = collective(name, words[1], words[2], n_processes, n_bytes=n_bytes, root=root)
    elif kind == "stencil" and (sizes := _sizes(first)):
        shape, periodic = taken.word("shape", SHAPES), taken.word("periodic", ("no", "yes"))
        repeats = taken.number("repeat", 1, 1, _MAX_REPEATS)
        taken.end()
        found = stencil(name, sizes, n_processes, shape=shape, is_periodic=periodic == "yes", n_bytes=n_bytes,
                        n_repeats=repeats)
    elif kind == "alltoall" and (sizes := _sizes(first or str(n_processes))):
        repeats = taken.number("repeat", 1, 1, _MAX_REPEATS)
        taken.end()
        found = all_to_all(name, sizes, n_processes, n_bytes=n_bytes, n_repeats=repeats)
    elif kind == "random" and not first:
        rounds, seed = taken.number("rounds", 1, 1, _MAX_REPEATS), taken.number("seed", 1, 0, (1 << 32) - 1)
        taken.end()
        found = random_partners(name, n_processes, n_rounds=rounds, seed=seed, n_bytes=n_bytes)
    if found is None:
        raise _unknown(name)
    return found


def _unknown(name: str) -> ConnectionsError:
    return ConnectionsError(f"trace must be one of {', '.join(TRACES)}, not {name!r}")


def _split(kind: str, rest: str) -> tuple[str, dict[str, str]]:
    """Splits a name into the part before the options, and the options."""
    parts = [part for part in rest.split(",") if part]
    first = parts.pop(0) if parts and "=" not in parts[0] else ""
    options: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        require(bool(equals), f"option of {kind}", "KEY=VALUE", part)
        require(key not in options, f"option {key} of {kind}", "given once", part)
        options[key] = value
    return first, options


def _sizes(text: str) -> tuple[int, ...]:
    """The sizes of a grid; () if it is none."""
    if not re.fullmatch(r"[1-9]\d{0,9}(x[1-9]\d{0,9})*", text):
        return ()
    return tuple(map(int, text.split("x")))


class _Options:
    """Takes options one by one, and refuses what is left."""

    def __init__(self, name: str, options: dict[str, str]):
        self._name = name
        self._left = dict(options)
        self._known: list[str] = []

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number, `low` to `high`."""
        self._known.append(key)
        text = self._left.pop(key, str(default))
        allowed = re.fullmatch(r"\d{1,12}", text) is not None and low <= int(text) <= high
        require(allowed, f"trace {self._name!r}: {key}", f"{low} to {high}", text)
        return int(text)

    def word(self, key: str, words: tuple[str, ...]) -> str:
        """One of `words`, by default the first one."""
        self._known.append(key)
        text = self._left.pop(key, words[0])
        require(text in words, f"trace {self._name!r}: {key}", f"one of {', '.join(words)}", text)
        return text

    def end(self) -> None:
        """Refuses options that nobody has taken."""
        for key in self._left:
            require(False, f"trace {self._name!r}: option", f"one of {', '.join(self._known)}", key)
