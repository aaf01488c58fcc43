"""Units of work for the benches of the queues, at random."""

import random
from dataclasses import dataclass

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, Datatype, Kind, Operand, P2pOp, Right, Status
from testbench.queue.parts import CONFIG, DATA_WIDTH, SUPPORTED

FLIT = DATA_WIDTH // 8
MTU = CONFIG.datapath.mtu
DEPTH = CONFIG.cou.sequence_depth
Fields = dict[str, int]
SIDE_BYTES = 0x1_0000
"""Bytes of the windows on both sides of a VP's first one."""
ELEMENT_BYTES = {Datatype.FLOAT64: 8, Datatype.INT32: 4, Datatype.DOUBLE_INT: 16}


@dataclass
class Unit:
    """Descriptors, and the completion that they must end in."""

    descs: list[Fields]
    status: Status = Status.OK
    kind: CplKind = CplKind.COLLECTIVE
    detail: int = 0
    unreadable: int | None = None
    """Number of a descriptor that the memory refuses to read."""

    @property
    def completion(self) -> Fields:
        """Expected fields of the completion."""
        first = {} if self.unreadable == 0 else self.descs[0]
        common = {"tag": first.get("tag", 0), "job_id": first.get("job_id", 0), "bytes": first.get("length", 0)}
        return {"status": self.status, "kind": self.kind, "detail": self.detail, **common}


def bits(fields: Fields) -> int:
    """Packs a descriptor without checking anything but widths."""
    value = 0
    for name, part in fields.items():
        assert 0 <= part <= formats.DESCRIPTOR[name].max_value, (name, part)
        value |= part << formats.DESCRIPTOR.offset(name)
    return value


def full(fields: Fields) -> Fields:
    """`fields` with every field that was left out as 0, as a monitor sees it."""
    return formats.DESCRIPTOR.from_int(bits(fields))


class UnitMaker:
    """Draws units of one VP.

    Parameters
    ----------
    vp : int
        The VP.
    window : (int, int)
        Its memory window; both ends multiples of the flit.
    numbers : random.Random
        Where the randomness comes from.
    """

    def __init__(self, vp: int, window: tuple[int, int], numbers: random.Random):
        self.vp, self.window, self.rng = vp, window, numbers
        self._tag = vp << 20

    def tag(self) -> int:
        """A tag that was not used before."""
        self._tag += 1
        return self._tag

    def windows(self) -> dict[tuple[int, int], set[Right]]:
        """All windows: the one with every right, and two beside it for reading and for writing only."""
        low, high = self.window
        return {
            self.window: set(Right), (high, high + SIDE_BYTES): {Right.LOCAL_READ},
            (low - SIDE_BYTES, low): {Right.LOCAL_WRITE},
        }

    def place(self, length: int, right: Right) -> int:
        """An address for `length` bytes in a window that has the right: its first, its last, or any."""
        low, high = self.rng.choice([
            (low, high) for (low, high), rights in self.windows().items() if right in rights and length <= high - low
        ])
        last = (high - length) // FLIT * FLIT
        return self.rng.choice((low, last, self.rng.randrange(low, last + 1, FLIT)))

    def send(self) -> Unit:
        """A mini packet; fields that mean nothing here hold anything."""
        desc = {
            "kind": Kind.MP, "p2p_op": P2pOp.SEND, "source_vp": self.vp, "length": self.rng.randrange(65),
            "dest_id": self.rng.getrandbits(24), "dest_vp": self.rng.getrandbits(11), "tag": self.tag(),
            "payload": self.rng.getrandbits(512), "peer": self.rng.getrandbits(6), "datatype": self.rng.getrandbits(4),
            "local_addr": self.rng.getrandbits(64), "pulse_bytes": self.rng.getrandbits(16),
            "slice_count": self.rng.getrandbits(16),
        }
        return Unit([desc], kind=CplKind.SEND)

    def put(self) -> Unit:
        """A remote write, from memory or of the payload."""
        kind = self.rng.choice((Kind.RDMA, Kind.RDMA, Kind.MP))
        length = self.rng.choice((0, 1, 63, 64, *((4096, self.rng.randrange(20000)) if kind is Kind.RDMA else ())))
        desc = {
            "kind": kind, "p2p_op": P2pOp.PUT, "source_vp": self.vp, "length": length, "tag": self.tag(),
            "local_addr": self.place(length, Right.LOCAL_READ) if length and kind is Kind.RDMA
            else self.rng.getrandbits(64),
            "remote_addr": self.rng.getrandbits(64), "payload": self.rng.getrandbits(512),
        }
        return Unit([desc], kind=CplKind.PUT)

    def get(self) -> Unit:
        """A remote read."""
        length = self.rng.choice((0, 1, 63, 64, 4096, self.rng.randrange(20000)))
        desc = {
            "kind": Kind.RDMA, "p2p_op": P2pOp.GET, "source_vp": self.vp, "length": length, "tag": self.tag(),
            "local_addr": self.place(length, Right.LOCAL_WRITE) if length else self.rng.getrandbits(64),
            "remote_addr": self.rng.getrandbits(64), "payload": self.rng.getrandbits(512),
            "result_addr": self.rng.getrandbits(64),
        }
        return Unit([desc], kind=CplKind.GET)

    def _slice(self, block_count: int, pulse_bytes: int) -> Fields:
        """Any slice whose share of a pulse is no longer than a packet."""
        if not block_count:
            return {"block_count": self.rng.randrange(2), "slice_count": self.rng.randrange(2)}
        widest = min(block_count, MTU // pulse_bytes)
        count = self.rng.choice((1, widest, self.rng.randint(1, widest)))
        slices = [(block_count, 1), (0, count), (block_count - count, count)]
        if widest == block_count:
            slices.append((0, 0))
        first, count = self.rng.choice(slices)
        return {"slice_first": first, "slice_count": count}

    def sequence(self, *, length: int | None = None, steps: int | None = None, blocks: int | None = None) -> Unit:
        """A collective operation, of the whole message or of blocks."""
        steps = steps or self.rng.choice((1, 2, 3, 4, 5, 9))
        reduction = self.rng.choice(SUPPORTED)
        if length is None:
            length = 16 * self.rng.choice((0, 1, 4, 64, self.rng.randrange(1000)))
        block_count = self.rng.choice((0, 0, 2, 5, CONFIG.cou.n_blocks)) if blocks is None else blocks
        if block_count:
            most = min(MTU, CONFIG.cou.intermediate_bytes // block_count) // 16
            pulse_bytes = 16 * self.rng.choice((1, 2, most, self.rng.randint(1, most)))
        else:
            pulse_bytes = 64 * self.rng.randrange(1, MTU // 64 + 1)
        common = {
            "c": 1, "job_id": self.rng.randrange(16), "source_vp": self.vp, "length": length,
            "pulse_bytes": pulse_bytes, "block_count": block_count,
        }
        descs, cp_count = [], 0
        for index in range(steps):
            operands = [Operand.NONE, Operand.MEMORY, Operand.INTERMEDIATE]
            operand = self.rng.choice(operands + [Operand.PAYLOAD] * (length <= 64))
            cp_count += self.rng.randrange(3)
            write_back = self.rng.getrandbits(1)
            descs.append(common | {
                "kind": Kind.MP if operand is Operand.PAYLOAD else Kind.RDMA, "operand": operand, "cp_count": cp_count,
                "ch": int(index == 0), "ct": int(index == steps - 1), "cp": self.rng.getrandbits(1),
                "write_back": write_back, "reduce_flag": self.rng.getrandbits(1),
                "datatype": reduction[0], "operator": reduction[1],
                **self._slice(block_count, pulse_bytes), "tag": self.tag(),
                "peer": self.rng.randrange(CONFIG.cou.n_peers), "out_seq_id": self.rng.getrandbits(5),
                "local_addr": self.place(length, Right.LOCAL_READ) if operand is Operand.MEMORY and length
                else self.rng.getrandbits(64),
                "result_addr": self.place(length, Right.LOCAL_WRITE) if write_back and length
                else self.rng.getrandbits(64),
            })
        return Unit(descs)

    def good(self) -> Unit:
        """Any unit that is in order."""
        return self.rng.choice((self.send, self.put, self.get, self.sequence))()
