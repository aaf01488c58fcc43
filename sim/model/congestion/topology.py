"""Networks of the paper's studies, by name."""

from collections.abc import Callable

from sim.model.congestion.error import CongestionError
from sim.model.congestion.network import Link, Network

RATE = 100_000_000_000
DELAY_NS = 1000
MAX_SIDE = 1024


def small() -> Network:
    """Two switches (2, 3); hosts 0 and 1 at the one, 4 to 19 at the other (the paper's figure 1)."""
    links = [Link(0, 2, RATE, DELAY_NS), Link(1, 2, RATE, DELAY_NS), Link(2, 3, RATE, DELAY_NS)]
    links += [Link(3, host, RATE, DELAY_NS) for host in range(4, 20)]
    return Network(20, (2, 3), links, "small")


def dumbbell(side: int = 5) -> Network:
    """Two switches, the last two nodes, with `side` hosts each (section 4)."""
    left, right = 2 * side, 2 * side + 1
    links = [Link(host, left if host < side else right, RATE, DELAY_NS) for host in range(2 * side)]
    return Network(2 * side + 2, (left, right), [*links, Link(left, right, RATE, DELAY_NS)], f"dumbbell:{side}")


def ring(side: int = 5) -> Network:
    """Switches in a ring, a host each: shortest ways go round it, so that pauses may wait for each other."""
    links = [Link(host, side + host, RATE, DELAY_NS) for host in range(side)]
    links += [Link(side + i, side + (i + 1) % side, RATE, DELAY_NS) for i in range(side)]
    return Network(2 * side, range(side, 2 * side), links, f"ring:{side}")


def fat_tree(pods: int = 5, *, racks: int = 4, hosts: int = 16, uplink: int = RATE) -> Network:
    """Fat tree with several roots: `racks` switches of `hosts` hosts and as many above them in a pod, racks**2 cores.

    With 5 pods the network of the HPCC release (320 hosts, 56 switches), which the paper's section 5 has with all links
    at 100 Gb/s. Switch i above the racks of a pod leads to cores racks * i to racks * (i + 1) - 1.
    """
    n_hosts = pods * racks * hosts
    rack, above, core = n_hosts, n_hosts + pods * racks, n_hosts + 2 * pods * racks
    links = [Link(host, rack + host // hosts, RATE, DELAY_NS) for host in range(n_hosts)]
    for pod in range(pods):
        links += [Link(rack + pod * racks + i, above + pod * racks + j, uplink, DELAY_NS)
                  for i in range(racks) for j in range(racks)]
    for i in range(pods * racks):
        links += [Link(above + i, core + i % racks * racks + j, uplink, DELAY_NS) for j in range(racks)]
    n_nodes = core + racks * racks
    suffix = "" if uplink == RATE else f",uplink={uplink // 10**9}"
    return Network(n_nodes, range(n_hosts, n_nodes), links, f"fat-tree:{pods}{suffix}")


NAMES: dict[str, tuple[Callable[[int], Network], int, int, str]] = {
    "dumbbell": (dumbbell, 1, MAX_SIDE, "dumbbell:5"),
    "ring": (ring, 3, MAX_SIDE, "ring:5"),
    "fat-tree": (fat_tree, 1, 32, "fat-tree:5"),
}
"""By name: what makes it, the least and the largest number behind the colon, an example."""


def named(text: str) -> Network | None:
    """The network of a name; None if it is no such name.

    Raises
    ------
    CongestionError
        If the number behind the colon is out of its range.
    """
    if text == "small":
        return small()
    name, _, number = text.partition(":")
    if name not in NAMES:
        return None
    make, low, high, example = NAMES[name]
    number = number or example.partition(":")[2]
    if not (number.isascii() and number.isdecimal() and len(number) < 10) or not low <= int(number) <= high:
        raise CongestionError(f"TOPOLOGY: {name}: must be {low} to {high}, as {example}, not {number!r}")
    return make(int(number))
