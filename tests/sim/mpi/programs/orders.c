/* A sum under way on one communicator, and on another one something that MPI does itself: the one first at even ranks, the
   other at odd ones. A line for each rank, and one for each wrong sum.

       mpiexec -n N orders */
#include <mpi.h>
#include <stdio.h>

static int rank, size, wrong, send[64], receive[64], ones[64], ats[64];
static MPI_Datatype types[64];
static MPI_Comm a, b;

static void add(void *in, void *io, int *n, MPI_Datatype *t) {
    (void)t;
    for (int k = 0; k < *n; ++k) ((int *)io)[k] += ((int *)in)[k];
}
static void done(MPI_Comm made) { MPI_Comm_free(&made); }
static void dup(void) { MPI_Comm to; MPI_Comm_dup(b, &to), done(to); }
static void split(void) { MPI_Comm to; MPI_Comm_split(b, 0, rank, &to), done(to); }
static void by_type(void) { MPI_Comm to; MPI_Comm_split_type(b, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &to), done(to); }
static void cart(void) {
    MPI_Comm to;
    const int none = 0;
    MPI_Cart_create(b, 1, &size, &none, 0, &to), done(to);
}
static void create(void) {
    MPI_Comm to;
    MPI_Group group;
    MPI_Comm_group(b, &group);
    MPI_Comm_create(b, group, &to), done(to);
    MPI_Comm_create_group(b, group, 0, &to), done(to);
    MPI_Group_free(&group);
}
static void idup(void) {
    MPI_Comm to;
    MPI_Request request;
    MPI_Comm_idup(b, &to, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    done(to);
}
static void alltoallv(void) { MPI_Alltoallv(send, ones, ats, MPI_INT, receive, ones, ats, MPI_INT, b); }
static void alltoallw(void) { MPI_Alltoallw(send, ones, ats, types, receive, ones, ats, types, b); }
static void alltoallv_init(void) {
    MPI_Request request;
    MPI_Alltoallv_init(send, ones, ats, MPI_INT, receive, ones, ats, MPI_INT, b, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}
static void own_operator(void) {
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(send, receive, 1, MPI_INT, op, b);
    MPI_Op_free(&op);
}
static void no_unit(void) { MPI_Allreduce(send, receive, 1, MPI_LONG_DOUBLE, MPI_SUM, b); }
static void window(void) {
    MPI_Win win;
    MPI_Win_create(send, sizeof send, 1, MPI_INFO_NULL, b, &win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}
static void neighbours(void) {
    MPI_Comm ring;
    const int all = 1;
    MPI_Cart_create(b, 1, &size, &all, 0, &ring);
    MPI_Neighbor_allgather(send, 1, MPI_INT, receive, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
}
static void barrier(void) { MPI_Barrier(b); }

static const struct { const char *name; void (*make)(void); } others[] = {
    {"dup", dup}, {"split", split}, {"split_type", by_type}, {"cart_create", cart}, {"create", create}, {"idup", idup},
    {"alltoallv", alltoallv}, {"alltoallw", alltoallw}, {"alltoallv_init", alltoallv_init},
    {"an operator of its own", own_operator}, {"long double", no_unit}, {"win", window}, {"neighbours", neighbours},
    {"barrier", barrier},
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    for (int n = 0; n < 64; ++n) ones[n] = 1, ats[n] = 4 * (n % 16), types[n] = MPI_INT;
    for (int which = 0; which < (int)(sizeof others / sizeof *others); ++which) {
        int sum = -1;
        MPI_Request request;
        for (int step = 0; step < 2; ++step) {
            if (step == rank % 2)
                MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, a, &request);
            else
                others[which].make();
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (sum != size * (size - 1) / 2) ++wrong, printf("rank %d: beside %s: %d\n", rank, others[which].name, sum);
    }
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
