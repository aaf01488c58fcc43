// Parameters of MPI's collectives with counts of type N, and what they mean to the simulator.
#ifndef CONIC_SIGNATURES_H
#define CONIC_SIGNATURES_H

#define REDUCTION(N) const void *send, void *receive, N count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define ROOTED_REDUCTION(N) \
    const void *send, void *receive, N count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define BROADCAST(N) void *at, N count, MPI_Datatype type, int root, MPI_Comm comm
#define MOVE(N) const void *send, N n, MPI_Datatype s, void *receive, N m, MPI_Datatype r, MPI_Comm comm
#define ROOTED_MOVE(N) const void *send, N n, MPI_Datatype s, void *receive, N m, MPI_Datatype r, int root, MPI_Comm comm

#define REDUCTION_NAMES send, receive, count, type, op, comm
#define ROOTED_REDUCTION_NAMES send, receive, count, type, op, root, comm
#define BROADCAST_NAMES at, count, type, root, comm
#define MOVE_NAMES send, n, s, receive, m, r, comm
#define ROOTED_MOVE_NAMES send, n, s, receive, m, r, root, comm

#define REDUCED .comm = comm, .send = send, .receive = receive, .receive_count = count, .send_type = MPI_DATATYPE_NULL, \
    .receive_type = type, .op = op
#define MOVED .comm = comm, .send = send, .send_count = n, .send_type = s, .receive = receive, .receive_count = m, \
    .receive_type = r

#endif
