"""One colour for one thing, on every page and plot."""

from collections.abc import Iterable

BLUE, SKY, GREEN, LIME = "#0969da", "#54aeff", "#1a7f37", "#8fbc3f"
AMBER, RUST, RED, VIOLET, TEAL, GREY, PALE = "#bf8700", "#bc4c00", "#cf222e", "#8250df", "#0a7ea4", "#57606a", "#d0d7de"
ICE, INK = "#ddf4ff", "#1f2328"
"""Behind words and of words."""

_THINGS: tuple[dict[str, str], ...] = (
    # Of a timeline, and what an offload unit did or waited for.
    {"doorbell": GREY, "completion": RED, "data packet": BLUE, "credit packet": AMBER, "descriptor": VIOLET,
     "pulse": SKY, "operation starts": GREEN, "operation ends": RUST, "waits for packet": LIME,
     "waits otherwise": PALE},
    {"working": GREEN, "packet": BLUE, "operand": VIOLET, "credit": AMBER, "output": RED, "trigger": RUST,
     "nothing": PALE},
    # Action of a packet at its receiver.
    {"reduced": BLUE, "replaces": GREEN, "triggers only": GREY},
    # Multicast routing.
    {"groups": PALE, "minihop": GREY, "sssp": AMBER, "mr4lms": BLUE, "best": GREEN, "trees": BLUE},
    # Schemes and policies of connections.
    {"rc": RED, "rc-srq": AMBER, "xrc": BLUE, "xrc-sizes": SKY, "group": VIOLET, "group-xrc": GREEN,
     "group-xrc-sizes": LIME},
    {"connect": BLUE, "tear down": RED, "at most 8": AMBER, "proxy": GREEN, "proxy 2": LIME},
    {"printed": GREY, "formula": BLUE},
    # Congestion control, and flows under it.
    {"none": GREY, "dctcp": AMBER, "dcqcn": RED, "timely": VIOLET, "hpcc": BLUE, "pint": GREEN},
    {"F0": BLUE, "F1": RUST},
    {"background": AMBER, "under test": BLUE},
    # Tag tables; a solver here and elsewhere.
    {"cuckoo": BLUE, "linear": RUST},
    {"on the simulated NICs": BLUE, "under MPICH": AMBER},
    # A link under errors.
    {"measured": BLUE, "go-back-N's bound": GREY},
)

COLOURS: dict[str, str] = {name: colour for things in _THINGS for name, colour in things.items()}
"""Colour of each thing that is drawn. Things that one plot may show together differ."""

FURTHER = (TEAL, RUST, LIME, VIOLET, SKY, RED, AMBER)
"""For things that have no fixed name, such as packets of kinds that are rare, or sizes of a sweep."""


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """The colour of each name; a name without one of its own takes a further one that none of the others has."""
    names = list(names)
    taken = {COLOURS[name] for name in names if name in COLOURS}
    free = iter([colour for colour in FURTHER if colour not in taken] + [GREY] * len(names))
    return {name: COLOURS[name] if name in COLOURS else next(free) for name in names}
