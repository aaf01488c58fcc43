"""Peer numbers of a job, by which end-to-end credits are counted."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .error import ScheduleError

Address = tuple[int, int]
"""NodeID and VP."""


@dataclass(frozen=True, slots=True)
class GroupAddress:
    """MGID, and the VP at all members."""

    mgid: int
    vp: int


Destination = Address | GroupAddress
"""Destination of a descriptor's packets."""


class PeerTable:
    """Numbers the destinations of every member of one job; lives as long as the job.

    A NIC counts the packets that it has at each peer of a job under the peer's number. So the number of a destination
    must not change while the job lives, and each member may have at most `n_peers` of them, and as many senders: the
    packet buffer keeps room for no more. A multicast group is a destination of its own, and who sends both to it and
    to one of its members directly is two senders there, for it has credits for both.

    Parameters
    ----------
    n_peers : int
        ``Config.cou.n_peers``.
    """

    def __init__(self, n_peers: int):
        self.n_peers = n_peers
        self._numbers: dict[Address, dict[Destination, int]] = {}
        self._senders: dict[Address, set[tuple[Address, Destination]]] = {}

    def connect(
        self, pairs: Iterable[tuple[Address, Address]],
        multicasts: Iterable[tuple[Address, GroupAddress, Sequence[Address]]] = (),
    ) -> None:
        """Numbers all (source, destination) pairs and (source, group, receivers); all or, with an error, none.

        Raises
        ------
        ScheduleError
            If a member would have too many destinations or senders.
        """
        numbers = {source: dict(known) for source, known in self._numbers.items()}
        senders = defaultdict(set, {destination: set(known) for destination, known in self._senders.items()})

        def connect(source: Address, destination: Destination, receivers: Sequence[Address]) -> None:
            known = numbers.setdefault(source, {})
            known.setdefault(destination, len(known))
            self._check("destinations", source, len(known))
            for receiver in receivers:
                senders[receiver].add((source, destination))
                self._check("senders", receiver, len(senders[receiver]))

        for source, destination in pairs:
            connect(source, destination, [destination])
        for source, group, receivers in multicasts:
            connect(source, group, receivers)
        self._numbers, self._senders = numbers, dict(senders)

    def _check(self, what: str, address: Address, count: int) -> None:
        if count > self.n_peers:
            raise ScheduleError(
                f"{what} of NodeID {address[0]} in one job must be at most {self.n_peers} (cou.n_peers), not {count}"
            )

    def number(self, source: Address, destination: Destination) -> int:
        """Number of `destination` at `source`; the two have been connected."""
        return self._numbers[source][destination]
