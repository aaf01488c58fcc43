"""Support of this machine, on which clusters run, for words of lanes."""

import os
import subprocess
from dataclasses import dataclass
from functools import cache

from testbench.verilated_model import COMPILER

ENVIRONMENT = "CONIC_ISA"
"""Names the instructions to use in place of the best that there are."""


class IsaError(ValueError):
    """CONIC_ISA names no instructions that clusters can be built for."""


@dataclass(frozen=True)
class Isa:
    """A way to carry out operations on words.

    Members
    -------
    name : str
        As CONIC_ISA has it.
    code : int
        What ``lanes.h`` calls it.
    flags : tuple of str
        Of the compiler.
    needs : tuple of str
        Macros that the compiler defines on a machine that has it.
    """

    name: str
    code: int
    flags: tuple[str, ...]
    needs: tuple[str, ...]


ISAS = (
    Isa(
        "avx512", 512,
        ("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"),
        ("__AVX512F__", "__AVX512DQ__", "__AVX512VL__", "__AVX512BW__", "__BMI2__"),
    ),
    Isa("avx2", 2, ("-mavx2", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"), ("__AVX2__", "__BMI2__")),
    Isa("portable", 0, (), ()),
)
"""Best first."""


def isa() -> Isa:
    """The instructions to build for: the best that this machine has, or what CONIC_ISA says.

    Raises
    ------
    IsaError
        If CONIC_ISA names none that this machine has.
    """
    wanted, there = os.environ.get(ENVIRONMENT), isas_of_this_machine()
    for one in there:
        if wanted in (None, one.name):
            return one
    names = ", ".join(one.name for one in there)
    raise IsaError(f"{ENVIRONMENT} must be one of {names} on this machine, not {wanted!r}")


def isas_of_this_machine() -> list[Isa]:
    """All instructions that clusters can be built for here, best first."""
    return [one for one in ISAS if set(one.needs) <= _macros()]


@cache
def _macros() -> frozenset[str]:
    """Macros that the compiler defines for this machine."""
    for flags in (("-march=native",), ()):  # some compilers know no "native" on their machine
        result = subprocess.run(
            [COMPILER, *flags, "-dM", "-E", "-x", "c++", os.devnull], capture_output=True, text=True, check=False,
        )
        if result.returncode == 0:
            return frozenset(line.split()[1] for line in result.stdout.splitlines())
    return frozenset()
