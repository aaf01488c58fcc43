"""Signals that the steps of the tracker share."""

from dataclasses import dataclass

from amaranth import Signal, Value
from amaranth.lib.data import View


@dataclass(frozen=True, kw_only=True)
class Entries:
    """State of each entry, a bit each.

    Parameters
    ----------
    taken : Signal
        From the moment that its number is.
    alive : Signal
        From OPEN to the completion.
    failed : Signal
        The operation has failed.
    """

    taken: Signal
    alive: Signal
    failed: Signal


@dataclass(frozen=True, kw_only=True)
class Time:
    """Time, for commands.

    Parameters
    ----------
    now : Signal
        Time.
    limit : Signal
        An operation whose last progress was before it is late.
    is_watched : Signal
        If there is a watchdog.
    """

    now: Signal
    limit: Signal
    is_watched: Signal


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A command, and the operation that it is about.

    Parameters
    ----------
    command : View
        The command.
    entry : Value
        Entry of the operation.
    old : View
        Its record before the command.
    is_alive : Value
        It is in progress.
    """

    command: View
    entry: Value
    old: View
    is_alive: Value


@dataclass(frozen=True, kw_only=True)
class Change:
    """Change of a record by a command.

    Parameters
    ----------
    record : View
        The record after it. Worth something only if it is `touched`, which takes longer to find out.
    touched : Signal
        The record is to be written.
    expired : Signal
        The operation is ended by the watchdog.
    none_left : Signal
        No answer is missing any more; seen without the sum.
    """

    record: View
    touched: Signal
    expired: Signal
    none_left: Signal
