// The arguments of a call that MPI looks at. What it ignores - of the root or of others, or beside MPI_IN_PLACE - may be
// anything, and becomes nothing here before anybody looks at it. And what of it a request needs until it is done.
#include <stdlib.h>
#include <string.h>

#include "interposer.h"

bool conic_has_root(enum collective collective) {
    return collective == REDUCE || collective == BCAST || collective == SCATTER || collective == GATHER ||
           collective == SCATTERV || collective == GATHERV;
}

static bool varies(enum collective collective) {
    return collective == ALLGATHERV || collective == GATHERV || collective == SCATTERV || collective == REDUCE_SCATTER;
}

// Whether this rank gives a count for each rank.
bool conic_has_counts(const struct arguments *call, const struct communicator *comm) {
    return varies(call->collective) && (!conic_has_root(call->collective) || call->root == comm->rank);
}

// MPI refuses to do without them.
bool conic_lacks_counts(const struct arguments *call, const struct communicator *comm) {
    if (!conic_has_counts(call, comm)) return false;
    return !call->counts || (!call->displacements && call->collective != REDUCE_SCATTER);
}

static void ignore_operand(struct arguments *call) {
    call->send_count = 0;
    call->send_type = MPI_DATATYPE_NULL;
}

static void ignore_result(struct arguments *call) {
    call->receive_count = 0;
    call->receive_type = MPI_DATATYPE_NULL;
}

struct arguments conic_significant(const struct arguments *call, const struct communicator *comm) {
    struct arguments kept = *call;
    const bool is_root = call->root == comm->rank;
    if (!conic_has_root(call->collective)) kept.root = 0;
    if (!conic_reduces(call->collective)) kept.op = MPI_OP_NULL;
    if (!conic_has_counts(call, comm)) kept.counts = NULL, kept.displacements = NULL;
    if (kept.counts && call->collective == SCATTERV) kept.send_count = 0;
    if (kept.counts && call->collective != SCATTERV) kept.receive_count = 0;
    switch (call->collective) {
    case BARRIER:
        kept.send = kept.receive = NULL;
        ignore_operand(&kept);
        ignore_result(&kept);
        break;
    case BCAST:
        kept.send = NULL;
        ignore_operand(&kept);
        break;
    case REDUCE:
        ignore_operand(&kept);
        if (!is_root) kept.receive = NULL;
        break;
    case ALLREDUCE: case SCAN: case EXSCAN: case REDUCE_SCATTER_BLOCK: case REDUCE_SCATTER:
        ignore_operand(&kept);
        break;
    case GATHER: case GATHERV:
        if (!is_root) kept.receive = NULL, ignore_result(&kept);
        if (is_root && call->send == MPI_IN_PLACE) ignore_operand(&kept);
        break;
    case SCATTER: case SCATTERV:
        if (!is_root) kept.send = NULL, ignore_operand(&kept);
        if (is_root && call->receive == MPI_IN_PLACE) ignore_result(&kept);
        break;
    default:
        if (call->send == MPI_IN_PLACE) ignore_operand(&kept);
    }
    return kept;
}

static void *copied(const void *from, size_t bytes) {
    void *to = from ? malloc(bytes) : NULL;
    return to ? memcpy(to, from, bytes) : NULL;
}

static bool is_derived(MPI_Datatype type) {
    int integers, addresses, types, combiner;
    if (type == MPI_DATATYPE_NULL) return false;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner != MPI_COMBINER_NAMED;
}

// A type of the same layout that nobody else can free. MPI_Type_dup would call the program's attribute functions.
static MPI_Datatype held(MPI_Datatype type) {
    MPI_Datatype same;
    if (!is_derived(type)) return type;
    PMPI_Type_contiguous(1, type, &same);
    PMPI_Type_commit(&same);
    return same;
}

// From here on the program may free and reuse what it has given, but its buffers.
void conic_keep(struct arguments *call, const struct communicator *comm) {
    call->counts = copied(call->counts, (size_t)comm->size * sizeof *call->counts);
    call->displacements = copied(call->displacements, (size_t)comm->size * sizeof *call->displacements);
    call->send_type = held(call->send_type);
    call->receive_type = held(call->receive_type);
}

void conic_drop(struct arguments *call) {
    free((void *)call->counts);
    free((void *)call->displacements);
    if (is_derived(call->send_type)) PMPI_Type_free(&call->send_type);
    if (is_derived(call->receive_type)) PMPI_Type_free(&call->receive_type);
}
