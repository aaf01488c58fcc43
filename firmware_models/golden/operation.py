"""Operations of the executor: decoded sequences, and the pulses in progress."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

from firmware_models.abi.formats import DESCRIPTOR, FIRST_MLID, PULSE_BITS

from .arithmetic import dtype_of
from .datapath import Bytes
from .fault import ExecutionError


@dataclass(slots=True, eq=False)
class Operation:
    """One sequence of one node, and how far it has come."""

    node: int
    job_id: int
    descriptors: list[SimpleNamespace]
    base_pulse: int = 0
    started: int = 0
    """Pulses that have been given a context."""
    active: "dict[int, Context]" = field(default_factory=dict)
    """Pulses in progress, the oldest first."""
    blocked: "list[Context]" = field(default_factory=list)
    """Pulses that lack a credit."""

    @property
    def head(self) -> SimpleNamespace:
        """The descriptor that speaks for the whole message."""
        return self.descriptors[0]

    @property
    def n_pulses(self) -> int:
        """Pulses of the message; one if it is empty."""
        return int(max(1, -(-self.block_bytes // self.head.pulse_bytes)))

    @property
    def block_count(self) -> int:
        """Blocks of the message."""
        return int(max(1, self.head.block_count))

    @property
    def block_bytes(self) -> int:
        """Bytes of a block, but for the last ones, which may be shorter or empty."""
        head = self.head
        size = dtype_of(head.datatype).itemsize
        return int(-(-head.length // size // self.block_count) * size)


@dataclass(slots=True, eq=False)
class Context:
    """One pulse on its way through the sequence."""

    operation: Operation
    pulse: int
    """As keys bear it: modulo 2**16 and counted through all operations of the job."""
    offset: int
    """Of the pulse in every block."""
    data: Bytes
    """The intermediate result: what the pulse takes of each block, one after the other."""
    cuts: list[int]
    """Where each block begins in `data`; then the end, twice, for the empty block behind the last."""
    position: int = 0
    consumed: int = 0
    begun: bool = False
    """The current descriptor has its operand."""
    middle: bool = False
    """The current descriptor has consumed a packet."""

    @property
    def blocks(self) -> range:
        """Blocks that the descriptor works on."""
        desc = self.descriptor
        return range(desc.slice_first, desc.slice_first + (desc.slice_count or self.operation.block_count))

    @property
    def part(self) -> slice:
        """Where these blocks lie in `data`."""
        blocks = self.blocks
        return slice(self.cuts[blocks.start], self.cuts[blocks.stop])

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Offset in the message, and size, of each piece of the slice that is not empty."""
        for block in self.blocks:
            size = self.cuts[block + 1] - self.cuts[block]
            if size:
                yield block * self.operation.block_bytes + self.offset, size

    @property
    def descriptor(self) -> SimpleNamespace:
        """The descriptor that is to be executed."""
        found: SimpleNamespace = self.operation.descriptors[self.position]
        return found


def decode(node: int, ring: bytes) -> dict[int, deque[Operation]]:
    """The operations of a ring's descriptors, by job, in order.

    Raises
    ------
    ExecutionError
        If the bytes are no whole sequences, or a descriptor is none that the model executes.
    """
    size = DESCRIPTOR.bytes
    if len(ring) % size:
        raise ExecutionError(f"descriptors of node {node} must be a multiple of {size} bytes, not {len(ring)}")
    operations: dict[int, deque[Operation]] = {}
    base_pulses: dict[int, int] = {}
    sequence: list[SimpleNamespace] = []
    for place in range(0, len(ring), size):
        fields = DESCRIPTOR.unpack(ring[place : place + size])
        name = f"descriptor {place // size} of node {node}"
        _check(name, fields)
        desc = SimpleNamespace(**fields)
        if bool(desc.ch) != (not sequence):
            raise ExecutionError(f"{name}: CH must be set on the first descriptor of a sequence and on no other")
        sequence.append(desc)
        if sequence[0].block_count != desc.block_count or sequence[0].length != desc.length:
            raise ExecutionError(f"{name}: length and block_count must be those of its sequence")
        if sequence[0].job_id != desc.job_id:
            raise ExecutionError(f"{name}: job_id must be {sequence[0].job_id} as in its sequence, not {desc.job_id}")
        if desc.ct:
            base = base_pulses.get(desc.job_id, 0)
            operation = Operation(node, desc.job_id, sequence, base)
            operations.setdefault(desc.job_id, deque()).append(operation)
            base_pulses[desc.job_id] = (base + operation.n_pulses) % (1 << PULSE_BITS)
            sequence = []
    if sequence:
        raise ExecutionError(f"descriptors of node {node} end within a sequence: no CT")
    return operations


def _check(name: str, fields: dict[str, int]) -> None:
    for field_ in DESCRIPTOR.fields:
        value = fields[field_.name]
        if field_.is_reserved and value:
            raise ExecutionError(f"{name}: {field_.name} must be 0, not {value}")
        if field_.values is not None and value not in field_.values._value2member_map_:
            raise ExecutionError(f"{name}: {field_.name} must be a known encoding, not {value}")
    for what, found, allowed in (
        ("c", fields["c"], fields["c"] == 1),
        ("members", fields["members"], not fields["multicast"] or fields["members"] > 0),
        ("mlid", fields["mlid"], not fields["multicast"] or fields["mlid"] >= FIRST_MLID),
        (
            "slice_first", fields["slice_first"],
            fields["slice_first"] + fields["slice_count"] <= max(1, fields["block_count"])
            or (fields["slice_first"] == fields["block_count"] > 1 and fields["slice_count"] == 1),
        ),
        ("swap_remote_addr", fields["swap_remote_addr"], fields["block_count"] <= 1 or not fields["swap_remote_addr"]),
        (
            "pulse_bytes", fields["pulse_bytes"],
            fields["pulse_bytes"] > 0 and fields["pulse_bytes"] % (16 if fields["block_count"] > 1 else 64) == 0,
        ),
    ):
        if not allowed:
            raise ExecutionError(f"{name}: {what} = {found} is not executed by this model")
