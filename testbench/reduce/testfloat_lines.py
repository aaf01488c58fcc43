"""Makes files of TestFloat's form from the arithmetic of this machine, for a place that has no ``testfloat_gen``."""

import random
from collections.abc import Iterator

import numpy as np

_exponents = (0, 1, 2, 0x3CA, 0x3CB, 0x3FD, 0x3FE, 0x3FF, 0x400, 0x401, 0x432, 0x433, 0x434, 0x43E, 0x43F, 0x7FC, 0x7FD,
              0x7FE, 0x7FF, 0x380, 0x47F, 0x200)
_fractions = (0, 1, 0xFFFFFFFFFFFFE, 0xFFFFFFFFFFFFF)
LEVEL_1_LINES = 6 * (len(_exponents) * len(_fractions)) ** 2
"""As many as level 1 of ``f64_add`` has: 46,464."""


def f64_add_lines(seed: int) -> Iterator[str]:
    """:data:`LEVEL_1_LINES` lines of ``f64_add``: all pairs of numbers at the edges of the format, and random ones."""
    numbers = random.Random(seed)
    edges = [exponent << 52 | fraction for exponent in _exponents for fraction in _fractions]
    for a in edges:
        for b in edges:
            for _ in range(2):
                yield _line(_signed(a, numbers), _signed(b, numbers))
                yield _line(_signed(a, numbers), numbers.getrandbits(64))
                yield _line(numbers.getrandbits(64), _signed(b, numbers))


def _signed(number: int, numbers: random.Random) -> int:
    return number | numbers.getrandbits(1) << 63


def _line(a: int, b: int) -> str:
    x, y = (np.array(word, np.uint64).view(np.float64)[()] for word in (a, b))
    with np.errstate(all="ignore"):
        result = x + y
        error = (x - (result - (result - x))) + (y - (result - x))
    # Invalid: infinities of opposite signs, or a signalling NaN. Overflow is inexact too. No sum is tiny and inexact.
    signalling = any(np.isnan(value) and not word >> 51 & 1 for value, word in ((x, a), (y, b)))
    if np.isnan(result):
        flags = 0x10 if signalling or not (np.isnan(x) or np.isnan(y)) else 0
    elif np.isinf(result):
        flags = 0 if np.isinf(x) or np.isinf(y) else 0x05
    else:
        flags = int(error != 0)
    return f"{a:016X} {b:016X} {int(result.view(np.uint64)):016X} {flags:02X}\n"
