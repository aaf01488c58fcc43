"""Credits of one unit: what it has out at its peers, and what it owes and grants to them."""

from collections import Counter
from collections.abc import Mapping

from firmware_models.abi.encoding import PacketType
from firmware_models.abi.formats import PACKET_VERSION
from firmware_models.config import Config
from testbench.offload_unit.record import Packet

SHARED_BIT = 4
"""Bit of a CREDIT packet's `tag`: the packet that it answers travelled on a shared credit."""
Pair = tuple[int, int]
"""JobID and peer number."""


def credit_for(packet: Packet, *, node_id: int) -> Packet:
    """The CREDIT packet that answers a consumed packet, without a grant."""
    h = packet.header
    return Packet.make(
        type=PacketType.CREDIT, version=PACKET_VERSION, job_id=h["job_id"], peer=h["peer"], credits=1,
        dest_id=h["source_id"], dest_vp=h["source_vp"], source_vp=h["dest_vp"], source_id=node_id, want=h["want"],
        tag=h["tag"] % SHARED_BIT | SHARED_BIT * h["loan"],
    )


class Ledger:
    """Counts of both ends of credits.

    Members
    -------
    out : Counter of (job, peer, kind)
        Packets that are out, on guaranteed credits (0) and on shared ones (1).
    idle : Counter of (job, peer)
        Shared credits that have been granted to this unit, and not been used.
    granted : int
        Shared credits of its own that are out.
    """

    def __init__(self, config: Config):
        self.share, self.pool = config.cou.peer_credits, config.pool_packets
        self.lending = config.cou.lending
        self.out: Counter[tuple[int, int, int]] = Counter()
        self.idle: Counter[Pair] = Counter()
        self.grantors: dict[Pair, Mapping[str, int]] = {}
        """The last CREDIT packet that brought a shared credit."""
        self.granted = 0

    def owes(self, job_id: int) -> bool:
        """True if credits of a job are out."""
        return any(count for (job, _, _), count in self.out.items() if job == job_id)

    def returned(self, header: Mapping[str, int]) -> None:
        """Credits come back; more than are out count as those that are."""
        place = header["job_id"], header["peer"], int(bool(header["tag"] & SHARED_BIT))
        self.out[place] -= min(self.out[place], header["credits"])
        if header["loan"] and self.lending:
            self.idle[place[:2]] += 1
            self.grantors[place[:2]] = header

    def unused(self, pair: Pair, *, node_id: int) -> Packet:
        """The CREDIT packet that returns a shared credit unused."""
        self.idle[pair] -= 1
        header = self.grantors[pair]
        return Packet.make(
            type=PacketType.CREDIT, version=PACKET_VERSION, job_id=pair[0], peer=pair[1], loan=1,
            dest_id=header["source_id"], dest_vp=header["source_vp"], source_vp=header["dest_vp"], source_id=node_id,
        )

    def consume(self, header: Mapping[str, int], *, grant: bool) -> int:
        """A packet is consumed, and a shared credit granted or not; by how many packets the job has fewer here."""
        was_lent = bool(header["loan"]) and self.granted > 0
        self.granted += grant - was_lent
        return 1 + was_lent - grant

    def write_off(self, job_id: int, lost: int) -> None:
        """Nothing that a job has out returns any more, nor do `lost` of the shared credits of its own."""
        for place in [place for place in self.out if place[0] == job_id]:
            del self.out[place]
        self.granted -= lost
