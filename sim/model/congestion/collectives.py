"""Collectives of this project as a workload: every message of a schedule is a flow."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from firmware_models.connections.trace.collective import packet_bytes
from firmware_models.schedule import ScheduleError, build
from sim.model.congestion.error import CongestionError
from sim.model.congestion.flow_file import PORTS
from sim.model.congestion.flows import Flow

EMPTY = 1
"""Bytes of a message without data, such as those of a barrier: the least that a flow can have."""


def collective_flows(
    which: str, algorithm: str | None, hosts: Sequence[int], n_bytes: int, *, start_ns: int = 0, root: int = 0,
    group: int = 0, first: int = 0,
) -> list[Flow]:
    """The messages of one collective, rank i at ``hosts[i]``.

    A message leaves when all that its step and the steps before it consume has come in, and after the messages before
    it have begun; computing takes no time. A multicast is a flow to each receiver: the network of this simulator has
    none.

    Parameters
    ----------
    which, algorithm : str
        As for ``conic run``; None is the collective's own choice.
    n_bytes : int
        Of the whole message.
    group, first : int
        The flows' group, and the number that the first one has in its workload.

    Raises
    ------
    CongestionError
        If there is no such collective or algorithm, or it takes no so many nodes.
    """
    if len(set(hosts)) != len(hosts):
        raise CongestionError("hosts: must be different ones")
    try:
        schedule = build(which, algorithm, n_nodes=len(hosts), root=root)
    except ScheduleError as error:
        raise CongestionError(str(error)) from None
    sent: list[tuple[int, int, int]] = []  # rank, receiver, bytes
    steps_of: list[tuple[int, int]] = []
    between: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for rank, sequence in enumerate(schedule.sequences):
        for place, step in enumerate(sequence):
            for receiver in step.targets:
                between[rank, receiver].append(len(sent))
                sent.append((rank, receiver, max(packet_bytes(schedule, step, n_bytes), EMPTY)))
                steps_of.append((rank, place))
    coming: dict[tuple[int, int], Iterator[int]] = {pair: iter(numbers) for pair, numbers in between.items()}
    consumed = [[next(coming[sender, rank]) for sender in step.receive_from]
                for rank, sequence in enumerate(schedule.sequences) for step in sequence]
    offsets = [0]
    for sequence in schedule.sequences:
        offsets.append(offsets[-1] + len(sequence))
    flows: list[Flow] = []
    before: dict[int, tuple[int, int]] = {}  # of a rank: its last flow, and how many steps that one covers
    for number, ((rank, receiver, size), (_, place)) in enumerate(zip(sent, steps_of, strict=True)):
        last, covered = before.get(rank, (None, 0))
        needed = [first + message for at in range(offsets[rank] + covered, offsets[rank] + place + 1)
                  for message in consumed[at]]
        flows.append(Flow(hosts[rank], hosts[receiver], size, start_ns, PORTS["collective"], "collective", group,
                          tuple(needed), None if last is None else first + last))
        before[rank] = (number, place + 1)
    return flows
