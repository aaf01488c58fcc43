"""Notices that processes send each other in mini packets, and the descriptors that move their messages."""

from enum import IntEnum

from firmware_models.abi.encoding import Kind, P2pOp
from firmware_models.abi.formats import DESCRIPTOR, PAYLOAD_BYTES

HEADER_BYTES = 16
SHORT_BYTES = PAYLOAD_BYTES - HEADER_BYTES
"""Longest message that travels in its mini packet."""
UNTAGGED = 0xFFFFFFFF
"""Tag of what nobody waits for."""


class Notice(IntEnum):
    """Content of a mini packet; number of the message and an address follow."""

    SHORT = 0
    """The message itself follows."""
    EAGER = 1
    """A message stands in its slot."""
    READY = 2
    """A message stands at an address of the sender's."""
    FREE = 3
    """A message has been read."""


def notice(
    vp: int, peer: tuple[int, int], kind: Notice, number: int, address: int = 0, *, payload: bytes = b""
) -> bytes:
    """The descriptor that tells a peer (NodeID, VP) something of a message."""
    text = kind.to_bytes(4, "little") + number.to_bytes(4, "little") + address.to_bytes(8, "little") + payload
    return DESCRIPTOR.pack(
        kind=Kind.MP, p2p_op=P2pOp.SEND, source_vp=vp, dest_id=peer[0], dest_vp=peer[1], length=len(text),
        payload=int.from_bytes(text, "little"), tag=UNTAGGED,
    )


def transfer(
    op: P2pOp, vp: int, peer: tuple[int, int], n_bytes: int, *, local: int, remote: int, tag: int = UNTAGGED
) -> bytes:
    """The descriptor of a PUT to a peer (NodeID, VP), or of a GET from it."""
    return DESCRIPTOR.pack(
        kind=Kind.RDMA, p2p_op=op, source_vp=vp, dest_id=peer[0], dest_vp=peer[1], length=n_bytes, local_addr=local,
        remote_addr=remote, tag=tag,
    )


def parsed(payload: bytes) -> tuple[Notice, int, int]:
    """Kind, number and address of a notice."""
    return (
        Notice(int.from_bytes(payload[:4], "little")), int.from_bytes(payload[4:8], "little"),
        int.from_bytes(payload[8:HEADER_BYTES], "little"),
    )
