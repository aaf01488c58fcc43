"""Runs proofs: the contract as it is, the situations that it must allow, and every mutation."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from testbench.formal.proof import Mutation, Proof
from testbench.formal.solve import Verdict, solve
from testbench.toolchain import build_folder


class FormalError(RuntimeError):
    """A contract could not be emitted; the message is the last line of the error."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of a proof.

    Parameters
    ----------
    proof : Proof
        The proof.
    verdict : Verdict
        Of the RTL as it is.
    reached : Verdict
        Of the claim that not all situations happen: it must FAIL.
    situations : tuple of str
        Their names.
    caught : tuple of (Mutation, Verdict)
        Of the broken copies: all must FAIL.
    """

    proof: Proof
    verdict: Verdict
    reached: Verdict
    situations: tuple[str, ...]
    caught: tuple[tuple[Mutation, Verdict], ...]

    @property
    def holds(self) -> bool:
        """True if the proof passed, says something, and catches every defect."""
        return self.verdict.status == "PASS" and self.reached.status == "FAIL" and all(
            verdict.status == "FAIL" for _, verdict in self.caught
        )

    def row(self) -> dict[str, Any]:
        """The outcome as JSON."""
        return {
            "proof": self.proof.name, "claim": self.proof.claim, "mode": self.proof.mode, "depth": self.proof.depth,
            "seconds": round(self.verdict.seconds, 1), "verdict": self.verdict.status,
            "situations": list(self.situations), "all_reached_at": self.reached.step,
            "mutations": [
                {"name": mutation.name, "verdict": verdict.status, "caught_at": verdict.step,
                 "seconds": round(verdict.seconds, 1)}
                for mutation, verdict in self.caught
            ],
            "holds": self.holds,
        }


def run(
    proofs: Iterable[Proof], *, jobs: int = 2, mutations: bool = True, progress: Callable[[str], None] = lambda _: None,
) -> list[Outcome]:
    """Runs proofs, `jobs` solvers at a time.

    Raises
    ------
    FormalError
        If a contract cannot be emitted: the RTL has changed so that it does not fit it any more. A mutation that does
        not fit is STALE, one that cannot be built is an ERROR; its proof does not hold, and the others go on.
    """
    chosen = list(proofs)
    with ThreadPoolExecutor(jobs) as pool:
        main = [pool.submit(_run_proof, proof, progress) for proof in chosen]
        broken = [
            [pool.submit(_run_mutation, proof, mutation, progress) for mutation in proof.mutations if mutations]
            for proof in chosen
        ]
        return [
            Outcome(
                proof=proof, verdict=future.result()[0], reached=future.result()[1], situations=future.result()[2],
                caught=tuple(zip(proof.mutations, (mutant.result() for mutant in mutants), strict=False)),
            )
            for proof, future, mutants in zip(chosen, main, broken, strict=True)
        ]


def _run_proof(proof: Proof, progress: Callable[[str], None]) -> tuple[Verdict, Verdict, tuple[str, ...]]:
    folder = build_folder() / "formal" / proof.name
    _emit(proof, folder)
    progress(f"{proof.name}: {proof.mode}")
    verdict = solve(folder, "check", mode=proof.mode, depth=proof.depth, any_memory=proof.any_memory, trace=True)
    progress(f"{proof.name}: {verdict.status} in {verdict.seconds:.1f} s; situations")
    reached = solve(folder, "reach", mode="bmc", depth=proof.depth, any_memory=proof.any_memory, trace=False)
    return verdict, reached, tuple(json.loads((folder / "situations.json").read_text()))


def _run_mutation(proof: Proof, mutation: Mutation, progress: Callable[[str], None]) -> Verdict:
    folder = build_folder() / "formal" / proof.name / mutation.name
    source = Path(str(find_spec(mutation.module).origin)).read_text()
    if stale := mutation.stale(source):
        # The claim has its verdict all the same.
        progress(stale)
        return Verdict(status="STALE", step=None, seconds=0.0, log=folder)
    try:
        _emit(proof, folder, mutation.name)
    except FormalError as error:
        progress(f"{mutation.name}: {error}")
        return Verdict(status="ERROR", step=None, seconds=0.0, log=folder)
    progress(f"{proof.name}: {mutation.name}")
    return solve(folder, "check", mode="bmc", depth=proof.depth, any_memory=proof.any_memory, trace=False)


def _emit(proof: Proof, folder: Path, *mutation: str) -> None:
    command = [sys.executable, "-m", "testbench.formal.emit", proof.name, str(folder), *mutation]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no output"]
        raise FormalError(f"{proof.name}: {lines[-1]}")
