// One call: told to the simulator, waited for, or left to MPI.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interposer.h"

enum { LONGEST_US = 1600 };  // between two looks at MPI's own messages

// Why MPI does a call without a question, or what there is to be told of it.
enum reason conic_judge(
    const struct arguments *call, const struct communicator *comm, struct arguments *significant, struct request *request
) {
    if (!comm) return NOT_CONNECTED;
    if (comm->reason) return comm->reason;
    if (conic_has_root(call->collective) && (call->root < 0 || call->root >= comm->size)) return INVALID;
    *significant = conic_significant(call, comm);
    if (conic_lacks_counts(significant, comm)) return INVALID;
    if (conic_refused(significant, comm)) return INVALID;
    if (conic_reduces(call->collective)) {
        if (!conic_predefined(call->op))
            request->reason = USER_OPERATOR;
        else if (!conic_element(call->receive_type, call->op, &request->element, &request->op))
            request->reason = NOT_IN_REDUCE_UNIT;
    }
    return !request->reason && !conic_lay_out(significant, comm, request) ? INVALID : OFFLOADED;
}

static void let_go(struct link *link, struct pending *pending) {
    struct pending **at = &link->first;
    while (*at != pending) at = &(*at)->next;
    *at = pending->next;
    conic_free(link, pending->in_at, pending->in_bytes);
    conic_free(link, pending->out_at, pending->out_bytes);
    if (pending->keeps) conic_drop(&pending->arguments);
    if (pending->comparison && !pending->comparison->stays) free(pending->comparison);
    conic_let_go(pending->comm);
}

// The last that is done with a request: once it is complete, it may be gone.
static void finish(struct link *link, struct pending *pending) {
    let_go(link, pending);
    pending->finished = true;
    if (pending->nonblocking) PMPI_Grequest_complete(pending->request);
}

static void take(struct link *link, const struct answer *answer) {
    struct pending *pending = link->first;
    while (pending->id != answer->id) pending = pending->next;
    conic_clock_set(answer->now);
    pending->decided = true;
    switch (answer->kind) {
    case ANSWER_PASSED:
        pending->reason = answer->reason;
        let_go(link, pending);
        break;
    case ANSWER_DONE:
        if (pending->out_bytes) conic_unload(&pending->arguments, pending->comm, link->segment + pending->out_at);
        pending->done = true;
        // Whoever compares has it finished afterwards.
        if (!pending->comparison) finish(link, pending);
        break;
    default: break;
    }
}

// Waits for an answer and takes it, whoever it is for, or waits until another thread has taken one; for so many
// microseconds, or for ever if fewer than none. The link's mutex is held, but not while it waits.
static void listen(struct link *link, int wait_us) {
    struct answer answer;
    if (link->reading) {
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += wait_us * 1000L;
        end.tv_sec += end.tv_nsec / 1000000000L;
        end.tv_nsec %= 1000000000L;
        if (wait_us < 0)
            pthread_cond_wait(&link->heard, &link->mutex);
        else
            pthread_cond_timedwait(&link->heard, &link->mutex, &end);
        return;
    }
    link->reading = true;
    pthread_mutex_unlock(&link->mutex);
    const bool heard = conic_hear(link, &answer, wait_us);
    pthread_mutex_lock(&link->mutex);
    link->reading = false;
    if (heard) take(link, &answer);
    pthread_cond_broadcast(&link->heard);
}

bool conic_under_way(void) {
    const struct link *link = conic_link();
    return link && __atomic_load_n(&link->first, __ATOMIC_ACQUIRE);
}

// Advances whatever is under way; to be called again and again by who waits for a request, and by who tests one.
void conic_progress(int wait_us) {
    struct link *link = conic_link();
    if (!conic_under_way()) return;
    conic_clock_stop();
    pthread_mutex_lock(&link->mutex);
    bool any = false;
    for (struct pending *each = link->first, *next; each; each = next) {
        next = each->next;
        if (each->done && each->nonblocking && conic_compared(link, each)) {
            finish(link, each);
            any = true;
        }
    }
    if (!any && link->first) listen(link, wait_us);
    pthread_mutex_unlock(&link->mutex);
    conic_clock_go();
}

// MPI's own messages go on while a rank is in a collective, as MPI promises: others may need them before they come.
static void let_messages_on(void) {
    int is_there;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

// Until it is known what becomes of a call: of one that waits, until it is over. The link's mutex is held.
static void await(struct link *link, const struct pending *pending) {
    for (int wait_us = 100; !pending->decided; wait_us = wait_us < LONGEST_US ? 2 * wait_us : wait_us) {
        listen(link, wait_us);
        if (pending->decided) break;
        pthread_mutex_unlock(&link->mutex);
        let_messages_on();
        pthread_mutex_lock(&link->mutex);
    }
}

// Tells the simulator of a call, and keeps what it needs.
static void tell(struct link *link, struct pending *pending, struct request *request, uint32_t flags) {
    const struct arguments *call = &pending->arguments;
    const struct communicator *comm = pending->comm;
    pending->id = request->id = ++link->next_id;
    request->collective = call->collective;
    request->communicator = comm->key;
    request->rank = comm->rank;
    request->root = call->root;
    request->flags = flags;
    request->count = (uint64_t)(call->receive_count ? call->receive_count : call->send_count);
    if (call->collective == REDUCE_SCATTER) request->count = (uint64_t)call->counts[comm->rank];
    if (call->collective != BARRIER) conic_names(call, request);
    if (request->reason) request->in_bytes = request->out_bytes = 0;
    pending->in_bytes = request->in_bytes;
    pending->out_bytes = request->out_bytes;
    pending->in_at = request->in_at = conic_allocate(link, request->in_bytes);
    pending->out_at = request->out_at = conic_allocate(link, request->out_bytes);
    if (request->kind == REQUEST_CALL && request->in_bytes) conic_load(call, comm, link->segment + request->in_at);
    request->now = conic_now();
    pending->next = link->first;
    link->first = pending;
    conic_say(link, request, NULL, 0);
}

// Whether the NICs have a call: only where this is false MPI shall do it.
static bool announce(struct pending *pending, const struct arguments *call) {
    struct request request = {.kind = REQUEST_CALL};
    struct communicator *comm = conic_communicator(call->comm);
    const enum reason reason = conic_judge(call, comm, &pending->arguments, &request);
    if (reason) {
        conic_count(call->collective, reason);
        return false;
    }
    struct link *link = conic_link();
    pending->comm = conic_hold(comm);
    pending->keeps = pending->nonblocking;
    if (pending->keeps) conic_keep(&pending->arguments, comm);
    if (conic_checks && call->collective != BARRIER) pending->comparison = calloc(1, sizeof *pending->comparison);
    pthread_mutex_lock(&link->mutex);
    tell(link, pending, &request, pending->nonblocking ? NONBLOCKING : 0);
    await(link, pending);
    if (!pending->reason && pending->nonblocking && pending->comparison) conic_begin_check(link, pending);
    pthread_mutex_unlock(&link->mutex);
    return !pending->reason;
}

int conic_call(const struct arguments *call) {
    struct pending pending = {0};
    conic_clock_stop();
    const bool taken = announce(&pending, call);
    if (taken && pending.comparison) {
        struct link *link = conic_link();
        conic_check(link, &pending);
        pthread_mutex_lock(&link->mutex);
        finish(link, &pending);
        pthread_mutex_unlock(&link->mutex);
    }
    // Whatever was sent before the collective has been seen behind it, as in MPI's own.
    if (taken) let_messages_on();
    conic_clock_go();
    if (taken) return MPI_SUCCESS;
    conic_enter("a collective that is MPI's own");
    const int outcome = conic_passed(call);
    conic_leave();
    return outcome;
}

static int query(void *state, MPI_Status *status) {
    (void)state;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state) {
    free(state);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static struct pending *begun(void) {
    struct pending *pending = calloc(1, sizeof *pending);
    pending->nonblocking = true;
    PMPI_Grequest_start(query, release, cancel, pending, &pending->request);
    return pending;
}

int conic_call_nonblocking(const struct arguments *call, MPI_Request *request) {
    const struct communicator *comm = conic_communicator(call->comm);
    if (!comm || comm->reason || !request) {
        conic_count(call->collective, !comm ? NOT_CONNECTED : comm->reason ? comm->reason : INVALID);
        return conic_passed_nonblocking(call, request);
    }
    struct pending *pending = begun();
    const MPI_Request made = pending->request;
    conic_clock_stop();
    const bool taken = announce(pending, call);
    conic_clock_go();
    *request = made;
    if (taken) return MPI_SUCCESS;
    PMPI_Grequest_complete(made);
    PMPI_Wait(request, MPI_STATUS_IGNORE);
    return conic_passed_nonblocking(call, request);
}

// Whether the NICs take a persistent collective, before it is started for the first time, or why MPI shall make it.
enum reason conic_ask(const struct arguments *call, struct communicator *stream, const struct request *request) {
    struct link *link = conic_link();
    struct pending asked = {.arguments = *call, .comm = conic_hold(stream)};
    struct request question = *request;
    question.kind = REQUEST_ASK;
    question.in_bytes = question.out_bytes = 0;
    pthread_mutex_lock(&link->mutex);
    tell(link, &asked, &question, PERSISTENT);
    await(link, &asked);
    if (!asked.reason) let_go(link, &asked);
    pthread_mutex_unlock(&link->mutex);
    return asked.reason;
}

// Starts a persistent collective that the NICs have taken.
void conic_start(
    const struct arguments *call, struct communicator *stream, struct comparison *comparison, MPI_Request *request
) {
    struct link *link = conic_link();
    struct pending *pending = begun();
    struct request told = {.kind = REQUEST_CALL};
    *request = pending->request;
    conic_clock_stop();
    if (conic_reduces(call->collective)) conic_element(call->receive_type, call->op, &told.element, &told.op);
    pending->arguments = *call;
    conic_lay_out(call, stream, &told);
    pending->comm = conic_hold(stream);
    pending->comparison = comparison;
    pthread_mutex_lock(&link->mutex);
    tell(link, pending, &told, NONBLOCKING | PERSISTENT);
    if (comparison) conic_start_check(link, pending);
    pthread_mutex_unlock(&link->mutex);
    conic_clock_go();
}
