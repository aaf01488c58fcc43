// A rank is in a collective while another, which has not come to it yet, needs it for a message: MPI promises that it goes on.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };
static char bytes[2 * BYTES];
static MPI_Datatype strided;
static int rank;

static void collective(const char *name) {
    int one = 1, sum;
    MPI_Request request;
    if (!strcmp(name, "Barrier")) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(name, "Allreduce")) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != 2) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (!strcmp(name, "Ibarrier")) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    const char *what = argv[1], *name = argv[2];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(BYTES, 1, 2, MPI_CHAR, &strided);
    MPI_Type_commit(&strided);
    if (!strcmp(what, "accumulate")) MPI_Win_create(bytes, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (!strcmp(what, "unmatched")) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0) {
        if (!strcmp(what, "isend")) MPI_Isend(bytes, 1, strided, 1, 0, MPI_COMM_WORLD, &request);
        if (!strcmp(what, "issend")) MPI_Issend(bytes, 1, strided, 1, 0, MPI_COMM_WORLD, &request);
        if (!strcmp(what, "irecv")) MPI_Irecv(bytes, 1, strided, 1, 0, MPI_COMM_WORLD, &request);
        if (!strcmp(what, "unmatched")) MPI_Send(NULL, 0, MPI_INT, 1, 0, comm);
    } else {
        if (strcmp(what, "unmatched")) usleep(50000);
        if (!strcmp(what, "isend") || !strcmp(what, "issend"))
            MPI_Recv(bytes, 1, strided, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!strcmp(what, "irecv")) MPI_Ssend(bytes, 1, strided, 0, 0, MPI_COMM_WORLD);
        if (!strcmp(what, "accumulate")) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Accumulate(bytes, 100, MPI_INT, 0, 0, 100, MPI_INT, MPI_SUM, window);
            MPI_Win_unlock(0, window);
        }
    }
    collective(name);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!strcmp(what, "unmatched")) {
        // Rank 1 has the message by now, and hears that nobody has taken it.
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        const int outcome = MPI_Comm_free(&comm);
        if (rank == 1 && outcome == MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 4);
    }
    if (!strcmp(what, "accumulate")) MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
