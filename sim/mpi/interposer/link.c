// The connection of a process to the simulator: a socket, and a segment of memory that both have.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "interposer.h"

bool conic_connected, conic_checks;
static struct link mine;
static bool is_open;

static void fail(const char *what) {
    fprintf(stderr, "conic mpiexec: rank %s: %s: %s\n", getenv("PMI_RANK"), what, strerror(errno));
    _exit(1);
}

// The simulator has ended this program and has said why: there is nothing to add.
static void end(void) { _exit(1); }

static int make_segment(struct link *link) {
    const char *wanted = getenv("CONIC_MPI_SEGMENT");
    // Address space only: pages are there once they are touched.
    link->segment_bytes = wanted ? strtoull(wanted, NULL, 10) : UINT64_C(1) << 34;
    const int memory = memfd_create("conic", MFD_CLOEXEC);
    if (memory < 0) fail("no shared memory (limit of open files, ulimit -n)");
    if (ftruncate(memory, (off_t)link->segment_bytes)) fail("no shared memory");
    link->segment = mmap(NULL, link->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    if (link->segment == MAP_FAILED) fail("no address space for the segment (limit of address space, ulimit -v)");
    return memory;
}

// Once for each process, by MPI_Init or by MPI_Session_init.
void conic_open(void) {
    const char *name = getenv("CONIC_MPI_SOCKET"), *rank = getenv("PMI_RANK");
    if (is_open || !name) return;
    struct link *link = &mine;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(name);
    if (length + 1 > sizeof address.sun_path) fail("no connection");
    memcpy(address.sun_path + 1, name, length);
    link->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (link->socket < 0) fail("no socket (limit of open files, ulimit -n)");
    if (connect(link->socket, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + length))
        fail("the simulator does not answer");
    const int memory = make_segment(link);
    struct request hello = {.kind = REQUEST_HELLO, .rank = rank ? atoi(rank) : 0, .count = (uint64_t)getpid(),
                            .in_bytes = link->segment_bytes};
    struct iovec part = {&hello, sizeof hello};
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &memory, sizeof memory);
    if (sendmsg(link->socket, &message, MSG_NOSIGNAL) < 0) end();
    close(memory);
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&link->mutex, &kind);
    pthread_cond_init(&link->heard, NULL);
    is_open = true;
}

// None before MPI_Init and after MPI_Finalize.
struct link *conic_link(void) { return conic_connected ? &mine : NULL; }

// What the simulator reads of this process; none if it knows nothing of the process.
struct head *conic_head(void) { return is_open ? (struct head *)mine.segment : NULL; }

void conic_count(enum collective collective, enum reason reason) {
    struct head *head = conic_head();
    if (head) __atomic_fetch_add(&head->passed[collective][reason], 1, __ATOMIC_RELAXED);
}

void conic_say(struct link *link, const struct request *request, const void *more, size_t more_bytes) {
    struct iovec parts[2] = {{(void *)request, sizeof *request}, {(void *)more, more_bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = more_bytes ? 2 : 1};
    ssize_t said;
    do said = sendmsg(link->socket, &message, MSG_NOSIGNAL);
    while (said < 0 && errno == EINTR);
    if (said < 0) end();
}

// Takes an answer; waits for so many microseconds, or for ever if fewer than none.
bool conic_hear(struct link *link, struct answer *answer, int wait_us) {
    if (wait_us >= 0) {
        struct pollfd wanted = {.fd = link->socket, .events = POLLIN};
        const struct timespec time = {.tv_nsec = wait_us * 1000L};
        if (ppoll(&wanted, 1, &time, NULL) <= 0) return false;
    }
    ssize_t got;
    do got = recv(link->socket, answer, sizeof *answer, 0);
    while (got < 0 && errno == EINTR);
    if (got != sizeof *answer) end();
    return true;
}
