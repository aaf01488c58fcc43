"""The programs of a launch: one, or several between colons, as ``mpiexec`` takes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MOST_RANKS = 64


class SectionError(ValueError):
    """A command line of programs that cannot be launched; the message names what is wrong."""


@dataclass(frozen=True)
class Section:
    """A program with its arguments, how many processes it has, and variables that are theirs alone."""

    ranks: int
    command: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)


def parse_sections(ranks: int, words: Sequence[str], variables: Mapping[str, str] | None = None) -> list[Section]:
    """Takes apart ``PROGRAM ARGUMENTS… : -n N -env NAME VALUE PROGRAM ARGUMENTS…``.

    The first program has `ranks` processes with `variables`; a program behind a colon has what stands in front of it.

    Raises
    ------
    SectionError
        If a program or its number is missing, or there are none or more than 64 processes in all.
    """
    parts = _split(words)
    sections = [Section(ranks, parts[0], variables or {}), *map(_section, parts[1:])]
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
    rest, ranks, variables = list(words), 1, {}
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-n", "-np"):
            number, rest = rest[0] if rest else "", rest[1:]
            if not (number.isdecimal() and number.isascii() and int(number)):
                raise SectionError(f"-n behind ':': must be 1 to {MOST_RANKS}, not {number!r}")
            ranks = int(number)
        elif option == "-env":
            if len(rest) < 2:
                raise SectionError("-env behind ':': must have a name and a value")
            (name, value), rest = rest[:2], rest[2:]
            variables[check_name("-env behind ':'", name)] = value
        else:
            raise SectionError(f"options behind ':': must be -n, -np or -env, not {option!r}")
    if not rest:
        raise SectionError("PROGRAM behind ':': is required")
    return Section(ranks, rest, variables)


def check_name(flag: str, name: str) -> str:
    """Returns the name of a variable.

    Raises
    ------
    SectionError
        If the environment cannot have such a name.
    """
    if not name or "=" in name:
        raise SectionError(f"{flag}: must be a name without '=', then a value, not {name!r}")
    return name
