/* conic: a minimal driver for bare metal.
 *
 * Needs a C99 compiler, stdint.h and stddef.h; no libc, no allocation, no global state. C++ may include it and link what a
 * C compiler made. It stands on conic_abi.h, which `conic verilog` writes beside it. One conic_port for each virtual port;
 * a port belongs to one thread.
 */
#ifndef CONIC_DRIVER_H
#define CONIC_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "conic_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Orders writes to memory before the doorbell that follows, and reads of a completion after that of its phase. */
#ifndef CONIC_BARRIER
#define CONIC_BARRIER() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/* What functions return: 0, or one of these. */
enum conic_error {
    CONIC_OK = 0,
    CONIC_NOT_A_NIC = -1,   /* id or version of the register map are others */
    CONIC_BAD_ARGUMENT = -2,
    CONIC_FULL = -3,        /* the ring has no room for what has not been fetched; poll for completions first */
    CONIC_EMPTY = -4        /* no completion is there */
};

/* How the processor reaches registers and memory. */
typedef struct conic_platform {
    uint32_t (*read)(void *context, uint32_t address);
    void (*write)(void *context, uint32_t address, uint32_t value);
    void (*idle)(void *context);      /* called while conic_wait waits; may be NULL */
    void *context;                    /* passed to all three */
    volatile unsigned char *memory;   /* memory that processor and NIC share, uncached or coherent; a multiple of 128 */
    uint64_t bus;                     /* its address as the NIC sees it */
} conic_platform;

/* One virtual port. Its members belong to the driver. */
typedef struct conic_port {
    const conic_platform *platform;
    uint32_t vp;
    uint32_t dq, cq;                  /* offsets of the rings in memory */
    uint32_t dq_log2, cq_log2;
    uint32_t produced, fetched, consumed;
    uint32_t pulse_bytes;             /* a pulse of a collective; the mtu after conic_open */
} conic_port;

/* An allreduce by recursive doubling. All nodes have the same VP and call it with the same values, but for the offsets. */
typedef struct conic_allreduce_request {
    uint32_t rank, n_ranks;           /* n_ranks is a power of two, at least 2; rank r is at NodeID r */
    uint32_t job_id;
    uint32_t length;                  /* bytes */
    enum conic_datatype datatype;
    enum conic_operator op;
    uint32_t operand, result;         /* offsets in memory, multiples of a flit, inside of the port's window */
} conic_allreduce_request;

typedef struct conic_result {
    uint32_t status, kind, job_id, bytes, tag;
    uint64_t detail, timestamp;
} conic_result;

/* Registers at `base`, for a platform without an operating system: context is the address of register 0. */
uint32_t conic_mmio_read(void *base, uint32_t address);
void conic_mmio_write(void *base, uint32_t address, uint32_t value);

/* Checks that a NIC is there, gives it its NodeID, lets it fetch descriptors and raise its interrupt. */
int conic_start(const conic_platform *platform, uint32_t node_id);

/* Sets the key of the nonces by which the NIC knows the answers to its point-to-point operations. Call it before
 * conic_start with 64 bits that nobody can guess, anew after each reset; with the key 0 of a reset others can compute the
 * nonces. Bare metal has no source of randomness of its own, so the platform draws the key. */
void conic_set_answer_key(const conic_platform *platform, uint64_t key);

/* Enables a port. Rings stand at offset `rings`, a multiple of 128, and take conic_ring_bytes(); memory from offset
 * `window` on, `window_bytes` long, is what its operations may read and write. */
int conic_open(conic_port *port, const conic_platform *platform, uint32_t vp, uint32_t dq_log2, uint32_t cq_log2,
               uint32_t rings, uint32_t window, uint32_t window_bytes);
uint32_t conic_ring_bytes(uint32_t dq_log2, uint32_t cq_log2);

/* Puts a whole unit into the ring: a point-to-point descriptor, or a sequence from CH to CT. The driver sets source_vp
 * and tag. CONIC_FULL if that would overwrite descriptors that may not have been fetched; nothing is written then. */
int conic_post(conic_port *port, conic_descriptor *unit, uint32_t n_descriptors);

/* Rings the doorbell for everything that has been posted. */
void conic_ring(conic_port *port);

/* Posts an allreduce, and rings. */
int conic_allreduce(conic_port *port, const conic_allreduce_request *request);

/* The next completion: CONIC_OK or CONIC_EMPTY. conic_wait polls at most `attempts` times. */
int conic_poll(conic_port *port, conic_result *result);
int conic_wait(conic_port *port, conic_result *result, uint32_t attempts);

/* For an interrupt handler: nonzero if something was written since the last call; lowers the line. Poll after it. */
int conic_interrupt(const conic_platform *platform);

#ifdef __cplusplus
}
#endif

#endif
