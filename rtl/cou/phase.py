"""Phases of a context."""

from amaranth.lib import enum


class Phase(enum.Enum, shape=3):
    """State of a context."""

    FREE = 0
    READY = 1
    """Something can be done for it: the trigger is to look at it."""
    TAKEN = 2
    """The trigger looks at it."""
    LOADING = 3
    """Its operand is on its way."""
    WAITING = 4
    """It needs a packet that is not there; an arrival makes it ready."""
    BLOCKED = 5
    """It may not send for want of a credit; a returned credit makes it ready."""
    RUNNING = 6
    """A pass is being executed."""
