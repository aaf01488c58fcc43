"""The NIC paper's formulas (1) and (2), with what is put in for each term.

Both estimate the speed-up between two neighbouring nodes of a tree, not of a whole operation, and for one job.
"""

from typing import Any

from firmware_models.config import Config
from sim.host import Host
from sim.host.model import ELEMENT_BYTES

MEANINGS = {
    "L_CPU": "a descriptor written and its doorbell: post_ns + doorbell_ns",
    "L_IO": "one way over PCIe: one_way_ns",
    "L_network": "measured: a mini packet, from the NIC that has its descriptor to the other NIC's bus",
    "L_poll": "half of a polling interval, and taking the entry: poll_ns / 2 + take_ns",
    "T_MsgSize": "flits and headers of the message at one a cycle",
    "T_soft_startup": "the same behind the memory's latency and a way over PCIe and back, at the lower of both rates",
    "T_nic_startup": "flits and headers of the message at one a cycle",
    "T_Compute": "reduce_ns for every eight bytes, or three passes over them at core_gbytes, whichever is more",
}


def terms(host: Host, config: Config, *, size: int, network_ns: float) -> dict[str, float]:
    """Each term in nanoseconds, for a message of `size` bytes."""
    flits = -(-size // config.datapath.flit_bytes) + -(-size // config.datapath.mtu) * config.header_flits
    wire = 1000 * host.microseconds(flits)
    bus = size * 8 / host.pcie.gbits
    return {
        "L_CPU": host.cpu.post_ns + host.cpu.doorbell_ns, "L_IO": host.pcie.one_way_ns, "L_network": network_ns,
        "L_poll": host.cpu.poll_ns / 2 + host.cpu.take_ns, "T_MsgSize": wire,
        "T_soft_startup": 2 * host.pcie.one_way_ns + host.memory.latency_ns + max(wire, bus), "T_nic_startup": wire,
        "T_Compute": max(size / ELEMENT_BYTES * host.cpu.reduce_ns, 3 * size / host.memory.core_gbytes),
    }


def estimate(collective: str, of: dict[str, float]) -> float:
    """The speed-up by formula (1) for a broadcast, by formula (2) for reductions.

    Examples
    --------
    >>> of = dict.fromkeys(MEANINGS, 100.0)
    >>> round(estimate("broadcast", of), 3), round(estimate("reduce", of), 3)
    (1.167, 3.0)
    """
    if collective == "broadcast":
        return 1 + of["L_poll"] / (2 * of["L_CPU"] + 2 * of["L_IO"] + of["L_network"] + of["T_MsgSize"])
    host = of["L_CPU"] + 2 * of["L_IO"] + of["L_network"] + of["T_soft_startup"] + of["T_Compute"]
    return host / (of["L_network"] + of["T_nic_startup"])


def rows(collective: str, host: Host, config: Config, *, sizes: list[int], network_ns: float) -> list[dict[str, Any]]:
    """A row for each size: the terms, and the estimate."""
    found = []
    for size in sizes:
        of = terms(host, config, size=size, network_ns=network_ns)
        found.append({
            "kind": "formula", "bytes": size, "estimate": round(estimate(collective, of), 3),
            **{name: round(value, 1) for name, value in of.items()},
        })
    return found
