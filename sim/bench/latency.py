"""Cycles that an unloaded NIC takes: trigger, reduce hop, doorbell to first flit; measured on the RTL.

The bench is ``testbench.nic.latency_bench``.
"""

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from firmware_models.abi.formats import JOB_BITS
from firmware_models.config import Config
from rtl.nic.nic import Nic
from testbench.runner import run_bench

REQUIRED = {"trigger_cycles": 6, "reduce_hop_cycles": 30}
"""Most cycles allowed."""
WATCHED = ("*valid", "fired")
"""Signals inside of the NIC by which the bench tells its stages."""
Width = Literal[64, 128, 256, 512]
WIDTHS: tuple[Width, ...] = (64, 128, 256)
Progress = Callable[[str, int, int], None]


def measure(config: Config) -> dict[str, Any]:
    """Every latency of a NIC.

    Returns
    -------
    dict
        `trigger_cycles`: the last packet that a descriptor needs is valid in the buffer until it fires.
        `reduce_hop_cycles`: first flit of the header in, first flit of the sum out, for the smallest packet that is
        combined with an operand on chip and sent on (`header_hop_cycles`: first flit of its header out).
        `doorbell_to_first_flit_cycles`: the doorbell's write on the register bus to the first flit of a collective the
        8 bytes of which travel in its descriptor. `hops`, `triggers` and `doorbells` hold these and others, with their
        stages.
    """
    datapath = config.datapath
    sizes = sorted({8, datapath.flit_bytes, 64, 256, datapath.mtu // 2, datapath.mtu} - {0})
    sizes = [size for size in sizes if size <= datapath.mtu]
    parameters = {
        "data_width": datapath.data_width, "mtu": datapath.mtu, "buffer_flits": config.link.buffer_flits,
        "sizes": sizes, "p2p": config.nic.p2p,
        "sweep_cycles": 1_000 + max(config.cou.n_peers << JOB_BITS, 4 * config.nic.n_vps),
    }
    with contextlib.redirect_stdout(sys.stderr):
        found = run_bench(
            Nic(config), bench="testbench.nic.latency_bench", parameters=parameters, seed=1, watched=WATCHED,
            seconds=4 * 3600,
        ).report
    smallest = found["hops"][0]
    return {
        "trigger_cycles": max(row["trigger_cycles"] for row in found["hops"]),
        "reduce_hop_cycles": smallest["hop_cycles"],
        "header_hop_cycles": smallest["header_hop_cycles"],
        "reduce_hop_cycles_max": max(row["hop_cycles"] for row in found["hops"]),
        "doorbell_to_first_flit_cycles": found["doorbells"]["collective, 8 bytes in the descriptor"]["cycles"],
        "data_width": datapath.data_width, "mtu": datapath.mtu, "n_cous": config.nic.n_cous,
        "add_cycles": config.reduce.add_cycles, **found,
    }


def sweep(
    config: Config, *, widths: Sequence[Width] = WIDTHS, progress: Progress = lambda stage, done, total: None
) -> list[dict[str, Any]]:
    """The same for NICs of other data widths, with one offload unit that adds doubles: the others would be idle."""
    rows = []
    for number, width in enumerate(widths):
        progress("widths", number, len(widths))
        one = replace(
            config, datapath=replace(config.datapath, data_width=width), nic=replace(config.nic, n_cous=1),
            reduce=replace(config.reduce, datatypes=("float64",), multiply=False),
        )
        rows.append(measure(one))
    progress("widths", len(widths), len(widths))
    return rows


def with_widths(report: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """`report` with those of other data widths, and the least and most over all of them."""
    spans = {}
    for figure in (*REQUIRED, "doorbell_to_first_flit_cycles"):
        values = [one[figure] for one in (report, *rows)]
        spans[f"{figure}_over_widths"] = {"min": min(values), "max": max(values)}
    return report | spans | {"widths": rows}


def holds(report: dict[str, Any]) -> bool:
    """True if every figure is within :data:`REQUIRED`."""
    return all(report[name] <= most for name, most in REQUIRED.items())
