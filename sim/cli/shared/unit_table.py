"""Table of the activity of the offload units in a run."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from firmware_models.abi.registers import STATE_COUNTERS

_MOST_ROWS = 16
"""Units that the table shows; JSON has all of them."""
_STATES = {counter.name: "works" if counter.name == "working" else counter.name for counter in STATE_COUNTERS}
_ORDER = ("working", "packet", "operand", "credit", "output", "trigger", "nothing")


def print_units(
    occupancy: Sequence[Mapping[str, float]], stalls: Sequence[Mapping[str, float]], *, cycles: int,
) -> None:
    """Prints a line for every offload unit that had something to do, those with the fullest packet buffers first.

    Parameters
    ----------
    occupancy, stalls : sequence of dict
        As in :class:`sim.collective.CollectiveResult`, in the same order.
    cycles : int
        What the shares are of.
    """
    units = [(full, did) for full, did in zip(occupancy, stalls, strict=True) if did["nothing"] < cycles]
    if not units or not cycles:
        return
    shown = sorted(units, key=lambda unit: -unit[0]["peak"])[:_MOST_ROWS]
    title = "packet buffers, % of their usable capacity, and what the units did or waited for, % of cycles"
    if len(shown) < len(units):
        title = f"the {len(shown)} fullest of {len(units)} {title}"
    table = Table(title=title, title_justify="left")
    for heading in ("node", "unit", "mean", "peak", *(_STATES[name] for name in _ORDER)):
        table.add_column(heading, justify="right")
    for full, did in shown:
        table.add_row(f"{full['node']:.0f}", f"{full['cou']:.0f}", _share(full["mean"]), _share(full["peak"]),
                      *(_share(did[name] / cycles) for name in _ORDER))
    if len(units) > 1:
        table.add_section()
        average = [sum(did[name] for _, did in units) / cycles / len(units) for name in _ORDER]
        table.add_row("all", str(len(units)), _share(sum(full["mean"] for full, _ in units) / len(units)),
                      _share(max(full["peak"] for full, _ in units)), *map(_share, average))
    Console(width=None if Console().is_terminal else 120, highlight=False).print(table)


def _share(fraction: float) -> str:
    """A percentage in at least two digits; what is never is a dash."""
    percent = 100 * fraction
    return "–" if not percent else f"{percent:.1f}" if percent >= 0.1 else f"{percent:.2g}"
