/* Threads that come and go: each makes a sum, and every second one leaves its request to the main thread, which waits for it when
   the thread has ended. The peak of shared memory in KiB from rank 0, and a line for each rank.

       mpiexec -n N churn THREADS */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTS = 2048 };
static int rank, size, wrong, from[INTS], to[INTS];
static MPI_Comm comm;
static MPI_Request request;

static void *waits(void *unused) {
    (void)unused;
    MPI_Allreduce(from, to, INTS, MPI_INT, MPI_SUM, comm);
    return NULL;
}

static void *leaves(void *unused) {
    (void)unused;
    MPI_Iallreduce(from, to, INTS, MPI_INT, MPI_SUM, comm, &request);
    return NULL;
}

static int shared_kib(void) {
    char line[256];
    int kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status)) sscanf(line, "RssShmem: %d", &kib);
    fclose(status);
    return kib;
}

int main(int argc, char **argv) {
    int level, threads = argc > 1 ? atoi(argv[1]) : 100, begin = 0;
    MPI_Request overlapped;
    int other_from = 1, other_to;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* Something is under way all the time. */
    if (rank == 0) MPI_Iallreduce(&other_from, &other_to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &overlapped);
    for (int n = 0; n < threads; ++n) {
        pthread_t thread;
        for (int k = 0; k < INTS; ++k) from[k] = n + k;
        memset(to, 0, sizeof to);
        pthread_create(&thread, NULL, n % 2 ? leaves : waits, NULL);
        pthread_join(thread, NULL);
        if (n % 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int k = 0; k < INTS; ++k) wrong += to[k] != size * (n + k);
        if (n == 3) begin = shared_kib();
    }
    if (rank == 0) printf("grown by %d KiB\n", shared_kib() - begin);
    if (rank) MPI_Iallreduce(&other_from, &other_to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &overlapped);
    MPI_Wait(&overlapped, MPI_STATUS_IGNORE);
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
