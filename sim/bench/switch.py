"""The switch at full load: hop, throughput of packets to one port and of multicasts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from firmware_models.config import Config
from sim.bench.output_queued import output_queued_throughput
from testbench.switch.load_driver import drive

Progress = Callable[[str, int, int], None]
REQUIRED = {"hop_cycles": 7, "uniform_throughput": 0.95}
"""Most cycles of an unloaded hop, and least share of the line rate at saturation."""


def switch_of(config: Config, *, radix: int, buffer_flits: int) -> Config:
    """`config` with another radix and buffer, and multicast entries enough for the bench.

    Raises
    ------
    ValueError
        If there is no such switch.
    """
    entries = max(config.switch.mft_entries, 1 << (2 * radix - 1).bit_length())
    table = max(config.switch.table_entries, 1 << (radix - 1).bit_length())
    return replace(
        config, link=replace(config.link, buffer_flits=buffer_flits),
        switch=replace(config.switch, radix=radix, mft_entries=entries, table_entries=table),
    )


def measure(
    config: Config, *, cycles: int, seed: int, multicast: bool = True,
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Everything about one switch.

    Returns
    -------
    dict
        `hop_cycles` (the longest of an unloaded switch), `uniform_throughput` (of the worse packet size),
        `uniform` (for each packet size, beside that of a switch with queues at its outputs),
        `multicast_throughput` (a row for each fan-out), the rows that they come from, and `failures`: packets lost,
        changed, doubled or out of order, credits missing.
    """
    radix = config.switch.radix
    sizes = {"header": 0, "mtu": config.datapath.mtu // config.datapath.flit_bytes}
    fanouts = _fanouts(radix) if multicast else []
    stage, total = f"switch, radix {radix}, {config.link.buffer_flits} flits", 1 + 2 * len(sizes) + 4 * len(fanouts)
    done, failures = 0, 0

    def run(pattern: str, size: str, **options: Any) -> dict[str, Any]:
        nonlocal done, failures
        progress(stage, done, total)
        counts = drive(
            config, pattern, payload_flits=sizes[size], cycles=cycles, warmup=cycles // 4, seed=seed, **options,
        )
        done += 1
        failures += counts["mismatches"] + counts.get("lost", 0) + (not counts.get("credits_back", True))
        return counts

    latency = run("latency", "header")
    uniform, hotspot, trees = [], [], []
    for size, flits in sizes.items():
        moved, packet_flits = run("uniform", size)["flits"], config.header_flits + flits
        uniform.append({
            "packet": size, "flits": packet_flits, "throughput": moved / radix / cycles,
            "output_queued": output_queued_throughput(
                radix=radix, buffer_flits=config.link.buffer_flits, packet_flits=packet_flits, cycles=cycles, seed=seed,
            ),
        })
        moved = run("hotspot", size)["port0_flits"]
        hotspot.append({"packet": size, "throughput": moved / cycles})
    for fanout in fanouts:
        copies = min(fanout, radix - 1)
        row: dict[str, Any] = {"fanout": fanout, "copies": copies}
        for size in sizes:
            row[size] = run("multicast", size, fanout=copies)["flits"] / radix / cycles
            row[f"{size}_one_sender"] = run("multicast", size, fanout=copies, roots=1)["flits"] / copies / cycles
        trees.append(row)
    progress(stage, total, total)
    return {
        "hop_cycles": latency["max"], "hop_cycles_min": latency["min"],
        "uniform_throughput": min(row["throughput"] for row in uniform),
        "multicast_throughput": trees, "uniform": uniform, "hotspot": hotspot, "radix": radix,
        "data_width": config.datapath.data_width, "mtu": config.datapath.mtu,
        "buffer_flits": config.link.buffer_flits, "match_iterations": config.switch.match_iterations,
        "cycles": cycles, "seed": seed, "failures": failures,
    }


def sweep(
    config: Config, *, sizes: Sequence[tuple[int, int]], cycles: int, seed: int,
    progress: Progress = lambda stage, done, total: None,
) -> list[dict[str, Any]]:
    """Uniform traffic for several pairs of radix and depth of the buffers."""
    rows = []
    for radix, buffer_flits in sizes:
        one = switch_of(config, radix=radix, buffer_flits=buffer_flits)
        report = measure(one, cycles=cycles, seed=seed, multicast=False, progress=progress)
        rows.append({
            "radix": radix, "buffer_flits": buffer_flits, "hop_cycles": report["hop_cycles"],
            **{row["packet"]: row["throughput"] for row in report["uniform"]},
            **{f"{row['packet']}_output_queued": row["output_queued"] for row in report["uniform"]},
            "failures": report["failures"],
        })
    return rows


def _fanouts(radix: int) -> list[int]:
    """2 to `radix`; for many ports the powers of two among them. All ports means: all but the sender's."""
    return list(range(2, radix + 1)) if radix <= 8 else [*(1 << k for k in range(1, radix.bit_length() - 1)), radix]
