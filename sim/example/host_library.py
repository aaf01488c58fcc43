"""An allreduce on simulated NICs through the host library: a file to copy and to change.

``python -m sim.example.host_library`` runs it.
"""

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.config import load_preset
from firmware_models.host import Data, Job, NodeDriver
from firmware_models.schedule import build
from sim.cluster import Cluster, build_library
from sim.fabric.topology import parse_topology

ALIGNMENT = 64
"""The widest flit: operands and results begin at a multiple of it."""


def allreduce(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of all rows, as every node has it: row n is the operand of node n."""
    config = load_preset("small")
    n_nodes, length = len(rows), rows[0].nbytes
    result_at = -(-length // ALIGNMENT) * ALIGNMENT

    with Cluster(build_library(config), parse_topology(f"star:{n_nodes}"), memory_bytes=1 << 17) as cluster:
        # A NIC, a port and memory at every node.
        ports, memories = [], []
        for node in range(n_nodes):
            driver = NodeDriver(cluster, node)
            driver.start()
            ports.append(driver.open_port(vp=1))
            memories.append(ports[-1].register_memory(result_at + length))

        # Work of every node, as descriptors; no node starts before its doorbell is rung.
        schedule = build("allreduce", "recursive-doubling", n_nodes=n_nodes, root=0)
        job = Job(ports, job_id=0, config=config)
        data = [
            Data(local=memory.write(row.tobytes()), result=memory.base + result_at)
            for row, memory in zip(rows, memories, strict=True)
        ]
        operation = job.post(schedule, data, length=length, datatype=Datatype.FLOAT64, operator=Operator.SUM, tag=7)
        operation.ring()
        operation.wait(most=100_000)

        return np.array([np.frombuffer(memory.read(length, at=result_at)) for memory in memories])


if __name__ == "__main__":
    print(allreduce(np.arange(16.0).reshape(4, 4)))
