"""Activity of a node with its time: the common form of all timelines."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, order=True)
class Activity:
    """Something that happened at a node from cycle `begin` to cycle `end`; an instant if they are equal.

    Members
    -------
    node : int
        The node.
    lane : str
        The part of the node: "host", "unit 0", "tx", "rx".
    track : int
        Place among things that go on side by side in the lane: the context of a unit.
    begin, end : int
        Cycles.
    name : str
        What happened, in a word or two: the same for everything of one sort.
    detail : str
        Which one.
    packet : int
        What passes between nodes has the same number here where it leaves and where it arrives; 0: nothing does.
    """

    node: int
    lane: str
    track: int = 0
    begin: int
    end: int
    name: str
    detail: str = ""
    packet: int = 0


def lane_order(lane: str) -> tuple[int, str]:
    """Order of the lanes of a node: the host above, the network below."""
    return {"host": -1, "rank": 0, "tx": 2, "rx": 3}.get(lane, 1), lane
