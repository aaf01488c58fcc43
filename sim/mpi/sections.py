"""The programs of a launch: one, or several between colons, as ``mpiexec`` takes them."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_RANKS = 64


class SectionError(ValueError):
    """A command line of programs that cannot be launched; the message names what is wrong."""


@dataclass(frozen=True)
class Section:
    """A program with its arguments, and how many processes it has."""

    ranks: int
    command: Sequence[str]


def parse_sections(ranks: int, words: Sequence[str]) -> list[Section]:
    """Takes apart ``PROGRAM ARGUMENTS… : -n N PROGRAM ARGUMENTS…``; the first program has `ranks` processes.

    Raises
    ------
    SectionError
        If a program or its number is missing, or there are none or more than 64 processes in all.
    """
    parts = _split(words)
    sections = [Section(ranks, parts[0]), *map(_section, parts[1:])]
    if not parts[0]:
        raise SectionError("PROGRAM: must stand in front of ':'")
    total = sum(section.ranks for section in sections)
    if not 1 <= total <= MOST_RANKS:
        in_all = " in all" if len(sections) > 1 else ""
        raise SectionError(f"-n: must be 1 to {MOST_RANKS}{in_all}, not {total}")
    return sections


def _split(words: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _section(words: Sequence[str]) -> Section:
    """Parses the words behind a colon. Without a number the section has one process."""
    rest, ranks = list(words), "1"
    if rest and rest[0] in ("-n", "-np"):
        ranks, rest = rest[1] if len(rest) > 1 else "", rest[2:]
        if not (ranks.isdecimal() and ranks.isascii() and int(ranks)):
            raise SectionError(f"-n behind ':': must be 1 to {MOST_RANKS}, not {ranks!r}")
    if not rest:
        raise SectionError("PROGRAM behind ':': is required")
    if rest[0].startswith("-"):
        raise SectionError(f"options behind ':': must be -n or -np, not {rest[0]!r}")
    return Section(int(ranks), rest)
