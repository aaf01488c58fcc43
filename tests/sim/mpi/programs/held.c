/* Collectives under way whose communicator, types, operator and lists of counts the program has freed, overwritten and made
   others in the place of: every one of MPI that does not wait, or is persistent. What MPI makes of the same call that waits
   is what is to come out. A line for each rank, and one for each that is wrong.

       mpiexec -n N held */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifndef TURNS
#define TURNS 2 /* 1: what does not wait, alone */
#endif
enum { INTS = 512 };
static int rank, size, wrong, form;
static int send[INTS], receive[INTS], wanted[INTS], counts[64], ats[64];
static MPI_Comm comm;
static MPI_Datatype type;
static MPI_Op op;

static void sum(void *in, void *io, int *n, MPI_Datatype *t) {
    (void)t;
    for (int k = 0; k < *n; ++k) ((int *)io)[k] += ((int *)in)[k];
}
static void none(void *in, void *io, int *n, MPI_Datatype *t) {
    (void)in, (void)t;
    for (int k = 0; k < *n; ++k) ((int *)io)[k] = -99;
}

/* FORM 0 is the wanted one: it waits, and is MPI's own. */
#define CALL(name, lower, ...)                                                   \
    static void lower(MPI_Request *request) {                                    \
        int *to = form ? receive : wanted;                                       \
        (void)to;                                                                \
        if (form == 0) PMPI_##name(__VA_ARGS__);                                 \
        if (form == 1) MPI_I##lower(__VA_ARGS__, request);                       \
        if (form == 2) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request);   \
    }
CALL(Bcast, bcast, to, 2, type, size - 1, comm)
CALL(Allgather, allgather, send, 2, type, to, 2, type, comm)
CALL(Alltoall, alltoall, send, 2, type, to, 2, type, comm)
CALL(Gather, gather, send, 2, type, to, 2, type, size - 1, comm)
CALL(Scatter, scatter, send, 2, type, to, 2, type, size - 1, comm)
CALL(Allgatherv, allgatherv, send, rank + 1, type, to, counts, ats, type, comm)
CALL(Gatherv, gatherv, send, rank + 1, type, to, counts, ats, type, size - 1, comm)
CALL(Scatterv, scatterv, send, counts, ats, type, to, rank + 1, type, size - 1, comm)
CALL(Allreduce, allreduce, send, to, 5, MPI_INT, op, comm)
CALL(Reduce, reduce, send, to, 5, MPI_INT, op, size - 1, comm)
CALL(Scan, scan, send, to, 5, MPI_INT, op, comm)
CALL(Exscan, exscan, send, to, 5, MPI_INT, op, comm)
CALL(Reduce_scatter_block, reduce_scatter_block, send, to, 5, MPI_INT, op, comm)
CALL(Reduce_scatter, reduce_scatter, send, to, counts, MPI_INT, op, comm)
CALL(Barrier, barrier, comm)
static const struct { const char *name; void (*call)(MPI_Request *); } calls[] = {
    {"bcast", bcast}, {"allgather", allgather}, {"alltoall", alltoall}, {"gather", gather}, {"scatter", scatter},
    {"allgatherv", allgatherv}, {"gatherv", gatherv}, {"scatterv", scatterv}, {"allreduce", allreduce},
    {"reduce", reduce}, {"scan", scan}, {"exscan", exscan}, {"reduce_scatter_block", reduce_scatter_block},
    {"reduce_scatter", reduce_scatter}, {"barrier", barrier},
};

static void make(int own) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    op = MPI_SUM;
    if (own) MPI_Op_create(sum, 1, &op);
    for (int k = 0; k < 64; ++k) counts[k] = k + 1, ats[k] = k * (k + 1) / 2;
}

static void fill(int *buffer, int first) {
    for (int k = 0; k < INTS; ++k) buffer[k] = first + k;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int which = 0; which < (int)(sizeof calls / sizeof *calls); ++which)
        for (int own = 0; own < 2; ++own)
            for (int turn = 1; turn <= TURNS; ++turn) {
                MPI_Request request;
                MPI_Datatype other;
                MPI_Comm another;
                MPI_Op third = MPI_OP_NULL;
                fill(send, 1000 * rank), fill(wanted, -10000), fill(receive, -10000);
                if (rank == size - 1 && which == 0) fill(wanted, 5), fill(receive, 5);
                make(own);
                form = 0, calls[which].call(NULL);
                form = turn, calls[which].call(&request);
                MPI_Comm_free(&comm);
                MPI_Type_free(&type);
                if (own) MPI_Op_free(&op), MPI_Op_create(none, 1, &third);
                memset(counts, 0, sizeof counts), memset(ats, 0, sizeof ats);
                MPI_Type_contiguous(2, MPI_INT, &other);
                MPI_Type_commit(&other);
                MPI_Comm_dup(MPI_COMM_SELF, &another);
                for (int again = 0; again < (form == 2 ? 3 : 1); ++again) {
                    if (form == 2) MPI_Start(&request);
                    MPI_Wait(&request, MPI_STATUS_IGNORE);
                    if (memcmp(receive, wanted, sizeof wanted)) {
                        ++wrong;
                        printf("rank %d: %s, %s, %s operator: wrong\n", rank, calls[which].name,
                               form == 1 ? "does not wait" : "persistent", own ? "own" : "MPI's");
                    }
                    fill(receive, rank == size - 1 && which == 0 ? 5 : -10000);
                }
                if (form == 2) MPI_Request_free(&request);
                MPI_Comm_free(&another);
                MPI_Type_free(&other);
                if (own) MPI_Op_free(&third);
            }
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
