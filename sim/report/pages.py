"""Writes the figures of ``docs/figures`` into the pages that show them.

``python -m sim.report.pages README.md docs/reduce.md``, from the top folder.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sim.study.mft_tables import routing_table

CELLS = {"LUT4": "LUT4", "CCU2C": "carry", "TRELLIS_FF": "FF", "DP16KD": "block RAM", "TRELLIS_DPR16X4": "LUT RAM",
         "MULT18X18D": "DSP"}
"""ECP5 cells that the table shows, and what they are called there."""


def filled_in(page: str, figures: Path) -> str:
    """`page` with a table between every pair of marks ``<!-- table NAME -->`` and ``<!-- /table NAME -->``.

    Parameters
    ----------
    page : str
        Text of the page.
    figures : Path
        Folder with the JSON files that the tables are made of.

    Raises
    ------
    ValueError
        If a mark has no end, or a name that is not in :data:`TABLES`.
    """
    for name in re.findall(r"<!-- table (\w+) -->", page):
        if name not in TABLES:
            raise ValueError(f"a table must be one of {', '.join(TABLES)}, not {name!r}")
        start, end = f"<!-- table {name} -->\n", f"<!-- /table {name} -->"
        before, _, rest = page.partition(start)
        if end not in rest:
            raise ValueError(f"the table {name!r} must end with a mark {end!r}")
        rows = "\n".join(TABLES[name](json.loads((figures / f"{SOURCES.get(name, name)}.json").read_text())))
        page = f"{before}{start}{rows}\n{end}{rest.partition(end)[2]}"
    return page


def _cluster_table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield "| collective | algorithm | nodes | bytes | cycles | goodput | mismatched bits |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        goodput = f"{row['goodput_fraction']:.1%}" if row["bytes"] else ""
        yield (f"| {row['collective']} | {row['algorithm']} | {row['nodes']} | {row['bytes']:,} | {row['cycles']:,} "
               f"| {goodput} | {row['mismatched_bits']} |")


def _fpga_table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield f"| top | preset | {' | '.join(CELLS.values())} |"
    yield f"| --- | --- | {' | '.join('---:' for _ in CELLS)} |"
    for row in rows:
        counts = " | ".join(f"{row['cells'].get(cell, 0):,}" for cell in CELLS)
        yield f"| {row['top']} | `{row['preset']}` | {counts} |"


def _reduce_table(figures: dict[str, Any]) -> Iterator[str]:
    yield "| cycles | Fmax best, MHz | Fmax median, MHz | latency, ns | LUT4 | LUT4eq | FF | DSP |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in figures["depths"]:
        rates = row["fmax_mhz"]
        yield (f"| {row['cycles']} | {rates['best']:.0f} | {rates['median']:.0f} | {row['latency_ns']:.1f} "
               f"| {row['lut4']:,} | {row['lut4eq']:,} | {row['ff']:,} | {row['dsp']} |")


def _buffer_table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield "| unit | Fmax best, MHz | Fmax median, MHz | LUT4 | LUT4eq | FF | block RAM |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        rates = row["fmax_mhz"]
        yield (f"| {row['unit']} | {rates['best']:.0f} | {rates['median']:.0f} | {row['lut4']:,} | {row['lut4eq']:,} "
               f"| {row['ff']:,} | {row['block_ram']} |")


def _buffer_load_table(figures: dict[str, Any]) -> Iterator[str]:
    yield ("| mode | load | failures | look-up, cycles | insertion steps, mean | most | stash, most "
           "| operations a cycle |")
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in figures["sweep"]:
        look, steps = row["lookup_cycles"], row["insert_steps"]
        cycles = f"{look['min']}" if look["min"] == look["max"] else f"{look['min']} to {look['max']:,}"
        yield (f"| {row['mode']} | {row['load']:.0%} | {row['failures']} | {cycles} | {steps['mean']:.2f} "
               f"| {steps['max']} | {row['stash_peak']} | {row['operations_per_cycle']:.2f} |")


def _units_table(figures: dict[str, Any]) -> Iterator[str]:
    yield "| unit | Fmax median, MHz | LUT4eq | FF | block RAM | DSP |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, row in figures["units"].items():
        yield (f"| {name} | {row['fmax_mhz']:.0f} | {row['lut4eq']:,} | {row['ff']:,} | {row['block_ram']} "
               f"| {row['dsp']} |")


def _switch_table(figures: dict[str, Any]) -> Iterator[str]:
    yield "| traffic | buffer, flits | header packets | mtu packets |"
    yield "| --- | ---: | ---: | ---: |"
    uniform = {row["packet"]: row["throughput"] for row in figures["uniform"]}
    for row in ({"buffer_flits": figures["buffer_flits"], **uniform}, figures["with_preset_buffer"]):
        yield f"| uniform random | {row['buffer_flits']:,} | {row['header']:.1%} | {row['mtu']:.1%} |"
    for row in figures["multicast_throughput"]:
        if row["fanout"] != row["copies"]:
            continue
        for who, end in (("all ports send", ""), ("one port sends", "_one_sender")):
            yield (f"| multicast to {row['fanout']}, {who} | {figures['buffer_flits']:,} | {row['header' + end]:.1%} "
                   f"| {row['mtu' + end]:.1%} |")


def _latency_table(figures: dict[str, Any]) -> Iterator[str]:
    yield "| data width | bytes | trigger | hop | of it behind the last flit in | header in to header out |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
    for one in (figures, *figures.get("widths", [])):
        for row in one["hops"]:
            yield (f"| {one['data_width']} | {row['bytes']:,} | {row['trigger_cycles']} | {row['hop_cycles']} "
                   f"| {row['after_last_flit_cycles']} | {row['header_hop_cycles']} |")


def _latency_stages_table(figures: dict[str, Any]) -> Iterator[str]:
    smallest, largest = figures["hops"][0], figures["hops"][-1]
    yield f"| what | cycle, {smallest['bytes']} bytes | cycle, {largest['bytes']} bytes |"
    yield "| --- | ---: | ---: |"
    for stage, cycle in smallest["stages"].items():
        yield f"| {stage} | {cycle} | {largest['stages'][stage]} |"


def _latency_triggers_table(figures: dict[str, Any]) -> Iterator[str]:
    yield "| packet that comes last | cycles |"
    yield "| --- | ---: |"
    for what, cycles in figures["triggers"].items():
        yield f"| {what} | {cycles} |"


def _latency_doorbells_table(figures: dict[str, Any]) -> Iterator[str]:
    yield "| what | cycles | reads of host memory behind each other | cycles in host memory |"
    yield "| --- | ---: | ---: | ---: |"
    for what, row in figures["doorbells"].items():
        yield f"| {what} | {row['cycles']} | {row['memory_reads']} | {row['memory_reads'] * row['memory_cycles']} |"


def _latency_doorbell_stages_table(figures: dict[str, Any]) -> Iterator[str]:
    yield "| what | cycle |"
    yield "| --- | ---: |"
    for stage, cycle in next(iter(figures["doorbells"].values()))["stages"].items():
        yield f"| {stage} | {cycle} |"


TABLES: dict[str, Callable[[Any], Iterator[str]]] = {
    "buffer": _buffer_table, "buffer_load": _buffer_load_table, "cluster": _cluster_table, "fpga": _fpga_table,
    "latency": _latency_table, "latency_doorbell_stages": _latency_doorbell_stages_table,
    "latency_doorbells": _latency_doorbells_table, "latency_stages": _latency_stages_table,
    "latency_triggers": _latency_triggers_table, "reduce": _reduce_table, "routing": routing_table,
    "switch": _switch_table,
    "units": _units_table,
}
"""What makes a table of the file of that name, or of another one in :data:`SOURCES`."""

SOURCES = {name: "latency" for name in TABLES if name.startswith("latency_")}
"""Files of tables that have none of their own."""


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        path.write_text(filled_in(path.read_text(), Path("docs", "figures")))
