// What a rank and the simulator say to each other: one message each way for a call. `sim/mpi/wire.py` reads the same.
//
// Operands and results lie in a segment of memory that both have mapped. A rank makes it without a name and sends it
// with its first message, and the socket's name is in no file system, so a crash leaves neither behind.
#pragma once

#include <stdint.h>

enum request_kind {
    REQUEST_HELLO = 1,         // first message of a process; carries the segment
    REQUEST_COMMUNICATOR = 2,  // a communicator and, behind the message, its ranks of MPI_COMM_WORLD
    REQUEST_RELEASED = 3,      // that communicator is free
    REQUEST_CALL = 4,          // a collective; answered
    REQUEST_ASK = 5,           // whether the NICs take a persistent collective; answered
    REQUEST_CHECKED = 6,       // `count` elements compared with MPI's own, `id` of which differ
    REQUEST_BYE = 7,           // MPI_Finalize
    REQUEST_JOINED = 8,        // MPI_Init: from now on the process is a rank that others may wait for
};

enum answer_kind {
    ANSWER_DONE = 1,    // the result is in the segment
    ANSWER_PASSED = 2,  // MPI shall do it, for `reason`; every rank gets this answer as soon as it calls
    ANSWER_TAKEN = 3,   // the NICs will do it: comes at once, where the caller does not wait for the result
};

enum collective {
    ALLREDUCE, REDUCE, BCAST, BARRIER, ALLGATHER, REDUCE_SCATTER_BLOCK, SCATTER, GATHER, ALLTOALL, SCAN, EXSCAN,
    ALLGATHERV, GATHERV, SCATTERV, REDUCE_SCATTER, ALLTOALLV, ALLTOALLW, NEIGHBOUR,
};

// Element types, those together that lie alike in memory and are computed with alike. `sim/mpi/element.py` has the same.
enum element {
    FLOAT64, FLOAT32, COMPLEX128, COMPLEX64, INT64, UINT64, INT32, UINT32, INT16, UINT16, INT8, UINT8, BYTE, BOOL,
    DOUBLE_INT, FLOAT_INT, TWO_INT,
};

enum operator_ { SUM, MIN, MAX, PROD, AND, OR, XOR, MINLOC, MAXLOC, LAND, LOR, LXOR };

enum reason {
    OFFLOADED,
    USER_OPERATOR,        // an operator of the program
    NOT_IN_REDUCE_UNIT,   // operator or element type
    INTERCOMMUNICATOR,
    ONE_RANK,
    NOT_OF_WORLD,         // ranks that MPI_COMM_WORLD does not have
    NO_SCHEDULE,
    NO_JOB,               // all JobIDs are in use
    INVALID,              // arguments that MPI refuses
    NOT_CONNECTED,        // before MPI_Init, after MPI_Finalize, or of a session
    UNKNOWN_CONSTRUCTOR,  // a communicator whose number ranks could not agree on
};

// The beginning of a segment, which the simulator reads whenever it likes: also when the process has been killed.
enum { COLLECTIVES = NEIGHBOUR + 1, REASONS = UNKNOWN_CONSTRUCTOR + 1, SLOTS = 128, SLOT_BYTES = 48, HEAD_BYTES = 8192 };

enum slot_state { SLOT_FREE, SLOT_OUTSIDE, SLOT_INSIDE };

struct head {
    uint64_t passed[COLLECTIVES][REASONS];  // calls that went to MPI without a question
    // Of each thread that has called MPI: its state, and the name of the call that it is in, if that may block.
    char slots[SLOTS][SLOT_BYTES];
};

enum { IN_PLACE = 1, NONBLOCKING = 2, PERSISTENT = 4 };

struct request {
    uint32_t kind, collective;
    uint64_t id;
    uint64_t communicator;
    int32_t rank, root;
    uint32_t element, op, reason, flags;
    uint64_t count;
    uint64_t in_at, in_bytes, out_at, out_bytes;
    double now;  // simulated time of this rank, in seconds
    char type_name[32], op_name[24], communicator_name[40];
};

struct answer {
    uint64_t id;
    uint32_t kind, reason;
    double now;  // simulated time at which it was over for this rank
};
