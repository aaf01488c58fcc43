// Collectives that wait, with counts of both widths.
#include <stdlib.h>

#include "interposer.h"

#define CALL(...) conic_call(&(struct arguments){__VA_ARGS__})
#define BOTH(name, parameters, values)                               \
    int MPI_##name(parameters(int)) { return CALL values; }          \
    int MPI_##name##_c(parameters(MPI_Count)) { return CALL values; }

#define REDUCTION(N) const void *send, void *receive, N count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define ROOTED_REDUCTION(N) \
    const void *send, void *receive, N count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define BROADCAST(N) void *at, N count, MPI_Datatype type, int root, MPI_Comm comm
#define MOVE(N) const void *send, N n, MPI_Datatype s, void *receive, N m, MPI_Datatype r, MPI_Comm comm
#define ROOTED_MOVE(N) const void *send, N n, MPI_Datatype s, void *receive, N m, MPI_Datatype r, int root, MPI_Comm comm

#define REDUCED .comm = comm, .send = send, .receive = receive, .receive_count = count, .send_type = MPI_DATATYPE_NULL, \
    .receive_type = type, .op = op
#define MOVED .comm = comm, .send = send, .send_count = n, .send_type = s, .receive = receive, .receive_count = m, \
    .receive_type = r

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
