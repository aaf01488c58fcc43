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

// Likewise of as many for each rank, each at its place: MPI looks at the first place alone.
static bool cannot_be_at_all(const void *at, const struct arguments *a, const struct communicator *comm, MPI_Datatype type) {
    for (int rank = 0; rank < comm->size; ++rank) {
        if (a->counts[rank] < 0) return true;
        if (a->displacements[rank] == 0 && cannot_be_at(at, a->counts[rank], type)) return true;
    }
    return false;
}

// Whether a block is to be copied onto itself: it is where it stands among those of all ranks.
static bool copies_onto_itself(const struct arguments *a, const struct communicator *comm) {
    const bool scatters = a->collective == SCATTER || a->collective == SCATTERV;
    const void *one = scatters ? a->receive : a->send, *all = scatters ? a->send : a->receive;
    const MPI_Count one_count = scatters ? a->receive_count : a->send_count;
    const MPI_Count all_count = a->counts ? a->counts[comm->rank] : scatters ? a->send_count : a->receive_count;
    MPI_Count size, at;
    if (one == MPI_IN_PLACE || all == MPI_IN_PLACE || a->send_type != a->receive_type || !one_count || !all_count) return false;
    if (!a->counts && one_count != all_count) return false;
    PMPI_Type_size_c(a->send_type, &size);
    at = a->collective == ALLTOALL ? 0 : a->counts ? a->displacements[comm->rank] : comm->rank * all_count;
    return (const char *)one == (const char *)all + at * size;
}

static bool moves(const struct arguments *a, const struct communicator *comm) {
    const bool is_root = comm->rank == a->root, is_rooted = conic_has_root(a->collective);
    const bool scatters = a->collective == SCATTER || a->collective == SCATTERV;
    const bool brings = a->collective != BCAST && (is_root || !scatters);
    const bool gets = is_root || (a->collective != GATHER && a->collective != GATHERV);
    // Where MPI_IN_PLACE may stand.
    const bool stays = a->collective != BCAST && (!is_rooted || is_root);
    if (brings && !(stays && !scatters && a->send == MPI_IN_PLACE)) {
        if (is_refused(a->send_type)) return true;
        if (scatters && a->counts ? cannot_be_at_all(a->send, a, comm, a->send_type)
                                  : cannot_be_at(a->send, a->send_count, a->send_type)) return true;
    }
    if (gets && !(stays && scatters && a->receive == MPI_IN_PLACE)) {
        if (is_refused(a->receive_type)) return true;
        if (!scatters && a->counts ? cannot_be_at_all(a->receive, a, comm, a->receive_type)
                                   : cannot_be_at(a->receive, a->receive_count, a->receive_type)) return true;
    }
    return brings && gets && copies_onto_itself(a, comm);
}

static bool cannot_reduce(const void *send, void *receive, MPI_Count count, const struct arguments *a) {
    MPI_Request request;
    return in_vain(PMPI_Allreduce_init_c(send, receive, count, a->receive_type, a->op, alone(), MPI_INFO_NULL, &request),
                   &request);
}

static bool reduces(const struct arguments *a, const struct communicator *comm) {
    MPI_Count count = a->receive_count;
    for (int rank = 0; a->collective == REDUCE_SCATTER && rank < comm->size; ++rank) {
        if (a->counts[rank] < 0) return true;
        count += a->counts[rank];
    }
    if (count < 0 || is_refused(a->receive_type)) return true;
    const bool is_operand_alone = a->collective == REDUCE && comm->rank != a->root;
    if (!is_operand_alone && a->collective != REDUCE_SCATTER) return cannot_reduce(a->send, a->receive, count, a);
    // What MPI says of type and operator does not depend on where the operand is; the result is of another length.
    if (a->send == MPI_IN_PLACE && !is_operand_alone) return cannot_reduce(MPI_IN_PLACE, a->receive, count, a);
    if (cannot_be_at(a->send, count, a->receive_type)) return true;
    if (cannot_reduce(MPI_IN_PLACE, (void *)a->send, count, a)) return true;
    if (is_operand_alone) return false;
    return (count && a->send == a->receive) || cannot_be_at(a->receive, a->counts[comm->rank], a->receive_type);
}

// Of the significant arguments of a call whose root there is.
bool conic_refused(const struct arguments *call, const struct communicator *comm) {
    if (call->collective == BARRIER) return false;
    return conic_reduces(call->collective) ? reduces(call, comm) : moves(call, comm);
}
