"""Values as a person reads them: a few significant digits, names without underscores, no brackets and quotes."""

from collections.abc import Mapping
from typing import Any

from sim.report.drawing import number


def words(value: Any) -> str:
    """A value in words.

    Examples
    --------
    >>> words({"max_efi": {"best": 7, "paper": 11.23456}, "colours": [163, 1630]})
    'max efi: best 7, paper 11.23; colours: 163, 1,630'
    >>> words([]), words(None), words(True), words(">= 41.51 Gb/s")
    ('–', '–', 'yes', '≥ 41.51 Gb/s')
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return number(value)
        case Mapping():
            is_deep = any(isinstance(part, Mapping | list | tuple) for part in value.values())
            parts = [f"{str(name).replace('_', ' ')}{':' if is_deep else ''} {words(part)}"
                     for name, part in value.items()]
            return ("; " if is_deep else ", ").join(parts) or "–"
        case list() | tuple():
            is_deep = any(isinstance(part, Mapping | list | tuple) for part in value)
            return ("; " if is_deep else ", ").join(map(words, value)) or "–"
    return str(value).replace("<=", "≤").replace(">=", "≥")
