// MPI_Wtime in simulated time: what the simulator said last, and what the process has computed since. The interposer's
// own work is left out.
#include <stdlib.h>
#include <time.h>

#include "interposer.h"

static double base, begun, scale = 1.0, tick;
static int depth;
static bool simulated;

static double used(void) {
    struct timespec now;
    if (!simulated) return 0.0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void conic_clock_begin(void) {
    const char *frequency = getenv("CONIC_MPI_FREQUENCY"), *factor = getenv("CONIC_MPI_COMPUTE_SCALE");
    simulated = frequency != NULL;
    if (simulated) tick = 1.0 / atof(frequency);
    if (factor) scale = atof(factor);
    begun = used();
}

double conic_now(void) { return depth ? base : base + (used() - begun) * scale; }

// From here to the matching conic_clock_go, time passes only by answers.
void conic_clock_stop(void) {
    if (!depth) base = conic_now();
    ++depth;
}

void conic_clock_go(void) {
    if (!--depth) begun = used();
}

// Something was over at that time.
void conic_clock_set(double now) {
    if (now > base) base = now;
}

double MPI_Wtime(void) { return simulated && conic_connected ? conic_now() : PMPI_Wtime(); }

double MPI_Wtick(void) { return simulated && conic_connected ? tick : PMPI_Wtick(); }
