"""`conic schedule`: the descriptor sequences of a collective in words and as a diagram, and the checker's verdict."""

from pathlib import Path

import click
from rich.console import Console

from firmware_models.schedule import Combine, ScheduleError, Source, Step, build, check
from sim.cli.shared.collective_name import CollectiveName, required_algorithm
from sim.cli.shared.console import answer
from sim.cli.shared.example import example
from sim.cli.shared.number import Number
from sim.cli.shared.paths import OUTPUT_FILE_ANYWHERE
from sim.cli.shared.refusal import refuses
from sim.cli.shared.run_file import run_file_option
from sim.report.message_diagram import MAX_RANKS, draw_messages


@click.command("schedule", epilog=example("conic schedule allreduce --algorithm recursive-doubling --nodes 5 --check"))
@click.argument("collective", type=CollectiveName())
@click.option("--algorithm", help="How: binomial, recursive-doubling, dissemination, ...  [required]")
@click.option("--nodes", type=Number(2, 4096), required=True, help="Nodes that take part, 2 to 4096.")
@click.option("--root", type=Number(), default=0, show_default=True, help="Root of a broadcast or reduce.")
@click.option("--check", "is_check", is_flag=True, help="Only the checker's verdict, not the sequences.")
@click.option("--diagram", type=OUTPUT_FILE_ANYWHERE,
              help=f"Draw the messages to this file, SVG or PNG; at most {MAX_RANKS} nodes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@run_file_option
@refuses(ScheduleError)
def command(
    *, collective: str, algorithm: str | None, nodes: int, root: int, is_check: bool, diagram: Path | None,
    as_json: bool,
) -> int:
    """Shows what every node does in COLLECTIVE, and proves that it works for every arrival order."""
    if diagram is not None and diagram.suffix not in (".svg", ".png"):
        raise click.UsageError(f"--diagram: must end in .svg or .png, not {str(diagram)!r}")
    if diagram is not None and nodes > MAX_RANKS:
        raise click.UsageError(f"--nodes: must be at most {MAX_RANKS} with --diagram, not {nodes}")
    schedule = build(collective, required_algorithm(collective, algorithm), n_nodes=nodes, root=root)
    report = check(schedule)
    if diagram is not None and report.ok:
        diagram.parent.mkdir(parents=True, exist_ok=True)
        draw_messages(schedule, diagram)
    sequences = [[in_words(step) for step in sequence] for sequence in schedule.sequences]
    if not is_check and not as_json:
        console = Console(highlight=False, soft_wrap=True)
        for rank, sequence in enumerate(sequences):
            console.print(f"node {rank}")
            for number, words in enumerate(sequence):
                console.print(f"  {number}  {words}")
    values = {
        "collective": collective, "algorithm": schedule.algorithm, "nodes": nodes, "packets": report.packets,
        "steps": report.steps, "max_live_seq_ids": report.max_live_seq_ids, "violations": list(report.violations),
    }
    if diagram is not None and report.ok:
        values["diagram"] = str(diagram)
    answer(values if is_check or not as_json else values | {"sequences": sequences}, as_json=as_json)
    return 0 if report.ok else 1


def _ranges(ranks: tuple[int, ...]) -> str:
    """Ranks in words, those that follow each other as a range.

    Examples
    --------
    >>> _ranges((1, 2, 3, 5))
    '1 to 3, 5'
    """
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and runs[-1][-1] == rank - 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def in_words(step: Step) -> str:
    """One step, as a person would say it.

    Examples
    --------
    >>> in_words(Step(source=Source.OWN, receive_from=(2, 1), combine=Combine.REDUCE, deliver=True))
    'take own data; reduce packets of 2, 1; deliver'
    """
    parts = [] if step.source is Source.NOTHING else [f"take {step.source.value}"]
    if step.receive_from:
        verb = {Combine.TRIGGER: "wait for", Combine.REPLACE: "replace by", Combine.REDUCE: "reduce"}[step.combine]
        parts.append(f"{verb} packet{'s' * (len(step.receive_from) > 1)} of {', '.join(map(str, step.receive_from))}")
    if step.send_to is not None:
        parts.append(f"send packet {step.send_index} to {step.send_to}")
    if step.multicast_to:
        parts.append(f"multicast packet {step.send_index} to {_ranges(step.multicast_to)}")
    first, count = step.blocks
    if count:
        parts.append(f"on block{'s' * (count > 1)} {first}" + f" to {first + count - 1}" * (count > 1))
    if step.deliver:
        parts.append("deliver")
    return "; ".join(parts)
