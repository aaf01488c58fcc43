/* A request that is to go nowhere, of each call that makes or takes one: the class of MPI's error, a line each.

       mpiexec -n N nowhere */
#include <mpi.h>
#include <stdio.h>

#define SAY(call)                                                       \
    do {                                                                \
        int error, code = (call);                                       \
        MPI_Error_class(code, &error);                                  \
        if (!rank) printf("%s: class %d\n", #call, error);              \
    } while (0)

int main(int argc, char **argv) {
    int rank, one = 1, sum, flag, counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, at[8] = {0, 1, 2, 3, 4, 5, 6, 7}, all[8];
    const MPI_Comm c = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(c, &rank);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    SAY(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c, NULL));
    SAY(MPI_Ibarrier(c, NULL));
    SAY(MPI_Ibcast(&one, 1, MPI_INT, 0, c, NULL));
    SAY(MPI_Iallgather(&one, 1, MPI_INT, all, 1, MPI_INT, c, NULL));
    SAY(MPI_Iallgatherv(&one, 1, MPI_INT, all, counts, at, MPI_INT, c, NULL));
    SAY(MPI_Ireduce_scatter(all, &sum, counts, MPI_INT, MPI_SUM, c, NULL));
    SAY(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, c, MPI_INFO_NULL, NULL));
    SAY(MPI_Barrier_init(c, MPI_INFO_NULL, NULL));
    SAY(MPI_Gatherv_init(&one, 1, MPI_INT, all, counts, at, MPI_INT, 0, c, MPI_INFO_NULL, NULL));
    SAY(MPI_Start(NULL));
    SAY(MPI_Startall(1, NULL));
    SAY(MPI_Request_free(NULL));
    SAY(MPI_Wait(NULL, MPI_STATUS_IGNORE));
    SAY(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
    SAY(MPI_Testall(1, NULL, &flag, MPI_STATUSES_IGNORE));
    SAY(MPI_Testall(0, NULL, NULL, MPI_STATUSES_IGNORE));
    SAY(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c));
    MPI_Finalize();
    return 0;
}
