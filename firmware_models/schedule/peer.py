"""Peer numbers of a job, by which end-to-end credits are counted."""

from collections.abc import Iterable

from .error import ScheduleError

Address = tuple[int, int]
"""NodeID and VP."""


class PeerTable:
    """Numbers the destinations of every member of one job; lives as long as the job.

    A NIC counts the packets that it has at each peer of a job under the peer's number. So the number of a destination
    must not change while the job lives, and each member may have at most `n_peers` of them, and as many senders: the
    packet buffer keeps room for no more.

    Parameters
    ----------
    n_peers : int
        ``Config.cou.n_peers``.
    """

    def __init__(self, n_peers: int):
        self.n_peers = n_peers
        self._numbers: dict[Address, dict[Address, int]] = {}
        self._senders: dict[Address, set[Address]] = {}

    def connect(self, pairs: Iterable[tuple[Address, Address]]) -> None:
        """Numbers all (source, destination) pairs; all of them or, with an error, none.

        Raises
        ------
        ScheduleError
            If a member would have too many destinations or senders.
        """
        numbers = {source: dict(known) for source, known in self._numbers.items()}
        senders = {destination: set(known) for destination, known in self._senders.items()}
        for source, destination in pairs:
            known = numbers.setdefault(source, {})
            known.setdefault(destination, len(known))
            senders.setdefault(destination, set()).add(source)
            for address, what, count in (
                (source, "destinations", len(known)), (destination, "senders", len(senders[destination])),
            ):
                if count > self.n_peers:
                    raise ScheduleError(
                        f"{what} of NodeID {address[0]} in one job must be at most {self.n_peers} (cou.n_peers), "
                        f"not {count}"
                    )
        self._numbers, self._senders = numbers, senders

    def number(self, source: Address, destination: Address) -> int:
        """Number of `destination` at `source`; the two have been connected."""
        return self._numbers[source][destination]
