// What the files of the interposer know of each other.
#pragma once

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "wire.h"

struct communicator {
    uint64_t key;
    int rank, size;
    enum reason reason;  // why none of its collectives is offloaded, or OFFLOADED
    char name[40];
    int *of_world;       // rank of MPI_COMM_WORLD of each rank
    uint64_t streams;    // persistent collectives made on it
    uint64_t copies;     // communicators that MPI_Comm_idup made of it
    int holders;         // MPI's communicator, and requests under way
};

// A collective as the program called it. Counts of variants with one for each rank are of both widths' wider one.
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
};

// A call that the simulator has been told of and that is not over. It holds what it needs: the program may free
// communicator, types and lists of counts as soon as the call has returned.
struct pending {
    struct pending *next;
    struct communicator *comm;
    struct arguments arguments;  // as far as MPI looks at them
    uint64_t id, in_at, in_bytes, out_at, out_bytes;
    bool nonblocking, keeps, decided, done, finished;
    enum reason reason;  // why MPI shall do it after all
    MPI_Request request;
    struct comparison *comparison;  // with MPI's own result, if that is asked for
};

// MPI's own result of a call that the NICs have, and what it takes.
struct comparison {
    MPI_Request request;
    bool begun, stays;  // it stays, with its buffers, if it is of a persistent collective
    char *mine, *theirs;
    uint64_t out_bytes;
    MPI_Count *counts;
    MPI_Aint *at;
    uint64_t element;
};

// The connection of a process.
struct link {
    int socket;
    char *segment;
    uint64_t segment_bytes, next_id;
    struct pending *first;
    pthread_mutex_t mutex;
    pthread_cond_t heard;
    bool reading;  // a thread waits for answers, for itself and for others
};

// link.c
void conic_open(void);
struct link *conic_link(void);
struct head *conic_head(void);
void conic_say(struct link *link, const struct request *request, const void *more, size_t more_bytes);
bool conic_hear(struct link *link, struct answer *answer, int wait_us);
void conic_count(enum collective collective, enum reason reason);
extern bool conic_connected, conic_checks;

// life.c
void conic_begin(void);
void conic_end(void);

// foreign.c
void conic_refuse_foreign(void);

// segment.c
uint64_t conic_allocate(struct link *link, uint64_t bytes);
void conic_free(struct link *link, uint64_t at, uint64_t bytes);

// threads.c
void conic_enter(const char *call);
void conic_abort(void);
void conic_leave(void);

// clock.c
void conic_clock_begin(void);
double conic_now(void);
void conic_clock_stop(void);
void conic_clock_go(void);
void conic_clock_set(double now);

// communicator.c
struct communicator *conic_communicator(MPI_Comm comm);
struct communicator *conic_hold(struct communicator *comm);
void conic_let_go(struct communicator *comm);
struct communicator *conic_open_stream(struct communicator *comm);
void conic_number(MPI_Comm comm, uint64_t key, const char *name);
void conic_number_later(MPI_Comm comm, uint64_t key, const char *name);
uint64_t conic_mixed(uint64_t a, uint64_t b);

// element.c
bool conic_element(MPI_Datatype type, MPI_Op op, uint32_t *element, uint32_t *operator_);
bool conic_predefined(MPI_Op op);
void conic_names(const struct arguments *call, struct request *request);
bool conic_reduces(enum collective collective);

// significant.c
bool conic_has_root(enum collective collective);
bool conic_has_counts(const struct arguments *call, const struct communicator *comm);
bool conic_lacks_counts(const struct arguments *call, const struct communicator *comm);
struct arguments conic_significant(const struct arguments *call, const struct communicator *comm);
void conic_keep(struct arguments *call, const struct communicator *comm);
void conic_drop(struct arguments *call);

// refused.c
bool conic_refused(const struct arguments *call, const struct communicator *comm);

// transfer.c
bool conic_lay_out(const struct arguments *call, const struct communicator *comm, struct request *request);
void conic_load(const struct arguments *call, const struct communicator *comm, char *to);
void conic_unload(const struct arguments *call, const struct communicator *comm, const char *from);

// check.c
void conic_check(struct link *link, const struct pending *pending);
void conic_begin_check(struct link *link, struct pending *pending);
struct comparison *conic_make_check(
    const struct arguments *asked, const struct communicator *comm, const struct request *request
);
void conic_start_check(struct link *link, struct pending *pending);
void conic_drop_check(struct comparison *made);
bool conic_compared(struct link *link, struct pending *pending);

// passed.c
int conic_passed(const struct arguments *call);
int conic_passed_nonblocking(const struct arguments *call, MPI_Request *request);
int conic_passed_persistent(const struct arguments *call, MPI_Request *request);

// call.c
int conic_call(const struct arguments *call);
int conic_call_nonblocking(const struct arguments *call, MPI_Request *request);
void conic_start(
    const struct arguments *call, struct communicator *stream, struct comparison *comparison, MPI_Request *request
);
enum reason conic_ask(const struct arguments *call, struct communicator *stream, const struct request *request);
bool conic_under_way(void);
void conic_progress(int wait_us);
enum reason conic_judge(
    const struct arguments *call, const struct communicator *comm, struct arguments *significant, struct request *request
);

// persistent.c
struct persistent;
bool conic_any_persistent(void);
struct persistent *conic_exchange(MPI_Request *request);
void conic_exchange_back(struct persistent *found, MPI_Request *request);
bool conic_make_persistent(const struct arguments *call, MPI_Request *request, enum reason *reason);
int conic_left_persistent(int outcome, enum collective collective, enum reason reason, MPI_Request *request);
