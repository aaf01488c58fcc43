"""`conic connections`: memory of connections by the paper's formulas, and what a workload makes of them."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import ConfigError, need_messages
from firmware_models.connections import (
    ConnectionsError,
    Costs,
    Machine,
    Policy,
    QueueSizes,
    Scheme,
    best_group_size,
    violations,
)
from firmware_models.connections.choice import candidates, compare_group_sizes
from firmware_models.connections.memory import MAX_CORES, MAX_PROCESSES
from firmware_models.connections.trace import parse_trace
from firmware_models.connections.virtual_ports import ring_need, virtual_ports
from sim.cli.shared.byte_size import ByteSize
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware
from sim.cli.shared.idle import refuse_idle
from sim.cli.shared.number import Decimal, Number
from sim.cli.shared.refusal import refuses
from sim.cli.shared.run_file import run_file_option
from sim.model.connections.rows import formula_row, nic_row, run_row

NAMES = [scheme.value for scheme in Scheme]


@click.command("connections", epilog=example(
    "conic connections stencil:100x100x100 --processes 1000000 --cores 4 --scheme group-xrc --group-size 4096"))
@click.argument("trace", required=False)
@click.option("--processes", type=Number(2, MAX_PROCESSES), required=True, help="Processes, one a core.")
@click.option("--cores", type=Number(1, MAX_CORES), default=1, show_default=True, help="Cores of a node.")
@click.option("--scheme", "schemes", default="all", show_default=True, help=f"{', '.join(NAMES)}; some, or all.")
@click.option("--group-size", default="best", show_default=True,
              help="Processes of a group; best: fewest bytes; compare: several, with TRACE.")
@click.option("--buffer-size", type=ByteSize(), default=8192, show_default=True, help="Bytes of a receive buffer.")
@click.option("--receive-buffers", type=Number(), default=5, show_default=True, help="Of a queue pair without SRQ.")
@click.option("--send-depth", type=Number(), default=16, show_default=True, help="Entries of a send queue.")
@click.option("--receive-depth", type=Number(), default=16, show_default=True, help="Entries of a receive queue.")
@click.option("--work-request-size", type=ByteSize(), default=64, show_default=True, help="Bytes of an entry.")
@click.option("--size-classes", type=Number(), default=6, show_default=True, help="Lengths of buffers, of *-sizes.")
@click.option("--srq-depth", type=Number(), help="Buffers of a shared receive queue.  [default: a queue pair each]")
@click.option("--proxy", "proxy_messages", default="0", show_default=True,
              help="Messages to a peer that are proxied before a handshake: a number, or all.")
@click.option("--idle-phases", type=Number(), help="Phases after which an idle connection is torn down.")
@click.option("--max-dynamic", type=Number(), help="Dynamic queue pairs of a process at once.")
@click.option("--message-ns", type=Decimal(0), default=Costs.message_ns, show_default=True, help="A small message.")
@click.option("--queue-pair-ns", type=Decimal(0), default=Costs.queue_pair_ns, show_default=True,
              help="To make a queue pair and have it ready.")
@click.option("--seed", type=Number(0), default=1, show_default=True, help="Of the processes that are checked.")
@click.option("--preset", help="Preset of the NIC that connections are compared with.  [default: paper]")
@click.option("--config", type=click.Path(path_type=Path), help="YAML file of this NIC, instead of --preset.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@run_file_option
@refuses(ConnectionsError, ConfigError)
def command(
    *, trace: str | None, processes: int, cores: int, schemes: str, group_size: str, buffer_size: int,
    receive_buffers: int, send_depth: int, receive_depth: int, work_request_size: int, size_classes: int,
    srq_depth: int | None, proxy_messages: str, idle_phases: int | None, max_dynamic: int | None, message_ns: float,
    queue_pair_ns: float, seed: int, preset: str | None, config: Path | None, as_json: bool,
) -> int:
    """Memory of PROCESSES' connections; with TRACE also what a connection manager makes of its messages.

    TRACE is schedule:COLLECTIVE/ALGORITHM, stencil:AxBxC, alltoall[:AxB], random:rounds=N, or a file (.goal, .csv);
    with options behind commas: bytes=N, repeat=N, shape=box, periodic=yes, root=R, seed=S.
    """
    machine = Machine(n_processes=processes, n_cores=cores)
    sizes = QueueSizes(buffer_bytes=buffer_size, n_receive_buffers=receive_buffers, send_depth=send_depth,
                       receive_depth=receive_depth, work_request_bytes=work_request_size,
                       n_size_classes=size_classes, srq_depth=srq_depth)
    policy = Policy(proxy_messages=_proxy(proxy_messages), idle_phases=idle_phases, max_dynamic=max_dynamic)
    costs = Costs(message_ns=message_ns, queue_pair_ns=queue_pair_ns)
    chosen = _schemes(schemes)
    _check_group_size(group_size, is_trace=trace is not None)
    name, tree = hardware(preset or (None if config else "paper"), config)
    _refuse_idle(chosen, schemes, is_trace=trace is not None)
    if trace is not None:
        need_messages(tree, "the messages of a trace")
    report: dict[str, Any] = {"processes": processes, "cores": cores, "nodes": machine.n_nodes, "trace": trace,
                              "preset": name, "seed": seed}
    rows: list[dict[str, Any]] = []
    found: list[str] = []
    with progress_bars() as progress:
        messages = None if trace is None else parse_trace(trace, processes)
        for scheme in chosen:
            group_sizes = _group_sizes(scheme, machine, group_size)
            if messages is None:
                rows += [formula_row(scheme, machine, sizes, size) for size in group_sizes]
                continue
            for candidate in compare_group_sizes(
                scheme, machine, messages, group_sizes=group_sizes, sizes=sizes, policy=policy, costs=costs,
                progress=progress,
            ):
                wrong = violations(candidate.run, seed=seed)
                found += [f"{scheme.value}: {line}" for line in wrong]
                rows.append(run_row(candidate.run) | {"is_best": candidate.is_best, "violations": len(wrong)})
        if messages is not None:
            report["nic"] = nic_row(virtual_ports(machine, ring_need(messages, tree, progress), tree))
    for line in found[:20]:
        click.echo(f"conic connections: {line}", err=True)
    report |= {"schemes": rows, "violations": len(found)}
    if as_json:
        answer(report, as_json=True)
    else:
        _print(report)
    return 1 if found else 0


def _schemes(text: str) -> list[Scheme]:
    """The schemes that the flag names."""
    if text == "all":
        return list(Scheme)
    for name in text.split(","):
        if name not in NAMES:
            raise ConnectionsError(f"--scheme: must be all or some of {', '.join(NAMES)}, not {name!r}")
    return [Scheme(name) for name in text.split(",")]


def _refuse_idle(chosen: list[Scheme], text: str, *, is_trace: bool) -> None:
    """Refuses what says something of a trace that there is not, or of queues that none of the schemes has."""
    if not is_trace:
        refuse_idle(("proxy_messages", "idle_phases", "max_dynamic", "message_ns", "queue_pair_ns", "seed", "preset",
                     "config"), "without TRACE")
    traits = [scheme.traits for scheme in chosen]
    for names, is_read, what in (
        (("group_size",), any(one.is_grouped for one in traits), "groups"),
        (("size_classes",), any(one.has_sizes for one in traits), "buffers of several lengths"),
        (("receive_buffers", "receive_depth"), not all(one.has_srq for one in traits), "receive queues of queue pairs"),
        (("srq_depth",), any(one.has_srq for one in traits), "shared receive queue"),
    ):
        if not is_read:
            refuse_idle(names, f"with --scheme {text}, which has no {what}")


def _proxy(text: str) -> int | None:
    """The number that the flag says; None for all."""
    if text == "all":
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise ConnectionsError(f"--proxy: must be a whole number or all, not {text!r}")
    return int(text)


def _check_group_size(text: str, *, is_trace: bool) -> None:
    """Refuses what is no size and no word."""
    if text == "compare" and not is_trace:
        raise ConnectionsError("--group-size: compare needs TRACE: the messages to compare them for")
    if text not in ("best", "compare") and (not text.isascii() or not text.isdecimal() or len(text) > 10):
        raise ConnectionsError(f"--group-size: must be a number of processes, best or compare, not {text!r}")


def _group_sizes(scheme: Scheme, machine: Machine, text: str) -> list[int | None]:
    """Group sizes to take; [None] for a scheme without groups."""
    if not scheme.traits.is_grouped:
        return [None]
    if text == "compare":
        return list(candidates(scheme, machine))
    return [best_group_size(scheme, machine).group_size if text == "best" else int(text)]


def _print(report: dict[str, Any]) -> None:
    console = Console(width=None if Console().is_terminal else 160)
    columns = {"scheme": "scheme", "group_size": "group size", "queue_pairs": "queue pairs",
               "process_mb": "MB a process", "node_mb": "MB a node"}
    if report["trace"] is not None:
        columns |= {"handshakes": "handshakes", "opened": "dynamic made", "live_peak": "at once",
                    "proxied": "proxied", "waited_ms": "waited, ms", "critical_ms": "critical, ms",
                    "seconds": "s"}
    table = Table(*columns.values())
    for row in report["schemes"]:
        cells = []
        for key in columns:
            value = row[key]
            cells.append("" if value is None else f"{value:,.3f}" if isinstance(value, float) else
                         f"{value:,}" if isinstance(value, int) else str(value))
        table.add_row(*cells)
    console.print(table)
    if "nic" in report:
        console.print(f"this NIC ({report['preset']}), without connections:", highlight=False)
        answer(report["nic"], as_json=False)
