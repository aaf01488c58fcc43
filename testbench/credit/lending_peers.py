"""Peers of an offload unit that keep to their credits, and notice if the unit does not."""

import random
from collections import Counter

Pair = tuple[int, int]
"""JobID and peer number."""


class Receivers:
    """Peers that the unit sends to. Each returns credits, and all grant from one pool.

    Parameters
    ----------
    share, pool : int
        Guaranteed packets of each pair, and the shared credits beyond.

    Members
    -------
    generosity : float
        Probability that a shared credit is granted if one is asked for and free.
    granted, on_loan, unused : int
        Shared credits granted, packets on them, and those that returned unused.
    most : int
        The most packets of one pair that were here at once.
    """

    def __init__(self, *, share: int, pool: int, rng: random.Random):
        self.share, self.pool, self.rng = share, pool, rng
        self.generosity = 0.9
        self.free = pool
        self.out: Counter[tuple[Pair, int]] = Counter()
        """Packets that have come and are not consumed: on guaranteed credits, on shared ones."""
        self.idle: Counter[Pair] = Counter()
        """Shared credits that have been granted and not been used."""
        self.granted = self.on_loan = self.unused = self.most = 0

    def arrives(self, header: dict[str, int]) -> None:
        """A packet of the unit."""
        pair, loan = (header["job_id"], header["peer"]), header["loan"]
        assert header["tag"] == loan, "a packet to a single peer has place 0, or 1 on a loan"
        if loan:
            assert self.idle[pair], "a packet on a loan that was not granted"
            self.idle[pair] -= 1
            self.on_loan += 1
        self.out[pair, loan] += 1
        self.most = max(self.most, self.out[pair, 0] + self.out[pair, 1])
        assert self.out[pair, 0] <= self.share, "more packets than credits"
        assert self.out.total() + self.idle.total() <= self.share * len({of for of, _ in self.out}) + self.pool

    def consume(self, header: dict[str, int]) -> dict[str, int]:
        """The same packet is done with; what the CREDIT packet for it says."""
        pair, loan, want = (header["job_id"], header["peer"]), header["loan"], header["want"]
        assert self.out[pair, loan]
        self.out[pair, loan] -= 1
        self.free += loan
        grants = int(want and self.free > 0 and self.rng.random() < self.generosity)
        self.free -= grants
        self.idle[pair] += grants
        self.granted += grants
        return {
            "job_id": pair[0], "peer": pair[1], "credits": 1, "tag": loan, "want": want, "loan": grants,
            "source_id": 1000 + pair[1], "source_vp": pair[1],
        }

    def comes_back(self, header: dict[str, int]) -> None:
        """A CREDIT packet that returns a shared credit."""
        pair = header["job_id"], header["peer"]
        assert (header["dest_id"], header["dest_vp"]) == (1000 + pair[1], pair[1]), "back to another lender"
        assert self.idle[pair], "a loan came back that was not granted"
        self.idle[pair] -= 1
        self.free += 1
        self.unused += 1


class Sender:
    """A peer that sends to the unit as fast as its credits let it.

    Members
    -------
    own, lent, idle : int
        Outstanding packets on guaranteed credits, on shared ones; shared credits without a packet.
    most : int
        The most that these have been together.
    """

    def __init__(self, *, share: int):
        self.share = share
        self.own = self.shared = self.idle = self.most = 0
        self.refused = False

    def take(self) -> dict[str, int] | None:
        """Credit fields of the next packet's header; None if the packet may not go."""
        if not self.idle and self.own == self.share:
            self.refused = True
            return None
        loan, want = int(self.idle > 0), int(self.refused)
        self.idle -= loan
        self.shared += loan
        self.own += 1 - loan
        self.refused = False
        self.most = max(self.most, self.own + self.shared + self.idle)
        return {"loan": loan, "want": want, "tag": loan}

    def credit(self, header: dict[str, int]) -> None:
        """A CREDIT packet."""
        assert header["credits"] == 1
        if header["tag"]:
            self.shared -= 1
        else:
            self.own -= 1
        assert min(self.shared, self.own) >= 0, "a credit for no packet"
        self.idle += header["loan"]
