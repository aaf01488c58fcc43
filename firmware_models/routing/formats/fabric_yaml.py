"""A fabric in YAML, for networks that no tool has seen yet.

::

    switches: {E0: 4, E1: 4}            # name: ports
    terminals: {H0: [E0, 1], H1: [E1, 1]}
    cables: [[E0, 3, E1, 3], [E0, 4, E1, 4]]
"""

from pathlib import Path

from firmware_models.routing.formats.yaml_node import YamlNode, parse_yaml
from firmware_models.routing.network import Network, RoutingError


def parse_yaml_fabric(path: Path, text: str) -> Network:
    """The fabric in `text`.

    Raises
    ------
    RoutingError
        If it is malformed: the line number and what was expected.
    """
    root = parse_yaml(path, text)
    sections = dict(root.mapping("switches, terminals, cables", allowed=("switches", "terminals", "cables")))
    if "switches" not in sections:
        root.refuse("a mapping with switches")
    radixes: dict[str, int] = {}
    for name, ports in sections["switches"].mapping("a mapping of switch names to numbers of ports"):
        radixes[name] = ports.number("a number of ports from 1 to 4096", 1, 4096)
    number = {name: place for place, name in enumerate(radixes)}

    def end(switch: YamlNode, port: YamlNode) -> tuple[int, int]:
        name = switch.text("the name of a switch")
        if name not in number:
            switch.refuse(f"the name of a switch ({', '.join(list(number)[:4])}, ...)")
        return number[name], port.number(f"a port from 1 to {radixes[name]}", 1, radixes[name])

    names, attached, cables = [], [], []
    for name, place in sections["terminals"].mapping("a mapping of terminal names to [switch, port]") \
            if "terminals" in sections else ():
        names.append(name)
        attached.append(end(*place.sequence("[switch, port]", 2)))
    for cable in sections["cables"].sequence("a list of [switch, port, switch, port]") if "cables" in sections else ():
        here, here_port, there, there_port = cable.sequence("[switch, port, switch, port]", 4)
        cables.append((*end(here, here_port), *end(there, there_port)))
    try:
        return Network.wire(
            name=str(path), radixes=list(radixes.values()), cables=cables, leaf=[row[0] for row in attached],
            leaf_port=[row[1] for row in attached], switch_names=list(radixes), terminal_names=names,
        )
    except RoutingError as error:
        raise RoutingError(f"{path}: {error}") from None
