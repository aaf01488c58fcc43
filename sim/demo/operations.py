"""The operations of the demo: moments of a spread data set, and one of every other collective."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from firmware_models.config import load_preset
from firmware_models.golden import reference
from sim.collective import CollectiveRequest, CollectiveResult, run_collective
from sim.demo.moments import FloatArray, Moments, load_shards, moments, partial_sums
from sim.report.progress import ProgressCallback

N_NODES = 4
PRESET = "small"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation that has been carried out, and what it was for."""

    request: CollectiveRequest
    result: CollectiveResult
    purpose: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and the tables."""
        return {
            "collective": self.request.collective, "algorithm": self.request.algorithm, "purpose": self.purpose,
            "nodes": self.request.nodes, "bytes": self.result.bytes, "cycles": self.result.cycles,
            "mismatched_bits": self.result.mismatched_bits, "sha256": self.result.sha256,
        }


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Result of the demo."""

    operations: tuple[Operation, ...]
    features: tuple[str, ...]
    samples: tuple[int, ...]
    """Samples that each node holds."""
    moments: Moments
    """Mean and covariance from the sums that came out of the hardware, at node 0."""
    same_moments: bool
    """True if they are, at every node and bit for bit, those from the golden sums."""

    @property
    def holds(self) -> bool:
        """True if everything that was checked holds."""
        return self.same_moments and not any(operation.result.mismatched_bits for operation in self.operations)


def run_demo(progress: ProgressCallback) -> Demo:
    """Deals the data out to the nodes and carries out the operations on the RTL."""
    shards, features = load_shards(N_NODES)
    sums = np.stack([partial_sums(shard) for shard in shards])
    operations = tuple(_operations(sums, len(features), progress))
    allreduce = operations[0]
    golden = reference("allreduce", allreduce.request.algorithm, sums).results
    here = [moments(row, len(features)) for row in allreduce.result.outputs]
    expected = [moments(row, len(features)) for row in golden]
    return Demo(
        operations=operations, features=tuple(features), samples=tuple(len(shard) for shard in shards),
        moments=here[0], same_moments=all(a.same_bits(b) for a, b in zip(here, expected, strict=True)),
    )


def _operations(sums: FloatArray, n_features: int, progress: ProgressCallback) -> Iterator[Operation]:
    def run(purpose: str, collective: str, algorithm: str, inputs: FloatArray | None) -> Operation:
        request = CollectiveRequest(
            collective=collective, algorithm=algorithm, nodes=N_NODES, inputs=inputs, preset=PRESET,
            config=load_preset(PRESET), size=0 if inputs is None else inputs.shape[1] * inputs.itemsize,
        )
        return Operation(request=request, result=run_collective(request, progress=progress), purpose=purpose)

    allreduce = run("sums of samples and products, everywhere", "allreduce", "recursive-doubling", sums)
    yield allreduce
    yield run("the same sums at node 0 only", "reduce", "binomial", sums)
    mean = np.zeros((N_NODES, n_features))
    mean[0] = moments(allreduce.result.outputs[0], n_features).mean
    yield run("the mean, from node 0 to all", "broadcast", "binomial", mean)
    yield run("nobody leaves before all have come", "barrier", "dissemination", None)
