"""How many packets a second the simulator of congestion control simulates."""

from collections.abc import Sequence
from typing import Any

from sim.model.congestion import Traffic, defaults, draw, fat_tree, simulate, small
from sim.model.congestion.study.rows import small_flows
from sim.report.progress import ProgressCallback


def measure(controls: Sequence[str], duration_us: int, seed: int, progress: ProgressCallback) -> list[dict[str, Any]]:
    """A row an algorithm and network: the small experiment, and 320 hosts with traffic at a load of 60%.

    Packets are those with data, once each however many links they pass; their acknowledgements are not counted.
    Seconds are those of the core, without drawing flows and paths.
    """
    large = fat_tree()
    workloads = (("small", small(), small_flows()),
                 ("fat-tree:5", large, draw(large.hosts, Traffic(load=0.6, seed=seed, duration_ns=duration_us * 1000))))
    rows = []
    for name, network, flows in workloads:
        for control in controls:
            outcome = simulate(network, flows, defaults(control, network.host_rate), seed=seed, progress=progress,
                               stage=f"{name}, {control}")
            tally, cpu = outcome.tally, max(outcome.cpu_seconds, 1e-9)
            rows.append({
                "network": name, "control": control, "flows": len(flows), "packets": tally["data_packets"],
                "hops": tally["hops"], "events": tally["events"], "seconds": round(outcome.seconds, 3),
                "cpu_seconds": round(outcome.cpu_seconds, 3),
                "packets_a_second": round(tally["data_packets"] / outcome.seconds),
                "packets_a_cpu_second": round(tally["data_packets"] / cpu),
                "hops_a_cpu_second": round(tally["hops"] / cpu),
                "events_a_cpu_second": round(tally["events"] / cpu), "violations": outcome.violations,
            })
    return rows
