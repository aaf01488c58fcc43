"""Topology files of the ns-3 release of HPCC (`mix/topology.txt`).

First line: nodes, switches, links. Second: the switches. Then a line a link: node, node, rate, delay, error rate. What
follows the last link is not read.
"""

from pathlib import Path

from firmware_models.files import write_text
from sim.model.congestion.network import MAX_PORTS, Link, Network
from sim.model.congestion.tokens import Tokens, decimal, with_unit
from sim.model.congestion.topology import named

_RATES = {f"{prefix}{unit}": 10**power for unit in ("bps", "b/s")
          for prefix, power in (("", 0), ("k", 3), ("K", 3), ("M", 6), ("G", 9), ("T", 12))}
_DELAYS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
MAX_NODES = 1 << 15
MIN_RATE, MAX_RATE = 10**6, 10**12
MAX_DELAY_NS = 10**7


def parse_topology(text: str) -> Network:
    """The network of a name (`small`, `dumbbell:5`, `fat-tree:5`, `ring:5`), or of a file.

    Raises
    ------
    CongestionError
        If the file is refused; with file, line, field, value and what is allowed.
    OSError
        If there is no such name and no such file.
    """
    return named(text) or read_topology(Path(text))


def read_topology(path: Path) -> Network:
    """The network in a file."""
    tokens = Tokens(path)
    n_nodes = tokens.whole("nodes", 3, MAX_NODES)
    n_switches = tokens.whole("switches", 1, n_nodes - 2)
    n_links = tokens.whole("links", 1, MAX_PORTS // 2)
    switches: set[int] = set()
    for _ in range(n_switches):
        switch = tokens.whole("switch", 0, n_nodes - 1, "a node,")
        if switch in switches:
            raise tokens.refusal("switch", "named once", switch)
        switches.add(switch)
    links, pairs = [], set()
    for _ in range(n_links):
        a = tokens.whole("node", 0, n_nodes - 1, "a node,")
        b = tokens.whole("node", 0, n_nodes - 1, "a node,")
        if a == b or (min(a, b), max(a, b)) in pairs:
            raise tokens.refusal("node", f"another node than {a}, not linked with it yet", b)
        pairs.add((min(a, b), max(a, b)))
        rate = tokens.take("rate", "1Mbps to 1000Gbps with a unit of bps, Kbps, Mbps or Gbps",
                           lambda word: _within(with_unit(word, _RATES), MIN_RATE, MAX_RATE))
        delay = tokens.take("delay", "0ns to 10ms, whole nanoseconds, with a unit of ns, us, ms or s",
                            lambda word: _within(with_unit(word, _DELAYS), 0, MAX_DELAY_NS))
        tokens.take("error rate", "0: links lose nothing here", lambda word: None if decimal(word) != 0 else word)
        links.append(Link(a, b, rate, delay))
    return Network(n_nodes, switches, links, str(path))


def write_topology(network: Network, path: Path) -> None:
    """The file of a network."""
    lines = [f"{network.n_nodes} {len(network.switches)} {len(network.links)}",
             " ".join(map(str, sorted(network.switches)))]
    lines += [f"{link.a} {link.b} {_rate(link.rate)} {link.delay_ns}ns 0.000000" for link in network.links]
    write_text(path, "\n".join(lines) + "\n")


def _within(value: int | None, low: int, high: int) -> int | None:
    return value if value is not None and low <= value <= high else None


def _rate(rate: int) -> str:
    for unit, size in (("Gbps", 10**9), ("Mbps", 10**6), ("Kbps", 10**3)):
        if rate % size == 0:
            return f"{rate // size}{unit}"
    return f"{rate}bps"
