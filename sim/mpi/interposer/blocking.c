// Collectives that wait, with counts of both widths.
#include <stdlib.h>

#include "interposer.h"
#include "signatures.h"

#define CALL(...) conic_call(&(struct arguments){__VA_ARGS__})
#define BOTH(name, parameters, values)                               \
    int MPI_##name(parameters(int)) { return CALL values; }          \
    int MPI_##name##_c(parameters(MPI_Count)) { return CALL values; }

BOTH(Allreduce, REDUCTION, (.collective = ALLREDUCE, REDUCED))
BOTH(Reduce, ROOTED_REDUCTION, (.collective = REDUCE, .root = root, REDUCED))
BOTH(Reduce_scatter_block, REDUCTION, (.collective = REDUCE_SCATTER_BLOCK, REDUCED))
BOTH(Scan, REDUCTION, (.collective = SCAN, REDUCED))
BOTH(Exscan, REDUCTION, (.collective = EXSCAN, REDUCED))
BOTH(Bcast, BROADCAST, (.collective = BCAST, .root = root, .comm = comm, .receive = at, .receive_count = count,
                        .receive_type = type, .send_type = MPI_DATATYPE_NULL))
BOTH(Allgather, MOVE, (.collective = ALLGATHER, MOVED))
BOTH(Alltoall, MOVE, (.collective = ALLTOALL, MOVED))
BOTH(Gather, ROOTED_MOVE, (.collective = GATHER, .root = root, MOVED))
BOTH(Scatter, ROOTED_MOVE, (.collective = SCATTER, .root = root, MOVED))

int MPI_Barrier(MPI_Comm comm) {
    return CALL(.collective = BARRIER, .comm = comm, .send_type = MPI_DATATYPE_NULL, .receive_type = MPI_DATATYPE_NULL);
}
