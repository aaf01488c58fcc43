"""`conic route`: multicast trees and colours for the groups of a network, and the forwarding tables they make."""

from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click

from firmware_models.files import write_text
from firmware_models.routing.algorithm import (
    ALGORITHMS,
    POLICIES,
    OldTrees,
    Options,
    Partner,
    RoutedPlanes,
    route_planes,
)
from firmware_models.routing.formats import ibnetdiscover_text, mcfdbs_text, net_text, read_groups, sa_dump_text
from firmware_models.routing.network import FIRST_MLID, MAX_MLIDS, Groups, Network, RoutingError
from firmware_models.routing.pattern import ORDERS, parse_pattern
from firmware_models.routing.topology import parse_topology
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.idle import refuse_idle
from sim.cli.shared.number import Number, whole_number
from sim.cli.shared.paths import OUTPUT_FILE
from sim.cli.shared.refusal import refuses
from sim.cli.shared.run_file import run_file_option

E = TypeVar("E", bound=Enum)

FILE = click.Path(path_type=Path, dir_okay=False)


class MftSize(click.ParamType[int | None]):
    """Table entries of a switch, or `unlimited`."""

    name = "entries"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        text = str(value).strip()
        if text == "unlimited":
            return None
        if not 1 <= (whole_number(text) or 0) <= 16383:
            self.fail(f"must be 1 to 16383 or unlimited, not {text!r}", param, ctx)
        return int(text)


@click.command("route", epilog=example("conic route fat-tree:40 --pattern 125x128 --mft-size 128 --json"))
@click.argument("topology")
@click.option("--pattern", help="Groups by name: 125x128, 128x32x40, random:groups=1000,size=32,seed=1.")
@click.option("--groups", "groups_file", type=FILE, help="Groups of a file: OpenSM's SA dump, or YAML.")
@click.option("--processes-per-terminal", type=Number(1, 1024), default=1, show_default=True, help="Of a pattern.")
@click.option("--order", default="first", show_default=True,
              help="Dimension of a pattern that runs fastest through the processes: first or last.")
@click.option("--algorithm", default="mr4lms", show_default=True, help=f"{', '.join(ALGORITHMS)}.")
@click.option("--policy", default="paper", show_default=True, help=f"{' or '.join(POLICIES)}; of mr4lms.")
@click.option("--mft-size", type=MftSize(), default="unlimited", show_default=True, help="Table entries of a switch.")
@click.option("--merge-with", default="similar", show_default=True,
              help="When colours run out: the most similar group, or those of the sparsest colour (sparse).")
@click.option("--old-trees", default="keep", show_default=True, help="Of merged groups: keep, or rebuild.")
@click.option("--output", type=OUTPUT_FILE, help="The forwarding tables, as opensm.mcfdbs.")
@click.option("--load-state", type=FILE, help="Go on from a state that --save-state wrote.")
@click.option("--save-state", type=OUTPUT_FILE, help="Write groups, trees and colours.")
@click.option("--leave", "leavers", help="Groups that leave after the others have joined: names with commas.")
@click.option("--write-topology", type=OUTPUT_FILE, help="The network: ibsim's .net, else as ibnetdiscover prints it.")
@click.option("--write-groups", type=OUTPUT_FILE, help="The groups, as OpenSM's SA dump.")
@click.option("--check", "is_checked", is_flag=True, help="Check after every group, not only at the end.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@run_file_option
@refuses(RoutingError)
def command(
    *, topology: str, pattern: str | None, groups_file: Path | None, processes_per_terminal: int, order: str,
    algorithm: str, policy: str, mft_size: int | None, merge_with: str, old_trees: str, output: Path | None,
    load_state: Path | None, save_state: Path | None, leavers: str | None, write_topology: Path | None,
    write_groups: Path | None, is_checked: bool, as_json: bool,
) -> int:
    """Routes multicast groups on TOPOLOGY: a name (fat-tree:40, torus:30x20x20:2, taihulight, ...) or a file."""
    partner, old = _member(Partner, "merge-with", merge_with), _member(OldTrees, "old-trees", old_trees)
    if load_state is not None:
        refuse_idle(("algorithm", "policy", "mft_size", "merge_with", "old_trees"), "with --load-state, whose it is")
    elif algorithm != "mr4lms" and algorithm in ALGORITHMS:
        refuse_idle(("policy", "mft_size", "merge_with", "old_trees"), "with an --algorithm other than mr4lms")
    elif mft_size is None:
        refuse_idle(("merge_with", "old_trees"), "without --mft-size: colours never run out")
    if pattern is None:
        refuse_idle(("processes_per_terminal", "order"), "without --pattern")
    options = Options(algorithm=algorithm, policy=policy, mft_size=mft_size, partner=partner, old=old)
    network = parse_topology(topology)
    groups = _groups(network, pattern, groups_file, processes_per_terminal, order, is_needed=load_state is None)
    with progress_bars() as progress:
        routed = route_planes(network, options, groups, state=load_state, is_checked=is_checked, keep=save_state,
                              leave=[name for name in (leavers or "").split(",") if name], progress=progress)
    # Files come last: what is refused leaves none.
    _write(network, groups, write_topology, write_groups)
    if output is not None:
        write_text(output, _tables(routed))
    for line in routed.violations[:20]:
        click.echo(f"conic route: {line}", err=True)
    answer({
        "topology": topology, "pattern": pattern, "algorithm": routed.options.algorithm,
        "policy": routed.options.policy, "mft_size": routed.options.mft_size, "terminals": network.n_terminals,
        "switches": network.n_switches, "planes": routed.n_planes,
        **routed.figures(), "violations": len(routed.violations), "seconds": round(routed.seconds, 6),
        "seconds_per_group": round(routed.seconds / max(1, len(groups)), 9),
        "cpu_seconds": round(routed.cpu_seconds, 6), "compile_seconds": round(routed.compile_seconds, 3),
        "hops_seconds": round(routed.hops_seconds, 3), "bytes": routed.bytes,
    }, as_json=as_json)
    return 1 if routed.violations else 0


def _member(kind: type[E], flag: str, text: str) -> E:
    """The member of an enum that a flag names."""
    for member in kind:
        if member.value == text:
            return member
    raise RoutingError(f"--{flag} must be one of {', '.join(str(member.value) for member in kind)}, not {text!r}")


def _groups(
    network: Network, pattern: str | None, groups_file: Path | None, processes: int, order: str, *, is_needed: bool,
) -> Groups:
    """The groups that are to join."""
    if order not in ORDERS:
        raise RoutingError(f"--order must be one of {', '.join(ORDERS)}, not {order!r}")
    if pattern is not None and groups_file is not None:
        raise RoutingError("--pattern and --groups are both given: one of them is allowed")
    if groups_file is not None:
        return read_groups(groups_file, network)
    if pattern is not None:
        return parse_pattern(pattern, n_terminals=network.n_terminals, processes_per_terminal=processes, order=order)
    if is_needed:
        raise RoutingError("--pattern or --groups is required: whom to route")
    return Groups.of([])


def _write(network: Network, groups: Groups, topology: Path | None, members: Path | None) -> None:
    if topology is not None:
        write_text(topology, (net_text if topology.suffix == ".net" else ibnetdiscover_text)(network))
    if members is not None:
        if FIRST_MLID + len(groups) + 1 >= FIRST_MLID + MAX_MLIDS:
            raise RoutingError(f"--write-groups must have at most {MAX_MLIDS - 2} groups, not {len(groups)}")
        write_text(members, sa_dump_text(network, groups))


def _tables(routed: RoutedPlanes) -> str:
    """The dump of the tables."""
    if routed.n_colours > MAX_MLIDS - 1:
        raise RoutingError(
            f"--output must have at most {MAX_MLIDS - 1} colours, as many as MLIDs, not {routed.n_colours}")
    return mcfdbs_text(routed.network, routed.tables())
