"""The formats that hardware and software share.

Descriptor fields are those of figure 2 of the NIC paper; those marked "beyond the paper" are not in
the figure. Widths of JobID, NodeID, VP and SeqID are the paper's (section 1.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .encoding import CplKind, Datatype, Kind, Operand, Operator, P2pOp, PacketType, Status
from .format import Field, Format, reserved

JOB_BITS = 8
NODE_BITS = 24
VP_BITS = 11
SEQ_BITS = 5
PULSE_BITS = 16
"""Pulses of one job are numbered through all of its operations, modulo 2**16."""
FRAGMENT_BITS = 12
PEER_BITS = 6
MLID_BITS = 16
MEMBER_BITS = 8
TERMS_BITS = 16
LENGTH_BITS = 13
"""Of the payload bytes of a packet, up to the largest mtu."""
FIRST_MLID = 0xC000
"""MLID of colour 0."""
PAYLOAD_BYTES = 64
"""Bytes that an MP descriptor carries."""
PACKET_VERSION = 1
NONCE_FIELDS = ("mlid", "job_id", "credits")
"""Header fields that hold the nonce of a point-to-point operation, its low bits first. Only other packets use them for
what their names say."""

_job = Field("job_id", JOB_BITS, "JobID: the collective task.")
_seq = Field("seq_id", SEQ_BITS, "SeqID: position in the order in which the receiver consumes, modulo 32.")

DESCRIPTOR = Format(
    "descriptor",
    "An entry of a descriptor queue. Words 0 to 3 control, 4 to 7 addresses and tag, 8 to 15 payload.",
    (
        Field("kind", 2, "MP or RDMA.", Kind),
        Field("p2p_op", 2, "Point-to-point operation; 0 if C is set.", P2pOp),
        Field("c", 1, "C: a collective descriptor."),
        Field("ch", 1, "CH: first descriptor of a sequence."),
        Field("ct", 1, "CT: last descriptor of a sequence."),
        Field("cp", 1, "CP: send the result as a packet that triggers at the destination."),
        Field("swap_local_data", 1, "SwapLocalData: consumed packets replace this descriptor's data."),
        Field("swap_local_vp", 1, "SwapLocalVP: the consumed packet's source VP becomes this descriptor's destination VP."),
        Field("swap_remote_data", 1, "SwapRemoteData: the packet sent replaces the data of the descriptor that consumes it."),
        Field("swap_remote_addr", 1, "SwapRemoteAddr: the packet sent carries remote_addr, which replaces result_addr there."),
        Field("reduce_flag", 1, "ReduceFlag: consumed packets are combined with the data by the operator."),
        Field("coll_end_flag", 1, "CollEndFlag: the packet sent ends the collective at its destination."),
        Field("write_back", 1, "Write the result to result_addr (beyond the paper)."),
        Field("multicast", 1, "Send to the members of the group dest_id, along the tree mlid (beyond the paper)."),
        Field("operand", 2, "Where the local operand comes from (beyond the paper).", Operand),
        Field("datatype", 4, "Element type (beyond the paper).", Datatype),
        Field("operator", 4, "Reduction operator (beyond the paper).", Operator),
        Field("cp_count", 16, "CPCount: packets of the operation consumed once this descriptor has triggered; cumulative."),
        Field("out_seq_id", SEQ_BITS, "SeqID of the packet sent (beyond the paper)."),
        _job,
        Field("peer", PEER_BITS, "Number of the destination among this job's peers, for end-to-end credits (beyond the paper)."),
        reserved(0, 3),
        Field("dest_id", NODE_BITS, "DestID: NodeID of the destination. Multicast: MGID, the group's number."),
        Field("dest_vp", VP_BITS, "DestVP: VP at the destination; at every member of a group."),
        Field("source_vp", VP_BITS, "SourceVP: VP at this node; must be the VP of the queue."),
        Field("mlid", MLID_BITS, "Multicast colour, from 0xC000 (beyond the paper)."),
        reserved(1, 2),
        Field("block_count", 16, "Blocks that the message is divided into; 0 and 1 are the whole message."),
        Field("slice_first", 16, "First block of the slice."),
        Field("slice_count", 16, "Blocks in the slice; 0 is all of them."),
        Field("members", MEMBER_BITS, "Multicast: receivers of the packet, each of which returns a credit; at least 1 (beyond the paper)."),
        Field("seq_skip", SEQ_BITS, "SeqIDs passed over so far: the packet that comes next bears the number consumed plus this, modulo 32 (beyond the paper)."),
        reserved(2, 3),
        Field("length", 32, "Bytes of the whole message."),
        Field("pulse_bytes", 16, "Bytes a pulse takes of each block; a multiple of 64 (of 16 if the message is cut into blocks); slice_count times this is at most the mtu."),
        reserved(3, 16),
        Field("local_addr", 64, "Address of the operand (RDMA)."),
        Field("result_addr", 64, "Address that write_back writes to."),
        Field("remote_addr", 64, "Remote address: PUT, GET, SwapRemoteAddr."),
        Field("tag", 32, "Echoed in the completion."),
        Field("terms", TERMS_BITS, "Checksum of what all participants have to agree on: collective, algorithm, root, length, datatype, operator. That of the first descriptor goes with every packet, and is compared with those of the packets consumed; 0 is not compared (beyond the paper)."),
        reserved(4, 16),
        Field("payload", 8 * PAYLOAD_BYTES, "The operand of an MP descriptor; zero otherwise."),
    ),
)

PACKET_HEADER = Format(
    "packet_header",
    "First 32 bytes of every network packet; the payload follows at the next flit.",
    (
        Field("type", 4, "What the packet is.", PacketType),
        Field("version", 4, "Version of this format, 1."),
        _seq,
        Field("job_id", JOB_BITS, f"{_job.doc} Point-to-point: bits 23:16 of the operation's nonce."),
        Field("swap_data", 1, "SwapRemoteData of the sending descriptor."),
        Field("swap_addr", 1, "SwapRemoteAddr of the sending descriptor; addr holds the address."),
        Field("coll_end", 1, "CollEndFlag of the sending descriptor. In PUT and GET `part`: the packet is one of several of its operation, and its payload begins with a flit that is a `p2p_range`."),
        Field("multicast", 1, "Switches route by mlid, not by dest_id."),
        Field("peer", PEER_BITS, "Sender's peer number; in a CREDIT packet the receiver's own."),
        Field("length", LENGTH_BITS, "Payload bytes, at most the mtu; the flit of a range is among them."),
        Field("fragment", FRAGMENT_BITS, "Fragment number."),
        Field("credits", 8, "Credits that the packet returns. A CREDIT packet with `loan` and none returns a shared credit unused. Point-to-point: bits 31:24 of the operation's nonce."),
        Field("dest_id", NODE_BITS, "NodeID of the destination. Multicast: MGID, the group's number, which only NICs read."),
        Field("dest_vp", VP_BITS, "VP of the destination."),
        Field("source_vp", VP_BITS, "VP of the source."),
        Field("mlid", MLID_BITS, "Multicast: colour, from 0xC000; selects the entry of the switches' tables (MFT). Point-to-point: bits 15:0 of the operation's nonce, which SEND, PUT and GET carry and ACK and GET_DATA repeat."),
        Field("loan", 1, "The packet was sent on a shared credit; in a CREDIT packet: a shared credit is granted."),
        Field("want", 1, "Its sender has been refused a credit and asks for a shared one; the CREDIT packet for it repeats the bit."),
        Field("source_id", NODE_BITS, "NodeID of the source."),
        Field("pulse", PULSE_BITS, "Pulse number of the job; in GET the bytes asked for."),
        Field("tag", 16, "Number of the point-to-point operation at its source; of a collective packet its window slot at the sender, which CREDIT packets bring back in bits 1:0; their bit 2: it had travelled on a shared credit."),
        Field("status", 8, "Outcome, in ACK and GET_DATA; in COLLECTIVE how the operation stands at the sender: an error there may have spoilt the payload.", Status),
        Field("addr", 64, "Remote address: PUT, GET, SwapRemoteAddr; ACK and GET_DATA repeat that of the packet they answer. COLLECTIVE without `swap_addr`: bits 15:0 `terms` of its operation."),
    ),
)

NONCE_BITS = sum(PACKET_HEADER[name].width for name in NONCE_FIELDS)
"""Of the number by which the source of a point-to-point operation knows its answers."""


def nonce_fields(nonce: int) -> dict[str, int]:
    """The header fields that hold a nonce."""
    values = {}
    for name in NONCE_FIELDS:
        width = PACKET_HEADER[name].width
        values[name] = nonce & (1 << width) - 1
        nonce >>= width
    return values


def nonce_of(header: Mapping[str, int]) -> int:
    """The nonce that the fields of a header hold."""
    nonce = shift = 0
    for name in NONCE_FIELDS:
        nonce |= header[name] << shift
        shift += PACKET_HEADER[name].width
    return nonce


P2P_RANGE = Format(
    "p2p_range",
    "First payload flit of a PUT or GET that is one of several of its operation (`part`), zeros behind it: the range of the whole operation, which is allowed or refused as a whole.",
    (
        Field("before", 32, "Bytes of the operation in front of addr; a multiple of the flit."),
        Field("left", 32, "Bytes of the operation from addr to its end."),
    ),
)

COMPLETION = Format(
    "completion",
    "An entry of a completion queue. The last word is written last.",
    (
        Field("status", 8, "How the operation ended.", Status),
        Field("kind", 4, "What ended.", CplKind),
        _job,
        Field("vp", VP_BITS, "VP of the operation."),
        reserved(0, 1),
        Field("bytes", 32, "Bytes of the message."),
        Field("tag", 32, "Tag of the descriptor (of the first one of a sequence)."),
        reserved(1, 32),
        Field("detail", 64, "Depends on status: the address, the length, or what was waited for. TIMEOUT: bits 15:0 packets consumed, 31:16 pulse, 63:32 a bit for each SeqID that the descriptor still wanted and that has not come (none: it waited for a credit). LENGTH_MISMATCH: 15:0 packets consumed, 31:16 pulse, 47:32 bytes of the packet. PEER_ERROR: 23:0 NodeID of the sender, 31:24 its status, 47:32 packets consumed, 63:48 pulse. BAD_TERMS: 23:0 NodeID of the sender, 39:24 its `terms`, 40 the operation waited for another packet, 63:48 pulse."),
        *(reserved(2 + word, 64) for word in range(4)),
        Field("timestamp", 63, "Cycle counter of the NIC."),
        Field("phase", 1, "Inverts each time the ring wraps; the first lap writes 1."),
    ),
)

RECEIVE = Format(
    "receive",
    "An entry of a receive queue: one mini packet. The last word is written last.",
    (
        Field("payload", 8 * PAYLOAD_BYTES, "The mini packet's data; bytes from length on are zero."),
        Field("source_id", NODE_BITS, "NodeID of the sender."),
        Field("source_vp", VP_BITS, "VP of the sender."),
        Field("length", LENGTH_BITS, "Payload bytes."),
        reserved(0, 16),
        *(reserved(1 + word, 64) for word in range(6)),
        Field("timestamp", 63, "Cycle counter of the NIC."),
        Field("phase", 1, "Inverts each time the ring wraps; the first lap writes 1."),
    ),
)

HASH_KEY = Format(
    "hash_key",
    "Key of a collective packet in the packet buffer (paper, section 1.3, and what pulses need).",
    (
        _job,
        Field("node_id", NODE_BITS, "NodeID of the destination."),
        Field("vp", VP_BITS, "VP of the destination."),
        _seq,
        Field("pulse", PULSE_BITS, "Pulse number of the job."),
        Field("fragment", FRAGMENT_BITS, "Fragment number."),
    ),
    word_aligned=False,
)

FORMATS = (DESCRIPTOR, PACKET_HEADER, P2P_RANGE, COMPLETION, RECEIVE, HASH_KEY)


@dataclass(frozen=True)
class FormatSet:
    """The formats that a build of the hardware is made for: those of memory and wire.

    A proof makes fields small, of which it needs two or four values each (:meth:`narrowed`); so a part that proofs look
    into takes its widths from here, not from the module.
    """

    descriptor: Format = DESCRIPTOR
    packet_header: Format = PACKET_HEADER
    hash_key: Format = HASH_KEY

    def narrowed(self, widths: Mapping[str, int]) -> "FormatSet":
        """The same formats with fields of other widths, by their names; no longer aligned to words.

        Raises :class:`ValueError` for a name that no field has.
        """
        wholes = self.descriptor, self.packet_header, self.hash_key
        unknown = set(widths) - {field.name for wide in wholes for field in wide.fields}
        if unknown:
            raise ValueError(f"widths must be of fields of these formats, not of {sorted(unknown)}")
        return FormatSet(*(
            replace(wide, word_aligned=False, fields=tuple(
                replace(field, width=widths.get(field.name, field.width)) for field in wide.fields
            )) for wide in wholes
        ))

    @property
    def job_bits(self) -> int:
        """Bits of a JobID."""
        return self.hash_key["job_id"].width

    @property
    def node_bits(self) -> int:
        """Bits of a NodeID."""
        return self.hash_key["node_id"].width

    @property
    def vp_bits(self) -> int:
        """Bits of the number of a VP."""
        return self.hash_key["vp"].width

    @property
    def seq_bits(self) -> int:
        """Bits of a SeqID."""
        return self.hash_key["seq_id"].width

    @property
    def pulse_bits(self) -> int:
        """Bits of a pulse number."""
        return self.hash_key["pulse"].width

    @property
    def peer_bits(self) -> int:
        """Bits of the number of a peer."""
        return self.packet_header["peer"].width

    @property
    def member_bits(self) -> int:
        """Bits of the number of a multicast's receivers."""
        return self.descriptor["members"].width


WIRE = FormatSet()
"""The formats that every build has."""
