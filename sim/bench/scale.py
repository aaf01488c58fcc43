"""Operations of many nodes: a barrier and an allreduce of 8 bytes."""

from typing import Any

from firmware_models.config import load_preset
from sim.bench.operations import run_all
from sim.bench.torus import torus
from sim.cluster import Execution, build_library
from sim.collective import CollectiveRequest
from sim.report.progress import ProgressCallback


def measure(*, preset: str, nodes: int, threads: int, progress: ProgressCallback) -> dict[str, Any]:
    """Carries out both operations on the RTL of `nodes` nodes.

    Parameters
    ----------
    preset : str
        Of the hardware.
    nodes : int
        At the first terminals of :func:`torus`.
    threads : int
        Of the simulator; 0: as many as there are cores.

    Returns
    -------
    dict
        `rows`, each with `collective`, `algorithm`, `nodes`, `topology`, `switches`, `bytes`, `cycles`, `seconds`,
        `evaluated_fraction`, `bytes_a_node`.

    Raises
    ------
    BenchmarkError
        If an operation does not end, or a bit of a result is wrong.
    """
    requests = [
        CollectiveRequest(
            collective=collective, algorithm=algorithm, nodes=nodes, size=size, config=load_preset(preset),
            preset=preset, topology=torus(nodes),
        )
        for collective, algorithm, size in (("barrier", "dissemination", 0), ("allreduce", "recursive-doubling", 8))
    ]
    library = build_library(requests[0].hardware(), progress=progress)
    progress(f"{nodes} nodes", 0, 1)
    figures = run_all(library, requests, Execution(threads=threads))
    progress(f"{nodes} nodes", 1, 1)
    return {"rows": [
        {
            "preset": preset, "collective": request.collective, "algorithm": request.algorithm, "nodes": nodes,
            "topology": request.topology, "switches": len(request.wired.radixes), "bytes": request.size, **row,
        }
        for request, row in zip(requests, figures, strict=True)
    ]}
