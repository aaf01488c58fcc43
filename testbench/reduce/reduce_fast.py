"""Checks every operation of the reduce unit on millions of elements: a Verilated unit driven from C++.

``python -m testbench.reduce.reduce_fast --requests 4000000`` prints one JSON object, and exits 0 if there
was no mismatch.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from firmware_models.abi.encoding import Datatype, Operator
from rtl.reduce.operation import OPERATIONS
from rtl.reduce.request_decode import Select
from testbench.design import to_verilog
from testbench.reduce.reduce_probe import ReduceProbe
from testbench.verilated_program import build_program, run

_main = Path(__file__).with_suffix(".cpp")


def check(*, requests: int, seed: int, data_width: int = 64, add_cycles: int = 8) -> dict[str, Any]:
    """Checks a unit with a random mix of all operations, with pauses on both sides.

    Returns
    -------
    dict
        Keys `requests`, `checked`, `mismatches`, `seed`, `seconds`; `elements`, how many were combined, by the
        operation in words; and `log`: the first mismatches in words.

    Raises
    ------
    VerilatedProgramError
        If the program does not build or run.
    """
    probe = ReduceProbe(data_width=data_width, add_cycles=add_cycles)
    lanes = " ".join(f"X({lane})" for lane in range(probe.unit.n_lanes))
    program = build_program(
        "reduce-unit", to_verilog(probe, name="probe"), top="probe", main=_main,
        headers=[_main.with_name("random_operands.h")],
        generated={"encodings.h": f"#define LANES {lanes}\n{_encodings()}"},
    )
    result = run([str(program), str(requests), str(seed)], allowed=(0, 1))
    if not result.stdout:
        raise AssertionError(result.stderr)
    report = json.loads(result.stdout)
    report["elements"] = {
        f"{Datatype(datatype).name.lower()} {Operator(operator).name.lower()}": count
        for datatype, operator, count in report["elements"]
    }
    return report | {"log": result.stderr}


def _encodings() -> str:
    """The encodings and the operations that there are, for the driver."""
    kinds: tuple[type[IntEnum], ...] = (Datatype, Operator, Select)
    constants = [
        f"constexpr unsigned {member.name} = {member.value};"
        for kind in kinds for member in kind if member.name not in ("A", "B")
    ]
    pairs = ", ".join(f"{{{operation.datatype}, {operation.operator}}}" for operation in OPERATIONS)
    return "\n".join([*constants, f"constexpr unsigned operations[][2] = {{{pairs}}};", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command of this module."""
    parser = argparse.ArgumentParser(description="Checks the reduce unit against the arithmetic of this machine.")
    parser.add_argument("--requests", type=int, default=4_000_000)
    parser.add_argument("--seed", type=int, default=None, help="drawn and printed if not given")
    parser.add_argument("--cycles", type=int, default=8, help="depth of the unit")
    parser.add_argument("--data-width", type=int, default=64)
    chosen = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    report = check(requests=chosen.requests, seed=seed, data_width=chosen.data_width, add_cycles=chosen.cycles)
    sys.stderr.write(report.pop("log"))
    print(json.dumps(report))
    return 1 if report["mismatches"] else 0


if __name__ == "__main__":
    sys.exit(main())
