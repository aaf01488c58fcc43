// The same operation by MPI itself, on the same bytes, and every element compared.
#include <stdlib.h>
#include <string.h>

#include "interposer.h"

enum { MOST_SHOWN = 4 };

static void compare(struct link *link, const struct pending *pending, const char *theirs, uint64_t element) {
    const char *ours = link->segment + pending->out_at;
    struct request request = {.kind = REQUEST_CHECKED, .collective = pending->arguments.collective,
                              .count = pending->out_bytes / element, .in_bytes = element};
    struct { uint64_t index; char ours[16], theirs[16]; } shown[MOST_SHOWN];
    memset(shown, 0, sizeof shown);
    for (uint64_t n = 0; n < request.count; ++n)
        if (memcmp(ours + n * element, theirs + n * element, element)) {
            if (request.id < MOST_SHOWN) {
                shown[request.id].index = n;
                memcpy(shown[request.id].ours, ours + n * element, element);
                memcpy(shown[request.id].theirs, theirs + n * element, element);
            }
            ++request.id;
        }
    request.communicator = pending->comm->key;
    request.rank = pending->comm->rank;
    const uint64_t length = request.id < MOST_SHOWN ? request.id : MOST_SHOWN;
    conic_say(link, &request, shown, length * sizeof *shown);
}

static bool varies(enum collective collective) {
    return collective == ALLGATHERV || collective == GATHERV || collective == SCATTERV;
}

// Blocks of bytes one after the other, of as many bytes as the program's; nothing where it gives no counts.
static void in_bytes(struct arguments *call, const struct communicator *comm, MPI_Count *counts, MPI_Aint *at) {
    MPI_Count size;
    if (!varies(call->collective) || !call->counts) return;
    PMPI_Type_size_c(call->collective == SCATTERV ? call->send_type : call->receive_type, &size);
    for (int rank = 0; rank < comm->size; ++rank) {
        counts[rank] = call->counts[rank] * size;
        at[rank] = rank ? at[rank - 1] + counts[rank - 1] : 0;
    }
    call->counts = counts;
    call->displacements = at;
}

static void as_bytes(struct arguments *call, const struct communicator *comm, MPI_Count in, MPI_Count out) {
    const bool is_root = comm->rank == call->root;
    const bool cut_in = call->collective == SCATTER || call->collective == ALLTOALL;
    const bool cut_out = call->collective == ALLGATHER || call->collective == GATHER || call->collective == ALLTOALL;
    call->send_type = call->receive_type = MPI_BYTE;
    call->send_count = cut_in ? in / comm->size : in;
    call->receive_count = cut_out ? out / comm->size : out;
    if ((call->collective == SCATTER || call->collective == SCATTERV) && !out && is_root) call->receive = MPI_IN_PLACE;
    if (call->collective == BCAST && is_root) {
        call->receive = (void *)call->send;
        call->receive_count = in;
    }
}

// The call on the bytes at `from`, of which there are `in`, with its result of `out` bytes where `made` has it.
static struct arguments prepared(
    const struct arguments *asked, const struct communicator *comm, const char *from, uint64_t in, uint64_t out,
    struct comparison *made
) {
    struct arguments call = *asked;
    made->theirs = calloc(1, out + 16);
    made->counts = calloc((size_t)comm->size, sizeof *made->counts);
    made->at = calloc((size_t)comm->size, sizeof *made->at);
    made->element = 1;
    call.send = from;
    call.receive = made->theirs;
    if (conic_reduces(call.collective)) {
        // Elements lie in the segment as they do in the program.
        MPI_Aint low, extent;
        PMPI_Type_get_extent(call.receive_type, &low, &extent);
        made->element = (uint64_t)extent;
    } else {
        in_bytes(&call, comm, made->counts, made->at);
        as_bytes(&call, comm, (MPI_Count)in, (MPI_Count)out);
    }
    return call;
}

static void drop(struct comparison *made) {
    free(made->mine);
    free(made->theirs);
    free(made->counts);
    free(made->at);
}

// Also where there is no result: how many were compared is counted by rank.
static void end(struct link *link, const struct pending *pending, struct comparison *made) {
    compare(link, pending, made->theirs, made->element);
    if (!made->stays) drop(made);
}

void conic_check(struct link *link, const struct pending *pending) {
    const struct arguments call = prepared(
        &pending->arguments, pending->comm, link->segment + pending->in_at, pending->in_bytes, pending->out_bytes,
        pending->comparison);
    conic_passed(&call);
    end(link, pending, pending->comparison);
}

// MPI begins where the program does, so that its collectives have one order at all ranks.
void conic_begin_check(struct link *link, struct pending *pending) {
    const struct arguments call = prepared(
        &pending->arguments, pending->comm, link->segment + pending->in_at, pending->in_bytes, pending->out_bytes,
        pending->comparison);
    conic_passed_nonblocking(&call, &pending->comparison->request);
    pending->comparison->begun = true;
}

// A persistent one is MPI's too, with buffers of its own, from when the program makes it: it may be started in any order.
struct comparison *conic_make_check(
    const struct arguments *asked, const struct communicator *comm, const struct request *request
) {
    if (!conic_checks || asked->collective == BARRIER) return NULL;
    struct comparison *made = calloc(1, sizeof *made);
    made->stays = true;
    made->mine = calloc(1, request->in_bytes + 16);
    made->out_bytes = request->out_bytes;
    const struct arguments call = prepared(asked, comm, made->mine, request->in_bytes, request->out_bytes, made);
    conic_passed_persistent(&call, &made->request);
    return made;
}

void conic_start_check(struct link *link, struct pending *pending) {
    struct comparison *made = pending->comparison;
    memcpy(made->mine, link->segment + pending->in_at, pending->in_bytes);
    memset(made->theirs, 0, made->out_bytes);
    made->begun = true;
    PMPI_Start(&made->request);
}

void conic_drop_check(struct comparison *made) {
    if (!made) return;
    PMPI_Request_free(&made->request);
    drop(made);
    free(made);
}

// Compares if MPI is done too; false if it is not.
bool conic_compared(struct link *link, struct pending *pending) {
    int done = 0;
    if (!pending->comparison->begun) return false;
    PMPI_Test(&pending->comparison->request, &done, MPI_STATUS_IGNORE);
    if (done) end(link, pending, pending->comparison);
    return done;
}
