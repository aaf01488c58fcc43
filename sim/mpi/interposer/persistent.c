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
    struct arguments arguments;
    struct communicator stream;
    enum reason reason;  // why it is MPI's own
    MPI_Count *counts;
    MPI_Aint *displacements;
};

enum { BUCKETS = 256 };
static struct persistent *table[BUCKETS];
static int alive;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct persistent **bucket(MPI_Request handle) { return &table[((uint64_t)handle * 2654435761u >> 8) % BUCKETS]; }

static struct persistent *find(MPI_Request handle) {
    if (!__atomic_load_n(&alive, __ATOMIC_ACQUIRE)) return NULL;
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
    free(gone->counts);
    free(gone->displacements);
    free(gone);
}

static void *copied(const void *from, size_t bytes) {
    void *to = from ? malloc(bytes) : NULL;
    return to ? memcpy(to, from, bytes) : NULL;
}

// Makes a request of the program's; false if MPI shall make it.
bool conic_make_persistent(const struct arguments *call, MPI_Request *request) {
    const struct communicator *comm = conic_communicator(call->comm);
    if (!comm || comm->reason || conic_judge(call, comm) == INVALID) return false;
    struct persistent *made = calloc(1, sizeof *made);
    made->ours = true;
    made->inner = MPI_REQUEST_NULL;
    made->arguments = *call;
    made->arguments.counts = made->counts = copied(call->counts, (size_t)comm->size * sizeof *made->counts);
    made->arguments.displacements = made->displacements =
        copied(call->displacements, (size_t)comm->size * sizeof *made->displacements);
    conic_open_stream(call->comm, &made->stream);
    made->arguments.stream = made->stream.key;
    // A message to nobody: a request that is inactive until it is started, and this one never is.
    PMPI_Send_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &made->handle);
    insert(made);
    *request = made->handle;
    return true;
}

// A request that MPI has made: its starts are counted.
int conic_left_persistent(int outcome, MPI_Comm comm, enum collective collective, MPI_Request *request) {
    const struct communicator *found = conic_communicator(comm);
    if (outcome != MPI_SUCCESS || !found) return outcome;
    struct persistent *made = calloc(1, sizeof *made);
    made->handle = *request;
    made->arguments.collective = collective;
    made->reason = found->reason ? found->reason : NO_SCHEDULE;
    insert(made);
    return outcome;
}

int MPI_Start(MPI_Request *request) {
    struct persistent *found = find(*request);
    if (!found) return PMPI_Start(request);
    if (found->ours) {
        found->active = true;
        return conic_call_nonblocking(&found->arguments, &found->inner);
    }
    conic_count(found->arguments.collective, found->reason);
    return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[]) {
    if (!__atomic_load_n(&alive, __ATOMIC_ACQUIRE)) return PMPI_Startall(count, requests);
    int outcome = MPI_SUCCESS;
    for (int n = 0; n < count && outcome == MPI_SUCCESS; ++n) outcome = MPI_Start(&requests[n]);
    return outcome;
}

int MPI_Request_free(MPI_Request *request) {
    struct persistent *found = find(*request);
    if (!found) return PMPI_Request_free(request);
    if (found->active) PMPI_Wait(&found->inner, MPI_STATUS_IGNORE);
    if (found->ours) conic_close_stream(&found->stream);
    erase(found);
    return PMPI_Request_free(request);
}

// Requests of operations under way in place of what the program holds.
struct exchange {
    int count;
    struct persistent *few[16], **found;
};

static bool begin(struct exchange *exchange, int count, MPI_Request requests[]) {
    if (count <= 0 || !__atomic_load_n(&alive, __ATOMIC_ACQUIRE)) return false;
    exchange->count = count;
    exchange->found = count > 16 ? malloc((size_t)count * sizeof *exchange->found) : exchange->few;
    for (int n = 0; n < count; ++n) {
        struct persistent *found = find(requests[n]);
        exchange->found[n] = found && found->ours && found->active ? found : NULL;
        if (exchange->found[n]) requests[n] = found->inner;
    }
    return true;
}

static int end(struct exchange *exchange, MPI_Request requests[], int outcome) {
    for (int n = 0; n < exchange->count; ++n) {
        struct persistent *found = exchange->found[n];
        if (!found) continue;
        found->inner = requests[n];
        found->active = found->inner != MPI_REQUEST_NULL;
        requests[n] = found->handle;
    }
    if (exchange->found != exchange->few) free(exchange->found);
    return outcome;
}

#define EXCHANGED(name, parameters, count, requests, values)                     \
    int MPI_##name parameters {                                                  \
        struct exchange exchange;                                                \
        conic_enter("MPI_" #name);                                               \
        const bool any = begin(&exchange, count, requests);                      \
        const int outcome = PMPI_##name values;                                  \
        conic_leave();                                                           \
        return any ? end(&exchange, requests, outcome) : outcome;                \
    }

EXCHANGED(Wait, (MPI_Request *request, MPI_Status *status), 1, request, (request, status))
EXCHANGED(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), count, requests,
          (count, requests, statuses))
EXCHANGED(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status), count, requests,
          (count, requests, index, status))
EXCHANGED(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]), count,
          requests, (count, requests, done, indices, statuses))
EXCHANGED(Test, (MPI_Request *request, int *flag, MPI_Status *status), 1, request, (request, flag, status))
EXCHANGED(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]), count, requests,
          (count, requests, flag, statuses))
EXCHANGED(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status), count, requests,
          (count, requests, index, flag, status))
EXCHANGED(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]), count,
          requests, (count, requests, done, indices, statuses))
// These leave requests as they are.
EXCHANGED(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), 1, &request,
          (request, flag, status))
#define KEPT(name, parameters, values)                                                                     \
    int MPI_##name parameters {                                                                            \
        struct exchange exchange;                                                                          \
        if (!begin(&exchange, count, (MPI_Request *)requests)) return PMPI_##name values;                  \
        return end(&exchange, (MPI_Request *)requests, PMPI_##name values);                                \
    }
KEPT(Request_get_status_all, (int count, const MPI_Request requests[], int *flag, MPI_Status statuses[]),
     (count, requests, flag, statuses))
KEPT(Request_get_status_any, (int count, const MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status))
KEPT(Request_get_status_some, (int count, const MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses))

#define MADE(...) conic_make_persistent(&(struct arguments){__VA_ARGS__}, request)
#define MAKES(NAME, kind, parameters, names, values)                                                  \
    int MPI_##NAME(parameters, MPI_Info info, MPI_Request *request) {                                 \
        if (MADE values) return MPI_SUCCESS;                                                          \
        return conic_left_persistent(PMPI_##NAME(names, info, request), comm, kind, request);         \
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
