// The same call to MPI itself.
#include "interposer.h"

#define COMMON const void *send = a->send; void *receive = a->receive; const MPI_Count n = a->send_count, m = a->receive_count; \
    const MPI_Datatype s = a->send_type, r = a->receive_type; const MPI_Comm comm = a->comm; \
    const MPI_Count *counts = a->counts; const MPI_Aint *at = a->displacements

int conic_passed(const struct arguments *a) {
    COMMON;
    switch (a->collective) {
    case ALLREDUCE: return PMPI_Allreduce_c(send, receive, m, r, a->op, comm);
    case REDUCE: return PMPI_Reduce_c(send, receive, m, r, a->op, a->root, comm);
    case BCAST: return PMPI_Bcast_c(receive, m, r, a->root, comm);
    case BARRIER: return PMPI_Barrier(comm);
    case ALLGATHER: return PMPI_Allgather_c(send, n, s, receive, m, r, comm);
    case REDUCE_SCATTER_BLOCK: return PMPI_Reduce_scatter_block_c(send, receive, m, r, a->op, comm);
    case SCATTER: return PMPI_Scatter_c(send, n, s, receive, m, r, a->root, comm);
    case GATHER: return PMPI_Gather_c(send, n, s, receive, m, r, a->root, comm);
    case ALLTOALL: return PMPI_Alltoall_c(send, n, s, receive, m, r, comm);
    case SCAN: return PMPI_Scan_c(send, receive, m, r, a->op, comm);
    case EXSCAN: return PMPI_Exscan_c(send, receive, m, r, a->op, comm);
    case ALLGATHERV: return PMPI_Allgatherv_c(send, n, s, receive, counts, at, r, comm);
    case GATHERV: return PMPI_Gatherv_c(send, n, s, receive, counts, at, r, a->root, comm);
    case SCATTERV: return PMPI_Scatterv_c(send, counts, at, s, receive, m, r, a->root, comm);
    case REDUCE_SCATTER: return PMPI_Reduce_scatter_c(send, receive, counts, r, a->op, comm);
    default: return MPI_ERR_INTERN;
    }
}

int conic_passed_nonblocking(const struct arguments *a, MPI_Request *to) {
    COMMON;
    switch (a->collective) {
    case ALLREDUCE: return PMPI_Iallreduce_c(send, receive, m, r, a->op, comm, to);
    case REDUCE: return PMPI_Ireduce_c(send, receive, m, r, a->op, a->root, comm, to);
    case BCAST: return PMPI_Ibcast_c(receive, m, r, a->root, comm, to);
    case BARRIER: return PMPI_Ibarrier(comm, to);
    case ALLGATHER: return PMPI_Iallgather_c(send, n, s, receive, m, r, comm, to);
    case REDUCE_SCATTER_BLOCK: return PMPI_Ireduce_scatter_block_c(send, receive, m, r, a->op, comm, to);
    case SCATTER: return PMPI_Iscatter_c(send, n, s, receive, m, r, a->root, comm, to);
    case GATHER: return PMPI_Igather_c(send, n, s, receive, m, r, a->root, comm, to);
    case ALLTOALL: return PMPI_Ialltoall_c(send, n, s, receive, m, r, comm, to);
    case SCAN: return PMPI_Iscan_c(send, receive, m, r, a->op, comm, to);
    case EXSCAN: return PMPI_Iexscan_c(send, receive, m, r, a->op, comm, to);
    case ALLGATHERV: return PMPI_Iallgatherv_c(send, n, s, receive, counts, at, r, comm, to);
    case GATHERV: return PMPI_Igatherv_c(send, n, s, receive, counts, at, r, a->root, comm, to);
    case SCATTERV: return PMPI_Iscatterv_c(send, counts, at, s, receive, m, r, a->root, comm, to);
    case REDUCE_SCATTER: return PMPI_Ireduce_scatter_c(send, receive, counts, r, a->op, comm, to);
    default: return MPI_ERR_INTERN;
    }
}

int conic_passed_persistent(const struct arguments *a, MPI_Request *to) {
    COMMON;
    switch (a->collective) {
    case ALLREDUCE: return PMPI_Allreduce_init_c(send, receive, m, r, a->op, comm, MPI_INFO_NULL, to);
    case REDUCE: return PMPI_Reduce_init_c(send, receive, m, r, a->op, a->root, comm, MPI_INFO_NULL, to);
    case BCAST: return PMPI_Bcast_init_c(receive, m, r, a->root, comm, MPI_INFO_NULL, to);
    case BARRIER: return PMPI_Barrier_init(comm, MPI_INFO_NULL, to);
    case ALLGATHER: return PMPI_Allgather_init_c(send, n, s, receive, m, r, comm, MPI_INFO_NULL, to);
    case REDUCE_SCATTER_BLOCK: return PMPI_Reduce_scatter_block_init_c(send, receive, m, r, a->op, comm, MPI_INFO_NULL, to);
    case SCATTER: return PMPI_Scatter_init_c(send, n, s, receive, m, r, a->root, comm, MPI_INFO_NULL, to);
    case GATHER: return PMPI_Gather_init_c(send, n, s, receive, m, r, a->root, comm, MPI_INFO_NULL, to);
    case ALLTOALL: return PMPI_Alltoall_init_c(send, n, s, receive, m, r, comm, MPI_INFO_NULL, to);
    case SCAN: return PMPI_Scan_init_c(send, receive, m, r, a->op, comm, MPI_INFO_NULL, to);
    case EXSCAN: return PMPI_Exscan_init_c(send, receive, m, r, a->op, comm, MPI_INFO_NULL, to);
    case ALLGATHERV: return PMPI_Allgatherv_init_c(send, n, s, receive, counts, at, r, comm, MPI_INFO_NULL, to);
    case GATHERV: return PMPI_Gatherv_init_c(send, n, s, receive, counts, at, r, a->root, comm, MPI_INFO_NULL, to);
    case SCATTERV: return PMPI_Scatterv_init_c(send, counts, at, s, receive, m, r, a->root, comm, MPI_INFO_NULL, to);
    case REDUCE_SCATTER: return PMPI_Reduce_scatter_init_c(send, receive, counts, r, a->op, comm, MPI_INFO_NULL, to);
    default: return MPI_ERR_INTERN;
    }
}
