"""`conic verify`: one collective under many random arrival orders, stalls and delays: one bit pattern, or none."""

import os
from dataclasses import replace

import click

from firmware_models.config import ConfigError
from firmware_models.schedule import ScheduleError
from sim.cli.shared.collective_options import CollectiveFlags, collective_options
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.faults import faults_option, verify_under_faults
from sim.cli.shared.number import Decimal, Number
from sim.cli.shared.refusal import fails, refuses
from sim.collective import CollectiveError, RequestError, verify
from sim.faults import FaultScript, FaultScriptError
from sim.host import HostError


@click.command("verify", epilog=example("conic verify reduce --algorithm binomial --nodes 5 --size 256 --orders 50"))
@collective_options
@click.option("--orders", type=Number(1), default=100, show_default=True,
              help="Random orders, stalls and delays to try.")
@click.option("--workers", type=Number(1), default=os.cpu_count() or 1, show_default="one a processor",
              help="Processes that try orders side by side; changes no result.")
@click.option("--frame-errors", type=Decimal(0, high=0.1), default=0.0, metavar="RATE",
              help="Share of the words on all links that is lost, doubled or changed; links are reliable then.")
@faults_option
@refuses(RequestError, ScheduleError, ConfigError, HostError, FaultScriptError)
@fails(CollectiveError)
def command(
    *, flags: CollectiveFlags, orders: int, workers: int, frame_errors: float, faults: FaultScript | None,
    as_json: bool,
) -> int:
    """Runs COLLECTIVE under many random orders: one sha256, or it says which order gave another."""
    if faults is not None:
        if frame_errors:
            raise click.UsageError("--faults: give --faults or --frame-errors, not both")
        return verify_under_faults(flags.request(), faults, orders=orders, as_json=as_json)
    request = flags.request()
    if frame_errors:
        request = replace(request, config=request.config.changed(link={"reliable": True}))
    with progress_bars() as progress:
        result = verify(request, orders=orders, workers=workers, progress=progress, frame_errors=frame_errors)
    answer({
        "collective": request.collective, "algorithm": request.algorithm, "nodes": request.nodes,
        "orders": result.orders, "distinct_results": result.distinct_results,
        "mismatched_bits": result.mismatched_bits, "sha256": result.sha256, "seed": request.seed,
        "first_difference": result.first_difference, "frame_errors": frame_errors,
        "damaged_words": result.damaged_words,
        **({"host": request.host_name, "host_based": request.host_based} if request.host is not None else {}),
    }, as_json=as_json)
    if result.first_difference is not None:
        click.echo(f"conic verify: order {result.first_difference} gave other bits than order 0", err=True)
    return 0 if result.distinct_results == 1 and not result.mismatched_bits else 1
