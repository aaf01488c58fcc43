// Between the program's buffers and the segment: what MPI's own pack makes of them, or a copy where that is the same.
#include <string.h>

#include "interposer.h"

struct part {
    void *at;
    MPI_Count count;
    MPI_Datatype type;
};

static bool in_place(const struct arguments *call) {
    return call->send == MPI_IN_PLACE || call->receive == MPI_IN_PLACE;
}

static bool varies(enum collective collective) {
    return collective == ALLGATHERV || collective == GATHERV || collective == SCATTERV;
}

static char *behind(const void *at, MPI_Count elements, MPI_Datatype type) {
    MPI_Aint low, extent;
    PMPI_Type_get_extent(type, &low, &extent);
    return (char *)at + elements * extent;
}

// The program's buffer that part `index` of the operand (or of the result) is; how many parts it has.
static int part_of_operand(const struct arguments *call, const struct communicator *comm, int index, struct part *part) {
    const bool root = comm->rank == call->root, here = in_place(call);
    MPI_Count count = call->send_count;
    const void *at = call->send;
    MPI_Datatype type = call->send_type;
    switch (call->collective) {
    case BARRIER: return 0;
    case BCAST:
        *part = (struct part){call->receive, call->receive_count, call->receive_type};
        return root;
    case SCATTER: case SCATTERV:
        if (!root) return 0;
        if (call->collective == SCATTERV) {
            *part = (struct part){behind(at, call->displacements[index], type), call->counts[index], type};
            return comm->size;
        }
        count *= comm->size;
        break;
    case REDUCE_SCATTER_BLOCK:
        type = call->receive_type;
        count = call->receive_count * comm->size;
        if (here) at = call->receive;
        break;
    case REDUCE_SCATTER:
        type = call->receive_type;
        count = 0;
        for (int rank = 0; rank < comm->size; ++rank) count += call->counts[rank];
        if (here) at = call->receive;
        break;
    case ALLREDUCE: case REDUCE: case SCAN: case EXSCAN:
        type = call->receive_type;
        count = call->receive_count;
        if (here) at = call->receive;
        break;
    case ALLTOALL:
        if (here) at = call->receive, type = call->receive_type, count = call->receive_count;
        count *= comm->size;
        break;
    default:  // gathers
        if (!here) break;
        type = call->receive_type;
        if (varies(call->collective)) {
            count = call->counts[comm->rank];
            at = behind(call->receive, call->displacements[comm->rank], type);
        } else {
            count = call->receive_count;
            at = behind(call->receive, comm->rank * count, type);
        }
    }
    *part = (struct part){(void *)at, count, type};
    return 1;
}

static int part_of_result(const struct arguments *call, const struct communicator *comm, int index, struct part *part) {
    const bool root = comm->rank == call->root;
    MPI_Count count = call->receive_count;
    switch (call->collective) {
    case BARRIER: return 0;
    case BCAST:
        if (root) return 0;
        break;
    case REDUCE:
        if (!root) return 0;
        break;
    case EXSCAN:
        if (comm->rank == 0) return 0;
        break;
    case GATHER:
        if (!root) return 0;
        count *= comm->size;
        break;
    case SCATTER: case SCATTERV:
        if (call->receive == MPI_IN_PLACE) return 0;
        break;
    case GATHERV: case ALLGATHERV:
        if (call->collective == GATHERV && !root) return 0;
        *part = (struct part){behind(call->receive, call->displacements[index], call->receive_type),
                              call->counts[index], call->receive_type};
        return comm->size;
    case REDUCE_SCATTER:
        count = call->counts[comm->rank];
        break;
    case ALLGATHER: case ALLTOALL:
        count *= comm->size;
        break;
    default: break;
    }
    *part = (struct part){call->receive, count, call->receive_type};
    return 1;
}

static bool is_dense(MPI_Datatype type, MPI_Count size) {
    int integers, addresses, types, combiner;
    MPI_Aint low, extent;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) return false;
    PMPI_Type_get_extent(type, &low, &extent);
    return low == 0 && extent == size;
}

// Elements of a reduction are taken as they lie, whatever is between them.
static MPI_Count bytes_of(const struct arguments *call, const struct part *part) {
    MPI_Count size;
    MPI_Aint low, extent;
    if (conic_reduces(call->collective)) {
        PMPI_Type_get_extent(part->type, &low, &extent);
        size = extent;
    } else {
        PMPI_Type_size_c(part->type, &size);
    }
    return size * part->count;
}

static bool is_copied(const struct arguments *call, const struct part *part) {
    MPI_Count size;
    PMPI_Type_size_c(part->type, &size);
    return conic_reduces(call->collective) || is_dense(part->type, size);
}

typedef int part_function(const struct arguments *, const struct communicator *, int, struct part *);

static bool measure(const struct arguments *call, const struct communicator *comm, part_function *of, uint64_t *bytes) {
    struct part part;
    int parts = 1;
    *bytes = 0;
    for (int n = 0; n < parts && (parts = of(call, comm, n, &part)) > 0; ++n) {
        if (part.type == MPI_DATATYPE_NULL || part.count < 0) return false;
        *bytes += (uint64_t)bytes_of(call, &part);
    }
    return true;
}

// Bytes of operand and result; false if there are no such.
bool conic_lay_out(const struct arguments *call, const struct communicator *comm, struct request *request) {
    return measure(call, comm, part_of_operand, &request->in_bytes) &&
           measure(call, comm, part_of_result, &request->out_bytes);
}

void conic_load(const struct arguments *call, const struct communicator *comm, char *to) {
    struct part part;
    int parts = 1;
    for (int n = 0; n < parts && (parts = part_of_operand(call, comm, n, &part)) > 0; ++n) {
        const MPI_Count size = bytes_of(call, &part);
        MPI_Count position = 0;
        if (size && is_copied(call, &part))
            memcpy(to, part.at, (size_t)size);
        else if (size)
            PMPI_Pack_c(part.at, part.count, part.type, to, size, &position, MPI_COMM_SELF);
        to += size;
    }
}

// What lies between the elements stays as it is.
static void copy_elements(const struct arguments *call, const struct part *part, const char *from, MPI_Count bytes) {
    MPI_Count size;
    PMPI_Type_size_c(part->type, &size);
    if (!conic_reduces(call->collective) || size * part->count == bytes) {
        memcpy(part->at, from, (size_t)bytes);
        return;
    }
    const MPI_Count extent = bytes / part->count;
    for (MPI_Count n = 0; n < part->count; ++n) memcpy((char *)part->at + n * extent, from + n * extent, (size_t)size);
}

void conic_unload(const struct arguments *call, const struct communicator *comm, const char *from) {
    struct part part;
    int parts = 1;
    for (int n = 0; n < parts && (parts = part_of_result(call, comm, n, &part)) > 0; ++n) {
        const MPI_Count size = bytes_of(call, &part);
        MPI_Count position = 0;
        if (size && is_copied(call, &part))
            copy_elements(call, &part, from, size);
        else if (size)
            PMPI_Unpack_c(from, size, &position, part.at, part.count, part.type, MPI_COMM_SELF);
        from += size;
    }
}
