"""Faults on purpose: what a script says is to go wrong, a collective under it, and what became of every fault."""

from .outcome import FaultOutcome, Verdict
from .run import equipped, run_with_faults
from .script import FaultScript, FaultScriptError, load_faults, parse_faults

__all__ = [
    "FaultOutcome", "FaultScript", "FaultScriptError", "Verdict", "equipped", "load_faults", "parse_faults",
    "run_with_faults",
]
