"""Broadcast by one multicast."""

from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("broadcast", "multicast")
def broadcast_multicast(n_nodes: int, root: int) -> list[list[Step]]:
    """The root sends one packet, of which the switches make a copy for every other rank."""
    others = tuple(rank for rank in range(n_nodes) if rank != root)
    receive = Step(source=Source.NOTHING, receive_from=(root,), combine=Combine.REPLACE, deliver=True)
    return [
        [Step(source=Source.OWN, multicast_to=others, deliver=True) if rank == root else receive]
        for rank in range(n_nodes)
    ]
