"""The worked example: conjugate gradients whose sums the simulated NICs make, beside the same under MPICH."""

import random
from dataclasses import dataclass

import numpy as np

from firmware_models.config import Config
from sim.collective import CollectiveRequest, run_collective
from sim.example.conjugate_gradient import FloatArray, Problem, solve
from sim.example.lockstep import lockstep
from sim.report.progress import ProgressCallback
from sim.stalls import StallProfile, random_stalls


@dataclass(frozen=True, kw_only=True)
class ClusterRun:
    """One solution on the cluster.

    Members
    -------
    histories : list of list of float
        Norms of the residual at every rank, which must be the same.
    operations, cycles, mismatched_bits : int
        Allreduces, their cycles altogether, and bits that were not the golden model's.
    """

    histories: list[list[float]]
    operations: int
    cycles: int
    mismatched_bits: int


def run_on_cluster(
    problem: Problem, *, algorithm: str, config: Config, preset: str, seed: int, order: int | None = None,
    progress: ProgressCallback = lambda stage, done, total: None,
) -> ClusterRun:
    """Solves `problem`, every sum an allreduce on the RTL.

    Parameters
    ----------
    problem, algorithm, config, preset
        What is solved; how sums are made; the hardware and its name.
    seed : int
        Of everything random.
    order : int, optional
        With a number, links, memories and starts are disturbed, each operation in another way.
    """
    counts = {"operations": 0, "cycles": 0, "mismatched": 0}
    stage = "undisturbed" if order is None else f"order {order}"

    def all_reduce(rows: FloatArray) -> FloatArray:
        disturbance = random.Random(f"{seed} {order} {counts['operations']}").getrandbits(32)
        result = run_collective(CollectiveRequest(
            collective="allreduce", algorithm=algorithm, nodes=len(rows), size=rows[0].nbytes, inputs=rows,
            config=config, preset=preset, seed=seed + counts["operations"],
            stalls=StallProfile() if order is None else random_stalls(disturbance),
        ))
        counts["operations"] += 1
        counts["cycles"] += result.cycles
        counts["mismatched"] += result.mismatched_bits
        progress(stage, counts["operations"], 0)
        return np.asarray(result.outputs, dtype=np.float64)

    histories = lockstep([solve(problem, rank) for rank in range(problem.ranks)], all_reduce)
    return ClusterRun(
        histories=histories, operations=counts["operations"], cycles=counts["cycles"],
        mismatched_bits=counts["mismatched"],
    )
