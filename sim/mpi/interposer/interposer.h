// What the files of the interposer know of each other.
#pragma once

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "wire.h"

// A collective as the program called it. Counts of variants with one for each rank are copies.
struct arguments {
    enum collective collective;
    MPI_Comm comm;
    int root;
    const void *send;
    MPI_Count send_count;
    MPI_Datatype send_type;
    void *receive;
    MPI_Count receive_count;
    MPI_Datatype receive_type;
    MPI_Op op;
    const MPI_Count *counts;
    const MPI_Aint *displacements;
    uint64_t stream;  // what a persistent one is to the simulator; 0: its communicator
};

// A call that the simulator has been told of and that is not over.
struct pending {
    struct pending *next;
    struct link *link;
    struct arguments arguments;
    uint64_t id, in_at, in_bytes, out_at, out_bytes;
    bool nonblocking, answered, passed, finished;
    MPI_Request request, inner;
    MPI_Count *counts;
    MPI_Aint *displacements;
};

struct communicator {
    uint64_t key;
    int rank, size;
    enum reason reason;  // why none of its collectives is offloaded, or OFFLOADED
    char name[40];
    int *of_world;       // rank of MPI_COMM_WORLD of each rank
    uint64_t streams;    // persistent collectives made on it
};

// The connection of one thread.
struct link {
    int socket;
    char *segment;
    uint64_t used, next_id;
    int outstanding;
    struct pending *first;
    pthread_mutex_t mutex;
};

// link.c
struct link *conic_link(void);
void conic_say(struct link *link, const struct request *request, const void *more, size_t more_bytes);
bool conic_hear(struct link *link, struct answer *answer, int wait_us);
uint64_t conic_allocate(struct link *link, uint64_t bytes);
void conic_enter(const char *call);
void conic_leave(void);
extern bool conic_connected, conic_checks;

// clock.c
void conic_clock_begin(void);
double conic_now(void);
void conic_clock_stop(void);
void conic_clock_go(void);
void conic_clock_set(double now);

// communicator.c
struct communicator *conic_communicator(MPI_Comm comm);
void conic_open_stream(MPI_Comm comm, struct communicator *stream);
void conic_close_stream(const struct communicator *stream);

// element.c
bool conic_element(MPI_Datatype type, MPI_Op op, uint32_t *element, uint32_t *operator_);
bool conic_predefined(MPI_Op op);
void conic_names(const struct arguments *call, struct request *request);
bool conic_reduces(enum collective collective);

// transfer.c
enum reason conic_lay_out(const struct arguments *call, const struct communicator *comm, struct request *request);
void conic_load(const struct arguments *call, const struct communicator *comm, char *to);
void conic_unload(const struct arguments *call, const struct communicator *comm, const char *from);

// check.c
void conic_check(struct link *link, const struct pending *pending, const struct communicator *comm);

// passed.c
int conic_passed(const struct arguments *call);
int conic_passed_nonblocking(const struct arguments *call, MPI_Request *request);

// call.c
int conic_call(struct arguments *call);
int conic_call_nonblocking(struct arguments *call, MPI_Request *request);
enum reason conic_judge(const struct arguments *call, const struct communicator *comm);
void conic_count(enum collective collective, enum reason reason);
void conic_say_counts(struct link *link);
void conic_settle(void);

// persistent.c
bool conic_make_persistent(const struct arguments *call, MPI_Request *request);
int conic_left_persistent(int outcome, MPI_Comm comm, enum collective collective, MPI_Request *request);
