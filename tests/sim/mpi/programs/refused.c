/* Collectives that MPI refuses, each for each reason, waiting, not waiting and persistent, with errors returned and with a
   handler of the program's own; and a good one after each. A line for each: what the call (or what waits for it) said.

       mpiexec -n N refused */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { FORMS = 3 };
static const char *form_names[FORMS] = {"waits", "does not wait", "persistent"};
static int rank, size, heard, form;
static int a[64], b[64], ones[64], ats[64], bad_counts[64];
static MPI_Comm comm;
static MPI_Datatype uncommitted;

static void handler(MPI_Comm *where, int *error, ...) { (void)where, (void)error, ++heard; }

static int waited(int outcome, MPI_Request *request) {
    if (outcome != MPI_SUCCESS || *request == MPI_REQUEST_NULL) return outcome;
    if (form == 2) outcome = MPI_Start(request);
    if (outcome == MPI_SUCCESS) outcome = MPI_Wait(request, MPI_STATUS_IGNORE);
    if (form == 2) MPI_Request_free(request);
    return outcome;
}

#define CALL(name, lower, ...)                                                                  \
    do {                                                                                        \
        MPI_Request request = MPI_REQUEST_NULL;                                                 \
        if (form == 0) return MPI_##name(__VA_ARGS__);                                          \
        if (form == 1) return waited(MPI_I##lower(__VA_ARGS__, &request), &request);            \
        return waited(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request), &request);       \
    } while (0)

/* What a call differs in from a good one. */
struct call {
    const void *send;
    void *receive;
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
    const int *counts, *at;
};

static int allreduce(struct call c) { CALL(Allreduce, allreduce, c.send, c.receive, c.count, c.type, c.op, comm); }
static int reduce(struct call c) { CALL(Reduce, reduce, c.send, c.receive, c.count, c.type, c.op, c.root, comm); }
static int scan(struct call c) { CALL(Scan, scan, c.send, c.receive, c.count, c.type, c.op, comm); }
static int exscan(struct call c) { CALL(Exscan, exscan, c.send, c.receive, c.count, c.type, c.op, comm); }
static int block(struct call c) {
    CALL(Reduce_scatter_block, reduce_scatter_block, c.send, c.receive, c.count, c.type, c.op, comm);
}
static int parts(struct call c) { CALL(Reduce_scatter, reduce_scatter, c.send, c.receive, c.counts, c.type, c.op, comm); }
static int bcast(struct call c) { CALL(Bcast, bcast, c.receive, c.count, c.type, c.root, comm); }
static int allgather(struct call c) {
    CALL(Allgather, allgather, c.send, c.count, c.type, c.receive, c.count, c.type, comm);
}
static int alltoall(struct call c) { CALL(Alltoall, alltoall, c.send, c.count, c.type, c.receive, c.count, c.type, comm); }
static int gather(struct call c) { CALL(Gather, gather, c.send, c.count, c.type, c.receive, c.count, c.type, c.root, comm); }
static int scatter(struct call c) {
    CALL(Scatter, scatter, c.send, c.count, c.type, c.receive, c.count, c.type, c.root, comm);
}
static int allgatherv(struct call c) {
    CALL(Allgatherv, allgatherv, c.send, c.count, c.type, c.receive, c.counts, c.at, c.type, comm);
}
static int gatherv(struct call c) {
    CALL(Gatherv, gatherv, c.send, c.count, c.type, c.receive, c.counts, c.at, c.type, c.root, comm);
}
static int scatterv(struct call c) {
    CALL(Scatterv, scatterv, c.send, c.counts, c.at, c.type, c.receive, c.count, c.type, c.root, comm);
}

enum { REDUCES = 1, ROOT = 2, COUNTS = 4, PAIRS = 8, FROM_ONE = 16, BROADCAST = 6 };
static const struct {
    const char *name;
    int (*make)(struct call);
    int kind;
} calls[] = {
    {"Allreduce", allreduce, REDUCES}, {"Reduce", reduce, REDUCES | ROOT}, {"Scan", scan, REDUCES},
    {"Exscan", exscan, REDUCES}, {"Reduce_scatter_block", block, REDUCES}, {"Reduce_scatter", parts, REDUCES | COUNTS},
    {"Bcast", bcast, ROOT}, {"Allgather", allgather, 0}, {"Alltoall", alltoall, PAIRS}, {"Gather", gather, ROOT},
    {"Scatter", scatter, ROOT | FROM_ONE}, {"Allgatherv", allgatherv, COUNTS}, {"Gatherv", gatherv, ROOT | COUNTS},
    {"Scatterv", scatterv, ROOT | COUNTS | FROM_ONE},
};

/* Reasons that all ranks have; `none` is a good call. Others than the root would wait for it where only it is refused. */
/* MPICH 5.0.2 itself ends by some of these in reductions, which are left out. */
enum reason { NONE, OPERATOR, NO_OPERATOR, NO_TYPE, NOT_COMMITTED, COUNT, BAD_COUNTS, BIG_ROOT, LOW_ROOT, NO_BUFFER, ALIAS, REASONS };
static const char *reasons[REASONS] = {
    "good", "operator of that type", "no operator", "no type", "type not committed", "count", "counts", "root too large",
    "root below zero", "no buffer", "one buffer for both",
};

static int refused(int which, enum reason reason, struct call *c) {
    const int kind = calls[which].kind;
    *c = (struct call){a, b, 1, size - 1, MPI_INT, MPI_SUM, ones, ats};
    switch (reason) {
    case OPERATOR: c->type = MPI_BYTE; c->op = MPI_MAX; return kind & REDUCES;
    case NO_OPERATOR: c->op = MPI_OP_NULL; return kind & REDUCES;
    case NO_TYPE: c->type = MPI_DATATYPE_NULL; return !(kind & REDUCES); 
    case NOT_COMMITTED: c->type = uncommitted; return !(kind & REDUCES);
    case COUNT: c->count = -1; return !(kind & (COUNTS | REDUCES));
    case BAD_COUNTS: c->counts = bad_counts; return (kind & COUNTS) && !(kind & ROOT);
    case BIG_ROOT: c->root = size; return kind & ROOT;
    case LOW_ROOT: c->root = -7; return kind & ROOT;
    case NO_BUFFER: c->send = c->receive = NULL; return !(kind & ROOT);
    case ALIAS:
        c->send = kind & (REDUCES | PAIRS) ? c->receive : (int *)c->receive + rank;
        if (kind & FROM_ONE) c->send = a, c->receive = a + rank;
        return which != BROADCAST;
    default: return 1;
    }
}

int main(int argc, char **argv) {
    MPI_Errhandler own;
    struct call c;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
    for (int n = 0; n < 64; ++n) ones[n] = 1, ats[n] = n, bad_counts[n] = n == 1 ? -1 : 1;
    for (int which = 0; which < (int)(sizeof calls / sizeof *calls); ++which)
        for (int reason = NONE; reason < REASONS; ++reason)
            for (form = 0; form < FORMS; ++form)
                for (int mine = 0; mine < 2; ++mine) {
                    int class, good;
                    if (!refused(which, reason, &c)) continue;
                    MPI_Comm_set_errhandler(comm, mine ? own : MPI_ERRORS_RETURN);
                    heard = 0;
                    /* Who is not the root has nothing that is refused, and would wait for it. */
                    const int calls_it = reason != ALIAS || !(calls[which].kind & ROOT) || rank == c.root;
                    const int outcome = calls_it ? calls[which].make(c) : MPI_ERR_BUFFER;
                    MPI_Error_class(outcome, &class);
                    const int told = calls_it ? heard : mine;
                    if (!calls_it && mine) class = MPI_SUCCESS;
                    refused(which, NONE, &c);
                    good = calls[which].make(c);
                    printf("%d %s, %s, %s, %s: class %d, heard %d, then %d\n", rank, calls[which].name, reasons[reason],
                           form_names[form], mine ? "own handler" : "errors return", class, told, good);
                }
    MPI_Type_free(&uncommitted);
    MPI_Errhandler_free(&own);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
