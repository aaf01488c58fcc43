"""Allreduce by recursive doubling."""

from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("allreduce", "recursive-doubling")
def allreduce_recursive_doubling(n_nodes: int, root: int) -> list[list[Step]]:
    """Ranks exchange and add with partners at distance 1, 2, 4, ….

    If n is not a power of two, r = n - 2**floor(log2 n) ranks too many are folded away first: of the first 2r ranks
    the even ones give their data to their odd neighbours and get the result from them in the end. Source: MPICH,
    ``MPIR_Allreduce_intra_recursive_doubling``; R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005), section 9.
    """
    power = 1 << (n_nodes.bit_length() - 1)
    return [_sequence(rank, power, n_nodes - power) for rank in range(n_nodes)]


def _sequence(rank: int, power: int, extra: int) -> list[Step]:
    folded = rank < 2 * extra
    if folded and rank % 2 == 0:
        return [
            Step(source=Source.OWN, send_to=rank + 1),
            Step(source=Source.NOTHING, receive_from=(rank + 1,), combine=Combine.REPLACE, deliver=True),
        ]
    place = rank // 2 if folded else rank - extra
    partners: list[int] = []
    mask = 1
    while mask < power:
        partner = place ^ mask
        partners.append(2 * partner + 1 if partner < extra else partner + extra)
        mask <<= 1
    # A packet received in one round is added in the step of the next round, which sends the sum on. The folded
    # neighbour is the last receiver.
    senders = ([rank - 1] if folded else []) + partners
    receivers = partners + ([rank - 1] if folded else [])
    arrivals = [(sender,) for sender in senders] if folded else [(), *((sender,) for sender in senders)]
    targets = receivers if folded else [*receivers, None]
    return [
        Step(
            source=Source.RESULT if k else Source.OWN, receive_from=arrival, send_to=target,
            combine=Combine.REDUCE if arrival else Combine.TRIGGER, deliver=k == len(targets) - 1,
        )
        for k, (arrival, target) in enumerate(zip(arrivals, targets, strict=True))
    ]
