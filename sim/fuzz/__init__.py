"""Descriptors and packets that nobody should send, by the hundred thousand, on the RTL: ``python -m sim.fuzz``."""

from .nic import FuzzError, NicFuzzer
from .runs import FuzzRun, fuzz

__all__ = ["FuzzError", "FuzzRun", "NicFuzzer", "fuzz"]
