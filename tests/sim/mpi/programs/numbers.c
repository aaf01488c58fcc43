/* Two communicators by each constructor of MPI, used at once, in another order at each rank: two sums, each its own. And four
   threads that copy and use communicators of their own at once. A line for each rank, and one for each wrong sum.

       mpiexec -n N numbers */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 5 };
static int rank, size, wrong;
static const MPI_Comm world = MPI_COMM_WORLD;

static MPI_Comm dup(int n) { MPI_Comm to; (void)n; MPI_Comm_dup(world, &to); return to; }
static MPI_Comm with_info(int n) { MPI_Comm to; (void)n; MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &to); return to; }
static MPI_Comm split(int n) { MPI_Comm to; (void)n; MPI_Comm_split(world, 7, -rank, &to); return to; }
static MPI_Comm halves(int n) { MPI_Comm to; (void)n; MPI_Comm_split(world, rank % 2, rank, &to); return to; }
static MPI_Comm by_type(int n) {
    MPI_Comm to;
    (void)n;
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &to);
    return to;
}
static MPI_Comm create(int n) {
    MPI_Comm to;
    MPI_Group group;
    (void)n;
    MPI_Comm_group(world, &group);
    MPI_Comm_create(world, group, &to);
    MPI_Group_free(&group);
    return to;
}
static MPI_Comm of_group(int n) {
    MPI_Comm to;
    MPI_Group group;
    MPI_Comm_group(world, &group);
    MPI_Comm_create_group(world, group, n, &to);
    MPI_Group_free(&group);
    return to;
}
static MPI_Comm from_group(int n) {
    MPI_Comm to;
    MPI_Group group;
    MPI_Comm_group(world, &group);
    MPI_Comm_create_from_group(group, n ? "second" : "first", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &to);
    MPI_Group_free(&group);
    return to;
}
static MPI_Comm from_group_again(int n) {
    MPI_Comm to;
    MPI_Group group;
    (void)n;
    MPI_Comm_group(world, &group);
    MPI_Comm_create_from_group(group, "same", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &to);
    MPI_Group_free(&group);
    return to;
}
static MPI_Comm cart(int n) {
    MPI_Comm to;
    const int dims[1] = {size}, periods[1] = {n};
    MPI_Cart_create(world, 1, dims, periods, 1, &to);
    return to;
}
static MPI_Comm part_of_cart(int n) {
    MPI_Comm whole, to;
    const int dims[2] = {1, size}, periods[2] = {0, n}, remain[2] = {0, 1};
    MPI_Cart_create(world, 2, dims, periods, 0, &whole);
    MPI_Cart_sub(whole, remain, &to);
    MPI_Comm_free(&whole);
    return to;
}
static MPI_Comm graph(int n) {
    MPI_Comm to;
    int index[64], edges[64];
    (void)n;
    for (int k = 0; k < size; ++k) index[k] = k + 1, edges[k] = k;
    MPI_Graph_create(world, size, index, edges, 0, &to);
    return to;
}
static MPI_Comm dist_graph(int n) {
    MPI_Comm to;
    const int one = 1, next = (rank + 1) % size;
    (void)n;
    MPI_Dist_graph_create(world, 1, &rank, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &to);
    return to;
}
static MPI_Comm adjacent(int n) {
    MPI_Comm to;
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    (void)n;
    MPI_Dist_graph_create_adjacent(world, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &to);
    return to;
}
static MPI_Comm merged(int n) {
    MPI_Comm half, between, to;
    MPI_Comm_split(world, rank != 0, rank, &half);
    MPI_Intercomm_create(half, 0, world, rank == 0, n, &between);
    MPI_Intercomm_merge(between, rank == 0, &to);
    MPI_Comm_free(&half);
    MPI_Comm_free(&between);
    return to;
}
static MPI_Comm merged_from_groups(int n) {
    MPI_Group group, near, far;
    MPI_Comm between, to;
    const int zero[1] = {0};
    MPI_Comm_group(world, &group);
    MPI_Group_incl(group, 1, zero, rank ? &far : &near);
    MPI_Group_excl(group, 1, zero, rank ? &near : &far);
    MPI_Intercomm_create_from_groups(near, 0, far, 0, n ? "second" : "first", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &between);
    MPI_Intercomm_merge(between, rank == 0, &to);
    MPI_Comm_free(&between);
    MPI_Group_free(&group);
    MPI_Group_free(&near);
    MPI_Group_free(&far);
    return to;
}

static const struct { const char *name; MPI_Comm (*make)(int); } constructors[] = {
    {"Comm_dup", dup}, {"Comm_dup_with_info", with_info}, {"Comm_split", split}, {"Comm_split, halves", halves},
    {"Comm_split_type", by_type}, {"Comm_create", create}, {"Comm_create_group", of_group},
    {"Comm_create_from_group", from_group}, {"Comm_create_from_group, one tag", from_group_again}, {"Cart_create", cart},
    {"Cart_sub", part_of_cart}, {"Graph_create", graph}, {"Dist_graph_create", dist_graph},
    {"Dist_graph_create_adjacent", adjacent}, {"Intercomm_merge", merged},
    {"Intercomm_create_from_groups", merged_from_groups},
};

static void use(const char *name, MPI_Comm comms[2]) {
    const int mine[2] = {1, 1000};
    int sums[2] = {-1, -1}, members;
    MPI_Request requests[2];
    MPI_Comm_size(comms[0], &members);
    for (int n = 0; n < 2; ++n) {
        const int which = (n + rank / (members < size ? 2 : 1)) % 2;
        MPI_Iallreduce(&mine[which], &sums[which], 1, MPI_INT, MPI_SUM, comms[which], &requests[n]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int n = 0; n < 2; ++n) {
        if (sums[n] != mine[n] * members) ++wrong, printf("rank %d: %s: %d\n", rank, name, sums[n]);
        MPI_Comm_free(&comms[n]);
    }
}

static void later(int with, int waits_backwards) {
    MPI_Comm comms[2];
    MPI_Request requests[2];
    for (int n = 0; n < 2; ++n) {
        if (with)
            MPI_Comm_idup_with_info(world, MPI_INFO_NULL, &comms[n], &requests[n]);
        else
            MPI_Comm_idup(world, &comms[n], &requests[n]);
    }
    for (int n = 0; n < 2; ++n) MPI_Wait(&requests[waits_backwards && rank ? 1 - n : n], MPI_STATUS_IGNORE);
    use(with ? "Comm_idup_with_info" : "Comm_idup", comms);
}

static void *thread(void *mine_) {
    MPI_Comm mine = *(MPI_Comm *)mine_, comms[2];
    MPI_Request requests[2];
    for (int round = 0; round < ROUNDS; ++round) {
        for (int n = 0; n < 2; ++n) MPI_Comm_idup(mine, &comms[n], &requests[n]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        use("Comm_idup of a thread", comms);
        MPI_Comm_dup(mine, &comms[0]);
        MPI_Comm_dup(mine, &comms[1]);
        use("Comm_dup of a thread", comms);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int level;
    MPI_Comm mine[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    for (int which = 0; which < (int)(sizeof constructors / sizeof *constructors); ++which) {
        MPI_Comm comms[2];
        for (int n = 0; n < 2; ++n) comms[n] = constructors[which].make(n);
        use(constructors[which].name, comms);
    }
    for (int with = 0; with < 2; ++with) later(with, 0), later(with, 1);
    for (int n = 0; n < THREADS && level == MPI_THREAD_MULTIPLE; ++n) MPI_Comm_dup(world, &mine[n]);
    for (int n = 0; n < THREADS && level == MPI_THREAD_MULTIPLE; ++n) pthread_create(&threads[n], NULL, thread, &mine[n]);
    for (int n = 0; n < THREADS && level == MPI_THREAD_MULTIPLE; ++n) pthread_join(threads[n], NULL);
    for (int n = 0; n < THREADS && level == MPI_THREAD_MULTIPLE; ++n) MPI_Comm_free(&mine[n]);
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
