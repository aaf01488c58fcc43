// The connection to the simulator: a socket, and a segment of memory that both have.
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

// Address space only: pages are there once they are touched.
static const uint64_t segment_bytes = UINT64_C(1) << 34;
bool conic_connected, conic_checks;
static __thread struct link *mine;

static void fail(const char *what) {
    fprintf(stderr, "conic mpiexec: %s: %s\n", what, strerror(errno));
    _exit(1);
}

// The simulator has ended this program and has said why: there is nothing to add.
static void end(void) { _exit(1); }

static struct link *connect_thread(const char *name) {
    struct link *link = calloc(1, sizeof *link);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(name);
    if (!link || length + 1 > sizeof address.sun_path) fail("no connection");
    memcpy(address.sun_path + 1, name, length);
    link->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (link->socket < 0 ||
        connect(link->socket, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + length))
        fail("the simulator does not answer");
    const int memory = memfd_create("conic", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, (off_t)segment_bytes)) fail("no shared memory");
    link->segment = mmap(NULL, segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    if (link->segment == MAP_FAILED) fail("no shared memory");

    struct request hello = {.kind = REQUEST_HELLO};
    PMPI_Comm_rank(MPI_COMM_WORLD, &hello.rank);
    hello.count = (uint64_t)getpid();
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
    return link;
}

struct link *conic_link(void) {
    if (!conic_connected) return NULL;
    if (!mine) mine = connect_thread(getenv("CONIC_MPI_SOCKET"));
    return mine;
}

void conic_say(struct link *link, const struct request *request, const void *more, size_t more_bytes) {
    struct iovec parts[2] = {{(void *)request, sizeof *request}, {(void *)more, more_bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = more_bytes ? 2 : 1};
    if (sendmsg(link->socket, &message, MSG_NOSIGNAL) < 0) end();
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

uint64_t conic_allocate(struct link *link, uint64_t bytes) {
    if (!link->outstanding) link->used = HEAD_BYTES;
    const uint64_t at = link->used;
    link->used += (bytes + 63) / 64 * 64;
    if (link->used > segment_bytes) {
        fprintf(stderr, "conic mpiexec: calls under way must be of at most %llu bytes a rank, not %llu\n",
                (unsigned long long)segment_bytes, (unsigned long long)link->used);
        _exit(1);
    }
    return at;
}

// The thread is in a call of MPI's that may block: the simulator tells that from work of the program's own.
void conic_enter(const char *call) {
    if (conic_connected && mine) strncpy(mine->segment, call, HEAD_BYTES - 1);
}

void conic_leave(void) {
    if (mine) mine->segment[0] = 0;
}
