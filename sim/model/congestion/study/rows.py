"""Rows of the studies of congestion control: one run, or a pair of runs, in plain values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sim.model.congestion import (
    CONFIGURATIONS,
    Flow,
    Network,
    Outcome,
    Parameters,
    Traffic,
    alone,
    collective_flows,
    defaults,
    degradation,
    draw,
    dumbbell,
    fat_tree,
    simulate,
    small,
)
from sim.model.congestion.metric import slowdowns
from sim.model.congestion.topology import RATE
from sim.model.congestion.traffic import BACKGROUND
from sim.report.progress import ProgressCallback

Row = dict[str, Any]
BIN_NS = 20_000
LONG_BYTES, SHORT_BYTES, SHORTS_A_HOST, BURST_NS = 100_000_000, 64_000, 16, 5_000_000
SOURCES = range(6, 20)
CALM_BEFORE, CALM_AFTER, TREND_BINS = slice(150, 200), slice(425, 575), 100
"""Bins in which nothing but the long flows is under way: 3 to 4 and 8.5 to 11.5 ms; bins of 2 ms."""
SETTLED_NS = 2_000_000
"""From then on until the burst the long flows have settled."""
MB = 1 << 20


def run_figures(outcome: Outcome) -> Row:
    """Figures of a run that every row has."""
    tally = outcome.tally
    return {
        "flows": len(outcome.flows), "packets": tally["data_packets"], "events": tally["events"], "hops": tally["hops"],
        "seconds": round(outcome.seconds, 3), "cpu_seconds": round(outcome.cpu_seconds, 3),
        "packets_a_cpu_second": round(tally["data_packets"] / max(outcome.cpu_seconds, 1e-9)),
        "pause_ms": round(outcome.pause_ns / 1e6, 6), "pauses": int((outcome.pfc["is_pause"] == 1).sum()),
        "peak_bytes": outcome.peak_bytes, "marks": tally["marks"], "end_ms": round(outcome.end_ns / 1e6, 6),
        "violations": outcome.violations, "deadlock": outcome.deadlock,
    }


def kind_figures(outcome: Outcome) -> Row:
    """Mean completion time, µs, and rate, Gb/s, of each kind of flows."""
    kinds = sorted({flow.kind for flow in outcome.flows})
    found: Row = {}
    for kind in kinds:
        mine = np.array([flow.kind == kind for flow in outcome.flows])
        times = outcome.fct_ns[mine] / 1e3
        found[kind] = {"flows": int(mine.sum()), "fct_us": round(float(times.mean()), 3),
                       "fct_99_us": round(float(np.percentile(times, 99)), 3),
                       "gbps": round(float(outcome.rates[mine].mean()) / 1e9, 4)}
    return found


def small_flows() -> list[Flow]:
    """Two long flows from the beginning, 16 short ones of each of 14 hosts after 5 ms (the paper's section 2)."""
    flows = [Flow(0, 4, LONG_BYTES, 0, kind="long"), Flow(1, 5, LONG_BYTES, 0, kind="long")]
    return flows + [Flow(host, 5, SHORT_BYTES, BURST_NS, 101, "short")
                    for host in SOURCES for _ in range(SHORTS_A_HOST)]


def small_row(control: str, buffer_mb: int, seed: int, is_whole: bool, progress: ProgressCallback) -> list[Row]:
    """The small experiment under one algorithm; if it is whole with all that plots need, else with its figures only."""
    network, flows = small(), small_flows()
    parameters = defaults(control, network.host_rate, buffer=buffer_mb * MB)
    outcome = simulate(network, flows, parameters, seed=seed, followed=(0, 1), series_ns=BIN_NS, progress=progress,
                       stage=control)
    last = int(np.flatnonzero(outcome.series.sum(axis=0))[-1]) + 1
    rates = outcome.series[:, :last] * 8 / BIN_NS  # Gb/s
    short = outcome.fct_ns[2:] / 1e3
    end_ns = BURST_NS + float(outcome.fct_ns[2:].max())
    before = slice(SETTLED_NS // BIN_NS, BURST_NS // BIN_NS)
    burst = slice(BURST_NS // BIN_NS, int(end_ns // BIN_NS))
    return [{
        "kind": "small", "control": control, "buffer_mb": buffer_mb, "seed": seed, "bin_us": BIN_NS / 1e3,
        "f0_before": float(rates[0, before].mean()), "f0_burst": float(rates[0, burst].mean()),
        "f0_burst_least": float(smoothed(rates[0], 5)[burst].min()), "f1_burst": float(rates[1, burst].mean()),
        "oscillation": max(oscillation(rates[0], part) for part in (CALM_BEFORE, CALM_AFTER)),
        "f1_recovered_ms": recovery_ms(rates[1], before, burst.stop),
        "f0_ms": outcome.fct_ns[0] / 1e6, "f1_ms": outcome.fct_ns[1] / 1e6, "burst_end_ms": end_ns / 1e6,
        "short_mean_us": float(short.mean()), "short_max_us": float(short.max()), "short_std_us": float(short.std()),
        "f0_gbps": [round(float(rate), 1) for rate in rates[0]] if is_whole else [],
        "f1_gbps": [round(float(rate), 1) for rate in rates[1]] if is_whole else [],
        "short_us": [round(float(time), 1) for time in np.sort(short)] if is_whole else [],
        **run_figures(outcome),
    }]


def smoothed(rates: np.ndarray, n_bins: int) -> np.ndarray:
    """The mean of `n_bins` bins around each."""
    return np.convolve(rates, np.ones(n_bins) / n_bins, "same")


def oscillation(rates: np.ndarray, part: slice) -> float:
    """Standard deviation of a rate from its mean over 2 ms, over the mean: a steady rise or fall is none."""
    return float((rates - smoothed(rates, TREND_BINS))[part].std() / rates[part].mean())


def recovery_ms(rates: np.ndarray, before: slice, burst_end: int) -> float | None:
    """How long after the burst a flow has 90% of its rate before it again, over 200 µs; None if never."""
    enough = 0.9 * rates[before].mean()
    found = np.flatnonzero(smoothed(rates, 10)[burst_end:] >= enough)
    return float(found[0]) * BIN_NS / 1e6 if len(found) else None


def degradation_rows(
    study: str, network: Network, flows: Sequence[Flow], parameters: Parameters, label: Row, progress: ProgressCallback,
    seed: int,
) -> list[Row]:
    """Flows under test with background and alone: both runs, and the measure with each of the paper's weights."""
    name = parameters.algorithm
    loaded = simulate(network, flows, parameters, seed=seed, progress=progress, stage=name)
    tested = simulate(network, alone(flows), parameters, seed=seed)
    found = degradation(loaded, tested)
    rows = [{"kind": "run", "study": study, "control": name, "run": which, **label, **run_figures(outcome),
             "by_kind": kind_figures(outcome), "long_bytes_share": _long_share(outcome.flows)}
            for which, outcome in (("alone", tested), ("loaded", loaded))]
    factors = slowdowns(loaded, tested)
    return [*rows, {
        "kind": "metric", "study": study, "control": name, **label, "s_l": found.s_l, "s_s": found.s_s,
        "s_a": found.s_a, "w": found.w,
        "worst": {kind: max(factor for flow, factor in factors if flow.kind == kind)
                  for kind in ("long", "short", "all-reduce")},
        **{f"s_{name}": found.total(weights) for name, weights in CONFIGURATIONS.items()},
    }]


def _long_share(flows: Sequence[Flow]) -> float:
    """Bytes of long flows, all-to-all included, over all."""
    return sum(flow.size for flow in flows if flow.kind in ("long", "all-to-all")) / sum(flow.size for flow in flows)


DUMBBELL = Traffic(load=0.9, duration_ns=2_000_000, tested_share=0.4, shorts_a_node=16, rounds=5, members=4, fan=3,
                   mesh=3, long_bytes=6_400_000)
"""Ten hosts: 40% of them under test, so that there are four, with a group of all-reduce."""


def dumbbell_rows(control: str, seed: int, progress: ProgressCallback) -> list[Row]:
    """The measure on two switches with five hosts each (section 4, figure 8)."""
    network = dumbbell(5)
    flows = draw(network.hosts, replace(DUMBBELL, seed=seed))
    return degradation_rows("dumbbell", network, flows, defaults(control, network.host_rate), {"seed": seed}, progress,
                            seed)


def large_rows(
    control: str, load: float, uplink_gbps: int, duration_ns: int, seed: int, progress: ProgressCallback,
) -> list[Row]:
    """The measure on 320 hosts and 56 switches (section 5)."""
    network = fat_tree(uplink=uplink_gbps * 10**9)
    flows = draw(network.hosts, Traffic(load=load, seed=seed, duration_ns=duration_ns, rate=RATE))
    label = {"load": load, "uplink_gbps": uplink_gbps, "duration_us": duration_ns / 1e3, "seed": seed}
    return degradation_rows("large", network, flows, defaults(control, network.host_rate), label, progress, seed)


def collective_rows(
    control: str, which: str, algorithm: str, n_ranks: int, n_bytes: int, load: float, duration_ns: int, seed: int,
    progress: ProgressCallback,
) -> list[Row]:
    """One collective of this project over a fifth of the hosts, alone and under the background of the others."""
    network = fat_tree()
    drawn = draw(network.hosts, Traffic(load=load, seed=seed, duration_ns=duration_ns))
    tested = sorted({flow.source for flow in alone(drawn)})
    ranks = list(np.random.default_rng([seed, 3]).permutation(tested)[:n_ranks])
    messages = collective_flows(which, algorithm, [int(rank) for rank in ranks], n_bytes)
    background = [flow for flow in drawn if flow.kind in BACKGROUND]
    parameters = defaults(control, network.host_rate)
    took = {}
    figures = {}
    for name, flows in (("alone", messages), ("loaded", [*messages, *background])):
        outcome = simulate(network, flows, parameters, seed=seed, progress=progress, stage=f"{control} {which}")
        took[name] = float(outcome.delivered_ns[:len(messages)].max()) / 1e3
        figures[name] = run_figures(outcome)
    return [{"kind": "collective", "control": control, "collective": which, "algorithm": algorithm, "ranks": n_ranks,
             "bytes": n_bytes, "load": load, "duration_us": duration_ns / 1e3, "seed": seed, "messages": len(messages),
             "alone_us": took["alone"], "loaded_us": took["loaded"], "slowdown": took["loaded"] / took["alone"],
             **figures["loaded"], "alone_violations": figures["alone"]["violations"]}]


def scatter_row(load: float, seed: int, progress: ProgressCallback) -> list[Row]:
    """Sources and destinations of 200 nodes at a load (figure 7)."""
    flows = draw(range(200), Traffic(load=load, seed=seed))
    progress("flows", 1, 1)
    points = {name: sorted({(flow.source, flow.destination) for flow in flows if (flow.kind in BACKGROUND) == is_other})
              for name, is_other in (("tested", False), ("background", True))}
    return [{"kind": "scatter", "load": load, "seed": seed, "flows": len(flows), **points}]
