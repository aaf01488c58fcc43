// Collectives that are MPI's own, counted: of types or displacements for each pair, and among neighbours.
#include "interposer.h"

static enum reason why(MPI_Comm comm) {
    const struct communicator *found = conic_communicator(comm);
    const enum reason reason = found ? found->reason : NOT_CONNECTED;
    return reason ? reason : NO_SCHEDULE;
}

#define MOVE(N, D) const void *send, N n, MPI_Datatype s, void *receive, N m, MPI_Datatype r, MPI_Comm comm
#define MOVE_NAMES send, n, s, receive, m, r, comm
#define GATHERED(N, D) \
    const void *send, N n, MPI_Datatype s, void *receive, const N m[], const D at[], MPI_Datatype r, MPI_Comm comm
#define GATHERED_NAMES send, n, s, receive, m, at, r, comm
#define PAIRS(N, D) const void *send, const N n[], const D from[], MPI_Datatype s, void *receive, const N m[], \
    const D at[], MPI_Datatype r, MPI_Comm comm
#define PAIRS_NAMES send, n, from, s, receive, m, at, r, comm
#define TYPES(N, D) const void *send, const N n[], const D from[], const MPI_Datatype s[], void *receive, const N m[], \
    const D at[], const MPI_Datatype r[], MPI_Comm comm
#define TYPES_NAMES send, n, from, s, receive, m, at, r, comm
#define ADDRESSES(N, D) TYPES(N, MPI_Aint)
#define ADDRESSES_NAMES TYPES_NAMES

#define LEFT(NAME, kind, parameters, names)        \
    int MPI_##NAME parameters {                    \
        conic_count(kind, why(comm));              \
        conic_enter("MPI_" #NAME);                 \
        const int outcome = PMPI_##NAME names;     \
        conic_leave();                             \
        return outcome;                            \
    }
#define NOW(NAME, kind, P)                                            \
    LEFT(NAME, kind, (P(int, int)), (P##_NAMES))                \
    LEFT(NAME##_c, kind, (P(MPI_Count, MPI_Aint)), (P##_NAMES))
#define LATER(NAME, kind, P)                                                                        \
    LEFT(NAME, kind, (P(int, int), MPI_Request *request), (P##_NAMES, request))              \
    LEFT(NAME##_c, kind, (P(MPI_Count, MPI_Aint), MPI_Request *request), (P##_NAMES, request))
#define MAKES(NAME, kind, parameters, names)                                         \
    int MPI_##NAME parameters {                                                      \
        return conic_left_persistent(PMPI_##NAME names, kind, why(comm), request);   \
    }
#define AGAIN(NAME, kind, P)                                                                                       \
    MAKES(NAME##_init, kind, (P(int, int), MPI_Info info, MPI_Request *request), (P##_NAMES, info, request))      \
    MAKES(NAME##_init_c, kind, (P(MPI_Count, MPI_Aint), MPI_Info info, MPI_Request *request),                     \
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
AGAIN(Alltoallv, ALLTOALLV, PAIRS)
AGAIN(Alltoallw, ALLTOALLW, TYPES)
AGAIN(Neighbor_allgather, NEIGHBOUR, MOVE)
AGAIN(Neighbor_allgatherv, NEIGHBOUR, GATHERED)
AGAIN(Neighbor_alltoall, NEIGHBOUR, MOVE)
AGAIN(Neighbor_alltoallv, NEIGHBOUR, PAIRS)
AGAIN(Neighbor_alltoallw, NEIGHBOUR, ADDRESSES)
