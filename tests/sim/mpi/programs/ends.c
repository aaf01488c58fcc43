/* A program that ends in a way of its own behind a barrier.

       mpiexec -n N ends HOW CODE */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    const char *how = argc > 1 ? argv[1] : "none";
    const int code = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "sleep")) {
        printf("sleeps\n");
        fflush(stdout);
        sleep(60);
    }
    if (rank == 1) {
        if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, code);
        if (!strcmp(how, "abort self")) MPI_Abort(MPI_COMM_SELF, code);
        if (!strcmp(how, "exit")) exit(code);
        if (!strcmp(how, "signal")) raise(code);
        if (!strcmp(how, "error")) MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "abort first") && rank == 0) MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return !strcmp(how, "return") ? code + rank : 0;
}
