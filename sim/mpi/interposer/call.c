// One call: told to the simulator, waited for, or left to MPI.
#include <stdlib.h>
#include <string.h>

#include "interposer.h"

enum { COLLECTIVES = NEIGHBOUR + 1, REASONS = NOT_CONNECTED + 1 };
static uint64_t counts[COLLECTIVES][REASONS];

void conic_count(enum collective collective, enum reason reason) {
    __atomic_fetch_add(&counts[collective][reason], 1, __ATOMIC_RELAXED);
}

void conic_say_counts(struct link *link) {
    for (int collective = 0; collective < COLLECTIVES; ++collective)
        for (int reason = 0; reason < REASONS; ++reason)
            if (counts[collective][reason]) {
                struct request request = {.kind = REQUEST_PASSED, .collective = (uint32_t)collective,
                                          .reason = (uint32_t)reason, .count = counts[collective][reason]};
                conic_say(link, &request, NULL, 0);
            }
}

static bool has_root(enum collective collective) {
    return collective == REDUCE || collective == BCAST || collective == SCATTER || collective == GATHER ||
           collective == SCATTERV || collective == GATHERV;
}

static enum reason describe(const struct arguments *call, const struct communicator *comm, struct request *request) {
    if (conic_reduces(call->collective)) {
        if (call->op == MPI_OP_NULL || call->receive_type == MPI_DATATYPE_NULL) return INVALID;
        if (!conic_predefined(call->op)) return USER_OPERATOR;
        if (!conic_element(call->receive_type, call->op, &request->element, &request->op)) return NOT_IN_REDUCE_UNIT;
    }
    return conic_lay_out(call, comm, request);
}

// Whether MPI refuses such a call, or why the NICs cannot carry it out.
enum reason conic_judge(const struct arguments *call, const struct communicator *comm) {
    struct request unused = {0};
    if (has_root(call->collective) && (call->root < 0 || call->root >= comm->size)) return INVALID;
    return describe(call, comm, &unused);
}

// Tells the simulator of a call; false if MPI shall do it without a question.
static bool announce(struct pending *pending) {
    struct link *link = conic_link();
    const struct arguments *call = &pending->arguments;
    const struct communicator *comm = conic_communicator(call->comm);
    enum reason reason = comm ? comm->reason : NOT_CONNECTED;
    struct request request = {.kind = REQUEST_CALL, .collective = call->collective};
    if (!reason && has_root(call->collective) && (call->root < 0 || call->root >= comm->size)) reason = INVALID;
    if (!reason) request.reason = describe(call, comm, &request);
    if (request.reason == INVALID) reason = INVALID;
    if (reason) {
        conic_count(call->collective, reason);
        return false;
    }
    pthread_mutex_lock(&link->mutex);
    pending->link = link;
    pending->id = request.id = ++link->next_id;
    request.communicator = call->stream ? call->stream : comm->key;
    request.rank = comm->rank;
    request.root = has_root(call->collective) ? call->root : 0;
    request.flags = (pending->nonblocking ? NONBLOCKING : 0) | (call->stream ? PERSISTENT : 0);
    request.count = (uint64_t)(call->receive_count ? call->receive_count : call->send_count);
    if (call->collective == REDUCE_SCATTER) request.count = (uint64_t)call->counts[comm->rank];
    if (call->collective != BARRIER) conic_names(call, &request);
    if (request.reason) request.in_bytes = request.out_bytes = 0;
    pending->in_at = request.in_at = conic_allocate(link, request.in_bytes);
    ++link->outstanding;  // from here on the segment is in use
    pending->out_at = request.out_at = conic_allocate(link, request.out_bytes);
    pending->in_bytes = request.in_bytes;
    pending->out_bytes = request.out_bytes;
    if (request.in_bytes) conic_load(call, comm, link->segment + request.in_at);
    request.now = conic_now();
    pending->next = link->first;
    link->first = pending;
    conic_say(link, &request, NULL, 0);
    pthread_mutex_unlock(&link->mutex);
    return true;
}

static void finish(struct pending *pending) {
    struct pending **at = &pending->link->first;
    while (*at != pending) at = &(*at)->next;
    *at = pending->next;
    --pending->link->outstanding;
    pending->finished = true;
    if (pending->nonblocking) PMPI_Grequest_complete(pending->request);
}

// Takes an answer and does what it asks for, in the order of answers: MPI wants one order of its calls at all ranks.
static bool take(struct link *link, int wait_us) {
    struct answer answer;
    if (!conic_hear(link, &answer, wait_us)) return false;
    struct pending *pending = link->first;
    while (pending->id != answer.id) pending = pending->next;
    pending->answered = true;
    pending->passed = answer.kind == ANSWER_PASSED;
    conic_clock_set(answer.now);
    if (pending->passed && pending->nonblocking) {
        conic_passed_nonblocking(&pending->arguments, &pending->inner);
        return true;
    }
    if (!pending->passed) {
        const struct communicator *comm = conic_communicator(pending->arguments.comm);
        if (pending->out_bytes) conic_unload(&pending->arguments, comm, link->segment + pending->out_at);
        if (conic_checks && !pending->nonblocking) conic_check(link, pending, comm);
    }
    finish(pending);
    return true;
}

int conic_call(struct arguments *call) {
    struct pending pending = {.arguments = *call};
    conic_clock_stop();
    const bool asked = announce(&pending);
    if (asked) {
        pthread_mutex_lock(&pending.link->mutex);
        while (!pending.answered) take(pending.link, -1);
        pthread_mutex_unlock(&pending.link->mutex);
    }
    conic_clock_go();
    if (asked && !pending.passed) return MPI_SUCCESS;
    conic_enter("a collective that is MPI's own");
    const int outcome = conic_passed(call);
    conic_leave();
    return outcome;
}

// Before MPI does something on a communicator by itself: nothing that it may still be asked for is behind it then.
void conic_settle(void) {
    struct link *link = conic_link();
    if (!link) return;
    pthread_mutex_lock(&link->mutex);
    for (bool open = true; open;) {
        open = false;
        for (struct pending *each = link->first; each; each = each->next) open |= !each->answered;
        if (open) take(link, -1);
    }
    pthread_mutex_unlock(&link->mutex);
}

static int query(void *state, MPI_Status *status) {
    (void)state;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state) {
    struct pending *pending = state;
    free(pending->counts);
    free(pending->displacements);
    free(pending);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static int progress(void *state, MPI_Status *status) {
    struct pending *pending = state;
    (void)status;
    if (pending->finished || pthread_mutex_trylock(&pending->link->mutex)) return MPI_SUCCESS;
    conic_clock_stop();
    if (!pending->answered) take(pending->link, 50);
    conic_clock_go();
    if (!pending->finished && pending->inner != MPI_REQUEST_NULL) {
        int done = 0;
        PMPI_Test(&pending->inner, &done, MPI_STATUS_IGNORE);
        if (done) finish(pending);
    }
    pthread_mutex_unlock(&pending->link->mutex);
    return MPI_SUCCESS;
}

// All of them, one after the other: what is answered meanwhile is taken whoever it is for.
static int wait_for(int count, void **states, double timeout, MPI_Status *status) {
    (void)timeout;
    for (int n = 0; n < count; ++n) {
        const struct pending *pending = states[n];
        while (!pending->finished) progress(states[n], status);
    }
    return MPI_SUCCESS;
}

static void *copied(const void *from, size_t bytes) {
    void *to = malloc(bytes);
    if (from) memcpy(to, from, bytes);
    return from ? to : (free(to), NULL);
}

int conic_call_nonblocking(struct arguments *call, MPI_Request *request) {
    const struct communicator *comm = conic_communicator(call->comm);
    if (!comm || comm->reason) {
        conic_count(call->collective, comm ? comm->reason : NOT_CONNECTED);
        return conic_passed_nonblocking(call, request);
    }
    struct pending *pending = calloc(1, sizeof *pending);
    pending->arguments = *call;
    pending->nonblocking = true;
    pending->inner = MPI_REQUEST_NULL;
    pending->counts = copied(call->counts, (size_t)comm->size * sizeof(MPI_Count));
    pending->displacements = copied(call->displacements, (size_t)comm->size * sizeof(MPI_Aint));
    pending->arguments.counts = pending->counts;
    pending->arguments.displacements = pending->displacements;
    MPIX_Grequest_start(query, release, cancel, progress, wait_for, pending, &pending->request);
    *request = pending->request;
    conic_clock_stop();
    const bool asked = announce(pending);
    conic_clock_go();
    if (asked) return MPI_SUCCESS;
    pending->finished = true;
    PMPI_Grequest_complete(pending->request);
    PMPI_Wait(request, MPI_STATUS_IGNORE);
    return conic_passed_nonblocking(call, request);
}
