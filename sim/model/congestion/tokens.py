"""Words of a text file, one after the other, each with its line: how the ns-3 release reads its files."""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeVar

from firmware_models.files import shown
from sim.model.congestion.error import CongestionError

Value = TypeVar("Value")


class Tokens:
    """The words of a file.

    Parameters
    ----------
    path : Path
        The file; a message names it, the line and the field.

    Raises
    ------
    CongestionError
        If it is no text.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise CongestionError(f"{path}: must be a text file") from None
        self._words = [(word, number) for number, line in enumerate(text.splitlines(), 1) for word in line.split()]
        self._place = 0
        self.line = 1

    def take(self, field: str, allowed: str, convert: Callable[[str], Value | None]) -> Value:
        """The next word as what `convert` makes of it; None from it is refused with what is `allowed`."""
        if self._place == len(self._words):
            raise CongestionError(
                f"{self.path}:{self.line}: {field}: is missing at the end of the file; must be {allowed}")
        word, self.line = self._words[self._place]
        self._place += 1
        value = convert(word)
        if value is None:
            raise self.refusal(field, allowed, word)
        return value

    def whole(self, field: str, low: int, high: int, what: str = "") -> int:
        """A whole number from `low` to `high`."""
        def convert(word: str) -> int | None:
            value = int(word) if re.fullmatch(r"[+-]?[0-9]{1,18}", word) else None
            return value if value is not None and low <= value <= high else None

        return self.take(field, f"{what}{' ' * bool(what)}{low} to {high}", convert)

    def refusal(self, field: str, allowed: str, word: object) -> CongestionError:
        """Returns the error that refuses the word that was taken last."""
        return CongestionError(f"{self.path}:{self.line}: {field}: must be {allowed}, not {shown(str(word))}")


def decimal(word: str) -> Decimal | None:
    """A finite number; None if it is none."""
    if not word.isascii():
        return None
    try:
        value = Decimal(word)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def with_unit(word: str, units: dict[str, int]) -> int | None:
    """A number with a unit, in the smallest one; None if it is none, or no whole number of the smallest."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z/]+)", word)
    if found is None or found[2] not in units:
        return None
    value = Decimal(found[1]) * units[found[2]]
    return int(value) if value == int(value) else None
