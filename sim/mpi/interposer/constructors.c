// Communicators as they are made, and the numbers by which their ranks know them. A number is agreed on while its
// communicator is made, so the order in which ranks use communicators afterwards does not matter:
//
// - a constructor that waits: rank 0 of what it has made tells the others;
// - MPI_Comm_idup and MPI_Comm_idup_with_info: by the communicator that is copied and by how many copies were made of it,
//   for its ranks copy it in one order;
// - MPI_Comm_create_from_group: by the group, by its tag, and by how many were made of both.
//
// What is made in another way has no number, and its collectives are MPI's own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interposer.h"

enum { BY_ROOT = 3, BY_COPY, BY_GROUP };

static bool is_of_world(MPI_Comm comm) {
    MPI_Group group, world, outside;
    int size;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_difference(group, world, &outside);
    PMPI_Group_size(outside, &size);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    if (outside != MPI_GROUP_EMPTY) PMPI_Group_free(&outside);
    return size == 0;
}

static int made(int outcome, const MPI_Comm *comm) {
    static uint64_t so_far;
    int inter, size, rank;
    conic_begin();
    if (outcome != MPI_SUCCESS || *comm == MPI_COMM_NULL || !conic_connected) return outcome;
    uint64_t said[2] = {0, 0};
    PMPI_Comm_test_inter(*comm, &inter);
    PMPI_Comm_size(*comm, &size);
    if (!inter && size > 1 && is_of_world(*comm)) {
        PMPI_Comm_rank(*comm, &rank);
        if (rank == 0) {
            PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
            said[1] = __atomic_fetch_add(&so_far, 1, __ATOMIC_RELAXED);
            said[0] = conic_mixed(conic_mixed(BY_ROOT, (uint64_t)rank), said[1]);
        }
        // All ranks are here, for a constructor returns at none before it has been called at all.
        PMPI_Bcast(said, 2, MPI_UINT64_T, 0, *comm);
    }
    char name[40];
    snprintf(name, sizeof name, "communicator %llu", (unsigned long long)said[1]);
    conic_number(*comm, said[0], name);
    return outcome;
}

#define MAKES(name, parameters, arguments) \
    int MPI_##name parameters {            \
        conic_enter("MPI_" #name);         \
        const int outcome = made(PMPI_##name arguments, to); \
        conic_leave();                     \
        return outcome;                    \
    }

MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm *to), (comm, to))
MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *to), (comm, info, to))
MAKES(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *to), (comm, colour, key, to))
MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *to), (comm, type, key, info, to))
MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *to), (comm, group, to))
MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *to), (comm, group, tag, to))
MAKES(Cart_create, (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *to),
      (comm, n, dims, periods, reorder, to))
MAKES(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *to), (comm, remain, to))
MAKES(Graph_create, (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm *to),
      (comm, n, index, edges, reorder, to))
MAKES(Dist_graph_create_adjacent,
      (MPI_Comm comm, int n_in, const int in[], const int in_weights[], int n_out, const int out[],
       const int out_weights[], MPI_Info info, int reorder, MPI_Comm *to),
      (comm, n_in, in, in_weights, n_out, out, out_weights, info, reorder, to))
MAKES(Dist_graph_create,
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int to_ranks[], const int weights[],
       MPI_Info info, int reorder, MPI_Comm *to),
      (comm, n, sources, degrees, to_ranks, weights, info, reorder, to))
MAKES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *to), (comm, high, to))
// Between two groups.
MAKES(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm peer, int far_leader, int tag, MPI_Comm *to),
      (comm, leader, peer, far_leader, tag, to))
MAKES(Intercomm_create_from_groups,
      (MPI_Group near, int leader, MPI_Group far, int far_leader, const char *tag, MPI_Info info,
       MPI_Errhandler handler, MPI_Comm *to),
      (near, leader, far, far_leader, tag, info, handler, to))
MAKES(Comm_accept, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *to), (port, info, root, comm, to))
MAKES(Comm_connect, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *to),
      (port, info, root, comm, to))
MAKES(Comm_join, (int socket, MPI_Comm *to), (socket, to))
MAKES(Comm_spawn,
      (const char *command, char *values[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *to, int errors[]),
      (command, values, most, info, root, comm, to, errors))
MAKES(Comm_spawn_multiple,
      (int count, char *commands[], char **values[], const int most[], const MPI_Info infos[], int root, MPI_Comm comm,
       MPI_Comm *to, int errors[]),
      (count, commands, values, most, infos, root, comm, to, errors))

static int copied(int outcome, MPI_Comm comm, const MPI_Comm *to) {
    struct communicator *from = outcome == MPI_SUCCESS ? conic_communicator(comm) : NULL;
    if (!from || from->reason == UNKNOWN_CONSTRUCTOR) return outcome;
    const uint64_t number = __atomic_add_fetch(&from->copies, 1, __ATOMIC_RELAXED);
    char name[40];
    snprintf(name, sizeof name, "%.24s, copy %llu", from->name, (unsigned long long)number);
    conic_number_later(*to, conic_mixed(conic_mixed(BY_COPY, from->key), number), name);
    return outcome;
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *to, MPI_Request *request) {
    return copied(PMPI_Comm_idup(comm, to, request), comm, to);
}

int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *to, MPI_Request *request) {
    return copied(PMPI_Comm_idup_with_info(comm, info, to, request), comm, to);
}

struct tagged {
    uint64_t hash, made;
    struct tagged *next;
};

static uint64_t made_of(uint64_t hash) {
    static struct tagged *first;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    struct tagged *found = first;
    while (found && found->hash != hash) found = found->next;
    if (!found) {
        found = calloc(1, sizeof *found);
        *found = (struct tagged){hash, 0, first};
        first = found;
    }
    const uint64_t number = found->made++;
    pthread_mutex_unlock(&mutex);
    return number;
}

// Ranks of a group may have made different ones before, and some may have left MPI_COMM_WORLD: nothing is said.
int MPI_Comm_create_from_group(MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *to) {
    conic_enter("MPI_Comm_create_from_group");
    const int outcome = PMPI_Comm_create_from_group(group, tag, info, handler, to);
    conic_leave();
    conic_begin();
    if (outcome != MPI_SUCCESS || *to == MPI_COMM_NULL || !conic_connected) return outcome;
    int size;
    MPI_Group world;
    PMPI_Group_size(group, &size);
    int *ranks = malloc(2 * (size_t)size * sizeof *ranks), *of_world = ranks + size;
    for (int rank = 0; rank < size; ++rank) ranks[rank] = rank;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, size, ranks, world, of_world);
    PMPI_Group_free(&world);
    uint64_t hash = BY_GROUP;
    for (int rank = 0; rank < size; ++rank) hash = conic_mixed(hash, (uint64_t)of_world[rank]);
    for (const char *at = tag; *at; ++at) hash = conic_mixed(hash, (uint64_t)(unsigned char)*at);
    free(ranks);
    char name[40];
    snprintf(name, sizeof name, "communicator '%.20s'", tag);
    conic_number(*to, conic_mixed(hash, made_of(hash)), name);
    return outcome;
}
