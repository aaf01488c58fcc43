"""One parser of topology names for everything: routing, simulator, command line."""

import re
from collections.abc import Mapping
from pathlib import Path

from firmware_models.files import shown
from firmware_models.routing.formats import read_network
from firmware_models.routing.network import Network, RoutingError
from firmware_models.routing.topology.direct import dragonfly, random_network, torus
from firmware_models.routing.topology.fat_tree import fat_tree, star, trimmed_fat_tree

TOPOLOGIES = (
    "star:N", "fat-tree:K", "torus:XxYxZ:TERMINALS", "dragonfly:a=A,p=P,h=H",
    "random:switches=S,ports=P,terminals=T,seed=N", "bluelight", "taihulight", "a file (ibnetdiscover, .net, .yaml)",
)
"""Forms of a name."""

MACHINES: Mapping[str, Mapping[str, int]] = {
    "bluelight": {"planes": 34, "leaves": 16, "terminals": 16, "middles": 16, "tops": 18, "paths": 8},
    "taihulight": {"planes": 40, "leaves": 64, "terminals": 16, "middles": 24, "tops": 84, "paths": 2},
}
"""The Sunway machines as ``docs/routing.md`` assumes them; any of these figures can be given, as in
``bluelight:planes=4``."""

DEFAULTS: Mapping[str, Mapping[str, int | None]] = {
    **MACHINES,
    "dragonfly": {"a": None, "p": None, "h": None},
    "random": {"switches": None, "ports": None, "terminals": None, "seed": 1},
}

MAX_TERMINALS = 1 << 20
"""More terminals than any machine has; a slip of the finger ends here and not in lack of memory."""


def parse_topology(name: str) -> Network:
    """The network that `name` describes: one of `TOPOLOGIES`.

    Raises
    ------
    RoutingError
        If it is none of these, or a figure is out of range.

    Examples
    --------
    >>> parse_topology("torus:4x4x4:2").n_switches
    64
    """
    kind, _, rest = name.partition(":")
    if match := re.fullmatch(r"star:([0-9]{1,4})", name):
        return star(_within(name, "N", int(match[1]), 2, 4096))
    if match := re.fullmatch(r"fat-tree:([0-9]{1,4})", name):
        return fat_tree(_within(name, "K", int(match[1]), 2, 128))
    if match := re.fullmatch(r"torus:([0-9]{1,6}(?:x[0-9]{1,6}){0,5}):([0-9]{1,4})", name):
        sizes = tuple(_within(name, "every dimension", int(size), 1, 65536) for size in match[1].split("x"))
        terminals = _within(name, "TERMINALS", int(match[2]), 1, 1024)
        product = terminals
        for size in sizes:
            product *= size
        _within(name, "terminals in total", product, 2, MAX_TERMINALS)
        return torus(sizes, terminals)
    if kind in DEFAULTS and (not rest or "=" in rest):
        return _by_figures(name, kind, rest)
    if _is_file(name):
        return read_network(Path(name))
    if kind in ("star", "fat-tree", "torus", *DEFAULTS):
        form = next(form for form in TOPOLOGIES if form.startswith(kind))
        raise RoutingError(f"topology must be {form} with whole numbers, not {shown(name)}")
    raise RoutingError(f"topology must be one of {', '.join(TOPOLOGIES)}, not {shown(name)}")


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a name, or a zero byte in it
        return False


def _by_figures(name: str, kind: str, rest: str) -> Network:
    """A network given by named figures."""
    figures = dict(DEFAULTS[kind])
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key not in figures or not re.fullmatch(r"[0-9]{1,9}", value):
            allowed = ", ".join(f"{known}=N" for known in figures)
            raise RoutingError(f"topology {shown(name)}: {allowed} are allowed, not {shown(part)}")
        figures[key] = _within(name, key, int(value), 0 if key in ("seed", "terminals") else 1, 1 << 30)
    missing = [key for key, value in figures.items() if value is None]
    if missing:
        form = ",".join(f"{known}=N" for known in figures)
        raise RoutingError(f"topology {shown(name)}: {missing[0]} must be given, as in {kind}:{form}")
    given = {key: value for key, value in figures.items() if value is not None}
    if kind == "dragonfly":
        _within(name, "a × p × (a × h + 1)", given["a"] * given["p"] * (given["a"] * given["h"] + 1), 2, MAX_TERMINALS)
        return dragonfly(**given)
    if kind == "random":
        _within(name, "switches × ports", given["switches"] * given["ports"], 2, 4 * MAX_TERMINALS)
        return random_network(**given)
    n_leaves = given["planes"] * given["leaves"]
    _within(name, "planes × leaves × terminals", n_leaves * given["terminals"], 2, MAX_TERMINALS)
    _within(name, "planes × tops × paths", given["planes"] * given["tops"] * given["paths"], 1, 4 * MAX_TERMINALS)
    return trimmed_fat_tree(name=name, **given)


def _within(name: str, field: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise RoutingError(f"topology {shown(name)}: {field} must be {low} to {high}, not {value}")
    return value
