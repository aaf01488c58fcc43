"""Collectives in a schedule: memory and descriptors of each, and whether their results are right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.config import Config
from firmware_models.golden import mismatched_bits, reference
from firmware_models.host import Data, Job, NodeDriver, Port
from sim.operation.request import CollectiveRequest


@dataclass(frozen=True)
class Prepared:
    """A collective before it is called.

    Members
    -------
    request : CollectiveRequest
        What it is.
    inputs : array
        Operands, a row per rank.
    results : list of int
        Address of each rank's result.
    sequences : list of bytes
        Packed descriptors of each rank. Their completions have its number as tag.
    """

    request: CollectiveRequest
    inputs: NDArray[Any]
    results: list[int]
    sequences: list[bytes]

    def wrong_bits(self, drivers: Sequence[NodeDriver]) -> int:
        """Bits of results that differ from the golden model."""
        asked = self.request
        golden = reference(
            asked.collective, asked.algorithm, self.inputs, root=asked.root, datatype=asked.datatype,
            operator=asked.operator,
        )
        got = np.zeros_like(self.inputs)
        for rank, driver in enumerate(drivers):
            if golden.receives[rank]:
                got[rank] = np.frombuffer(driver.load(self.results[rank], asked.size), self.inputs.dtype)
        return mismatched_bits(got, golden.results)


def prepare(ports: Sequence[Port], requests: Sequence[CollectiveRequest], config: Config) -> list[Prepared]:
    """Lays out the data of all, and compiles them in their order, as one job."""
    job = Job(ports, job_id=0, config=config)
    found = []
    for number, request in enumerate(requests):
        inputs, data = request.data(0), []
        for rank, port in enumerate(ports):
            operand = inputs[rank].tobytes()
            local, result = (port.driver.allocate(max(request.size, 64)) for _ in range(2))
            port.driver.store(local, operand)
            data.append(Data(local=local, result=result, operand=operand))
        sequences = job.compile(
            request.schedule, data, length=request.size, datatype=request.datatype, operator=request.operator,
            tag=number,
        )
        found.append(Prepared(request, inputs, [each.result for each in data], sequences))
    return found
