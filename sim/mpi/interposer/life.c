// Begin and end of MPI.
#include <stdlib.h>

#include "interposer.h"

static bool is_over;

// A process that a rank has forked is no rank: nothing that it does, and not its end either, is the rank's.
static void leave(void) {
    conic_connected = false;
    is_over = true;
}

static void begin(void) {
    MPI_Comm parent;
    if (!getenv("CONIC_MPI_SOCKET")) return;
    conic_refuse_foreign();
    // A spawned process has a world of its own, in which there are no NICs.
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return;
    conic_checks = getenv("CONIC_MPI_CHECK") != NULL;
    conic_open();
    conic_connected = true;
    pthread_atfork(NULL, NULL, leave);
    const struct request joined = {.kind = REQUEST_JOINED};
    conic_say(conic_link(), &joined, NULL, 0);
    conic_clock_begin();
    // The simulator knows of this thread from now on.
    conic_enter("MPI_Init");
    conic_leave();
    conic_number(MPI_COMM_WORLD, 1, "MPI_COMM_WORLD");
    conic_number(MPI_COMM_SELF, 2, "MPI_COMM_SELF");
}

// Begins late where MPI has been initialised by another name: some modules of Fortran call PMPI_Init.
void conic_begin(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static bool begun;
    int is_initialized = 0, is_finalized = 0;
    if (conic_connected || is_over) return;
    PMPI_Initialized(&is_initialized);
    PMPI_Finalized(&is_finalized);
    if (!is_initialized || is_finalized) return;
    pthread_mutex_lock(&mutex);
    const bool first = !begun;
    begun = true;
    pthread_mutex_unlock(&mutex);
    if (first) begin();
}

// MPI deletes what is cached on MPI_COMM_SELF before anything else, by whatever name it is finalized.
void conic_end(void) {
    struct link *link = conic_link();
    const struct request bye = {.kind = REQUEST_BYE};
    if (link) conic_say(link, &bye, NULL, 0);
    conic_connected = false;
    is_over = true;
}

int MPI_Init(int *count, char ***values) {
    conic_refuse_foreign();
    const int outcome = PMPI_Init(count, values);
    if (outcome == MPI_SUCCESS) conic_begin();
    return outcome;
}

int MPI_Init_thread(int *count, char ***values, int required, int *provided) {
    conic_refuse_foreign();
    const int outcome = PMPI_Init_thread(count, values, required, provided);
    if (outcome == MPI_SUCCESS) conic_begin();
    return outcome;
}

// What is called on communicators of a session is counted, and left to MPI.
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
    const int outcome = PMPI_Session_init(info, handler, session);
    if (outcome == MPI_SUCCESS) conic_open();
    return outcome;
}

// The simulator sees that the rank has been in here when it is gone.
int MPI_Abort(MPI_Comm comm, int code) {
    conic_abort();
    return PMPI_Abort(comm, code);
}

int MPI_Finalize(void) {
    conic_enter("MPI_Finalize");
    const int outcome = PMPI_Finalize();
    // Beside an open session, MPI keeps MPI_COMM_SELF and what is cached on it.
    if (outcome == MPI_SUCCESS && conic_connected) {
        // The process may leave at once, and a reset of its socket may come before what it says.
        conic_enter("finalized");
        conic_end();
    }
    return outcome;
}
