"""Programs that are wrong, by name; ranks print their process number first.

    mpiexec -n N python faults.py NAME
"""

import os
import sys
import time

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
LAST = COMM.rank == COMM.size - 1
ONES, SUM = np.ones(4), np.empty(4)


def collective():
    """The last rank calls another collective."""
    if LAST:
        COMM.Reduce(ONES, SUM)
    else:
        COMM.Allreduce(ONES, SUM)


def count():
    """The last rank has fewer elements."""
    n = 3 if LAST else 4
    COMM.Allreduce(ONES[:n], SUM[:n])


def moved():
    """The last rank wants less than the root broadcasts."""
    COMM.Bcast(ONES[: 3 if LAST else 4])


def datatype():
    """The last rank has singles."""
    COMM.Allreduce(ONES.astype("f") if LAST else ONES, SUM.astype("f") if LAST else SUM)


def operator():
    """The last rank wants the maximum."""
    COMM.Allreduce(ONES, SUM, MPI.MAX if LAST else MPI.SUM)


def root():
    """The last rank takes itself for the root."""
    COMM.Bcast(ONES, root=COMM.rank if LAST else 0)


def order():
    """The last rank calls on two communicators in another order."""
    other = COMM.Dup()
    other.Set_name("the other")
    for each in (other, COMM) if LAST else (COMM, other):
        each.Barrier()


def dies():
    """The last rank ends without a word, where all others have called something and say so."""
    COMM.Barrier()
    if LAST:
        for rank in range(COMM.size - 1):
            COMM.recv(source=rank)
        os._exit(0)
    call = COMM.Ibarrier()
    COMM.send("called", dest=COMM.size - 1)
    call.Wait()


def deserts():
    """The last rank ends without a word, where nobody waits for it; the launcher ends the others."""
    COMM.Barrier()
    if LAST:
        os._exit(0)
    time.sleep(60)


def leaves():
    """The last rank is done earlier than the others."""
    if not LAST:
        COMM.Allreduce(ONES, SUM)


def never():
    """The last rank has other things to do."""
    if LAST:
        time.sleep(60)
    COMM.Allreduce(ONES, SUM)


def refused():
    """MPI refuses the last rank's call, and that rank thinks that it has been there."""
    if LAST:
        try:
            COMM.Bcast(ONES, root=COMM.size)
        except MPI.Exception:
            time.sleep(60)
    COMM.Bcast(ONES, root=0)


def receives():
    """The last rank waits for a message that nobody sends."""
    if LAST:
        COMM.recv(source=0)
    COMM.Allreduce(ONES, SUM)


def stranded():
    """Rank 1 waits for a message of the last rank, which has nothing more to do with anybody."""
    pair = COMM.Split(LAST, COMM.rank)
    if COMM.rank == 1:
        COMM.recv(source=COMM.size - 1)
    if not LAST:
        pair.Barrier()


def loops():
    """The last rank works for ever."""
    while LAST:
        pass
    COMM.Allreduce(ONES, SUM)


def slow():
    """Nothing is wrong: rank 1 works, the last rank waits for a message of rank 1, and then all come."""
    if COMM.rank == 1:
        end = time.process_time() + 6  # of its own time: on a busy machine everybody is late
        while time.process_time() < end:
            np.sort(np.arange(1000) % 7)
        COMM.send("done", dest=COMM.size - 1)
    if LAST:
        COMM.recv(source=1)
    COMM.Allreduce(ONES, SUM)


os.write(1, f"{os.getpid()}\n".encode())  # in one piece, beside the others
globals()[sys.argv[1]]()
