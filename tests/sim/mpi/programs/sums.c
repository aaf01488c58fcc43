// A program in C that knows nothing of conic: sums in floating point, whose bits rank 0 prints.
#include <mpi.h>
#include <stdio.h>

enum { N = 200 };

int main(int argc, char **argv) {
    int rank, size;
    double mine[N], sums[N];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 0; n < N; ++n) mine[n] = (n % 2 ? 1.0 : -1.0) * 1e3 / (3.0 * n + rank + 1.0);
#if defined LATER || defined AGAIN
    MPI_Request request;
#ifdef LATER
    MPI_Iallreduce(mine, sums, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
    MPI_Allreduce_init(mine, sums, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#endif
#else
    MPI_Allreduce(mine, sums, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#endif
    for (int n = 0; n < N && rank == 0; ++n) printf("%a\n", sums[n]);
    MPI_Finalize();
    return 0;
}
