// Room in the segment for operands and results: what is free is handed out again, lowest first, so that the segment is as
// long as what is under way at once.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interposer.h"

struct gap {
    uint64_t at, bytes;
    struct gap *next;  // behind it
};

static struct gap *gaps;
static bool begun;

static uint64_t rounded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

static void fail(const struct link *link, uint64_t bytes) {
    fprintf(stderr, "conic mpiexec: calls under way must be of at most %llu bytes a rank: there is no room for %llu more\n",
            (unsigned long long)link->segment_bytes, (unsigned long long)bytes);
    _exit(1);
}

// Must be called with the link's mutex held, as all here.
uint64_t conic_allocate(struct link *link, uint64_t bytes) {
    if (!begun) {
        gaps = calloc(1, sizeof *gaps);
        *gaps = (struct gap){HEAD_BYTES, link->segment_bytes - HEAD_BYTES, NULL};
        begun = true;
    }
    bytes = rounded(bytes);
    if (!bytes) return HEAD_BYTES;
    struct gap **at = &gaps;
    while (*at && (*at)->bytes < bytes) at = &(*at)->next;
    struct gap *found = *at;
    if (!found) fail(link, bytes);
    const uint64_t place = found->at;
    found->at += bytes;
    found->bytes -= bytes;
    if (!found->bytes) {
        *at = found->next;
        free(found);
    }
    return place;
}

void conic_free(struct link *link, uint64_t place, uint64_t bytes) {
    (void)link;
    bytes = rounded(bytes);
    if (!bytes) return;
    struct gap **at = &gaps, *before = NULL;
    while (*at && (*at)->at < place) {
        before = *at;
        at = &(*at)->next;
    }
    struct gap *behind = *at;
    if (before && before->at + before->bytes == place) {
        before->bytes += bytes;
    } else {
        struct gap *made = malloc(sizeof *made);
        *made = (struct gap){place, bytes, behind};
        *at = before = made;
    }
    if (behind && before->at + before->bytes == behind->at) {
        before->bytes += behind->bytes;
        before->next = behind->next;
        free(behind);
    }
}
