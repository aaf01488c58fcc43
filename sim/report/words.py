"""Values as a person reads them: a few significant digits, names without underscores, no brackets and quotes."""

from collections.abc import Iterable, Mapping
from typing import Any


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


def number(value: float) -> str:
    """A number as a person writes it: thousands apart, millions as such, no more digits than say something.

    Examples
    --------
    >>> [number(value) for value in (0.05, 2.5, 1000, 12_345.678, 2_500_000, 1e-7, 0)]
    ['0.05', '2.5', '1,000', '12,350', '2.5 M', '1e-07', '0']
    """
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.4g} M" if abs(value) < 1e10 else f"{value:.3g}"
    if abs(value) >= 1000:
        return f"{float(f'{value:.4g}'):,.0f}"
    return f"{value:.4g}"


def span(values: Iterable[float]) -> str:
    """The range of some numbers in two digits: "1.2 to 15", or one number if they say the same.

    Examples
    --------
    >>> span([2.04, 1.04, 15.3]), span([3, 3.01])
    ('1 to 15', '3')
    """
    found = list(values)
    low, high = (f"{float(f'{value:.2g}'):,g}" for value in (min(found), max(found)))
    return low if low == high else f"{low} to {high}"
