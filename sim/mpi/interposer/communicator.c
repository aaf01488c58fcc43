// Which communicator a call is on. All its ranks know it by one number, which they have agreed on when it was made
// (constructors.c); it is found by its handle, so that nothing is asked of a handle that may be none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interposer.h"

struct entry {
    MPI_Comm comm;
    struct communicator *found;  // none before the first look at what MPI_Comm_idup has made
    uint64_t key;
    char name[40];
    struct entry *next;
};

enum { BUCKETS = 256 };
static struct entry *table[BUCKETS];
static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct communicator unknown = {.reason = UNKNOWN_CONSTRUCTOR, .size = 1};

static struct entry **place_of(MPI_Comm comm) {
    struct entry **at = &table[((uint32_t)comm * 2654435761u >> 8) % BUCKETS];
    while (*at && (*at)->comm != comm) at = &(*at)->next;
    return at;
}

uint64_t conic_mixed(uint64_t a, uint64_t b) {
    uint64_t mixed = (a ^ (b + UINT64_C(0x9E3779B97F4A7C15) + (a << 6) + (a >> 2))) * UINT64_C(0xD6E8FEB86659FD93);
    return (mixed ^ mixed >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}

static void announce(const struct communicator *found) {
    struct request request = {.kind = REQUEST_COMMUNICATOR, .communicator = found->key, .rank = found->rank};
    memcpy(request.communicator_name, found->name, sizeof found->name);
    conic_say(conic_link(), &request, found->of_world, (size_t)found->size * sizeof *found->of_world);
}

struct communicator *conic_hold(struct communicator *comm) {
    __atomic_fetch_add(&comm->holders, 1, __ATOMIC_RELAXED);
    return comm;
}

void conic_let_go(struct communicator *comm) {
    if (__atomic_sub_fetch(&comm->holders, 1, __ATOMIC_ACQ_REL)) return;
    struct link *link = conic_link();
    const struct request request = {.kind = REQUEST_RELEASED, .communicator = comm->key};
    if (link && comm->reason == OFFLOADED) conic_say(link, &request, NULL, 0);
    free(comm->of_world);
    free(comm);
}

// MPI's communicator is gone: its handle may be another's from now on.
static int forget(MPI_Comm comm, int key, void *value, void *extra) {
    (void)key, (void)extra;
    if (comm == MPI_COMM_SELF) conic_end();
    pthread_mutex_lock(&mutex);
    struct entry **at = place_of(comm), *gone = *at;
    if (gone && gone->found == value) {
        *at = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&mutex);
    conic_let_go(value);
    return MPI_SUCCESS;
}

static struct communicator *described(MPI_Comm comm) {
    struct communicator *found = calloc(1, sizeof *found);
    MPI_Group group, world;
    int inter;
    PMPI_Comm_rank(comm, &found->rank);
    PMPI_Comm_size(comm, &found->size);
    PMPI_Comm_test_inter(comm, &inter);
    found->holders = 1;
    found->reason = inter ? INTERCOMMUNICATOR : found->size == 1 ? ONE_RANK : OFFLOADED;
    if (found->reason != OFFLOADED) return found;
    int *ranks = malloc((size_t)found->size * sizeof *ranks);
    found->of_world = malloc((size_t)found->size * sizeof *found->of_world);
    for (int rank = 0; rank < found->size; ++rank) ranks[rank] = rank;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, found->size, ranks, world, found->of_world);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    free(ranks);
    for (int rank = 0; rank < found->size; ++rank)
        if (found->of_world[rank] == MPI_UNDEFINED) found->reason = NOT_OF_WORLD;
    return found;
}

static uint64_t members(const struct communicator *found) {
    uint64_t mixed = (uint64_t)found->size;
    for (int rank = 0; rank < found->size; ++rank) mixed = conic_mixed(mixed, (uint64_t)found->of_world[rank]);
    return mixed;
}

// The number is of all communicators that were made by one call: ranks part in MPI_Comm_split.
static struct communicator *begun(MPI_Comm comm, uint64_t key, const char *name) {
    struct communicator *found = described(comm);
    if (found->reason == OFFLOADED) {
        found->key = conic_mixed(key, members(found));
        snprintf(found->name, sizeof found->name, "%s", name);
        announce(found);
    }
    PMPI_Comm_set_attr(comm, keyval, found);
    return found;
}

static struct entry *fresh(MPI_Comm comm) {
    struct entry **at = place_of(comm);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        (*at)->comm = comm;
    }
    (*at)->found = NULL;
    return *at;
}

// `comm` has been made, and all its ranks give it this number.
void conic_number(MPI_Comm comm, uint64_t key, const char *name) {
    if (!conic_link()) return;
    pthread_mutex_lock(&mutex);
    if (keyval == MPI_KEYVAL_INVALID) PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
    fresh(comm);
    pthread_mutex_unlock(&mutex);
    struct communicator *found = begun(comm, key, name);
    pthread_mutex_lock(&mutex);
    fresh(comm)->found = found;
    pthread_mutex_unlock(&mutex);
}

// The same of one that is being made, and that may not be looked at yet.
void conic_number_later(MPI_Comm comm, uint64_t key, const char *name) {
    pthread_mutex_lock(&mutex);
    struct entry *made = fresh(comm);
    made->key = key;
    snprintf(made->name, sizeof made->name, "%s", name);
    pthread_mutex_unlock(&mutex);
}

// None before MPI_Init and after MPI_Finalize.
struct communicator *conic_communicator(MPI_Comm comm) {
    conic_begin();
    if (!conic_link() || comm == MPI_COMM_NULL) return NULL;
    pthread_mutex_lock(&mutex);
    const struct entry *at = *place_of(comm);
    struct communicator *found = at ? at->found : &unknown;
    const struct entry later = at ? *at : (struct entry){0};
    pthread_mutex_unlock(&mutex);
    if (found) return found;
    conic_number(comm, later.key, later.name);
    pthread_mutex_lock(&mutex);
    found = (*place_of(comm))->found;
    pthread_mutex_unlock(&mutex);
    return found;
}

// What a persistent collective of `comm` is to the simulator: ranks make them in one order, and so number them alike.
struct communicator *conic_open_stream(struct communicator *comm) {
    struct communicator *stream = malloc(sizeof *stream);
    *stream = *comm;
    const uint64_t number = __atomic_add_fetch(&comm->streams, 1, __ATOMIC_RELAXED);
    stream->holders = 1;
    stream->of_world = malloc((size_t)comm->size * sizeof *stream->of_world);
    memcpy(stream->of_world, comm->of_world, (size_t)comm->size * sizeof *stream->of_world);
    stream->key = conic_mixed(~comm->key, number);
    snprintf(stream->name, sizeof stream->name, "%.20s, persistent %llu", comm->name, (unsigned long long)number);
    announce(stream);
    return stream;
}
