"""Checks the adder and the multiplier on millions of pairs: a Verilated bank of units driven from C++.

``python -m testbench.reduce.float_fast --pairs 10000000`` prints one JSON object, and
exits 0 if there was no mismatch.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rtl.reduce.float_format import FLOAT32, FLOAT64, FloatFormat
from testbench.design import to_verilog
from testbench.reduce import float_model
from testbench.reduce.float_bank import UNITS, FloatBank
from testbench.verilated_program import build_program, run

_main = Path(__file__).with_suffix(".cpp")
_host_modes = {FLOAT64: "float64", FLOAT32: "float32"}


def build(fmt: FloatFormat, depths: Sequence[int], *, unit: str = "add") -> Path:
    """Builds the program that checks units of format `fmt` and all of `depths`; returns its path."""
    bank = FloatBank(unit=unit, format=fmt, depths=depths)
    listed = " ".join(f"X({depth})" for depth in depths)
    return build_program(
        "float-unit", to_verilog(bank, name="bank"), top="bank", main=_main,
        headers=[_main.with_name("random_operands.h")], generated={"depths.h": f"#define DEPTHS {listed}\n"},
    )


def check(
    fmt: FloatFormat, depths: Sequence[int], *, unit: str = "add", pairs: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """Checks the `unit`, "add" or "multiply", of `depths` on `pairs` random pairs, or on all pairs if `pairs` is None.

    Random pairs are compared with the host's own arithmetic (binary64 and binary32); all pairs, of a format of at most
    10 bits, with :mod:`testbench.reduce.float_model`.

    Returns
    -------
    dict
        Keys `pairs`, `depths`, `checked` (results compared), `mismatches`, `seed`, `seconds`, and `log`: the
        first mismatches in words.

    Raises
    ------
    VerilatedProgramError
        If the program does not build or run.
    ValueError
        If the format does not allow what is asked for.
    """
    if pairs is None and fmt.width > 10:
        raise ValueError(f"only formats of at most 10 bits can be tried in full, not one of {fmt.width}")
    if pairs is not None and fmt not in _host_modes:
        raise ValueError(f"the host has no format {fmt!r} to compare with")
    program = build(fmt, depths, unit=unit)
    if pairs is None:
        table = program.with_name("results.bin")
        numbers = range(1 << fmt.width)
        exact = {"add": float_model.add, "multiply": float_model.multiply}[unit]
        table.write_bytes(b"".join(exact(a, b, fmt).to_bytes(2, "little") for a in numbers for b in numbers))
        arguments = ["table", unit, "0", str(seed), str(table)]
    else:
        arguments = [_host_modes[fmt], unit, str(pairs), str(seed)]
    result = run([str(program), *arguments], allowed=(0, 1))
    return json.loads(result.stdout) | {"log": result.stderr}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command of this module."""
    parser = argparse.ArgumentParser(description="Checks a unit against the arithmetic of this machine.")
    parser.add_argument("--unit", choices=sorted(UNITS), default="add")
    parser.add_argument("--format", choices=sorted(_host_modes.values()), default="float64")
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=None, help="drawn and printed if not given")
    parser.add_argument("--cycles", type=int, nargs="+", default=[8], help="depths to check, side by side")
    chosen = parser.parse_args(arguments)
    fmt = next(fmt for fmt, name in _host_modes.items() if name == chosen.format)
    seed = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    report = check(fmt, chosen.cycles, unit=chosen.unit, pairs=chosen.pairs, seed=seed)
    sys.stderr.write(report.pop("log"))
    print(json.dumps(report))
    return 1 if report["mismatches"] else 0


if __name__ == "__main__":
    sys.exit(main())
