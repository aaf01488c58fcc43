"""Numbers on the command line, refused with the range that is allowed."""

import math
import re
from typing import Any

import click


class Number(click.ParamType[int]):
    """A whole number from `low` to `high`, where given."""

    name = "number"

    def __init__(self, low: int | None = None, high: int | None = None):
        self.low = low
        self.high = high

    @property
    def allowed(self) -> str:
        """What would be right, in words."""
        if self.low is None:
            return "a whole number"
        return f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip()
        number = int(text) if re.fullmatch(r"[+-]?\d+", text) else None
        if number is None or (self.low is not None and number < self.low) or \
                (self.high is not None and number > self.high):
            shown = repr(text) if number is None else text
            self.fail(f"must be {self.allowed}, not {shown}", param, ctx)
        return number


class Decimal(click.ParamType[float]):
    """A number that is at least `low`, or above it."""

    name = "number"

    def __init__(self, low: float, *, above: bool = False):
        self.low = low
        self.above = above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < self.low or (self.above and number == self.low):
            allowed = f"a number {'above' if self.above else 'of at least'} {self.low:g}"
            self.fail(f"must be {allowed}, not {str(value)!r}", param, ctx)
        return number
