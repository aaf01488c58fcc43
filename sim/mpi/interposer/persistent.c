// Persistent collectives: made once, started again and again. Ranks make them in one order, but may start them in any, so
// each is a communicator of its own to the simulator. What the program holds is a request of MPI's that never starts;
// while an operation is under way, calls that wait for it are given that of the operation instead.
#include <stdlib.h>
#include <string.h>

#include "interposer.h"
#include "signatures.h"

struct persistent {
    struct persistent *next;
    MPI_Request handle;  // what the program holds
    bool ours;
    bool active;
    MPI_Request inner;  // of the operation under way
    struct arguments arguments;  // as far as MPI looks at them, held
    struct communicator *stream;
    struct comparison *comparison;
    enum reason reason;  // why it is MPI's own
};

enum { BUCKETS = 256 };
static struct persistent *table[BUCKETS];
static int alive;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct persistent **bucket(MPI_Request handle) { return &table[((uint64_t)handle * 2654435761u >> 8) % BUCKETS]; }

// Of the request there; none if there is no request, which MPI refuses.
static struct persistent *find(const MPI_Request *there) {
    if (!there || !__atomic_load_n(&alive, __ATOMIC_ACQUIRE)) return NULL;
    const MPI_Request handle = *there;
    pthread_mutex_lock(&mutex);
    struct persistent *found = *bucket(handle);
    while (found && found->handle != handle) found = found->next;
    pthread_mutex_unlock(&mutex);
    return found;
}

static void insert(struct persistent *made) {
    pthread_mutex_lock(&mutex);
    made->next = *bucket(made->handle);
    *bucket(made->handle) = made;
    __atomic_fetch_add(&alive, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
}

static void erase(struct persistent *gone) {
    pthread_mutex_lock(&mutex);
    struct persistent **at = bucket(gone->handle);
    while (*at != gone) at = &(*at)->next;
    *at = gone->next;
    __atomic_fetch_sub(&alive, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
    free(gone);
}

// Makes a request of the program's; false, with the reason, if MPI shall make it. That is decided here for all starts:
// MPI wants its own to be made in one order at all ranks, and ranks start in any.
bool conic_make_persistent(const struct arguments *call, MPI_Request *request, enum reason *reason) {
    if (!request) {  // MPI says what is wrong with that
        *reason = INVALID;
        return false;
    }
    struct communicator *comm = conic_communicator(call->comm);
    struct arguments significant;
    struct request told = {0};
    *reason = conic_judge(call, comm, &significant, &told);
    if (!*reason) *reason = told.reason;
    if (*reason) return false;
    struct communicator *stream = conic_open_stream(comm);
    *reason = conic_ask(&significant, stream, &told);
    if (*reason) {
        conic_let_go(stream);
        return false;
    }
    struct persistent *made = calloc(1, sizeof *made);
    made->ours = true;
    made->inner = MPI_REQUEST_NULL;
    made->arguments = significant;
    made->stream = stream;
    conic_keep(&made->arguments, stream);
    made->comparison = conic_make_check(&made->arguments, stream, &told);
    // A message to nobody: a request that is inactive until it is started, and this one never is.
    PMPI_Send_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &made->handle);
    insert(made);
    *request = made->handle;
    return true;
}

// A request that MPI has made: its starts are counted.
int conic_left_persistent(int outcome, enum collective collective, enum reason reason, MPI_Request *request) {
    if (outcome != MPI_SUCCESS || !conic_head()) return outcome;
    struct persistent *made = calloc(1, sizeof *made);
    made->handle = *request;
    made->arguments.collective = collective;
    made->reason = reason;
    insert(made);
    return outcome;
}

int MPI_Start(MPI_Request *request) {
    struct persistent *found = find(request);
    if (!found) return PMPI_Start(request);
    if (found->ours) {
        found->active = true;
        conic_start(&found->arguments, found->stream, found->comparison, &found->inner);
        return MPI_SUCCESS;
    }
    conic_count(found->arguments.collective, found->reason);
    return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[]) {
    if (!requests || !__atomic_load_n(&alive, __ATOMIC_ACQUIRE)) return PMPI_Startall(count, requests);
    int outcome = MPI_SUCCESS;
    for (int n = 0; n < count && outcome == MPI_SUCCESS; ++n) outcome = MPI_Start(&requests[n]);
    return outcome;
}

int MPI_Request_free(MPI_Request *request) {
    struct persistent *found = find(request);
    if (!found) return PMPI_Request_free(request);
    if (found->active) MPI_Wait(&found->inner, MPI_STATUS_IGNORE);
    if (found->ours) {
        conic_drop_check(found->comparison);
        conic_drop(&found->arguments);
        conic_let_go(found->stream);
    }
    erase(found);
    return PMPI_Request_free(request);
}

bool conic_any_persistent(void) { return __atomic_load_n(&alive, __ATOMIC_ACQUIRE); }

// Puts the request of the operation under way in the place of what the program holds; none if there is no such.
struct persistent *conic_exchange(MPI_Request *request) {
    struct persistent *found = find(request);
    if (!found || !found->ours || !found->active) return NULL;
    *request = found->inner;
    return found;
}

void conic_exchange_back(struct persistent *found, MPI_Request *request) {
    found->inner = *request;
    found->active = found->inner != MPI_REQUEST_NULL;
    *request = found->handle;
}

#define MADE(...) conic_make_persistent(&(struct arguments){__VA_ARGS__}, request, &reason)
#define MAKES(NAME, kind, parameters, names, values)                                                  \
    int MPI_##NAME(parameters, MPI_Info info, MPI_Request *request) {                                 \
        enum reason reason;                                                                           \
        if (MADE values) return MPI_SUCCESS;                                                          \
        return conic_left_persistent(PMPI_##NAME(names, info, request), kind, reason, request);       \
    }
#define BOTH(name, kind, P, values)                                        \
    MAKES(name##_init, kind, P(int), P##_NAMES, values)                    \
    MAKES(name##_init_c, kind, P(MPI_Count), P##_NAMES, values)

BOTH(Allreduce, ALLREDUCE, REDUCTION, (.collective = ALLREDUCE, REDUCED))
BOTH(Reduce, REDUCE, ROOTED_REDUCTION, (.collective = REDUCE, .root = root, REDUCED))
BOTH(Reduce_scatter_block, REDUCE_SCATTER_BLOCK, REDUCTION, (.collective = REDUCE_SCATTER_BLOCK, REDUCED))
BOTH(Scan, SCAN, REDUCTION, (.collective = SCAN, REDUCED))
BOTH(Exscan, EXSCAN, REDUCTION, (.collective = EXSCAN, REDUCED))
BOTH(Bcast, BCAST, BROADCAST, (.collective = BCAST, .root = root, .comm = comm, .receive = at, .receive_count = count,
                               .receive_type = type, .send_type = MPI_DATATYPE_NULL))
BOTH(Allgather, ALLGATHER, MOVE, (.collective = ALLGATHER, MOVED))
BOTH(Alltoall, ALLTOALL, MOVE, (.collective = ALLTOALL, MOVED))
BOTH(Gather, GATHER, ROOTED_MOVE, (.collective = GATHER, .root = root, MOVED))
BOTH(Scatter, SCATTER, ROOTED_MOVE, (.collective = SCATTER, .root = root, MOVED))
MAKES(Barrier_init, BARRIER, MPI_Comm comm, comm, (.collective = BARRIER, .comm = comm,
      .send_type = MPI_DATATYPE_NULL, .receive_type = MPI_DATATYPE_NULL))
