// Whether MPI refuses a call: it is asked, by a persistent collective of the same arguments on a communicator of this rank
// alone, which is never started. Who is refused hears it from MPI itself, on the program's communicator and by its error
// handler, in the call that is at fault.
#include <stdlib.h>

#include "interposer.h"

static MPI_Comm alone(void) {
    static MPI_Comm comm = MPI_COMM_NULL;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (comm == MPI_COMM_NULL) {
        PMPI_Comm_dup(MPI_COMM_SELF, &comm);
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    pthread_mutex_unlock(&mutex);
    return comm;
}

static bool in_vain(int outcome, MPI_Request *request) {
    if (outcome == MPI_SUCCESS) PMPI_Request_free(request);
    return outcome != MPI_SUCCESS;
}

// MPI knows a type, and it may be used; nothing else may be asked of it before.
static bool is_refused(MPI_Datatype type) {
    MPI_Count size;
    return type == MPI_DATATYPE_NULL || PMPI_Pack_size_c(1, type, alone(), &size) != MPI_SUCCESS;
}

// So many elements of that type cannot be there.
static bool cannot_be_at(const void *at, MPI_Count count, MPI_Datatype type) {
    MPI_Request request;
    if (at == MPI_IN_PLACE) return true;
    // A broadcast looks at one buffer, and at all of it.
    return in_vain(PMPI_Bcast_init_c((void *)at, count, type, 0, alone(), MPI_INFO_NULL, &request), &request);
}

// Where the rank's own block would be in a buffer of such blocks: MPI refuses to copy it onto itself.
static const void *block_of(const void *at, int rank, MPI_Count count, MPI_Datatype type) {
    MPI_Count size;
    PMPI_Type_size_c(type, &size);
    return (const char *)at + rank * count * size;
}

static bool copies_onto_itself(const struct arguments *a, const struct communicator *comm) {
    if (a->send == MPI_IN_PLACE || a->receive == MPI_IN_PLACE || a->send_type != a->receive_type) return false;
    if (a->send_count != a->receive_count || !a->send_count) return false;
    switch (a->collective) {
    case ALLGATHER: case GATHER:
        return (const char *)a->send == block_of(a->receive, comm->rank, a->receive_count, a->receive_type);
    case SCATTER: return (const char *)a->receive == block_of(a->send, comm->rank, a->send_count, a->send_type);
    case ALLTOALL: return a->send == a->receive;
    default: return false;
    }
}

static bool moves(const struct arguments *a, const struct communicator *comm) {
    const bool is_root = comm->rank == a->root;
    const bool brings = a->collective != BCAST && (is_root || (a->collective != SCATTER && a->collective != SCATTERV));
    const bool gets = is_root || (a->collective != GATHER && a->collective != GATHERV);
    const bool may_stand = a->collective != BCAST && (!conic_has_root(a->collective) || is_root);
    const bool here_in = brings && may_stand && a->send == MPI_IN_PLACE && a->collective != SCATTER && a->collective != SCATTERV;
    const bool here_out = gets && may_stand && a->receive == MPI_IN_PLACE && (a->collective == SCATTER || a->collective == SCATTERV);
    const MPI_Count *in = a->collective == SCATTERV ? a->counts : NULL, *out = a->collective != SCATTERV ? a->counts : NULL;
    if (brings && !here_in) {
        if (is_refused(a->send_type)) return true;
        for (int rank = 0; rank < (in ? comm->size : 1); ++rank)
            if (cannot_be_at(a->send, in ? in[rank] : a->send_count, a->send_type)) return true;
    }
    if (gets && !here_out) {
        if (is_refused(a->receive_type)) return true;
        for (int rank = 0; rank < (out ? comm->size : 1); ++rank)
            if (cannot_be_at(a->receive, out ? out[rank] : a->receive_count, a->receive_type)) return true;
    }
    return brings && gets && copies_onto_itself(a, comm);
}

static bool reduces(const struct arguments *a, const struct communicator *comm) {
    MPI_Request request;
    MPI_Count count = a->receive_count;
    if (a->collective == REDUCE_SCATTER) {
        for (int rank = 0; rank < comm->size; ++rank) {
            if (a->counts[rank] < 0) return true;
            count += a->counts[rank];
        }
    }
    if (count < 0 || is_refused(a->receive_type)) return true;
    if (a->collective == REDUCE && comm->rank != a->root) {
        // Only its operand counts here; what MPI says of the operator does not depend on where that is.
        if (cannot_be_at(a->send, count, a->receive_type)) return true;
        return in_vain(PMPI_Allreduce_init_c(MPI_IN_PLACE, (void *)a->send, count, a->receive_type, a->op, alone(),
                                             MPI_INFO_NULL, &request), &request);
    }
    return in_vain(PMPI_Allreduce_init_c(a->send, a->receive, count, a->receive_type, a->op, alone(), MPI_INFO_NULL,
                                         &request), &request);
}

// Of the significant arguments of a call whose root there is.
bool conic_refused(const struct arguments *call, const struct communicator *comm) {
    if (call->collective == BARRIER) return false;
    return conic_reduces(call->collective) ? reduces(call, comm) : moves(call, comm);
}
