"""Encodings of the enumerated fields: descriptors, packets, completions."""

from enum import IntEnum


class Kind(IntEnum):
    """How a descriptor carries its data (paper, section 1.1)."""

    MP = 0
    """Mini packet: the operand stands in the descriptor."""
    RDMA = 1
    """The descriptor carries the operand's address and length."""


class P2pOp(IntEnum):
    """Operation of a point-to-point descriptor (C = 0)."""

    SEND = 0
    """Mini packet into the receive queue of the destination VP."""
    PUT = 1
    """Write local memory to remote memory."""
    GET = 2
    """Read remote memory into local memory."""


class Operand(IntEnum):
    """Where a collective descriptor takes its local operand from."""

    NONE = 0
    """No local operand: the first packet replaces whatever the context holds."""
    PAYLOAD = 1
    """The payload of the descriptor (MP)."""
    MEMORY = 2
    """Host memory at local_addr (RDMA)."""
    INTERMEDIATE = 3
    """The intermediate result that the descriptor before left in the context."""


class Datatype(IntEnum):
    """Element type of a reduction."""

    FLOAT64 = 0
    INT64 = 1
    UINT64 = 2
    FLOAT32 = 3
    INT32 = 4
    DOUBLE_INT = 5
    """A double and an index, 16 bytes, for MINLOC and MAXLOC."""
    BYTE = 6
    """Opaque bytes: moved, never computed with."""


class Operator(IntEnum):
    """Reduction operator."""

    SUM = 0
    MIN = 1
    MAX = 2
    PROD = 3
    AND = 4
    OR = 5
    XOR = 6
    MINLOC = 7
    MAXLOC = 8


class PacketType(IntEnum):
    """Type of a network packet."""

    COLLECTIVE = 0
    """Operand or control packet of a collective; kept in the packet buffer until consumed."""
    CREDIT = 1
    """Returns end-to-end credits of consumed collective packets. Virtual channel 1."""
    SEND = 2
    """Mini packet for a receive queue."""
    PUT = 3
    """A fragment to be written to remote memory."""
    GET = 4
    """Asks for remote memory: as many bytes as `pulse` says."""
    GET_DATA = 5
    """Answers GET: a fragment, or a status other than OK and no data. Virtual channel 1."""
    ACK = 6
    """Answers SEND and PUT, with a status. Virtual channel 1."""


class Right(IntEnum):
    """Rights to memory: numbers of the bits of vp_window_rights."""

    LOCAL_READ = 0
    """Operands of the VP's own descriptors: what PUT and collectives send."""
    LOCAL_WRITE = 1
    """Results of the VP's own descriptors: what collectives write back, and where the data of a GET go."""
    REMOTE_READ = 2
    """GET of others."""
    REMOTE_WRITE = 3
    """PUT of others, and addresses that their collective packets bring (SwapRemoteAddr)."""


class FaultMemory(IntEnum):
    """Which memory of a packet buffer the register buffer_fault spoils; 0 none."""

    TAG = 1
    HEADER = 2
    PAYLOAD = 3


class CplKind(IntEnum):
    """Kind of operation that a completion ends."""

    COLLECTIVE = 0
    SEND = 1
    PUT = 2
    GET = 3
    DESCRIPTOR = 4
    """A descriptor that could not be understood."""


class Status(IntEnum):
    """How an operation ended. Everything but OK is an error."""

    OK = 0
    """Done; results are in place."""
    BAD_DESCRIPTOR = 1
    """Reserved bits set, or an encoding or combination that means nothing."""
    BAD_SEQUENCE = 2
    """No CH where a sequence begins, CH or another job inside one, no CT before the doorbell's end, or too long."""
    BAD_ADDRESS = 3
    """A local address outside of the VP's memory windows, without the right, or not aligned to a flit."""
    BAD_LENGTH = 4
    """A length that the kind of descriptor does not allow."""
    UNSUPPORTED = 5
    """A datatype, operator or operation that this build does not have."""
    MEMORY_ERROR = 6
    """The host memory answered a read or write with an error."""
    REMOTE_ACCESS = 7
    """The remote address lies outside of the destination VP's memory windows, or lacks the right, or is not aligned."""
    RECEIVER_NOT_READY = 8
    """The destination VP is not enabled, or its receive queue is full."""
    LENGTH_MISMATCH = 9
    """A collective packet had another length than the slice that consumed it."""
    TIMEOUT = 10
    """The watchdog ended an operation that waited too long for a packet or an answer."""
    BUFFER_ERROR = 11
    """The packet buffer's memory has damaged a packet of the operation, or its tag, beyond correction."""
    NO_PLACE = 12
    """Its offload unit, or the point-to-point block, had no room for it for `retry_limit` cycles."""
    PEER_ERROR = 13
    """A participant that sent a packet of the operation had an error: what it sent may be wrong."""
    JOB_CLOSED = 14
    """Its host has closed the job, before or while the operation was in progress."""
    BAD_TERMS = 15
    """A participant that sent it a packet carries out another operation: another collective, root, length, ..."""


class JobOrderKind(IntEnum):
    """Order from software to the job table about one JobID."""

    LOOK = 0
    """How it stands."""
    CLOSE = 1
    """Its sequences end in JOB_CLOSED, and its packets are dropped, until it is opened."""
    OPEN = 2
    """It works as new, if nothing of it is left here; else it stays closed."""
    REFUSE = 3
    """As closed, and no packet of it is let in, if nothing of it is left here; until it is opened."""
    WRITE_OFF = 4
    """Credits that peers hold of a closed job are lost, and its packets are: it is at rest."""


class UnitState(IntEnum):
    """Activity of an offload unit in a cycle, or cause of its waiting."""

    NOTHING = 0
    """It has nothing to do."""
    WORKING = 1
    """A beat passes: into the reduce unit, or into a packet that is sent as it lies on chip."""
    PACKET = 2
    """A packet has not come, or not yet all of it."""
    OPERAND = 3
    """An operand has not come from host memory."""
    CREDIT = 4
    """A packet may not leave for want of a credit."""
    OUTPUT = 5
    """A beat is there, and the network or host memory does not take it."""
    TRIGGER = 6
    """The next step is being decided, or a pass's results are on their way through the unit."""


class TraceKind(IntEnum):
    """Events on the trace port of an offload unit."""

    OPERATION_START = 0
    """A sequence was committed; index is its number of descriptors."""
    PULSE_START = 1
    """A pulse got a context; index is the context."""
    FIRE = 2
    """A descriptor triggered and began to execute; index is its position in the sequence."""
    RETIRE = 3
    """That descriptor is done."""
    PULSE_END = 4
    """The pulse passed through the whole sequence; index is the context."""
    OPERATION_END = 5
    """The completion was posted; index is its status."""
