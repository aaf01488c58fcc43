// MPI_Wtime in simulated time: that of the answer before, and what the program has computed since.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interposer.h"

static double base, base_used, scale = 1.0, tick;
static bool simulated;

static double used(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void conic_clock_begin(void) {
    const char *frequency = getenv("CONIC_MPI_FREQUENCY"), *factor = getenv("CONIC_MPI_COMPUTE_SCALE");
    simulated = frequency != NULL;
    if (simulated) tick = 1.0 / atof(frequency);
    if (factor) scale = atof(factor);
    base_used = used();
}

double conic_computed(void) { return (used() - base_used) * scale; }

void conic_clock_set(double now) {
    base = now;
    base_used = used();
}

double MPI_Wtime(void) { return simulated && conic_connected ? base + conic_computed() : PMPI_Wtime(); }

double MPI_Wtick(void) { return simulated && conic_connected ? tick : PMPI_Wtick(); }
