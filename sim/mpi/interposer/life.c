// Begin and end of MPI.
#include <stdlib.h>

#include "interposer.h"

static int begin(int outcome) {
    MPI_Comm parent;
    if (outcome != MPI_SUCCESS || !getenv("CONIC_MPI_SOCKET")) return outcome;
    // A spawned process has a world of its own, in which there are no NICs.
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return outcome;
    conic_checks = getenv("CONIC_MPI_CHECK") != NULL;
    conic_open();
    conic_connected = true;
    const struct request joined = {.kind = REQUEST_JOINED};
    conic_say(conic_link(), &joined, NULL, 0);
    conic_clock_begin();
    // The simulator knows of this thread from now on.
    conic_enter("MPI_Init");
    conic_leave();
    conic_number(MPI_COMM_WORLD, 1, "MPI_COMM_WORLD");
    conic_number(MPI_COMM_SELF, 2, "MPI_COMM_SELF");
    return outcome;
}

int MPI_Init(int *count, char ***values) { return begin(PMPI_Init(count, values)); }

int MPI_Init_thread(int *count, char ***values, int required, int *provided) {
    return begin(PMPI_Init_thread(count, values, required, provided));
}

// What is called on communicators of a session is counted, and left to MPI.
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
    const int outcome = PMPI_Session_init(info, handler, session);
    if (outcome == MPI_SUCCESS) conic_open();
    return outcome;
}

// The simulator sees that the rank has been in here when it is gone.
int MPI_Abort(MPI_Comm comm, int code) {
    conic_enter("MPI_Abort");
    return PMPI_Abort(comm, code);
}

int MPI_Finalize(void) {
    struct link *link = conic_link();
    if (link) {
        struct request bye = {.kind = REQUEST_BYE};
        conic_say(link, &bye, NULL, 0);
        conic_enter("MPI_Finalize");
        conic_connected = false;
    }
    return PMPI_Finalize();
}
