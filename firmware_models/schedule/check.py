"""Proves that a schedule works, whatever order packets arrive in."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np

from firmware_models.abi.formats import SEQ_BITS

from .flow import play
from .sequence import Packet, Schedule, Source

SEQ_IDS = 1 << SEQ_BITS
_SMALL = 20_000
"""Packets up to which the schedule is checked event by event, without compiled loops."""

Event = tuple[int, int, int]
"""(rank, step, k): consumption of packet k of a step; the last one, with the send, is the step's end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Result of the checker.

    Members
    -------
    packets : int
        Packets of the operation (of each pulse).
    steps : int
        Length of the longest chain of packets, each sent because the one before has arrived.
    max_sequence : int
        Descriptors of the longest sequence.
    max_live_seq_ids : int
        Width of the widest window of SeqIDs in which a receiver may find packets at one time.
    max_senders, max_receivers : int
        Most ranks that one rank hears from, and sends to. A group counts as a rank of its own, at both ends.
    buffer_packets : tuple of int
        Per rank, the most packets (of one pulse) that may wait for it at one time, given the credits.
    violations : tuple of str
        What is wrong, one line each; empty if the schedule is right.
    """

    packets: int
    steps: int
    max_sequence: int
    max_live_seq_ids: int
    max_senders: int
    max_receivers: int
    buffer_packets: tuple[int, ...]
    violations: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.violations

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return asdict(self)


def check(
    schedule: Schedule, *, n_peers: int | None = None, sequence_depth: int | None = None, peer_credits: int = 1
) -> CheckReport:
    """Checks a schedule.

    1. Every packet sent is consumed once, by the rank it is sent to, at the position of its SeqID.
    2. Nobody waits for ever, even if a sender may have only one packet at each receiver: the graph of waits has no
       cycle, with an edge from the consumption of the j-th packet of a pair to the sending of its (j + 1)-th. As in the
       hardware, a step that lacks a credit holds the last packet that it is to consume. A multicast has one
       credit of each of its receivers.
    3. Two packets that may be live at one time never bear one SeqID.
    4. Peers and descriptors are no more than the hardware has, where limits are given.

    Parameters
    ----------
    schedule : Schedule
        What to check.
    n_peers, sequence_depth : int, optional
        Limits (``Config.cou``).
    peer_credits : int
        Packets that one sender may have at one receiver: for `buffer_packets`.

    Notes
    -----
    3 is decided by vector clocks: a send knows how many packets its receiver must have consumed by then.
    They follow data only, no credits, so the verdict holds for every number of credits.
    """
    packets = list(schedule.packets())
    violations = [*_step_faults(schedule), *_matching_faults(schedule, packets)]
    senders: list[Counter[tuple[int, tuple[int, ...]]]] = [Counter() for _ in range(schedule.n_nodes)]
    receivers: list[set[int | tuple[int, ...]]] = [set() for _ in range(schedule.n_nodes)]
    for packet in packets:
        if packet.receiver in range(schedule.n_nodes):
            senders[packet.receiver][packet.channel] += 1
        receivers[packet.sender].add(packet.group or packet.receiver)
    max_senders = max(map(len, senders))
    max_receivers = max(map(len, receivers))
    max_sequence = max(map(len, schedule.sequences))
    for what, value, limit in (
        ("senders of one rank", max_senders, n_peers), ("receivers of one rank", max_receivers, n_peers),
        ("descriptors of a sequence", max_sequence, sequence_depth),
    ):
        if limit is not None and value > limit:
            violations.append(f"{what} must be at most {limit}, not {value}")
    windows = [0] * schedule.n_nodes
    steps = 0
    if not violations:
        flow = play(schedule, packets, allowed=SEQ_IDS) if len(packets) > _SMALL else None
        if flow is not None and flow.ended:
            windows, steps = flow.windows, flow.steps
            violations += [_ambiguous(receiver, index) for receiver, index in flow.wide]
            order: list[Event] = []
            fault: list[str] = []
        else:
            order, fault = _order_of_events(schedule, packets)
        violations += fault
        if order:
            windows, steps, faults = _live_windows(schedule, packets, order)
            violations += faults
    return CheckReport(
        packets=len(packets), steps=steps, max_sequence=max_sequence, max_live_seq_ids=max(windows),
        max_senders=max_senders, max_receivers=max_receivers, violations=tuple(violations),
        buffer_packets=tuple(
            min(window, sum(min(peer_credits, n) for n in counts.values()))
            for window, counts in zip(windows, senders, strict=True)
        ),
    )


def _ambiguous(receiver: int, index: int) -> str:
    return (
        f"packet {index} of rank {receiver} may meet packet {index - SEQ_IDS}, "
        f"which has the same SeqID {index % SEQ_IDS}"
    )


def _step_faults(schedule: Schedule) -> Iterable[str]:
    """Yields the faults of single steps."""
    ranks = range(schedule.n_nodes)
    for rank, sequence in enumerate(schedule.sequences):
        if not sequence:
            yield f"rank {rank} has no steps"
        for place, step in enumerate(sequence):
            for other in (*step.receive_from, *step.targets):
                if other not in ranks or other == rank:
                    yield f"rank {rank} step {place} names rank {other}, which is itself or does not exist"
            if step.send_to is not None and step.multicast_to:
                yield f"rank {rank} step {place} sends to a rank and to a group"
            if len(set(step.multicast_to)) < len(step.multicast_to):
                yield f"rank {rank} step {place} names a receiver twice"
            if step.skip < 0:
                yield f"rank {rank} step {place} passes over {step.skip} numbers"
            if place == 0 and step.source is Source.RESULT:
                yield f"rank {rank} step 0 takes the result of a step before it"


def _matching_faults(schedule: Schedule, packets: list[Packet]) -> Iterable[str]:
    """Packets that are not consumed exactly once where their SeqID says."""
    sent: dict[int, dict[int | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for packet in packets:
        sent[packet.receiver][packet.index].append(packet.sender)
    for receiver in range(schedule.n_nodes):
        expected = dict(zip(schedule.numbers(receiver), schedule.receives(receiver), strict=True))
        got = sent.pop(receiver, {})
        for index, sender in expected.items():
            came = got.pop(index, [])
            if not came:
                yield f"rank {receiver} waits for packet {index} from rank {sender}, which nobody sends"
            elif len(came) > 1:
                yield f"packet {index} of rank {receiver} is sent {len(came)} times, by ranks {sorted(came)}"
            elif came != [sender]:
                yield f"rank {receiver} expects packet {index} from rank {sender}, but rank {came[0]} sends it"
        for place, came in got.items():
            name = "a packet" if place is None else f"packet {place}"
            yield f"rank {came[0]} sends {name} to rank {receiver}, which does not consume it"


def _order_of_events(schedule: Schedule, packets: list[Packet]) -> tuple[list[Event], list[str]]:
    """All events in an order in which they can happen with one credit a pair; or the cycle that forbids it."""
    before: dict[Event, set[Event]] = {}
    consumption: list[dict[int, Event]] = []
    for rank, sequence in enumerate(schedule.sequences):
        events = [
            (rank, place, k) for place, step in enumerate(sequence) for k in range(max(1, len(step.receive_from)))
        ]
        takes = [event for event in events if sequence[event[1]].receive_from]
        consumption.append(dict(zip(schedule.numbers(rank), takes, strict=True)))
        for previous, event in zip([None, *events], events, strict=False):
            before[event] = set() if previous is None else {previous}
    last_of_pair: dict[tuple[int, tuple[int, tuple[int, ...]]], Event] = {}
    for packet in packets:
        assert packet.index is not None  # its match has been checked
        send = _end(schedule, packet.sender, packet.step)
        consume = consumption[packet.receiver][packet.index]
        before[consume].add(send)
        pair = (packet.receiver, packet.channel)
        if pair in last_of_pair:
            before[send].add(last_of_pair[pair])
        last_of_pair[pair] = consume
    try:
        return list(TopologicalSorter(before).static_order()), []
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        return [], ["cycle of waits: " + " waits for ".join(f"rank {rank} step {place}" for rank, place, _ in cycle)]


def _end(schedule: Schedule, rank: int, place: int) -> Event:
    """The event that ends a step: its last consumption, if it has one, and its send."""
    return rank, place, max(1, len(schedule.sequences[rank][place].receive_from)) - 1


def _live_windows(
    schedule: Schedule, packets: list[Packet], order: list[Event]
) -> tuple[list[int], int, list[str]]:
    """Per rank the widest window of live packets, the longest chain of packets, and ambiguous SeqIDs."""
    n = schedule.n_nodes
    # known[r][d]: rank d must have consumed what bears numbers below this before what rank r does next.
    known = np.zeros((n, n), np.int32)
    chain = [0] * n
    numbers = [iter(schedule.numbers(rank)) for rank in range(n)]
    by_step: dict[tuple[int, int], list[Packet]] = defaultdict(list)
    for packet in packets:
        by_step[packet.sender, packet.step].append(packet)
    flying: dict[tuple[int, int | None], tuple[np.ndarray, int]] = {}
    windows = [0] * n
    violations: list[str] = []
    for event in order:
        rank, place, _ = event
        if schedule.sequences[rank][place].receive_from:
            number = next(numbers[rank])
            clock, length = flying.pop((rank, number))
            np.maximum(known[rank], clock, out=known[rank])
            known[rank, rank] = number + 1
            chain[rank] = max(chain[rank], length)
        if event != _end(schedule, rank, place) or (rank, place) not in by_step:
            continue
        clock = known[rank].copy()
        for packet in by_step[rank, place]:
            assert packet.index is not None
            receiver = packet.receiver
            window = packet.index - int(known[rank, receiver]) + 1
            windows[receiver] = max(windows[receiver], window)
            if window > SEQ_IDS:
                violations.append(_ambiguous(receiver, packet.index))
            flying[receiver, packet.index] = (clock, chain[rank] + 1)
    return windows, max(chain), violations
