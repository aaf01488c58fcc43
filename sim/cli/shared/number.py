"""Numbers on the command line, refused with the range that is allowed."""

import math
import re
from typing import Any

import click

from firmware_models.files import MOST_DIGITS, shown


def whole_number(text: str) -> int | None:
    """The whole number that `text` is, in the digits 0 to 9; None if it is none, or a longer one than anything here.

    Examples
    --------
    >>> whole_number("-12"), whole_number("1e3"), whole_number("１２"), whole_number("9" * 5000)
    (-12, None, None, None)
    """
    return int(text) if re.fullmatch(rf"[+-]?[0-9]{{1,{MOST_DIGITS}}}", text) else None


class Number(click.ParamType[int]):
    """A whole number from `low` to `high`, where given."""

    name = "number"

    def __init__(self, low: int | None = None, high: int | None = None):
        self.low = low
        self.high = high

    @property
    def allowed(self) -> str:
        """Allowed values, in words."""
        if self.low is None:
            return "a whole number"
        return f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip()
        number = whole_number(text)
        if number is None or (self.low is not None and number < self.low) or \
                (self.high is not None and number > self.high):
            self.fail(f"must be {self.allowed}, not {shown(text) if number is None else number}", param, ctx)
        return number


class Decimal(click.ParamType[float]):
    """A number that is at least `low`, or above it, and at most `high` if there is one."""

    name = "number"

    def __init__(self, low: float, *, above: bool = False, high: float | None = None):
        self.low = low
        self.above = above
        self.high = high

    @property
    def allowed(self) -> str:
        """Allowed values, in words."""
        low = f"{'above' if self.above else 'of at least'} {self.low:g}"
        return f"a number {low}" + ("" if self.high is None else f" and at most {self.high:g}")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        is_number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", text) is not None
        number = float(text) if is_number and len(text) <= 2 * MOST_DIGITS else math.nan
        if not math.isfinite(number) or number < self.low or (self.above and number == self.low) or \
                (self.high is not None and number > self.high):
            self.fail(f"must be {self.allowed}, not {shown(text)}", param, ctx)
        return number
