"""``python -m testbench.formal [NAME…] [--jobs 2] [--quick] [--json FILE]``: exit code 0 if every proof holds."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from testbench.formal.registry import PROOFS, UnknownProofError, find_proof
from testbench.formal.run import FormalError, Outcome, run
from testbench.toolchain import ToolchainError


def main(arguments: Sequence[str] | None = None) -> int:
    """The command of this module."""
    parser = argparse.ArgumentParser(prog="python -m testbench.formal", description="Proves the contracts of units.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="proofs to run; all if none is named")
    parser.add_argument("--jobs", type=int, default=2, help="solvers at a time")
    parser.add_argument("--quick", action="store_true", help="only those that take seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table as JSON")
    chosen = parser.parse_args(arguments)
    if chosen.names and chosen.quick:
        parser.error("--quick: does nothing with NAME; leave it out")
    errors = Console(stderr=True, highlight=False)
    if chosen.jobs < 1:
        errors.print(f"--jobs: must be at least 1, not {chosen.jobs}")
        return 2
    try:
        proofs = [find_proof(name) for name in chosen.names] or [p for p in PROOFS if p.quick or not chosen.quick]
    except UnknownProofError as error:
        errors.print(f"NAME: {error}", soft_wrap=True)
        return 2
    try:
        outcomes = run(proofs, jobs=chosen.jobs, progress=lambda text: errors.print(text))
    except (FormalError, ToolchainError) as error:
        errors.print(str(error), soft_wrap=True)
        return 1
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([outcome.row() for outcome in outcomes], indent=1) + "\n")
    Console(width=None if sys.stdout.isatty() else 150).print(table(outcomes))
    for outcome in outcomes:
        if outcome.verdict.status != "PASS":
            errors.print(f"{outcome.proof.name}: {outcome.verdict.status}, see {outcome.verdict.log}", soft_wrap=True)
    return 0 if all(outcome.holds for outcome in outcomes) else 1


def table(outcomes: Sequence[Outcome]) -> Table:
    """A row for each proof, one for each of its mutations."""
    result = Table("proof", "mode", "depth", "seconds", "verdict", "mutation", "caught at step")
    for outcome in outcomes:
        proof, verdict = outcome.proof, outcome.verdict
        step = outcome.reached.step
        reached = "NOT REACHED" if step is None else f"all reached at step {step}"
        result.add_row(
            proof.name, proof.mode, str(proof.depth), f"{verdict.seconds:.1f}", verdict.status,
            f"({len(outcome.situations)} situations)", reached,
        )
        for mutation, caught in outcome.caught:
            step = str(caught.step) if caught.status == "FAIL" else f"NOT CAUGHT ({caught.status})"
            result.add_row("", "", "", f"{caught.seconds:.1f}", "", mutation.name, step)
        result.add_section()
    return result


if __name__ == "__main__":
    sys.exit(main())
