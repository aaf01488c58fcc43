"""Berkeley TestFloat vectors: what ``testfloat_gen f64_add`` writes, run through the hardware.

A line holds two operands, the result, and the exception flags, in hexadecimal without prefix, separated by blanks:
``3FF0000000000000 4000000000000000 4008000000000000 00``.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from amaranth.lib import wiring

from rtl.reduce.float_add import DEFAULT_CYCLES, FloatAdd
from rtl.reduce.float_format import FLOAT32, FLOAT64, FloatFormat
from rtl.reduce.float_multiply import FloatMultiply
from testbench.reduce.valid_beside import ValidBeside
from testbench.reduce.vector_run import VectorRun

_batch_bytes = 1 << 22
_shown_mismatches = 10
_flag_digits = 2
_hex_values = np.full(256, 0xFF, np.uint8)
_hex_values[[*b"0123456789"]] = range(10)
_hex_values[[*b"abcdef"]] = _hex_values[[*b"ABCDEF"]] = range(10, 16)

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function of TestFloat that the hardware has.

    Parameters
    ----------
    format : FloatFormat
        Format of operands and result.
    unit : callable
        Makes the unit of a depth in cycles.
    """

    format: FloatFormat
    unit: Callable[[int], wiring.Component]


def _add(fmt: FloatFormat) -> Function:
    return Function(format=fmt, unit=lambda cycles: FloatAdd(format=fmt, cycles=cycles))


def _multiply(fmt: FloatFormat) -> Function:
    return Function(format=fmt, unit=lambda cycles: ValidBeside(FloatMultiply(format=fmt, cycles=cycles)))


FUNCTIONS = {
    "f64_add": _add(FLOAT64), "f64_mul": _multiply(FLOAT64), "f32_add": _add(FLOAT32), "f32_mul": _multiply(FLOAT32),
}
"""Functions by TestFloat's names."""


class TestFloatError(ValueError):
    """A line is not a vector; the message gives its number, the line, and what was expected."""

    __test__ = False


@dataclass(kw_only=True)
class TestFloatReport:
    """Result of a file.

    Parameters
    ----------
    vectors, mismatches : int
        Lines compared, and those whose result differs in any bit; a NaN equals every NaN.
    shown : list of str
        The first mismatches in words.
    """

    __test__ = False

    vectors: int = 0
    mismatches: int = 0
    shown: list[str] = field(default_factory=list)


def run_testfloat(
    file: BinaryIO, *, function: str = "f64_add", cycles: int = DEFAULT_CYCLES,
    progress: Callable[[int], None] = lambda vectors: None,
) -> TestFloatReport:
    """Runs the vectors of a file through the Verilated unit; memory stays bounded however long the file is.

    Parameters
    ----------
    file : BinaryIO
        Lines of ``testfloat_gen``; rounding to nearest even, its default. The flags are read, and not compared: the
        unit has none.
    function : str
        A key of :data:`FUNCTIONS`.
    cycles : int
        Depth of the unit.
    progress : callable
        Called with the number of vectors done, now and then.

    Raises
    ------
    TestFloatError
        If a line is not a vector, or there is none.
    """
    if function not in FUNCTIONS:
        raise ValueError(f"function must be one of {', '.join(FUNCTIONS)}, not {function!r}")
    chosen = FUNCTIONS[function]
    report = TestFloatReport()
    with VectorRun(chosen.unit(cycles)) as run:
        for a, b, expected in _batches(file, digits=chosen.format.width // 4):
            got = run(a, b)
            wrong = (got != expected) & ~(_is_nan(got, chosen.format) & _is_nan(expected, chosen.format))
            for index in np.flatnonzero(wrong)[:_shown_mismatches - len(report.shown)]:
                words = (f"{int(word):0{chosen.format.width // 4}X}"
                         for word in (a[index], b[index], expected[index], got[index]))
                line = report.vectors + int(index) + 1
                report.shown.append("line {}: {} {} expected {}, got {}".format(line, *words))
            report.mismatches += int(wrong.sum())
            report.vectors += len(a)
            progress(report.vectors)
    if not report.vectors:
        raise TestFloatError("the input is empty: expected lines of testfloat_gen")
    return report


def _is_nan(words: Words, fmt: FloatFormat) -> npt.NDArray[np.bool_]:
    return (words & np.uint64((1 << (fmt.width - 1)) - 1)) > np.uint64(fmt.infinity)


def _batches(file: BinaryIO, *, digits: int) -> Iterator[tuple[Words, Words, Words]]:
    """Operands and results, some megabytes of lines at a time."""
    number, rest = 1, file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
    while block := file.read(_batch_bytes):
        text, newline, rest = (rest + block).rpartition(b"\n")
        if newline:
            yield (columns := _columns(text + newline, digits=digits, number=number))
            number += len(columns[0])
    if rest:
        yield _columns(rest + b"\n", digits=digits, number=number)


def _columns(text: bytes, *, digits: int, number: int) -> tuple[Words, Words, Words]:
    """The three words of every line; `number` is that of the first line."""
    width = 3 * (digits + 1) + _flag_digits
    text = text.replace(b"\r\n", b"\n")
    lines = text.count(b"\n")
    if len(text) == lines * (width + 1):
        characters = np.frombuffer(text, np.uint8).reshape(lines, width + 1)
        starts = [column * (digits + 1) for column in range(4)]
        values = _hex_values[characters]
        blanks = characters[:, [start - 1 for start in starts[1:]]] == ord(" ")
        words = [values[:, start:start + digits] for start in starts[:3]]
        figures = np.concatenate([*words, values[:, starts[3]:-1]], axis=1)
        if blanks.all() and (characters[:, -1] == ord("\n")).all() and (figures != 0xFF).all():
            a, b, result = map(_word, words)
            return a, b, result
    return _columns_of_lines(text, digits=digits, number=number)


def _word(values: npt.NDArray[np.uint8]) -> Words:
    word = np.zeros(len(values), np.uint64)
    for column in values.T:
        word = word << np.uint64(4) | column
    return word


def _columns_of_lines(text: bytes, *, digits: int, number: int) -> tuple[Words, Words, Words]:
    """The same line by line: for other separators than one blank, and to find the line that is none."""
    field_pattern = rb"([0-9A-Fa-f]{%d})" % digits
    vector = re.compile(rb"[ \t]*" + rb"[ \t]+".join([field_pattern] * 3) + rb"[ \t]+[0-9A-Fa-f]{2}[ \t\r]*")
    rows = []
    for offset, line in enumerate(text.split(b"\n")[:-1]):
        match = vector.fullmatch(line)
        if match is None:
            shown = line.decode("ascii", "backslashreplace").strip()[:80]
            raise TestFloatError(
                f"line {number + offset}: expected two operands and a result of {digits} hexadecimal digits each, and "
                f"flags of {_flag_digits}, separated by blanks, not {shown!r}"
            )
        rows.append([int(word, 16) for word in match.groups()])
    a, b, result = np.array(rows, np.uint64).T
    return a, b, result
