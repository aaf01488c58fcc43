// Programs of another MPI: their handles are not MPICH's, and nothing that they say would be understood.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interposer.h"

// Libraries whose handles are others; what MPICH and those of its ABI are called ends in 12.
static const struct { const char *begins, *but, *mpi; } others[] = {
    {"libmpi.so.", "libmpi.so.12", "Open MPI"},
    {"libopen-pal.so", NULL, "Open MPI"},
    {"libmpich.so.", "libmpich.so.12", "an old MPICH"},
    {"libmpi_abi.so", NULL, "the ABI of MPI 5, compiled by mpicc_abi"},
    {"libmpi_mpifh.so", NULL, "Open MPI"},
};

struct finding {
    char name[80];
    const char *mpi;
};

static int look(struct dl_phdr_info *info, size_t size, void *found_) {
    struct finding *found = found_;
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    for (size_t n = 0; n < sizeof others / sizeof *others; ++n) {
        if (strncmp(name, others[n].begins, strlen(others[n].begins))) continue;
        if (others[n].but && !strncmp(name, others[n].but, strlen(others[n].but))) continue;
        snprintf(found->name, sizeof found->name, "%s", name);
        found->mpi = others[n].mpi;
        return 1;
    }
    return 0;
}

// Ends a program that has such a library: when it is loaded, and again when MPI begins, for it may have come later.
void conic_refuse_foreign(void) {
    struct finding found = {.mpi = NULL};
    const char *rank = getenv("PMI_RANK");
    if (!getenv("CONIC_MPI_SOCKET")) return;
    dl_iterate_phdr(look, &found);
    if (!found.mpi) return;
    if (!rank || !strcmp(rank, "0"))
        fprintf(stderr, "conic mpiexec: %s is linked with %s (%s): it must be linked with MPICH, or with another MPI of "
                "its ABI (libmpi.so.12, libmpich.so.12), as mpicc beside conic does\n",
                program_invocation_name, found.name, found.mpi);
    _exit(1);
}

__attribute__((constructor)) static void loaded(void) { conic_refuse_foreign(); }
