"""Compiles a schedule for a placement: steps of ranks become descriptors of virtual ports."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from firmware_models.abi.encoding import Datatype, Kind, Operand, Operator
from firmware_models.abi.formats import (
    DESCRIPTOR,
    JOB_BITS,
    PAYLOAD_BYTES,
    SEQ_BITS,
)
from firmware_models.config import Config

from .endpoint import Endpoint, check_endpoints
from .error import ScheduleError, require
from .group import MulticastGroup, group_of
from .peer import Address, GroupAddress, PeerTable
from .sequence import ALL, Combine, Schedule, Source, Step
from .terms import Terms

ELEMENT_BYTES = {
    Datatype.FLOAT64: 8, Datatype.INT64: 8, Datatype.UINT64: 8, Datatype.FLOAT32: 4, Datatype.INT32: 4,
    Datatype.DOUBLE_INT: 16, Datatype.BYTE: 1,
}
PULSE_STEP = 64
"""pulse_bytes is a multiple of this, …"""
BLOCK_PULSE_STEP = 16
"""… or of this if the message is cut into blocks."""

Fields = dict[str, int]
"""Descriptor fields; those that are 0 may be missing."""


def compile_schedule(
    schedule: Schedule, *, endpoints: Sequence[Endpoint], job_id: int, config: Config, length: int,
    datatype: Datatype = Datatype.FLOAT64, operator: Operator = Operator.SUM, pulse_bytes: int | None = None,
    tag: int = 0, kind: Kind | None = None, peers: PeerTable | None = None, groups: Sequence[MulticastGroup] = (),
) -> list[list[Fields]]:
    """Compiles a schedule into one descriptor sequence per rank.

    Parameters
    ----------
    schedule : Schedule
        What to do, in ranks.
    endpoints : sequence of Endpoint
        Entry r is where rank r runs.
    job_id : int
        JobID.
    config : Config
        The hardware's limits: mtu, flit, VPs, sequence depth, peers.
    length : int
        Bytes of the whole message; 0 for collectives without data.
    datatype, operator : Datatype, Operator
        Of the elements, and of the reduction.
    pulse_bytes : int, optional
        Bytes that a pulse takes of each block: a multiple of 64, or of 16 if there are blocks; at most
        :func:`largest_pulse`, which is the default.
    tag : int
        Comes back in the completions.
    kind : Kind, optional
        MP: operands travel in the descriptors. RDMA: they are read from memory. Without it MP where the message has at
        most 64 bytes and the rank's operand is given, else RDMA.
    peers : PeerTable, optional
        Peer numbers of the job so far, to be extended. Needed if the job has more than one operation.
    groups : sequence of MulticastGroup
        Groups to choose from: one for each of the schedule's, with the same members. All receivers of a multicast must
        have the same VP.

    Returns
    -------
    list of list of dict
        Per rank the fields of its descriptors, for ``DESCRIPTOR.pack``; see :func:`pack_sequences`.

    Raises
    ------
    ScheduleError
        If something does not fit; the message names field, allowed range and value. `peers` is unchanged then.
    """
    largest = largest_pulse(schedule, config)
    pulse_bytes = largest if pulse_bytes is None else pulse_bytes
    step = _pulse_step(schedule)
    size = ELEMENT_BYTES[Datatype(datatype)]
    require(0 <= job_id < 1 << JOB_BITS, "job_id", f"0 to {(1 << JOB_BITS) - 1}", job_id)
    require(0 <= tag < 1 << 32, "tag", f"0 to {(1 << 32) - 1}", tag)
    require(schedule.moves_data or length == 0, "length", f"0 for {schedule.collective}", length)
    require(length >= 0 and length % size == 0, "length", f"a multiple of {size} ({datatype.name.lower()})", length)
    require(
        step <= pulse_bytes <= largest and pulse_bytes % step == 0, "pulse_bytes",
        f"a multiple of {step} from {step} to {_pulse_limit(schedule, config, largest)}", pulse_bytes,
    )
    require(length < 1 << 32, "length", f"at most {(1 << 32) - 1}", length)
    require(
        kind is not Kind.MP or length <= PAYLOAD_BYTES, "length", f"at most {PAYLOAD_BYTES} in MP descriptors", length
    )
    reduces = any(step.combine is Combine.REDUCE for sequence in schedule.sequences for step in sequence)
    require(not reduces or datatype is not Datatype.BYTE, "datatype", "a number type in a reduction", "byte")
    depth = config.cou.sequence_depth
    for rank, sequence in enumerate(schedule.sequences):
        require(
            len(sequence) <= depth, f"descriptors of rank {rank}", f"at most {depth} (cou.sequence_depth)",
            len(sequence),
        )
    check_endpoints(endpoints, schedule.n_nodes, config)

    peers = PeerTable(config.cou.n_peers) if peers is None else peers
    if schedule.equal_blocks:
        whole = size * schedule.block_count
        require(length % whole == 0, "length", f"a multiple of {whole} for {schedule.collective}", length)
    _check_in_place(schedule, endpoints)
    blocks = {} if schedule.block_count == 1 else {"block_count": schedule.block_count}
    message = _Message(
        endpoints=endpoints, peers=peers, kind=kind, groups=groups,
        common={
            "c": 1, "job_id": job_id, "tag": tag, "length": length, "pulse_bytes": pulse_bytes,
            "datatype": int(datatype), "operator": int(operator), **blocks,
            "terms": Terms.of(
                schedule, length=length, pulse_bytes=pulse_bytes, datatype=datatype, operator=operator
            ).checksum,
        },
    )
    message.check_operands(schedule)
    addresses = [message.address(rank) for rank in range(schedule.n_nodes)]
    multicasts = [
        (rank, message.group(rank, step)[1], [addresses[to] for to in step.multicast_to])
        for rank, sequence in enumerate(schedule.sequences) for step in sequence if step.multicast_to
    ]
    peers.connect(
        ((addresses[packet.sender], addresses[packet.receiver]) for packet in schedule.packets() if not packet.group),
        [(addresses[rank], group, receivers) for rank, group, receivers in multicasts],
    )
    return [message.sequence(rank, sequence) for rank, sequence in enumerate(schedule.sequences)]


def largest_pulse(schedule: Schedule, config: Config) -> int:
    """Most bytes that a pulse may take of each block: packets fit the mtu, all blocks the intermediate result.

    Raises
    ------
    ScheduleError
        If there are more blocks than the hardware has room for.
    """
    blocks, mtu = schedule.block_count, config.datapath.mtu
    require(
        blocks == 1 or blocks <= config.cou.n_blocks, "blocks", f"at most {config.cou.n_blocks} (cou.n_blocks)", blocks
    )
    limit = min(mtu // _widest_slice(schedule), config.cou.intermediate_bytes // blocks)
    step = _pulse_step(schedule)
    allowed = f"so few that pulses of {step} are within {_pulse_limit(schedule, config, limit)}"
    require(limit >= step, "blocks", allowed, blocks)
    return limit - limit % (PULSE_STEP if limit >= PULSE_STEP else step)


def _pulse_step(schedule: Schedule) -> int:
    return PULSE_STEP if schedule.block_count == 1 else BLOCK_PULSE_STEP


def _pulse_limit(schedule: Schedule, config: Config, limit: int) -> str:
    """The largest pulse, and why it is no larger."""
    if schedule.block_count == 1:
        return f"the mtu {limit}"
    return (
        f"{limit} (packets of {_widest_slice(schedule)} blocks, mtu {config.datapath.mtu}; {schedule.block_count} "
        f"blocks, cou.intermediate_bytes {config.cou.intermediate_bytes})"
    )


def _widest_slice(schedule: Schedule) -> int:
    """Blocks of the widest slice that a step works on."""
    return max(
        (count or schedule.block_count for sequence in schedule.sequences for first, count in
         (step.blocks for step in sequence) if first < schedule.block_count),
        default=1,
    )


def _check_in_place(schedule: Schedule, endpoints: Sequence[Endpoint]) -> None:
    """Refuses to write results over operands that a later step still takes."""
    for rank, (endpoint, sequence) in enumerate(zip(endpoints, schedule.sequences, strict=True)):
        if endpoint.local_addr != endpoint.result_addr or schedule.block_count == 1:
            continue
        written: set[int] = set()
        for step in sequence:
            first, count = step.blocks
            blocks = range(first, first + count) if count else range(schedule.block_count)
            if step.source is Source.OWN and not written.isdisjoint(blocks):
                raise ScheduleError(
                    f"result_addr of rank {rank} must be other than local_addr for {schedule.collective} "
                    f"{schedule.algorithm}, not {endpoint.result_addr}"
                )
            # Own data that nothing has changed may be written where they lie.
            if step.deliver and (step.source is not Source.OWN or step.receive_from):
                written.update(blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """Data that all descriptors of an operation share."""

    endpoints: Sequence[Endpoint]
    peers: PeerTable
    kind: Kind | None
    groups: Sequence[MulticastGroup]
    common: Fields

    def address(self, rank: int) -> Address:
        """Where `rank` runs."""
        return self.endpoints[rank].node_id, self.endpoints[rank].vp

    def group(self, rank: int, step: Step) -> tuple[MulticastGroup, GroupAddress]:
        """The group that a multicast of `rank` goes to, and its address."""
        vp = self.endpoints[step.multicast_to[0]].vp
        for other in step.multicast_to:
            require(self.endpoints[other].vp == vp, f"vp of rank {other}", f"{vp} as at all receivers of a multicast",
                    self.endpoints[other].vp)
        members = frozenset(self.endpoints[member].node_id for member in (rank, *step.multicast_to))
        group = group_of(self.groups, members)
        return group, GroupAddress(group.mgid, vp)

    def is_mp(self, rank: int) -> bool:
        """True if the operand of `rank` travels in the descriptor."""
        if self.kind is not None:
            return self.kind is Kind.MP
        return self.endpoints[rank].operand is not None and self.common["length"] <= PAYLOAD_BYTES

    def check_operands(self, schedule: Schedule) -> None:
        """Refuses ranks whose operand is nowhere to be found."""
        length = self.common["length"]
        for rank, sequence in enumerate(schedule.sequences):
            if length == 0 or not any(step.source is Source.OWN for step in sequence):
                continue
            endpoint = self.endpoints[rank]
            if self.is_mp(rank):
                found = None if endpoint.operand is None else len(endpoint.operand)
                require(found == length, f"operand of rank {rank}", f"{length} bytes", found)
            elif endpoint.local_addr is None:
                raise ScheduleError(f"local_addr of rank {rank} must be given for RDMA, not None")

    def sequence(self, rank: int, steps: Sequence[Step]) -> list[Fields]:
        """The descriptors of one rank."""
        endpoint = self.endpoints[rank]
        in_place = endpoint.local_addr == endpoint.result_addr
        consumed = skipped = 0
        changed = False
        descriptors: list[Fields] = []
        for position, step in enumerate(steps):
            consumed += len(step.receive_from)
            skipped += step.skip
            changed = changed or step.combine is not Combine.TRIGGER
            fields: Fields = {
                **self.common, "source_vp": endpoint.vp, "cp_count": consumed, **self._operand(rank, step),
                "ch": int(position == 0), "ct": int(position == len(steps) - 1),
                "swap_local_data": int(step.combine is Combine.REPLACE),
                "reduce_flag": int(step.combine is Combine.REDUCE),
            }
            if step.blocks != ALL:
                fields |= {"slice_first": step.blocks[0], "slice_count": step.blocks[1]}
            if skipped:
                fields["seq_skip"] = skipped % (1 << SEQ_BITS)
            if step.targets:
                if step.send_index is None:
                    raise ScheduleError(f"send_index of rank {rank} step {position} must be a number, not None")
                fields |= {"cp": 1, "out_seq_id": step.send_index % (1 << SEQ_BITS), **self._destination(rank, step)}
            # Own data that nothing has touched need not be written to where they lie.
            if step.deliver and (changed or not in_place):
                fields |= {"write_back": 1, "result_addr": endpoint.result_addr}
            descriptors.append(fields)
        return descriptors

    def _destination(self, rank: int, step: Step) -> Fields:
        source = self.address(rank)
        if step.send_to is not None:
            node_id, vp = to = self.address(step.send_to)
            return {"dest_id": node_id, "dest_vp": vp, "peer": self.peers.number(source, to)}
        group, address = self.group(rank, step)
        return {
            "multicast": 1, "mlid": group.mlid, "dest_id": group.mgid, "dest_vp": address.vp,
            "members": len(step.multicast_to), "peer": self.peers.number(source, address),
        }

    def _operand(self, rank: int, step: Step) -> Fields:
        endpoint = self.endpoints[rank]
        if step.source is Source.RESULT:
            return {"kind": Kind.RDMA, "operand": Operand.INTERMEDIATE}
        if step.source is Source.NOTHING or self.common["length"] == 0:
            return {"kind": Kind.RDMA, "operand": Operand.NONE}
        if self.is_mp(rank):
            payload = int.from_bytes(endpoint.operand or b"", "little")
            return {"kind": Kind.MP, "operand": Operand.PAYLOAD, "payload": payload}
        return {"kind": Kind.RDMA, "operand": Operand.MEMORY, "local_addr": endpoint.local_addr or 0}


def pack_sequence(descriptors: Iterable[Mapping[str, int]]) -> bytes:
    """Packs the descriptors of one rank, one after the other, as they stand in a ring."""
    return b"".join(DESCRIPTOR.pack(**fields) for fields in descriptors)


def pack_sequences(sequences: Iterable[Iterable[Mapping[str, int]]]) -> list[bytes]:
    """Packs the descriptors of all ranks."""
    return [pack_sequence(descriptors) for descriptors in sequences]
