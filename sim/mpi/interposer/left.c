// Collectives that are MPI's own, counted: of types or displacements for each pair, among neighbours, persistent ones
// (counted when they are made).
#include "interposer.h"

static void left(MPI_Comm comm, enum collective collective, bool waits) {
    const struct communicator *found = conic_communicator(comm);
    const enum reason reason = found ? found->reason : NOT_CONNECTED;
    conic_count(collective, reason ? reason : collective == PERSISTENT ? IS_PERSISTENT : NO_SCHEDULE);
    if (waits) conic_settle();
}

#define MOVE(N, D) const void *send, N n, MPI_Datatype s, void *receive, N m, MPI_Datatype r, MPI_Comm comm
#define MOVE_NAMES send, n, s, receive, m, r, comm
#define MOVE_ROOT(N, D) const void *send, N n, MPI_Datatype s, void *receive, N m, MPI_Datatype r, int root, MPI_Comm comm
#define MOVE_ROOT_NAMES send, n, s, receive, m, r, root, comm
#define GATHERED(N, D) \
    const void *send, N n, MPI_Datatype s, void *receive, const N m[], const D at[], MPI_Datatype r, MPI_Comm comm
#define GATHERED_NAMES send, n, s, receive, m, at, r, comm
#define GATHERED_ROOT(N, D) const void *send, N n, MPI_Datatype s, void *receive, const N m[], const D at[], \
    MPI_Datatype r, int root, MPI_Comm comm
#define GATHERED_ROOT_NAMES send, n, s, receive, m, at, r, root, comm
#define SCATTERED_ROOT(N, D) const void *send, const N n[], const D at[], MPI_Datatype s, void *receive, N m, \
    MPI_Datatype r, int root, MPI_Comm comm
#define SCATTERED_ROOT_NAMES send, n, at, s, receive, m, r, root, comm
#define PAIRS(N, D) const void *send, const N n[], const D from[], MPI_Datatype s, void *receive, const N m[], \
    const D at[], MPI_Datatype r, MPI_Comm comm
#define PAIRS_NAMES send, n, from, s, receive, m, at, r, comm
#define TYPES(N, D) const void *send, const N n[], const D from[], const MPI_Datatype s[], void *receive, const N m[], \
    const D at[], const MPI_Datatype r[], MPI_Comm comm
#define TYPES_NAMES send, n, from, s, receive, m, at, r, comm
#define ADDRESSES(N, D) TYPES(N, MPI_Aint)
#define ADDRESSES_NAMES TYPES_NAMES
#define SUM(N, D) const void *send, void *receive, N n, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define SUM_NAMES send, receive, n, type, op, comm
#define SUM_ROOT(N, D) const void *send, void *receive, N n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define SUM_ROOT_NAMES send, receive, n, type, op, root, comm
#define SUMS(N, D) const void *send, void *receive, const N n[], MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define SUMS_NAMES send, receive, n, type, op, comm
#define CAST(N, D) void *at, N n, MPI_Datatype type, int root, MPI_Comm comm
#define CAST_NAMES at, n, type, root, comm

#define LEFT(NAME, kind, waits, parameters, names) \
    int MPI_##NAME parameters {                    \
        left(comm, kind, waits);                   \
        return PMPI_##NAME names;                  \
    }
#define NOW(NAME, kind, P)                                            \
    LEFT(NAME, kind, true, (P(int, int)), (P##_NAMES))                \
    LEFT(NAME##_c, kind, true, (P(MPI_Count, MPI_Aint)), (P##_NAMES))
#define LATER(NAME, kind, P)                                                                        \
    LEFT(NAME, kind, false, (P(int, int), MPI_Request *request), (P##_NAMES, request))              \
    LEFT(NAME##_c, kind, false, (P(MPI_Count, MPI_Aint), MPI_Request *request), (P##_NAMES, request))
#define AGAIN(NAME, P)                                                                                            \
    LEFT(NAME##_init, PERSISTENT, true, (P(int, int), MPI_Info info, MPI_Request *request),                       \
         (P##_NAMES, info, request))                                                                              \
    LEFT(NAME##_init_c, PERSISTENT, true, (P(MPI_Count, MPI_Aint), MPI_Info info, MPI_Request *request),          \
         (P##_NAMES, info, request))

NOW(Alltoallv, ALLTOALLV, PAIRS)
NOW(Alltoallw, ALLTOALLW, TYPES)
LATER(Ialltoallv, ALLTOALLV, PAIRS)
LATER(Ialltoallw, ALLTOALLW, TYPES)
NOW(Neighbor_allgather, NEIGHBOUR, MOVE)
NOW(Neighbor_allgatherv, NEIGHBOUR, GATHERED)
NOW(Neighbor_alltoall, NEIGHBOUR, MOVE)
NOW(Neighbor_alltoallv, NEIGHBOUR, PAIRS)
NOW(Neighbor_alltoallw, NEIGHBOUR, ADDRESSES)
LATER(Ineighbor_allgather, NEIGHBOUR, MOVE)
LATER(Ineighbor_allgatherv, NEIGHBOUR, GATHERED)
LATER(Ineighbor_alltoall, NEIGHBOUR, MOVE)
LATER(Ineighbor_alltoallv, NEIGHBOUR, PAIRS)
LATER(Ineighbor_alltoallw, NEIGHBOUR, ADDRESSES)
AGAIN(Allreduce, SUM)
AGAIN(Reduce, SUM_ROOT)
AGAIN(Bcast, CAST)
AGAIN(Allgather, MOVE)
AGAIN(Allgatherv, GATHERED)
AGAIN(Gather, MOVE_ROOT)
AGAIN(Gatherv, GATHERED_ROOT)
AGAIN(Scatter, MOVE_ROOT)
AGAIN(Scatterv, SCATTERED_ROOT)
AGAIN(Reduce_scatter_block, SUM)
AGAIN(Reduce_scatter, SUMS)
AGAIN(Alltoall, MOVE)
AGAIN(Alltoallv, PAIRS)
AGAIN(Alltoallw, TYPES)
AGAIN(Scan, SUM)
AGAIN(Exscan, SUM)
AGAIN(Neighbor_allgather, MOVE)
AGAIN(Neighbor_allgatherv, GATHERED)
AGAIN(Neighbor_alltoall, MOVE)
AGAIN(Neighbor_alltoallv, PAIRS)
AGAIN(Neighbor_alltoallw, ADDRESSES)
LEFT(Barrier_init, PERSISTENT, true, (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request))
