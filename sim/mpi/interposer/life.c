// Begin and end of MPI.
#include <stdlib.h>

#include "interposer.h"

static int begin(int outcome) {
    MPI_Comm parent;
    conic_checks = getenv("CONIC_MPI_CHECK") != NULL;
    if (outcome != MPI_SUCCESS || !getenv("CONIC_MPI_SOCKET")) return outcome;
    // A spawned process has a world of its own, in which there are no NICs.
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return outcome;
    conic_connected = true;
    conic_clock_begin();
    conic_link();
    conic_communicator(MPI_COMM_WORLD);
    return outcome;
}

int MPI_Init(int *count, char ***values) { return begin(PMPI_Init(count, values)); }

int MPI_Init_thread(int *count, char ***values, int required, int *provided) {
    return begin(PMPI_Init_thread(count, values, required, provided));
}

int MPI_Finalize(void) {
    struct link *link = conic_link();
    if (link) {
        struct request bye = {.kind = REQUEST_BYE};
        conic_say_counts(link);
        conic_say(link, &bye, NULL, 0);
        conic_enter("MPI_Finalize");
        conic_connected = false;
    }
    return PMPI_Finalize();
}
