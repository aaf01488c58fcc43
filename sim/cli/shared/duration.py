"""Times on the command line: `90`, `90s`, `10min`, `2h`."""

import math
import re
from typing import Any

import click

from firmware_models.files import shown

_UNITS = {"": 1, "s": 1, "min": 60, "m": 60, "h": 3600}


class Duration(click.ParamType[float]):
    """A time in seconds, with an optional unit."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) *(s|min|m|h|)", str(value).strip())
        seconds = 0.0 if match is None else float(match[1]) * _UNITS[match[2]]
        if match is None or not math.isfinite(seconds) or seconds <= 0:
            self.fail(f"must be a time above 0 as in 90s, 10min or 2h, not {shown(str(value))}", param, ctx)
        return seconds
