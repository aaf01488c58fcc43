/* Arguments that MPI ignores - of the root or of others, and beside MPI_IN_PLACE - are handles of nothing, negative counts and
   places where nothing is. A line for each rank, and one for each call with a wrong result.

       mpiexec -n N ignored */
#include <mpi.h>
#include <stdio.h>

static int rank, size, wrong, form;
static int v[256], w[256], ones[64], ats[64];
static void *volatile nowhere = (void *)8;
static const int *volatile nothing = (const int *)16;

static void finish(MPI_Request *request) {
    if (form == 2) MPI_Start(request);
    if (form) MPI_Wait(request, MPI_STATUS_IGNORE);
    if (form == 2) MPI_Request_free(request);
}

#define TYPE ((MPI_Datatype)0x12345)

#define CALL(name, lower, ...)                                                      \
    do {                                                                            \
        MPI_Request request = MPI_REQUEST_NULL;                                     \
        if (form == 0) MPI_##name(__VA_ARGS__);                                     \
        if (form == 1) MPI_I##lower(__VA_ARGS__, &request);                         \
        if (form == 2) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request);     \
        finish(&request);                                                           \
    } while (0)
#define SAME(got, want)                                                                                   \
    if ((got) != (want)) ++wrong, printf("rank %d, form %d, line %d: %d\n", rank, form, __LINE__, (got))

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const MPI_Comm all = MPI_COMM_WORLD;
    const int root = size - 1, is_root = rank == root;
    for (int n = 0; n < 64; ++n) ones[n] = 1, ats[n] = n;
    for (form = 0; form < 3; ++form) {
        for (int n = 0; n < 256; ++n) v[n] = w[n] = -1;
        v[rank] = rank;
        CALL(Allgather, allgather, MPI_IN_PLACE, -3, TYPE, v, 1, MPI_INT, all);
        for (int n = 0; n < size; ++n) SAME(v[n], n);
        for (int n = 0; n < size; ++n) v[n] = n == rank ? rank : -1;
        CALL(Allgatherv, allgatherv, MPI_IN_PLACE, -3, TYPE, v, ones, ats, MPI_INT, all);
        for (int n = 0; n < size; ++n) SAME(v[n], n);
        for (int n = 0; n < size; ++n) v[n] = 100 * rank + n;
        CALL(Alltoall, alltoall, MPI_IN_PLACE, -3, TYPE, v, 1, MPI_INT, all);
        for (int n = 0; n < size; ++n) SAME(v[n], 100 * n + rank);

        w[0] = rank;
        if (is_root)
            CALL(Gather, gather, w, 1, MPI_INT, v, 1, MPI_INT, root, all);
        else
            CALL(Gather, gather, w, 1, MPI_INT, nowhere, -5, TYPE, root, all);
        for (int n = 0; is_root && n < size; ++n) SAME(v[n], n);
        v[rank] = rank;
        if (is_root)
            CALL(Gather, gather, MPI_IN_PLACE, -5, TYPE, v, 1, MPI_INT, root, all);
        else
            CALL(Gather, gather, w, 1, MPI_INT, MPI_IN_PLACE, -5, TYPE, root, all);
        for (int n = 0; is_root && n < size; ++n) SAME(v[n], n);
        if (is_root)
            CALL(Gatherv, gatherv, MPI_IN_PLACE, -5, TYPE, v, ones, ats, MPI_INT, root, all);
        else
            CALL(Gatherv, gatherv, w, 1, MPI_INT, nowhere, nothing, nothing, TYPE, root, all);
        for (int n = 0; is_root && n < size; ++n) SAME(v[n], n);

        w[0] = -1;
        for (int n = 0; n < size; ++n) v[n] = n;
        if (is_root)
            CALL(Scatter, scatter, v, 1, MPI_INT, MPI_IN_PLACE, -5, TYPE, root, all);
        else
            CALL(Scatter, scatter, nowhere, -5, TYPE, w, 1, MPI_INT, root, all);
        if (!is_root) SAME(w[0], rank);
        w[0] = -1;
        if (is_root)
            CALL(Scatterv, scatterv, v, ones, ats, MPI_INT, MPI_IN_PLACE, -5, TYPE, root, all);
        else
            CALL(Scatterv, scatterv, nowhere, nothing, nothing, TYPE, w, 1, MPI_INT, root, all);
        if (!is_root) SAME(w[0], rank);

        w[0] = rank, v[0] = -1;
        CALL(Reduce, reduce, w, is_root ? v : nowhere, 1, MPI_INT, MPI_SUM, root, all);
        if (is_root) SAME(v[0], size * (size - 1) / 2);
        CALL(Reduce, reduce, is_root ? MPI_IN_PLACE : w, is_root ? w : nowhere, 1, MPI_INT, MPI_SUM, root, all);
        if (is_root) SAME(w[0], size * (size - 1) / 2);
        w[0] = rank + 1, v[0] = -1;
        CALL(Exscan, exscan, w, v, 1, MPI_INT, MPI_SUM, all);
        if (rank) SAME(v[0], rank * (rank + 1) / 2);
        /* Without elements there are no places. */
        CALL(Allreduce, allreduce, NULL, NULL, 0, MPI_INT, MPI_SUM, all);
        CALL(Bcast, bcast, NULL, 0, MPI_INT, root, all);
        CALL(Alltoall, alltoall, NULL, 0, MPI_INT, NULL, 0, MPI_INT, all);
    }
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
