"""`--faults`: a collective while things go wrong, as a file says."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from sim.cli.shared.console import answer, progress_bars
from sim.collective import CollectiveRequest
from sim.faults import FaultScript, FaultScriptError, Verdict, load_faults, run_with_faults


def _load(_context: click.Context, _param: click.Parameter, value: Path | None) -> FaultScript | None:
    try:
        return None if value is None else load_faults(value)
    except FaultScriptError as error:
        raise click.BadParameter(str(error)) from None


faults_option = click.option(
    "--faults", type=click.Path(path_type=Path), callback=_load,
    help="f.yaml: what goes wrong on purpose (docs/faults.md); says what became of it.",
)
"""The option; its value is a script that has been checked."""


def run_under_faults(request: CollectiveRequest, script: FaultScript, *, as_json: bool) -> int:
    """Carries out the collective and prints what became of every job; 0 unless one hangs or has wrong bits."""
    _check(request, script)
    with progress_bars() as progress:
        outcome = run_with_faults(request, script, progress=progress)
    answer(_asked(request) | outcome.as_json(), as_json=as_json)
    return 0 if outcome.is_accounted_for else 1


def verify_under_faults(request: CollectiveRequest, script: FaultScript, *, orders: int, as_json: bool) -> int:
    """The same `orders` times, with faults and delays of their own each; prints how often jobs ended in which way."""
    _check(request, script)
    verdicts: Counter[str] = Counter()
    injected: Counter[str] = Counter()
    with progress_bars() as progress:
        for order in range(orders):
            progress("orders", order, orders)
            outcome = run_with_faults(request, script, order=order)
            verdicts.update(verdict.value for verdict in outcome.verdicts)
            injected.update(outcome.injected)
        progress("orders", orders, orders)
    answer(_asked(request) | {
        "orders": orders, "injected": dict(injected),
        "verdicts": {each.value: verdicts[each.value] for each in Verdict},
    }, as_json=as_json)
    return 1 if verdicts[Verdict.HANG.value] or verdicts[Verdict.WRONG.value] else 0


def _check(request: CollectiveRequest, script: FaultScript) -> None:
    if request.host is not None or request.host_based:
        raise click.UsageError("--faults: has neither --host nor --host-based")
    script.check(nodes=request.nodes, cous=request.config.nic.n_cous)


def _asked(request: CollectiveRequest) -> dict[str, Any]:
    return {
        "collective": request.collective, "algorithm": request.algorithm, "nodes": request.nodes, "jobs": request.jobs,
        "bytes": request.size, "preset": request.preset, "seed": request.seed,
    }
