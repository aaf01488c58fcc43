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
    request.communicator = conic_communicator(pending->arguments.comm)->key;
    request.rank = conic_communicator(pending->arguments.comm)->rank;
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

static void as_bytes(struct arguments *call, const struct communicator *comm, const struct pending *pending) {
    const MPI_Count in = (MPI_Count)pending->in_bytes, out = (MPI_Count)pending->out_bytes;
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

void conic_check(struct link *link, const struct pending *pending, const struct communicator *comm) {
    struct arguments call = pending->arguments;
    if (call.collective == BARRIER) return;
    char *theirs = calloc(1, pending->out_bytes + 16);
    MPI_Count *counts = calloc((size_t)comm->size, sizeof *counts);
    MPI_Aint *at = calloc((size_t)comm->size, sizeof *at);
    uint64_t element = 1;
    call.send = link->segment + pending->in_at;
    call.receive = theirs;
    if (conic_reduces(call.collective)) {
        // Elements lie in the segment as they do in the program.
        MPI_Aint low, extent;
        PMPI_Type_get_extent(call.receive_type, &low, &extent);
        element = (uint64_t)extent;
    } else {
        in_bytes(&call, comm, counts, at);
        as_bytes(&call, comm, pending);
    }
    conic_passed(&call);
    // Also where there is no result: how many were compared is counted by rank.
    compare(link, pending, theirs, element);
    free(theirs);
    free(counts);
    free(at);
}
