// Collectives that do not wait: generalised requests, which MPI_Wait and MPI_Test advance.
#include "interposer.h"
#include "signatures.h"

#define CALL(...) conic_call_nonblocking(&(struct arguments){__VA_ARGS__}, request)
#define BOTH(name, parameters, values)                                               \
    int MPI_##name(parameters(int), MPI_Request *request) { return CALL values; }    \
    int MPI_##name##_c(parameters(MPI_Count), MPI_Request *request) { return CALL values; }

BOTH(Iallreduce, REDUCTION, (.collective = ALLREDUCE, REDUCED))
BOTH(Ireduce, ROOTED_REDUCTION, (.collective = REDUCE, .root = root, REDUCED))
BOTH(Ireduce_scatter_block, REDUCTION, (.collective = REDUCE_SCATTER_BLOCK, REDUCED))
BOTH(Iscan, REDUCTION, (.collective = SCAN, REDUCED))
BOTH(Iexscan, REDUCTION, (.collective = EXSCAN, REDUCED))
BOTH(Ibcast, BROADCAST, (.collective = BCAST, .root = root, .comm = comm, .receive = at, .receive_count = count,
                         .receive_type = type, .send_type = MPI_DATATYPE_NULL))
BOTH(Iallgather, MOVE, (.collective = ALLGATHER, MOVED))
BOTH(Ialltoall, MOVE, (.collective = ALLTOALL, MOVED))
BOTH(Igather, ROOTED_MOVE, (.collective = GATHER, .root = root, MOVED))
BOTH(Iscatter, ROOTED_MOVE, (.collective = SCATTER, .root = root, MOVED))

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    return CALL(.collective = BARRIER, .comm = comm, .send_type = MPI_DATATYPE_NULL, .receive_type = MPI_DATATYPE_NULL);
}
