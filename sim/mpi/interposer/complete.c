// Waiting for requests, and testing them. MPI knows nothing of the operations of the NICs: while any of them is under way,
// waiting is testing, and taking the simulator's answers in between.
#include <stdlib.h>

#include "interposer.h"

enum { PATIENCE_US = 50 };

// Requests of operations under way in place of what the program holds of persistent ones.
struct exchange {
    int count;
    struct persistent *few[16], **found;
};

static bool begin(struct exchange *exchange, int count, MPI_Request requests[]) {
    if (count <= 0 || !requests || !conic_any_persistent()) return false;
    exchange->count = count;
    exchange->found = count > 16 ? malloc((size_t)count * sizeof *exchange->found) : exchange->few;
    for (int n = 0; n < count; ++n) exchange->found[n] = conic_exchange(&requests[n]);
    return true;
}

static int end(struct exchange *exchange, MPI_Request requests[], int outcome) {
    for (int n = 0; n < exchange->count; ++n)
        if (exchange->found[n]) conic_exchange_back(exchange->found[n], &requests[n]);
    if (exchange->found != exchange->few) free(exchange->found);
    return outcome;
}

// Whether all of these are complete; what is wrong with them MPI_Waitall says.
static bool all_done(int count, const MPI_Request requests[]) {
    int flag = 1;
    for (int n = 0; n < count && flag; ++n)
        if (PMPI_Request_get_status(requests[n], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) return true;
    return flag;
}

// Waits by `tests`, which does what PMPI_`name` does if it sets `flag`.
#define WAITS(name, parameters, count, requests, values, tests)                  \
    int MPI_##name parameters {                                                  \
        struct exchange exchange;                                                \
        int outcome = MPI_SUCCESS, flag = 0;                                     \
        conic_enter("MPI_" #name);                                               \
        const bool any = begin(&exchange, count, requests);                      \
        conic_clock_stop();                                                      \
        while (!flag && outcome == MPI_SUCCESS && conic_under_way()) {           \
            outcome = tests;                                                     \
            if (!flag && outcome == MPI_SUCCESS) conic_progress(PATIENCE_US);    \
        }                                                                        \
        conic_clock_go();                                                        \
        if (!flag && outcome == MPI_SUCCESS) outcome = PMPI_##name values;       \
        conic_leave();                                                           \
        return any ? end(&exchange, requests, outcome) : outcome;                \
    }

// MPICH's own one takes errors from requests that are not complete.
static int test_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    return all_done(count, requests) ? PMPI_Testall(count, requests, flag, statuses) : MPI_SUCCESS;
}

static int test_some(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[], int *flag) {
    const int outcome = PMPI_Testsome(count, requests, done, indices, statuses);
    *flag = outcome == MPI_SUCCESS && *done != 0;
    return outcome;
}
#define TESTS(name, parameters, count, requests, values)                         \
    int MPI_##name parameters {                                                  \
        struct exchange exchange;                                                \
        conic_enter("MPI_" #name);                                               \
        conic_progress(PATIENCE_US);                                             \
        const bool any = begin(&exchange, count, requests);                      \
        const int outcome = PMPI_##name values;                                  \
        conic_leave();                                                           \
        return any ? end(&exchange, requests, outcome) : outcome;                \
    }

WAITS(Wait, (MPI_Request *request, MPI_Status *status), 1, request, (request, status),
      PMPI_Test(request, &flag, status))
WAITS(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), count, requests, (count, requests, statuses),
      test_all(count, requests, &flag, statuses))
WAITS(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status), count, requests,
      (count, requests, index, status), PMPI_Testany(count, requests, index, &flag, status))
WAITS(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]), count, requests,
      (count, requests, done, indices, statuses), test_some(count, requests, done, indices, statuses, &flag))
TESTS(Test, (MPI_Request *request, int *flag, MPI_Status *status), 1, request, (request, flag, status))
int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    struct exchange exchange;
    conic_enter("MPI_Testall");
    conic_progress(PATIENCE_US);
    const bool any = begin(&exchange, count, requests);
    if (flag) *flag = 0;
    const int outcome = flag && conic_under_way() ? test_all(count, requests, flag, statuses)
                                          : PMPI_Testall(count, requests, flag, statuses);
    conic_leave();
    return any ? end(&exchange, requests, outcome) : outcome;
}

TESTS(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status), count, requests,
      (count, requests, index, flag, status))
TESTS(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]), count, requests,
      (count, requests, done, indices, statuses))
// These leave requests as they are.
TESTS(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), 1, &request, (request, flag, status))
#define KEPT (MPI_Request *)requests
TESTS(Request_get_status_all, (int count, const MPI_Request requests[], int *flag, MPI_Status statuses[]), count, KEPT,
      (count, requests, flag, statuses))
TESTS(Request_get_status_any, (int count, const MPI_Request requests[], int *index, int *flag, MPI_Status *status),
      count, KEPT, (count, requests, index, flag, status))
TESTS(Request_get_status_some, (int count, const MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
      count, KEPT, (count, requests, done, indices, statuses))
