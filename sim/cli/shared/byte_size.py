"""Sizes on the command line: `4096`, `4KiB`, `1MiB`."""

import re
from typing import Any

import click

from firmware_models.files import shown
from sim.cli.shared.number import whole_number

_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


class ByteSize(click.ParamType[int]):
    """A number of bytes with an optional binary suffix."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"([0-9]+) *([A-Za-z]*)", str(value).strip())
        count = None if match is None else whole_number(match[1])
        if match is None or count is None or match[2].upper() not in _UNITS:
            self.fail(f"must be bytes as in 4096, 4KiB or 1MiB, not {shown(str(value))}", param, ctx)
        return count * _UNITS[match[2].upper()]


def size_text(count: int) -> str:
    """The shortest exact way to write `count` bytes: 65536 is "64 KiB"."""
    for name, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % factor == 0:
            return f"{count // factor} {name}"
    return f"{count} B"
