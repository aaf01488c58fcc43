// Which communicator a call is on. All its ranks name it alike without talking to each other: by the ranks of
// MPI_COMM_WORLD that it has, in order, and by how many communicators of just these ranks were made before it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interposer.h"

struct count {
    uint64_t hash, made;
    struct count *next;
};

static struct count *counts;
static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void announce(const struct communicator *found) {
    struct request request = {.kind = REQUEST_COMMUNICATOR, .communicator = found->key, .rank = found->rank};
    memcpy(request.communicator_name, found->name, sizeof found->name);
    conic_say(conic_link(), &request, found->of_world, (size_t)found->size * sizeof *found->of_world);
}

static void say_released(uint64_t key) {
    struct link *link = conic_link();
    struct request request = {.kind = REQUEST_RELEASED, .communicator = key};
    if (link) conic_say(link, &request, NULL, 0);
}

static int release(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)extra;
    struct communicator *found = value;
    if (found->reason == OFFLOADED) say_released(found->key);
    free(found->of_world);
    free(found);
    return MPI_SUCCESS;
}

static uint64_t number_of(uint64_t hash) {
    struct count *found = counts;
    while (found && found->hash != hash) found = found->next;
    if (!found) {
        found = calloc(1, sizeof *found);
        found->hash = hash;
        found->next = counts;
        counts = found;
    }
    return found->made++;
}

static void describe(MPI_Comm comm, struct communicator *found) {
    MPI_Group group, world;
    int inter;
    PMPI_Comm_rank(comm, &found->rank);
    PMPI_Comm_size(comm, &found->size);
    PMPI_Comm_test_inter(comm, &inter);
    found->reason = inter ? INTERCOMMUNICATOR : found->size == 1 ? ONE_RANK : OFFLOADED;
    if (found->reason != OFFLOADED) return;
    int *ranks = malloc(2 * (size_t)found->size * sizeof *ranks), *of_world = ranks + found->size;
    for (int rank = 0; rank < found->size; ++rank) ranks[rank] = rank;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, found->size, ranks, world, of_world);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (int rank = 0; rank < found->size; ++rank) {
        if (of_world[rank] == MPI_UNDEFINED) found->reason = NOT_OF_WORLD;
        hash = (hash ^ (uint64_t)(uint32_t)of_world[rank]) * UINT64_C(0x100000001B3);
    }
    if (found->reason == OFFLOADED) {
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        PMPI_Comm_get_name(comm, name, &length);
        const uint64_t number = number_of(hash);
        if (length)
            snprintf(found->name, sizeof found->name, "%.39s", name);
        else
            snprintf(found->name, sizeof found->name, "communicator %llu", (unsigned long long)number);
        found->key = hash + number * UINT64_C(0x9E3779B97F4A7C15);
        found->of_world = malloc((size_t)found->size * sizeof *of_world);
        memcpy(found->of_world, of_world, (size_t)found->size * sizeof *of_world);
        announce(found);
    }
    free(ranks);
}

// None before MPI_Init, after MPI_Finalize, and for what is no communicator.
struct communicator *conic_communicator(MPI_Comm comm) {
    struct communicator *found = NULL;
    int known = 0;
    if (!conic_link() || comm == MPI_COMM_NULL) return NULL;
    pthread_mutex_lock(&mutex);
    if (keyval == MPI_KEYVAL_INVALID) PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, release, &keyval, NULL);
    PMPI_Comm_get_attr(comm, keyval, &found, &known);
    if (!known) {
        found = calloc(1, sizeof *found);
        describe(comm, found);
        PMPI_Comm_set_attr(comm, keyval, found);
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

// What a persistent collective of `comm` is to the simulator: ranks make them in one order, and so number them alike.
void conic_open_stream(MPI_Comm comm, struct communicator *stream) {
    struct communicator *found = conic_communicator(comm);
    pthread_mutex_lock(&mutex);
    *stream = *found;
    const uint64_t number = ++found->streams;
    pthread_mutex_unlock(&mutex);
    stream->key = (found->key ^ number) * UINT64_C(0xD6E8FEB86659FD93);
    snprintf(stream->name, sizeof stream->name, "%.20s, persistent %llu", found->name, (unsigned long long)number);
    announce(stream);
}

void conic_close_stream(const struct communicator *stream) { say_released(stream->key); }

// Numbers are given when communicators are made, which all their ranks do in one order.
static int made(int outcome, MPI_Comm *comm) {
    if (outcome == MPI_SUCCESS && *comm != MPI_COMM_NULL) conic_communicator(*comm);
    return outcome;
}

#define MAKES(name, parameters, arguments) \
    int MPI_##name parameters {            \
        conic_settle();                    \
        conic_enter("MPI_" #name);         \
        const int outcome = PMPI_##name arguments; \
        conic_leave();                     \
        return made(outcome, to);          \
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
