// Calls of MPI's that may block and that are otherwise left alone: while a thread is in one, the simulator knows.
#include "interposer.h"

#define INSIDE(NAME, parameters, values)            \
    int MPI_##NAME parameters {                     \
        conic_enter("MPI_" #NAME);                  \
        const int outcome = PMPI_##NAME values;     \
        conic_leave();                              \
        return outcome;                             \
    }
// Counts of both widths.
#define BOTH(NAME, P, values)         \
    INSIDE(NAME, (P(int)), values)    \
    INSIDE(NAME##_c, (P(MPI_Count)), values)

#define SEND(N) const void *at, N n, MPI_Datatype type, int to, int tag, MPI_Comm comm
#define RECEIVE(N) void *at, N n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status
#define EXCHANGE(N)                                                                                              \
    const void *at, N n, MPI_Datatype type, int to, int tag, void *into, N m, MPI_Datatype kind, int from, int other, \
        MPI_Comm comm, MPI_Status *status
#define REPLACE(N) void *at, N n, MPI_Datatype type, int to, int tag, int from, int other, MPI_Comm comm, MPI_Status *status
#define MATCHED(N) void *at, N n, MPI_Datatype type, MPI_Message *message, MPI_Status *status

BOTH(Send, SEND, (at, n, type, to, tag, comm))
BOTH(Ssend, SEND, (at, n, type, to, tag, comm))
BOTH(Rsend, SEND, (at, n, type, to, tag, comm))
BOTH(Bsend, SEND, (at, n, type, to, tag, comm))
BOTH(Recv, RECEIVE, (at, n, type, from, tag, comm, status))
BOTH(Sendrecv, EXCHANGE, (at, n, type, to, tag, into, m, kind, from, other, comm, status))
BOTH(Sendrecv_replace, REPLACE, (at, n, type, to, tag, from, other, comm, status))
BOTH(Mrecv, MATCHED, (at, n, type, message, status))
INSIDE(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status))
INSIDE(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
       (from, tag, comm, message, status))
INSIDE(Win_fence, (int assertion, MPI_Win win), (assertion, win))
INSIDE(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win))
INSIDE(Win_complete, (MPI_Win win), (win))
INSIDE(Win_wait, (MPI_Win win), (win))
INSIDE(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win))
INSIDE(Win_lock_all, (int assertion, MPI_Win win), (assertion, win))
INSIDE(Win_unlock, (int rank, MPI_Win win), (rank, win))
INSIDE(Win_unlock_all, (MPI_Win win), (win))
INSIDE(Win_flush, (int rank, MPI_Win win), (rank, win))
INSIDE(Win_flush_all, (MPI_Win win), (win))
INSIDE(Win_free, (MPI_Win *win), (win))
INSIDE(Comm_free, (MPI_Comm *comm), (comm))
INSIDE(Comm_disconnect, (MPI_Comm *comm), (comm))
