"""The tables of the pages, by the names that their marks use."""

from collections.abc import Iterable, Iterator
from typing import Any

from sim.model.congestion.study import tables as congestion_tables
from sim.model.connections.study import tables as connections_tables
from sim.page import board_tables, latency_tables, mpich_tables, study_tables, walk_tables
from sim.page.measured import FIGURES
from sim.report.table import Row, Table
from sim.study.mft import tables as routing_tables

CELLS = {"LUT4": "LUT4", "CCU2C": "carry", "TRELLIS_FF": "FF", "DP16KD": "block RAM", "TRELLIS_DPR16X4": "LUT RAM",
         "MULT18X18D": "DSP"}
"""ECP5 cells that the table shows, and what they are called there."""


def _cluster(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    yield "collective", "algorithm", "nodes", "bytes", "cycles", "goodput", "mismatched bits"
    for row in rows:
        goodput = f"{row['goodput_fraction']:.1%}" if row["bytes"] else ""
        yield (row["collective"], row["algorithm"], row["nodes"], f"{row['bytes']:,}", f"{row['cycles']:,}", goodput,
               row["mismatched_bits"])


def _throughput(report: dict[str, Any]) -> Iterator[Row]:
    yield ("preset", "collective", "algorithm", "nodes", "jobs", "bytes a job", "cycles", "of the bound",
           "with headers", "with credits", "bound, were the link never idle")
    for row in report["rows"]:
        yield (f"`{row['preset']}`", row["collective"], row["algorithm"], row["nodes"], row["jobs"],
               f"{row['bytes']:,}", f"{row['cycles']:,}", f"{row['bound_fraction']:.1%}",
               f"{row['framing_fraction']:.1%}", f"{row['wire_fraction']:.1%}",
               f"{row['bound_fraction'] / row['wire_fraction']:.1%}")


def _paper(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    yield "collective", "algorithm", "nodes", "jobs", "bytes a job", "cycles", "goodput", "mismatched bits"
    for row in rows:
        yield (row["collective"], row["algorithm"], row["nodes"], row["jobs"], f"{row['bytes']:,}",
               f"{row['cycles']:,}", f"{row['goodput_fraction']:.1%}", row["mismatched_bits"])


def _pool(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    yield "collective", "algorithm", "nodes", "jobs", "cycles with shared credits", "without", "saved"
    cycles = {
        (row["collective"], row["algorithm"], row["nodes"], row["jobs"], row["lending"]): row["cycles"] for row in rows
    }
    for (*case, lending), with_loans in cycles.items():
        if lending:
            without = cycles[*case, False]
            yield (*case, f"{with_loans:,}", f"{without:,}", f"{1 - with_loans / without:.1%}")


def _fpga(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    yield "top", "preset", *CELLS.values()
    for row in rows:
        yield row["top"], f"`{row['preset']}`", *(f"{row['cells'].get(cell, 0):,}" for cell in CELLS)


def _reduce(figures: dict[str, Any]) -> Iterator[Row]:
    yield "cycles", "Fmax best, MHz", "Fmax median, MHz", "latency, ns", "LUT4", "LUT4eq", "FF", "DSP"
    for row in figures["depths"]:
        rates = row["fmax_mhz"]
        yield (row["cycles"], f"{rates['best']:.0f}", f"{rates['median']:.0f}", f"{row['latency_ns']:.1f}",
               f"{row['lut4']:,}", f"{row['lut4eq']:,}", f"{row['ff']:,}", row["dsp"])


def _units(figures: dict[str, Any]) -> Iterator[Row]:
    yield "unit", "Fmax median, MHz", "LUT4eq", "FF", "block RAM", "DSP"
    for name, row in figures["units"].items():
        yield name, f"{row['fmax_mhz']:.0f}", f"{row['lut4eq']:,}", f"{row['ff']:,}", row["block_ram"], row["dsp"]


def _core(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    yield "preset", "Fmax, MHz", "LUT4", "carry", "LUT RAM", "FF", "block RAM"
    for row in rows:
        cells = row["cells"]
        kinds = ("LUT4", "CCU2C", "TRELLIS_DPR16X4", "TRELLIS_FF", "DP16KD")
        yield (f"`{row['preset']}`", f"{row['fmax_mhz']:.1f}",
               *(f"{cells.get(kind, 0):,}" for kind in kinds))


def _offload_area(figures: dict[str, Any]) -> Iterator[Row]:
    names = ("lut_logic", "lut_memory", "registers", "block_ram", "ultra_ram", "dsp")
    yield "block", "LUT as logic", "LUT as memory", "registers", "block RAM", "UltraRAM", "DSP"
    yield "all", *(f"{figures['total'][name]:,g}" for name in names)
    for block in figures["blocks"]:
        yield (block["block"], *(
            f"{block[name]:,g} ({block['share'][name]:.0%})" if block[name] else "" for name in names
        ))


def _boards(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    yield ("board", "NICs", "Fmax of each seed, MHz", "required, MHz", "LUT4", "carry", "LUT RAM", "FF", "block RAM",
           "DSP")
    for row in rows:
        cells = row["cells"]
        kinds = ("lut4", "carry", "lut_ram", "ff", "block_ram", "dsp")
        rates = ", ".join(f"{rate:.1f}" for rate in row["fmax_mhz_by_seed"].values())
        yield (row["board"], row["n_nics"], rates, f"{row['required_mhz']:.0f}",
               *(f"{cells[kind]:,}" for kind in kinds))


def _buffer(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    yield "unit", "Fmax best, MHz", "Fmax median, MHz", "LUT4", "LUT4eq", "FF", "block RAM"
    for row in rows:
        rates = row["fmax_mhz"]
        yield (row["unit"], f"{rates['best']:.0f}", f"{rates['median']:.0f}", f"{row['lut4']:,}",
               f"{row['lut4eq']:,}", f"{row['ff']:,}", row["block_ram"])


def _buffer_load(figures: dict[str, Any]) -> Iterator[Row]:
    yield ("mode", "load", "failures", "look-up, cycles", "insertion steps, mean", "most", "stash, most",
           "operations a cycle")
    for row in figures["sweep"]:
        look, steps = row["lookup_cycles"], row["insert_steps"]
        cycles = f"{look['min']}" if look["min"] == look["max"] else f"{look['min']} to {look['max']:,}"
        yield (row["mode"], f"{row['load']:.0%}", row["failures"], cycles, f"{steps['mean']:.2f}", steps["max"],
               row["stash_peak"], f"{row['operations_per_cycle']:.2f}")


def _switch(figures: dict[str, Any]) -> Iterator[Row]:
    yield "traffic", "buffer, flits", "header packets", "mtu packets", "mtu packets, queues at the outputs"
    uniform = {row["packet"]: row["throughput"] for row in figures["uniform"]}
    queued = {f"{row['packet']}_output_queued": row["output_queued"] for row in figures["uniform"]}
    for row in ({"buffer_flits": figures["buffer_flits"], **uniform, **queued}, figures["with_preset_buffer"]):
        yield ("uniform random", f"{row['buffer_flits']:,}", f"{row['header']:.1%}", f"{row['mtu']:.1%}",
               f"{row['mtu_output_queued']:.1%}")
    for row in figures["multicast_throughput"]:
        if row["fanout"] != row["copies"]:
            continue
        for who, end in (("all ports send", ""), ("one port sends", "_one_sender")):
            yield (f"multicast to {row['fanout']}, {who}", f"{figures['buffer_flits']:,}",
                   f"{row['header' + end]:.1%}", f"{row['mtu' + end]:.1%}", "")


def _simulator(figures: dict[str, Any]) -> Iterator[Row]:
    yield ("workload", "preset", "nodes", "engine", "threads", "cycles", "seconds", "node-cycles a second",
           "KiB a node")
    for row in figures["rows"]:
        yield (row["workload"], f"`{row['preset']}`", f"{row['nodes']:,}", row["engine"], row["threads"],
               f"{row['cycles']:,}" if "cycles" in row else "", f"{row['seconds']:.3f}",
               f"{row['node_cycles_per_second']:,}" if "cycles" in row else "",
               f"{row['bytes_a_node'] / 1024:,.0f}" if "bytes_a_node" in row else "")


def _builds(figures: dict[str, Any]) -> Iterator[Row]:
    yield "preset", "topology", "engine", "from nothing, seconds"
    for row in figures["builds"]:
        yield f"`{row['preset']}`", f"`{row['topology']}`", row["engine"], f"{row['seconds']:.1f}"


def _instructions(figures: dict[str, Any]) -> Iterator[Row]:
    yield "instructions", "cycles", "node-cycles a second"
    for row in figures["instructions"]:
        yield f"`{row['isa']}`", f"{row['cycles']:,}", f"{row['node_cycles_per_second']:,}"


def _scale(figures: dict[str, Any]) -> Iterator[Row]:
    yield "collective", "nodes", "topology", "bytes", "cycles", "seconds", "of all cycles evaluated", "KiB a node"
    for row in figures["rows"]:
        yield (row["collective"], f"{row['nodes']:,}", f"`{row['topology']}`", row["bytes"], f"{row['cycles']:,}",
               f"{row['seconds']:.2f}", f"{row['evaluated_fraction']:.0%}", f"{row['bytes_a_node'] / 1024:,.0f}")


def _coverage(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    yield "bench", "covers", "bins", "runs", "least hits of a bin"
    for row in rows:
        yield f"`{row['bench'].removeprefix('testbench.')}`", row["covers"], row["bins"], row["runs"], row["least"]


def _measured(recorded: dict[str, Any]) -> Iterator[Row]:
    yield "file", "depends on", "measured by", "measured at"
    for name, figure in FIGURES.items():
        depends = ", ".join(f"`{what}`" for what in figure.depends)
        yield f"`{name}.json`", depends, f"`{figure.command}`", recorded[name]["at"]


TABLES = {
    "boards": Table(source="boards", rows=_boards),
    "board_flows": Table(source="boards", words=7, rows=board_tables.flows),
    "buffer": Table(source="buffer", rows=_buffer),
    "buffer_load": Table(source="buffer_load", rows=_buffer_load),
    "builds": Table(source="builds", words=3, rows=_builds),
    "builds_instructions": Table(source="builds", rows=_instructions),
    "cluster": Table(source="cluster", words=2, rows=_cluster),
    "congestion_buffers": Table(source="congestion_small", rows=congestion_tables.buffers),
    "congestion_collectives": Table(source="congestion_collectives", words=3, rows=congestion_tables.collectives),
    "congestion_large": Table(source="congestion_large", words=3, rows=congestion_tables.metric),
    "congestion_small": Table(source="congestion_small", rows=congestion_tables.small),
    "congestion_speed": Table(source="congestion_speed", words=2, rows=congestion_tables.speed),
    "connections_groups": Table(source="connections", rows=connections_tables.best),
    "connections_nic": Table(source="connections", rows=connections_tables.nic),
    "connections_paper": Table(source="connections", words=3, rows=connections_tables.printed),
    "connections_readings": Table(source="connections", words=3, rows=connections_tables.readings),
    "connections_runs": Table(source="connections", words=2, rows=connections_tables.runs),
    "connections_scale": Table(source="connections", rows=connections_tables.scale),
    "connections_srq": Table(source="connections", rows=connections_tables.srq),
    "core": Table(source="core", rows=_core),
    "coverage": Table(source="coverage", words=2, rows=_coverage),
    "fpga": Table(source="fpga", words=2, rows=_fpga),
    "latency": Table(source="latency", words=0, rows=latency_tables.hops),
    "latency_doorbell_stages": Table(source="latency", rows=latency_tables.doorbell_stages),
    "latency_doorbells": Table(source="latency", rows=latency_tables.doorbells),
    "latency_nanoseconds": Table(source="latency", rows=latency_tables.nanoseconds),
    "latency_stages": Table(source="latency", rows=latency_tables.stages),
    "latency_triggers": Table(source="latency", rows=latency_tables.triggers),
    "measured": Table(source="measured", words=4, rows=_measured),
    "occupancy": Table(source="../studies/buffer-occupancy", words=2, rows=study_tables.occupancy),
    "nic_allreduce": Table(source="../studies/nic-allreduce", words=2, rows=study_tables.points("nic-allreduce")),
    "nic_allreduce_hosts": Table(source="../studies/nic-allreduce", rows=study_tables.other_hosts),
    "nic_broadcast": Table(source="../studies/nic-broadcast", words=2, rows=study_tables.points("nic-broadcast")),
    "nic_broadcast_hosts": Table(source="../studies/nic-broadcast", rows=study_tables.other_hosts),
    "nic_reduce": Table(source="../studies/nic-reduce", words=2, rows=study_tables.points("nic-reduce")),
    "nic_reduce_hosts": Table(source="../studies/nic-reduce", rows=study_tables.other_hosts),
    "mpich_counts": Table(source="mpich_tests", words=2, rows=mpich_tables.counts),
    "mpich_tests": Table(source="mpich_tests", words=3, rows=mpich_tables.tests),
    "multicast": Table(source="multicast", words=2, rows=_cluster),
    "noise": Table(source="../studies/noise", rows=study_tables.noise),
    "offload_area": Table(source="offload_area", rows=_offload_area),
    "paper": Table(source="paper", words=2, rows=_paper),
    "pool": Table(source="pool", words=2, rows=_pool),
    "pulses": Table(source="../studies/pulses", words=3, rows=study_tables.pulses),
    "throughput": Table(source="throughput", words=3, rows=_throughput),
    "reduce": Table(source="reduce", words=0, rows=_reduce),
    "routing": Table(source="routing", words=2, rows=routing_tables.cases),
    "routing_opensm": Table(source="routing", words=2, rows=routing_tables.beside_opensm),
    "scale": Table(source="scale", rows=_scale),
    "simulator": Table(source="simulator", rows=_simulator),
    "switch": Table(source="switch", rows=_switch),
    "units": Table(source="units", rows=_units),
    "walk_descriptor": Table(source="walk", words=2, rows=walk_tables.descriptor),
    "walk_packet": Table(source="walk", words=2, rows=walk_tables.packet),
}
