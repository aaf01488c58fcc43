"""Program of each rank of MPICH: reductions of the rows of an array by one algorithm; rank 0 saves all results.

    mpiexec -n N python rank_program.py INPUTS.npz OUTPUTS.npz COLLECTIVE [ROOT ...]
"""

import sys

import numpy as np
from mpi4py import MPI


def main(inputs_file: str, outputs_file: str, collective: str, *roots: str) -> None:
    """Reduces each array of the file, for each root."""
    comm = MPI.COMM_WORLD
    inputs, outputs = np.load(inputs_file), {}
    for name in sorted(inputs.files):
        own = np.ascontiguousarray(inputs[name][comm.rank])
        for root in map(int, roots or ("0",)):
            result = np.zeros_like(own)
            if collective == "reduce":
                comm.Reduce(own, result, op=MPI.SUM, root=root)
            elif collective == "allreduce":
                comm.Allreduce(own, result, op=MPI.SUM)
            else:
                block = own.size // comm.size
                comm.Reduce_scatter_block(own, result[comm.rank * block : (comm.rank + 1) * block], op=MPI.SUM)
            rows = np.zeros((comm.size, own.size)) if comm.rank == 0 else None
            comm.Gather(result, rows, root=0)
            if comm.rank == 0:
                outputs[f"{name}.{root}"] = rows
    if comm.rank == 0:
        np.savez(outputs_file, **outputs)


main(*sys.argv[1:])
