"""Golden models: what the hardware must compute, and in which order."""

from .arithmetic import canonical_nan, combine, dtype_of, operators_of
from .execution import Execution, Node, TraceRecord
from .executor import execute
from .fault import DeadlockError, DuplicateKeyError, ExecutionError, LeftoverError
from .reference import Reference, block_bounds, reference
from .result import mismatched_bits, sha256

__all__ = [
    "DeadlockError", "DuplicateKeyError", "Execution", "ExecutionError", "LeftoverError", "Node", "Reference",
    "TraceRecord", "block_bounds", "canonical_nan", "combine", "dtype_of", "execute", "mismatched_bits", "operators_of",
    "reference", "sha256",
]
