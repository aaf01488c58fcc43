// Which threads of the process have called MPI, and which of them are in a call that may block: the simulator tells
// waiting from work of the program's own by it.
#include <string.h>

#include "interposer.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ends;
static __thread char *mine;
static __thread bool without;
static __thread bool aborts;

static void give_back(void *slot) { ((char *)slot)[0] = SLOT_FREE; }

static void make_key(void) { pthread_key_create(&ends, give_back); }

static char *slot(void) {
    struct head *head = conic_head();
    if (mine || without || !head) return mine;
    pthread_once(&once, make_key);
    pthread_mutex_lock(&mutex);
    // The last one is of all threads that have none of their own, and never says that they wait.
    for (int n = 0; n < SLOTS - 1 && !mine; ++n)
        if (head->slots[n][0] == SLOT_FREE) mine = head->slots[n];
    without = !mine;
    if (without)
        head->slots[SLOTS - 1][0] = SLOT_OUTSIDE;
    else
        mine[0] = SLOT_OUTSIDE;
    pthread_mutex_unlock(&mutex);
    if (mine) pthread_setspecific(ends, mine);
    return mine;
}

void conic_enter(const char *call) {
    char *at = conic_connected ? slot() : NULL;
    if (!at || aborts) return;
    strncpy(at + 1, call, SLOT_BYTES - 2);
    at[0] = SLOT_INSIDE;
}

void conic_leave(void) {
    if (mine && !aborts) mine[0] = SLOT_OUTSIDE;
}

// Whatever the thread calls from now on, and what MPI calls for it, it is in MPI_Abort.
void conic_abort(void) {
    conic_enter("MPI_Abort");
    aborts = true;
}
