"""Messages between ranks and the simulator, as ``interposer/wire.h`` has them."""

import struct
from enum import IntEnum, IntFlag
from typing import NamedTuple


class RequestKind(IntEnum):
    """Kind of a message of a rank."""

    HELLO = 1
    COMMUNICATOR = 2
    RELEASED = 3
    CALL = 4
    ASK = 5
    CHECKED = 6
    BYE = 7
    JOINED = 8


class AnswerKind(IntEnum):
    """Answer to a call."""

    DONE = 1
    PASSED = 2
    TAKEN = 3


class SlotState(IntEnum):
    """Where a thread is."""

    FREE = 0
    OUTSIDE = 1
    INSIDE = 2


class Collective(IntEnum):
    """Collectives of MPI."""

    ALLREDUCE = 0
    REDUCE = 1
    BCAST = 2
    BARRIER = 3
    ALLGATHER = 4
    REDUCE_SCATTER_BLOCK = 5
    SCATTER = 6
    GATHER = 7
    ALLTOALL = 8
    SCAN = 9
    EXSCAN = 10
    ALLGATHERV = 11
    GATHERV = 12
    SCATTERV = 13
    REDUCE_SCATTER = 14
    ALLTOALLV = 15
    ALLTOALLW = 16
    NEIGHBOUR = 17

    @property
    def mpi_name(self) -> str:
        """As MPI writes it, without its prefix."""
        return _NAMES.get(self, self.name.capitalize())


_NAMES = {Collective.NEIGHBOUR: "Neighbor collectives"}


class Reason(IntEnum):
    """Why a call is MPI's own."""

    OFFLOADED = 0
    USER_OPERATOR = 1
    NOT_IN_REDUCE_UNIT = 2
    INTERCOMMUNICATOR = 3
    ONE_RANK = 4
    NOT_OF_WORLD = 5
    NO_SCHEDULE = 6
    NO_JOB = 7
    INVALID = 8
    NOT_CONNECTED = 9
    UNKNOWN_CONSTRUCTOR = 10


REASONS = {
    Reason.USER_OPERATOR: "an operator of the program's own",
    Reason.NOT_IN_REDUCE_UNIT: "the reduce unit has no such operator of that type",
    Reason.INTERCOMMUNICATOR: "an intercommunicator",
    Reason.ONE_RANK: "a communicator of one rank",
    Reason.NOT_OF_WORLD: "ranks that are not of MPI_COMM_WORLD",
    Reason.NO_SCHEDULE: "the NIC has no schedule for it",
    Reason.NO_JOB: "no JobID is left for it",
    Reason.INVALID: "arguments that MPI refuses",
    Reason.NOT_CONNECTED: "not between MPI_Init and MPI_Finalize of MPI_COMM_WORLD",
    Reason.UNKNOWN_CONSTRUCTOR: "a communicator whose number ranks could not agree on",
}


class Flag(IntFlag):
    """How a call was made."""

    IN_PLACE = 1
    NONBLOCKING = 2
    PERSISTENT = 4


REQUEST = struct.Struct("<IIQQiiIIIIQQQQQd32s24s40s")
ANSWER = struct.Struct("<QIId")
HEAD_BYTES = 8192
"""At the beginning of a segment: what follows."""
PASSED_AT = 0
"""Calls that went to MPI without a question are counted here, by collective and reason."""
SLOTS_AT, SLOTS, SLOT_BYTES = 8 * len(Collective) * len(Reason), 128, 48
"""Threads that have called MPI: the state of each, and the call that it is in."""
DIFFERENCE = struct.Struct("<Q16s16s")


class Request(NamedTuple):
    """A message of a rank; fields as ``struct request``."""

    kind: int
    collective: int
    id: int
    communicator: int
    rank: int
    root: int
    element: int
    op: int
    reason: int
    flags: int
    elements: int
    in_at: int
    in_bytes: int
    out_at: int
    out_bytes: int
    now: float
    type_name: bytes
    op_name: bytes
    communicator_name: bytes


def text(field: bytes) -> str:
    """The characters before the first zero."""
    return field.split(b"\0", 1)[0].decode(errors="replace")


def read_request(message: bytes) -> tuple[Request, bytes]:
    """A request, and what stands behind it."""
    return Request._make(REQUEST.unpack_from(message)), message[REQUEST.size:]
