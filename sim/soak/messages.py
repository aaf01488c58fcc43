"""Point-to-point traffic of a soak: mini packets and puts between the ports that the collectives use."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from firmware_models.abi.encoding import Kind, P2pOp
from firmware_models.abi.formats import DESCRIPTOR, PAYLOAD_BYTES
from firmware_models.host import Port
from sim.soak.community import Community

PUT_BYTES = 8 * 1024
_SLOT = 1024


@dataclass(frozen=True)
class Message:
    """One descriptor: what it is, and its tag."""

    is_put: bool
    tag: int
    descriptor: bytes


class Messages:
    """Posts messages and says afterwards whether they are where they belong.

    Parameters
    ----------
    communities : sequence of Community
        Whose ports send and receive.
    rng : random.Random
        Every choice.
    """

    def __init__(self, communities: Sequence[Community], rng: random.Random):
        self._communities, self._rng = communities, rng
        self._mail: dict[tuple[int, int], list[tuple[int, int, bytes]]] = defaultdict(list)
        self._puts: list[tuple[Port, int, bytes]] = []
        self._slots: dict[tuple[int, int], int] = defaultdict(int)

    def post(self, port: Port, tag: int) -> Message:
        """A descriptor for the ring of `port`, to some port of some node."""
        rng = self._rng
        target = rng.choice(self._communities)
        rank = rng.randrange(len(target.nodes))
        place = (target.nodes[rank], target.vp)
        common = {"source_vp": port.vp, "dest_id": target.nodes[rank], "dest_vp": target.vp, "tag": tag}
        if rng.random() < 0.5 or self._slots[place] == PUT_BYTES // _SLOT:
            payload = rng.randbytes(rng.choice((0, 1, 7, 8, 9, 63, PAYLOAD_BYTES)))
            self._mail[place].append((port.driver.node, port.vp, payload))
            return Message(False, tag, DESCRIPTOR.pack(
                **common, kind=Kind.MP, p2p_op=P2pOp.SEND, length=len(payload),
                payload=int.from_bytes(payload, "little"),
            ))
        address = target.put_bases[rank] + _SLOT * self._slots[place]
        self._slots[place] += 1
        length = rng.choice((1, 8, 63, 64, 255, 256, 257, 511, 512, 513, _SLOT))
        # Messages send memory of the port that nobody writes, so their data stay the same while they are in flight.
        source = self._source(port)
        data = port.driver.load(source, length)
        target.ports[rank].driver.store(address, bytes(_SLOT))
        self._puts.append((target.ports[rank], address, data))
        return Message(True, tag, DESCRIPTOR.pack(
            **common, kind=Kind.RDMA, p2p_op=P2pOp.PUT, length=length, local_addr=source, remote_addr=address,
        ))

    def _source(self, port: Port) -> int:
        """Memory of the port with random content, made for puts."""
        for community in self._communities:
            if community.vp == port.vp:
                return community.put_bases[community.ports.index(port)] + PUT_BYTES
        raise AssertionError("the port belongs to no job")

    def check(self) -> list[str]:
        """Lists messages that did not arrive as sent; forgets everything."""
        wrong = []
        for community in self._communities:
            for node, port in zip(community.nodes, community.ports, strict=True):
                got = []
                while (entry := port.receive()) is not None:
                    got.append((entry.source_id, entry.source_vp, entry.payload))
                # Senders are not ordered among each other; what one port sends is.
                wanted = self._mail[node, community.vp]
                if _by_sender(got) != _by_sender(wanted):
                    wrong.append(f"node {node} VP {community.vp}: {len(got)} mini packets, not the {len(wanted)} sent")
        for port, address, data in self._puts:
            if port.driver.load(address, _SLOT) != data + bytes(_SLOT - len(data)):
                wrong.append(f"node {port.driver.node} VP {port.vp}: a put of {len(data)} bytes is not in memory")
        self._mail.clear()
        self._puts.clear()
        self._slots.clear()
        return wrong


def _by_sender(mail: Sequence[tuple[int, int, bytes]]) -> dict[tuple[int, int], list[bytes]]:
    found: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    for node, vp, payload in mail:
        found[node, vp].append(payload)
    return found
