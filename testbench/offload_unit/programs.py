"""Random legal programs of two nodes: conversations, in which each packet that one sends is taken by the other."""

import random
from dataclasses import dataclass, field

import numpy as np

from firmware_models.abi.encoding import Datatype, Kind, Operand
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import Config
from firmware_models.golden.arithmetic import dtype_of, operators_of
from rtl.reduce.operation import operations

NODES = 40, 41
"""NodeIDs."""
ROOM = 4096
"""Bytes of host memory of a sequence: its operand, its result, and from 3,072 on that to which peers redirect it."""
_EMPTY = {one.name: 0 for one in DESCRIPTOR.fields if not one.is_reserved}


@dataclass
class Conversation:
    """A sequence for each of two nodes, and the operands that they find in their memories."""

    descriptors: list[list[dict[str, int]]] = field(default_factory=lambda: [[], []])
    operands: list[bytes] = field(default_factory=list)
    place: int = 0
    """Where its room begins, in both memories."""


@dataclass
class _Message:
    blocks: tuple[int, int]


class Author:
    """Writes conversations.

    One packet at most is under way to a node when the descriptors are carried out one after the other, so that one
    credit a peer is enough.

    Parameters
    ----------
    config : Config
        Of both units.
    rng : Random
        For all that may differ.
    """

    def __init__(self, config: Config, rng: random.Random):
        self.config, self.rng = config, rng
        self.n_written = 0
        self.operations = operations(config.reduce)

    def conversation(self, job_id: int, *, terms: tuple[int, int] | None = None, swaps: bool = True) -> Conversation:
        """A conversation of one job.

        Parameters
        ----------
        terms : tuple of int, optional
            Terms of both nodes; equal ones if left out.
        swaps : bool
            True if packets may bring addresses.
        """
        rng, cou = self.rng, self.config.cou
        self.swaps = swaps
        place, self.n_written = self.n_written * ROOM, self.n_written + 1
        datatype, self.operator = rng.choice(self.operations)
        if rng.random() < 0.1:
            datatype = Datatype.BYTE
        size = dtype_of(datatype).itemsize
        n_blocks = rng.choice((0, 0, 1, 2, min(5, cou.n_blocks)))
        if n_blocks > 1:
            mtu = min(self.config.datapath.mtu, cou.intermediate_bytes)
            self.widest = max(1, min(n_blocks, mtu // 16))
            pulse_bytes = 16 if cou.intermediate_bytes < 32 * n_blocks or self.widest * 32 > mtu else 32
            if n_blocks * pulse_bytes > cou.intermediate_bytes:
                n_blocks = cou.intermediate_bytes // pulse_bytes
            self.widest = min(self.widest, n_blocks)
        else:
            pulse_bytes = rng.choice([one for one in (64, 128) if one <= self.config.datapath.mtu])
            self.widest = 1
        limit = rng.choice((0, size, 64, 2 * pulse_bytes + size)) if n_blocks < 2 else n_blocks * pulse_bytes * 2
        length = rng.randint(0, limit // size) * size
        self.n_blocks, self.peer = n_blocks, rng.randrange(min(4, cou.n_peers))
        self.is_mp = length <= 64 and rng.random() < 0.5
        conversation = Conversation(operands=[self._elements(length, datatype) for _ in NODES], place=place)
        tag, terms = rng.getrandbits(32), terms or (rng.getrandbits(16),) * 2
        vps = rng.sample(range(1 << 11), 2)
        self.common = [
            _EMPTY | {
                "kind": Kind.MP if self.is_mp else Kind.RDMA, "c": 1, "datatype": datatype, "operator": self.operator,
                "job_id": job_id, "peer": self.peer, "dest_id": NODES[1 - node], "dest_vp": vps[1 - node],
                "source_vp": vps[node], "block_count": n_blocks, "length": length, "pulse_bytes": pulse_bytes,
                "local_addr": 0 if self.is_mp else place, "result_addr": place + 1024, "tag": tag + node & 0xFFFFFFFF,
                "terms": terms[node],
            } for node in range(2)
        ]
        self.messages: list[_Message | None] = [None, None]
        self.n_sent, self.n_taken = [0, 0], [0, 0]
        self._converse(conversation)
        for descriptors in conversation.descriptors:
            descriptors[0]["ch"] = descriptors[-1]["ct"] = 1
        return conversation

    def _elements(self, length: int, datatype: Datatype) -> bytes:
        """Elements whose sum depends on the order of summation, and all kinds of bits."""
        rng, kind = self.rng, dtype_of(datatype)
        if kind.kind != "f" or rng.random() < 0.2:
            return rng.randbytes(length)
        values = [rng.choice((1e8, -1e8, 1.0, 3e-7, 0.0)) * rng.uniform(0.5, 2) for _ in range(length // kind.itemsize)]
        return np.array(values, kind).tobytes()

    def _converse(self, conversation: Conversation) -> None:
        rng, depth = self.rng, self.config.cou.sequence_depth
        for _ in range(rng.randint(1, 2 * min(4, depth - 3))):
            free = [node for node in range(2) if self.messages[1 - node] is None
                    and len(conversation.descriptors[node]) < depth - 2]
            if not free:
                break
            node = rng.choice(free)
            takes = self.messages[node] is not None and rng.random() < 0.8
            self._descriptor(conversation, node, takes=takes, sends=True)
            if rng.random() < 0.2 and self.messages[1 - node] is not None:
                self._descriptor(conversation, 1 - node, takes=True, sends=False)
        ends = rng.random() < 0.3
        for node in range(2):
            if self.messages[node] is not None:
                self._descriptor(conversation, node, takes=True, sends=False)
                if ends and self._end_by_packet(conversation, node):
                    continue
            elif not conversation.descriptors[node]:
                self._descriptor(conversation, node, takes=False, sends=False)
            conversation.descriptors[node][-1]["write_back"] |= rng.random() < 0.8

    def _end_by_packet(self, conversation: Conversation, node: int) -> bool:
        """The last packet ends the sequence of the node that takes it, and a descriptor behind is not carried out."""
        self._descriptor(conversation, node, takes=False, sends=False)
        conversation.descriptors[1 - node][self.last_sender[1 - node]]["coll_end_flag"] = 1
        return True

    def _descriptor(self, conversation: Conversation, node: int, *, takes: bool, sends: bool) -> None:
        rng, descriptors = self.rng, conversation.descriptors[node]
        outside = Operand.PAYLOAD if self.is_mp else Operand.MEMORY
        operand = Operand.INTERMEDIATE
        if not descriptors or rng.random() < 0.2:
            operand = rng.choice((outside, outside, outside, Operand.NONE))
        datatype = self.common[node]["datatype"]
        meaning = rng.choice(("swap", "wait") if datatype == Datatype.BYTE else ("reduce", "reduce", "swap", "wait"))
        known = self.operator in operators_of(datatype)
        blocks = self._blocks()
        if takes:
            blocks, self.messages[node] = self.messages[node].blocks, None
            self.n_taken[node] += 1
        desc = self.common[node] | {
            "cp": int(sends), "swap_local_data": int(meaning == "swap"),
            "reduce_flag": int(meaning == "reduce" and known), "swap_remote_data": int(rng.random() < 0.2),
            "operand": int(operand), "write_back": int(rng.random() < 0.3), "cp_count": self.n_taken[node],
            "slice_first": blocks[0], "slice_count": blocks[1],
            "payload": int.from_bytes(conversation.operands[node], "little") if operand == Operand.PAYLOAD else 0,
        }
        if sends:
            desc["out_seq_id"] = self.n_sent[node] % 32
            self.n_sent[node] += 1
            self.messages[1 - node] = _Message(blocks)
            self.last_sender = getattr(self, "last_sender", {}) | {node: len(descriptors)}
            if self.n_blocks < 2 and self.swaps and rng.random() < 0.15:
                desc |= {"swap_remote_addr": 1, "remote_addr": conversation.place + 3072}
            if takes and rng.random() < 0.2:
                desc |= {"swap_local_vp": 1, "dest_vp": rng.randrange(1 << 11)}
        descriptors.append(desc)

    def _blocks(self) -> tuple[int, int]:
        """First block and number of blocks of a slice; now and then the empty one, or all of them."""
        if self.n_blocks < 2:
            return 0, 0
        if self.rng.random() < 0.1:
            return self.n_blocks, 1
        count = self.rng.randint(1, self.widest)
        return self.rng.randint(0, self.n_blocks - count), count
