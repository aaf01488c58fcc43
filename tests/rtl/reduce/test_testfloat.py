"""TestFloat vectors through the adder, and what is said of lines that are none."""

import io
import re

import pytest

from rtl.reduce.float_format import FLOAT32
from testbench.reduce.testfloat import TestFloatError, run_testfloat
from testbench.reduce.testfloat_lines import LEVEL_1_LINES, f64_add_lines
from testbench.seed import drawn

GOOD = b"3FF0000000000000 4000000000000000 4008000000000000 00\n"


@pytest.fixture(scope="module")
def level_1():
    return list(f64_add_lines(drawn()))


def run(text, **options):
    return run_testfloat(io.BytesIO(text), **options)


def test_a_file_of_the_size_of_level_1(level_1):
    report = run("".join(level_1).encode())
    print(f"{report.vectors} vectors, {report.mismatches} mismatches")
    assert (report.vectors, report.mismatches) == (LEVEL_1_LINES, 0) == (46_464, 0), report.shown


def test_batches_and_depths(level_1, monkeypatch):
    """Blocks that end within a line give what one block gives."""
    monkeypatch.setattr("testbench.reduce.testfloat._batch_bytes", 1000)
    text = "".join(level_1[:500]).encode()
    seen = []
    report = run(text, cycles=5, progress=seen.append)
    assert (report.vectors, report.mismatches) == (500, 0)
    assert len(seen) > 20
    assert seen == sorted(seen)


def test_a_wrong_result_is_counted_and_shown():
    wrong = GOOD.replace(b"4008000000000000 00", b"4008000000000001 01")
    report = run(GOOD * 3 + wrong + GOOD)
    assert (report.vectors, report.mismatches) == (5, 1)
    assert report.shown == ["line 4: 3FF0000000000000 4000000000000000 expected 4008000000000001, got 4008000000000000"]


def test_many_wrong_results_are_counted_but_not_all_shown():
    wrong = GOOD.replace(b"4008", b"4007")
    report = run(wrong * 50)
    assert (report.vectors, report.mismatches, len(report.shown)) == (50, 50, 10)


def test_a_nan_is_a_nan_and_nothing_else():
    infinities = b"7FF0000000000000 FFF0000000000000 "
    for nan in (b"FFF8000000000000", b"7FF8000000000000", b"7FF0000000000001", b"FFFFFFFFFFFFFFFF"):
        assert run(infinities + nan + b" 10\n").mismatches == 0
    for number in (b"7FF0000000000000", b"FFF0000000000000", b"7FEFFFFFFFFFFFFF"):
        assert run(infinities + number + b" 10\n").mismatches == 1
    assert run(b"3FF0000000000000 3FF0000000000000 7FF8000000000000 00\n").mismatches == 1


@pytest.mark.parametrize("text", [
    GOOD.lower(), GOOD.rstrip(b"\n"), GOOD.replace(b"\n", b"\r\n") * 2, GOOD.replace(b" ", b"  "),
    GOOD.replace(b" ", b"\t"), b"  " + GOOD, GOOD + GOOD.replace(b" ", b"   "),
])
def test_forms_of_a_line(text):
    report = run(text)
    assert report.vectors == max(1, text.count(b"\n"))
    assert report.mismatches == 0


@pytest.mark.parametrize(("line", "shown"), [
    (b"3FF0000000000000 4000000000000000 4008000000000000\n", "3FF0000000000000 4000000000000000 4008000000000000"),
    (b"3FF000000000000 4000000000000000 4008000000000000 00\n", "3FF000000000000 4000000000000000 4008000000000000 00"),
    (GOOD.replace(b"4008", b"40G8"), "3FF0000000000000 4000000000000000 40G8000000000000 00"),
    (GOOD.replace(b" 00\n", b" 0\n"), "3FF0000000000000 4000000000000000 4008000000000000 0"),
    (GOOD.replace(b"3FF", b"0x3"), "0x30000000000000 4000000000000000 4008000000000000 00"),
    (b"hello\n", "hello"), (b"\n", ""), (b"\xff\xfe\n", "\\xff\\xfe"),
])
@pytest.mark.parametrize("before", [0, 1, 7])
def test_a_line_that_is_no_vector(line, shown, before):
    expected = (f"line {before + 1}: expected two operands and a result of 16 hexadecimal digits each, and flags of 2, "
                f"separated by blanks, not {shown!r}")
    with pytest.raises(TestFloatError, match=f"^{re.escape(expected)}$"):
        run(GOOD * before + line + GOOD)


def test_nothing():
    with pytest.raises(TestFloatError, match=r"^the input is empty: expected lines of testfloat_gen$"):
        run(b"")


def test_singles():
    assert FLOAT32.width == 32
    lines = b"3F800000 40000000 40400000 00\n7F7FFFFF 7F7FFFFF 7F800000 05\n00000001 80000001 00000000 00\n"
    report = run(lines, function="f32_add")
    assert (report.vectors, report.mismatches) == (3, 0), report.shown
    with pytest.raises(TestFloatError, match=r"^line 1: expected two operands and a result of 8 hexadecimal"):
        run(GOOD, function="f32_add")


def test_products():
    """Halves, a subnormal product, an overflow, and what is invalid."""
    lines = (b"3FF8000000000000 4008000000000000 4012000000000000 00\n"
             b"0010000000000001 3FE0000000000000 0008000000000000 03\n"
             b"7FE0000000000000 C000000000000000 FFF0000000000000 05\n"
             b"7FF0000000000000 8000000000000000 FFF8000000000000 10\n")
    report = run(lines, function="f64_mul")
    assert (report.vectors, report.mismatches) == (4, 0), report.shown
    assert run(lines.replace(b"0008", b"0009"), function="f64_mul").mismatches == 1
    report = run(b"3FC00000 40400000 40900000 00\n00800001 3F000000 00400000 03\n", function="f32_mul", cycles=5)
    assert (report.vectors, report.mismatches) == (2, 0), report.shown


def test_unknown_function():
    with pytest.raises(ValueError, match=r"^function must be one of f64_add, .*, not 'f16_add'$"):
        run(GOOD, function="f16_add")
