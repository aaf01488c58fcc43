// Collectives with a count for each rank, waiting, not waiting and persistent, with counts of both widths.
#include <stdlib.h>

#include "interposer.h"

// Counts and displacements as wide ones; nothing where this rank does not give them.
struct lists {
    MPI_Count *counts;
    MPI_Aint *at;
};

static bool served(MPI_Comm comm, enum collective collective) {
    const struct communicator *found = conic_communicator(comm);
    const enum reason reason = found ? found->reason : NOT_CONNECTED;
    if (reason) conic_count(collective, reason);
    return !reason;
}

static struct lists widened(const struct arguments *call, const int counts[], const int at[]) {
    struct lists lists = {NULL, NULL};
    const struct communicator *found = conic_communicator(call->comm);
    const size_t size = (size_t)found->size;
    if (!conic_has_counts(call, found) || !counts) return lists;
    lists.counts = malloc(size * sizeof *lists.counts);
    for (size_t rank = 0; rank < size; ++rank) lists.counts[rank] = counts[rank];
    if (!at) return lists;
    lists.at = malloc(size * sizeof *lists.at);
    for (size_t rank = 0; rank < size; ++rank) lists.at[rank] = at[rank];
    return lists;
}

static int freed(struct lists lists, int outcome) {
    free(lists.counts);
    free(lists.at);
    return outcome;
}

// `names` are the parameters in order; `fields` those of struct arguments but the lists.
#define FOUR(NAME, collective_, counts_, at_, narrow, wide, names, fields)                                     \
    int MPI_##NAME narrow {                                                                                          \
        if (!served(comm, collective_)) return PMPI_##NAME names;                                                    \
        const struct lists lists = widened(&(struct arguments){fields}, counts_, at_);                                                \
        return freed(lists, conic_call(&(struct arguments){fields, .counts = lists.counts, .displacements = lists.at})); \
    }                                                                                                                \
    int MPI_##NAME##_c wide {                                                                                        \
        if (!served(comm, collective_)) return PMPI_##NAME##_c names;                                                \
        return conic_call(&(struct arguments){fields, .counts = counts_, .displacements = at_});                     \
    }
#define FOUR_NONBLOCKING(NAME, collective_, counts_, at_, narrow, wide, names, fields)                         \
    int MPI_##NAME narrow {                                                                                          \
        if (!served(comm, collective_)) return PMPI_##NAME names;                                                    \
        const struct lists lists = widened(&(struct arguments){fields}, counts_, at_);                                                \
        return freed(lists, conic_call_nonblocking(&(struct arguments){fields, .counts = lists.counts,               \
                                                                       .displacements = lists.at}, request));        \
    }                                                                                                                \
    int MPI_##NAME##_c wide {                                                                                        \
        if (!served(comm, collective_)) return PMPI_##NAME##_c names;                                                \
        return conic_call_nonblocking(&(struct arguments){fields, .counts = counts_, .displacements = at_}, request); \
    }

#define FOUR_PERSISTENT(NAME, collective_, counts_, at_, narrow, wide, names, fields)                          \
    int MPI_##NAME narrow {                                                                                          \
        const struct communicator *found = conic_communicator(comm);                                                 \
        enum reason reason = found ? found->reason : NOT_CONNECTED;                                                  \
        if (!reason) {                                                                                               \
            const struct lists lists = widened(&(struct arguments){fields}, counts_, at_);                                            \
            const struct arguments call = {fields, .counts = lists.counts, .displacements = lists.at};               \
            if (freed(lists, conic_make_persistent(&call, request, &reason))) return MPI_SUCCESS;                    \
        }                                                                                                            \
        return conic_left_persistent(PMPI_##NAME names, collective_, reason, request);                               \
    }                                                                                                                \
    int MPI_##NAME##_c wide {                                                                                        \
        const struct arguments call = {fields, .counts = counts_, .displacements = at_};                             \
        enum reason reason;                                                                                          \
        if (conic_make_persistent(&call, request, &reason)) return MPI_SUCCESS;                                      \
        return conic_left_persistent(PMPI_##NAME##_c names, collective_, reason, request);                           \
    }

#define COMMON(kind) .collective = kind, .comm = comm, .send = send, .receive = receive
#define GATHERED COMMON(ALLGATHERV), .send_count = n, .send_type = s, .receive_type = r
#define GATHERED_AT_ROOT COMMON(GATHERV), .send_count = n, .send_type = s, .receive_type = r, .root = root
#define SCATTERED COMMON(SCATTERV), .receive_count = m, .send_type = s, .receive_type = r, .root = root
#define REDUCED COMMON(REDUCE_SCATTER), .send_type = MPI_DATATYPE_NULL, .receive_type = type, .op = op
#define FIELDS(...) __VA_ARGS__

FOUR(Allgatherv, ALLGATHERV, counts, at,
     (const void *send, int n, MPI_Datatype s, void *receive, const int counts[], const int at[], MPI_Datatype r,
      MPI_Comm comm),
     (const void *send, MPI_Count n, MPI_Datatype s, void *receive, const MPI_Count counts[], const MPI_Aint at[],
      MPI_Datatype r, MPI_Comm comm),
     (send, n, s, receive, counts, at, r, comm), FIELDS(GATHERED))
FOUR(Gatherv, GATHERV, counts, at,
     (const void *send, int n, MPI_Datatype s, void *receive, const int counts[], const int at[], MPI_Datatype r,
      int root, MPI_Comm comm),
     (const void *send, MPI_Count n, MPI_Datatype s, void *receive, const MPI_Count counts[], const MPI_Aint at[],
      MPI_Datatype r, int root, MPI_Comm comm),
     (send, n, s, receive, counts, at, r, root, comm), FIELDS(GATHERED_AT_ROOT))
FOUR(Scatterv, SCATTERV, counts, at,
     (const void *send, const int counts[], const int at[], MPI_Datatype s, void *receive, int m, MPI_Datatype r,
      int root, MPI_Comm comm),
     (const void *send, const MPI_Count counts[], const MPI_Aint at[], MPI_Datatype s, void *receive, MPI_Count m,
      MPI_Datatype r, int root, MPI_Comm comm),
     (send, counts, at, s, receive, m, r, root, comm), FIELDS(SCATTERED))
FOUR(Reduce_scatter, REDUCE_SCATTER, counts, NULL,
     (const void *send, void *receive, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (const void *send, void *receive, const MPI_Count counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (send, receive, counts, type, op, comm), FIELDS(REDUCED))

FOUR_NONBLOCKING(Iallgatherv, ALLGATHERV, counts, at,
     (const void *send, int n, MPI_Datatype s, void *receive, const int counts[], const int at[], MPI_Datatype r,
      MPI_Comm comm, MPI_Request *request),
     (const void *send, MPI_Count n, MPI_Datatype s, void *receive, const MPI_Count counts[], const MPI_Aint at[],
      MPI_Datatype r, MPI_Comm comm, MPI_Request *request),
     (send, n, s, receive, counts, at, r, comm, request), FIELDS(GATHERED))
FOUR_NONBLOCKING(Igatherv, GATHERV, counts, at,
     (const void *send, int n, MPI_Datatype s, void *receive, const int counts[], const int at[], MPI_Datatype r,
      int root, MPI_Comm comm, MPI_Request *request),
     (const void *send, MPI_Count n, MPI_Datatype s, void *receive, const MPI_Count counts[], const MPI_Aint at[],
      MPI_Datatype r, int root, MPI_Comm comm, MPI_Request *request),
     (send, n, s, receive, counts, at, r, root, comm, request), FIELDS(GATHERED_AT_ROOT))
FOUR_NONBLOCKING(Iscatterv, SCATTERV, counts, at,
     (const void *send, const int counts[], const int at[], MPI_Datatype s, void *receive, int m, MPI_Datatype r,
      int root, MPI_Comm comm, MPI_Request *request),
     (const void *send, const MPI_Count counts[], const MPI_Aint at[], MPI_Datatype s, void *receive, MPI_Count m,
      MPI_Datatype r, int root, MPI_Comm comm, MPI_Request *request),
     (send, counts, at, s, receive, m, r, root, comm, request), FIELDS(SCATTERED))
FOUR_NONBLOCKING(Ireduce_scatter, REDUCE_SCATTER, counts, NULL,
     (const void *send, void *receive, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm,
      MPI_Request *request),
     (const void *send, void *receive, const MPI_Count counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm,
      MPI_Request *request),
     (send, receive, counts, type, op, comm, request), FIELDS(REDUCED))

FOUR_PERSISTENT(Allgatherv_init, ALLGATHERV, counts, at,
     (const void *send, int n, MPI_Datatype s, void *receive, const int counts[], const int at[], MPI_Datatype r,
      MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (const void *send, MPI_Count n, MPI_Datatype s, void *receive, const MPI_Count counts[], const MPI_Aint at[],
      MPI_Datatype r, MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (send, n, s, receive, counts, at, r, comm, info, request), FIELDS(GATHERED))
FOUR_PERSISTENT(Gatherv_init, GATHERV, counts, at,
     (const void *send, int n, MPI_Datatype s, void *receive, const int counts[], const int at[], MPI_Datatype r,
      int root, MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (const void *send, MPI_Count n, MPI_Datatype s, void *receive, const MPI_Count counts[], const MPI_Aint at[],
      MPI_Datatype r, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (send, n, s, receive, counts, at, r, root, comm, info, request), FIELDS(GATHERED_AT_ROOT))
FOUR_PERSISTENT(Scatterv_init, SCATTERV, counts, at,
     (const void *send, const int counts[], const int at[], MPI_Datatype s, void *receive, int m, MPI_Datatype r,
      int root, MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (const void *send, const MPI_Count counts[], const MPI_Aint at[], MPI_Datatype s, void *receive, MPI_Count m,
      MPI_Datatype r, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (send, counts, at, s, receive, m, r, root, comm, info, request), FIELDS(SCATTERED))
FOUR_PERSISTENT(Reduce_scatter_init, REDUCE_SCATTER, counts, NULL,
     (const void *send, void *receive, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm,
      MPI_Info info, MPI_Request *request),
     (const void *send, void *receive, const MPI_Count counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm,
      MPI_Info info, MPI_Request *request),
     (send, receive, counts, type, op, comm, info, request), FIELDS(REDUCED))
