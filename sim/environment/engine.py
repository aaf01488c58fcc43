"""Which engine evaluates the NICs and switches of clusters."""

import os
from enum import Enum

ENVIRONMENT = "CONIC_ENGINE"


class EngineError(ValueError):
    """CONIC_ENGINE names no engine."""


class Engine(Enum):
    """Engine that evaluates NICs and switches. Both do the same, register for register."""

    LANES = "lanes"
    """The project's own: several nodes in the lanes of a word, parts that rest left out."""
    VERILATOR = "verilator"
    """Verilator, one node after the other: the second opinion."""


def wanted_engine() -> Engine:
    """The engine that CONIC_ENGINE names, or the lanes.

    Raises
    ------
    EngineError
        If it names none.
    """
    wanted = os.environ.get(ENVIRONMENT, Engine.LANES.value)
    try:
        return Engine(wanted)
    except ValueError:
        names = ", ".join(engine.value for engine in Engine)
        raise EngineError(f"{ENVIRONMENT} must be one of {names}, not {wanted!r}") from None
