"""`conic congestion`: a workload on a network under one or several ways of congestion control."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from sim.cli.shared.byte_size import ByteSize
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.idle import refuse_idle
from sim.cli.shared.number import Decimal, Number
from sim.cli.shared.paths import OUTPUT_FILE
from sim.cli.shared.refusal import fails, refuses
from sim.cli.shared.run_file import run_file_option
from sim.model.congestion import (
    ALGORITHMS,
    CONFIGURATIONS,
    CongestionError,
    Flow,
    Network,
    Parameters,
    Traffic,
    alone,
    check_run,
    collective_flows,
    defaults,
    degradation,
    draw,
    parse_topology,
    read_flows,
    simulate,
    write_fct,
    write_flows,
    write_pfc,
    write_topology,
)
from sim.model.congestion.core.library import CoreError
from sim.model.congestion.scatter import write_scatter
from sim.model.congestion.study.rows import kind_figures, run_figures
from sim.model.congestion.traffic import BACKGROUND
from sim.report.progress import ProgressCallback

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("congestion", epilog=example("conic congestion dumbbell:5 --load 0.6 --control hpcc --control dcqcn"))
@click.argument("topology")
@click.option("--flows", "flow_file", type=FILE, help="Flow file of the ns-3 release of HPCC.")
@click.option("--load", type=Decimal(0, above=True, high=1),
              help="Draw flows under test, and background at this load, instead of --flows.")
@click.option("--collective", help="COLLECTIVE[/ALGORITHM] over the hosts under test, instead of their flows.")
@click.option("--ranks", type=Number(2, 4096), help="Hosts of the collective.  [default: all under test]")
@click.option("--size", "n_bytes", type=ByteSize(), default="1MiB", show_default=True, help="Bytes of the collective.")
@click.option("--duration-us", type=Number(1, 1_000_000), default=1250, show_default=True,
              help="Drawn flows begin within this time.")
@click.option("--control", "controls", multiple=True, default=("all",), show_default=True,
              help=f"{', '.join(ALGORITHMS)}, or all; may be repeated.")
@click.option("--buffer", type=ByteSize(), default="4MiB", show_default=True, help="Shared buffer of a switch.")
@click.option("--payload", type=Number(64, 9000), default=1000, show_default=True, help="Bytes of a packet.")
@click.option("--set", "changes", multiple=True, help="NAME=VALUE of a parameter; may be repeated.")
@click.option("--seed", type=Number(0, 2**31), default=1, show_default=True, help="Of all that is random.")
@click.option("--alone", "is_alone", is_flag=True, help="Flows under test only, without background.")
@click.option("--fct", type=OUTPUT_FILE, help="Write completion times in the release's columns; one --control only.")
@click.option("--pfc", type=OUTPUT_FILE, help="Write frames of PFC in the release's columns; one --control only.")
@click.option("--write-topology", "topology_out", type=OUTPUT_FILE, help="Write the network as a topology file.")
@click.option("--write-flows", "flows_out", type=OUTPUT_FILE, help="Write the flows as a flow file.")
@click.option("--scatter", type=OUTPUT_FILE, help="Draw sources and destinations of the flows (SVG).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@run_file_option
@refuses(CongestionError)
@fails(CoreError)
def command(
    *, topology: str, flow_file: Path | None, load: float | None, collective: str | None, ranks: int | None,
    n_bytes: int, duration_us: int, controls: tuple[str, ...], buffer: int, payload: int, changes: tuple[str, ...],
    seed: int, is_alone: bool, fct: Path | None, pfc: Path | None, topology_out: Path | None, flows_out: Path | None,
    scatter: Path | None, as_json: bool,
) -> int:
    """Runs flows on TOPOLOGY: small, dumbbell:5, ring:5, fat-tree:5, or a topology file of the ns-3 release of HPCC.

    Exit code 1 if an invariant does not hold or pauses wait for each other.
    """
    if collective is None:
        refuse_idle(("n_bytes", "ranks"), "without --collective")
    if load is None:
        refuse_idle(("duration_us",), "without --load, whose flows it is of")
        refuse_idle(("is_alone",), "without --load, which makes the background")
    chosen = _controls(controls)
    if (fct or pfc) and len(chosen) != 1:
        raise CongestionError(f"--{'fct' if fct else 'pfc'}: must go with one --control, not {len(chosen)}")
    network = parse_topology(topology)
    flows = _workload(network, flow_file, load, collective, ranks, n_bytes, duration_us, seed)
    flows = alone(flows) if is_alone else flows
    rate = network.host_rate
    runs = [changed(defaults(control, rate, buffer=buffer, payload=payload), changes) for control in chosen]
    for parameters in runs:  # what cannot be simulated is refused before any simulation, and before any file is written
        check_run(network, flows, parameters)
    if topology_out is not None:
        write_topology(network, topology_out)
    if flows_out is not None:
        write_flows(flows, flows_out)
    if scatter is not None:
        write_scatter(flows, scatter)
    rows = []
    with progress_bars() as progress:
        for parameters in runs:
            rows.append(_row(network, flows, parameters, seed, fct, pfc, progress))
    for row in rows:
        for line in (*row["violations"], *(f"waits for the next in a ring: {port}" for port in row["deadlock"])):
            click.echo(f"conic congestion: {row['control']}: {line}", err=True)
    report = {"topology": network.name, "hosts": len(network.hosts), "switches": len(network.switches), "seed": seed,
              "flows": len(flows), "bytes": sum(flow.size for flow in flows), "runs": rows}
    if as_json:
        answer(report, as_json=True)
    else:
        _print(rows)
    return 1 if any(row["violations"] or row["deadlock"] for row in rows) else 0


def _row(
    network: Network, flows: list[Flow], parameters: Parameters, seed: int, fct: Path | None, pfc: Path | None,
    progress: ProgressCallback,
) -> dict[str, Any]:
    """One run, with the measure if there are flows of every kind and others besides."""
    outcome = simulate(network, flows, parameters, seed=seed, progress=progress, stage=parameters.algorithm)
    if fct is not None:
        write_fct(outcome, fct)
    if pfc is not None:
        write_pfc(outcome, pfc)
    row = {"control": parameters.algorithm, **run_figures(outcome), "by_kind": kind_figures(outcome)}
    messages = [number for number, flow in enumerate(flows) if flow.kind == "collective"]
    if messages and not row["violations"]:
        began = min(flows[number].start_ns for number in messages)
        row["collective_us"] = (int(outcome.delivered_ns[messages].max()) - began) / 1e3
    tested = alone(flows)
    if {"long", "short", "all-reduce"} <= {flow.kind for flow in tested} and len(tested) < len(flows) \
            and not row["violations"]:
        found = degradation(outcome, simulate(network, tested, parameters, seed=seed))
        row["measure"] = {"s_l": found.s_l, "s_s": found.s_s, "s_a": found.s_a, "w": found.w,
                          **{f"s_{name}": found.total(weights) for name, weights in CONFIGURATIONS.items()}}
    return row


def _controls(names: tuple[str, ...]) -> list[str]:
    if names == ("all",):
        return list(ALGORITHMS)
    for name in names:
        if name == "all" or names.count(name) > 1:
            raise CongestionError(f"--control: must be all alone, or each of the others once, not {' '.join(names)}")
        if name not in ALGORITHMS:
            raise CongestionError(f"--control: must be all or one of {', '.join(ALGORITHMS)}, not {name!r}")
    return list(names)


def _workload(
    network: Network, flow_file: Path | None, load: float | None, collective: str | None, ranks: int | None,
    n_bytes: int, duration_us: int, seed: int,
) -> list[Flow]:
    """Flows of a file, or drawn, or the messages of a collective, with background if there is a load."""
    if flow_file is not None:
        if load is not None or collective is not None:
            raise CongestionError("--flows: must not go with --load or --collective")
        return read_flows(flow_file, network)
    if load is None and collective is None:
        raise CongestionError("--flows, --load or --collective: one is required: the workload")
    drawn = []
    if load is not None:
        if not 0 < load <= 1:
            raise CongestionError(f"--load: must be above 0 and at most 1, not {load}")
        traffic = Traffic(load=load, seed=seed, duration_ns=duration_us * 1000, rate=network.host_rate)
        drawn = draw(network.hosts, traffic)
    if collective is None:
        return drawn
    tested = sorted({flow.source for flow in alone(drawn)}) or network.hosts
    if ranks is not None and ranks > len(tested):
        raise CongestionError(f"--ranks: must be at most the {len(tested)} hosts there are for it, not {ranks}")
    which, _, algorithm = collective.partition("/")
    return [*collective_flows(which, algorithm or None, tested[:ranks], n_bytes),
            *(flow for flow in drawn if flow.kind in BACKGROUND)]


def changed(parameters: Parameters, changes: tuple[str, ...]) -> Parameters:
    """Parameters with some of them replaced, each ``NAME=VALUE``.

    Raises
    ------
    CongestionError
        If there is no such parameter, or the value is no number that it can have.
    """
    kinds = {field.name: type(getattr(parameters, field.name)) for field in fields(parameters)
             if field.name not in ("algorithm", "buffer", "payload")}
    values: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        if name not in kinds:
            raise CongestionError(f"--set: name must be one of {', '.join(sorted(kinds))}, not {name!r}")
        if name in values:
            raise CongestionError(f"--set: {name} must be given once, not twice")
        kind = kinds[name]
        if kind is bool:
            if text not in ("0", "1"):
                raise CongestionError(f"--set: {name} must be 0 or 1, not {text!r}")
            values[name] = text == "1"
            continue
        try:
            number = kind(text)
        except ValueError:
            raise CongestionError(f"--set: {name} must be a {'whole ' * (kind is int)}number, not {text!r}") from None
        if not 0 <= number < 1e15:
            raise CongestionError(f"--set: {name} must be at least 0 and below 1e15, not {text}")
        values[name] = number
    return replace(parameters, **values)


def _print(rows: list[dict[str, Any]]) -> None:
    console = Console(width=None if Console().is_terminal else 160)
    kinds = sorted({kind for row in rows for kind in row["by_kind"]})
    heads = ["control", *(f"{kind or 'flows'}, µs" for kind in kinds), "PFC, ms", "pauses", "packets",
             "packets a CPU second", "end, ms"]
    extra = [name for name in ("collective_us", "measure") if any(name in row for row in rows)]
    if "collective_us" in extra:
        heads.append("collective, µs")
    if "measure" in extra:
        heads += ["S_L", "S_S", "S_A", "W", "S"]
    columns = []
    for row in rows:
        cells = [row["control"], *(f"{row['by_kind'][kind]['fct_us']:,.1f}" for kind in kinds),
                 f"{row['pause_ms']:.3f}", f"{row['pauses']:,}", f"{row['packets']:,}",
                 f"{row['packets_a_cpu_second']:,}", f"{row['end_ms']:.3f}"]
        if "collective_us" in extra:
            cells.append(f"{row.get('collective_us', float('nan')):,.1f}")
        if "measure" in row:
            cells += [f"{row['measure'][name]:.3f}" for name in ("s_l", "s_s", "s_a", "w", "s_1")]
        columns.append(cells)
    # A column an algorithm: there are more figures than algorithms, and a screen is wide enough for six of these.
    table = Table(heads[0])
    for cells in columns:
        table.add_column(cells[0], justify="right")
    for figure in list(zip(heads, *columns, strict=True))[1:]:
        table.add_row(*figure)
    console.print(table)
