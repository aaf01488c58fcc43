"""Units that the queue must refuse, by what is wrong with them."""

from collections.abc import Callable

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, Datatype, Kind, Operand, Operator, Status
from testbench.queue.host import ADDRESS_BITS
from testbench.queue.parts import CONFIG, SUPPORTED
from testbench.queue.units import ELEMENT_BYTES, FLIT, MTU, SIDE_BYTES, Unit, UnitMaker


def _one(make: str, status: Status, kind: CplKind, /, **change: int) -> Callable[[UnitMaker], Unit]:
    """A point-to-point descriptor with fields changed."""

    def build(maker: UnitMaker) -> Unit:
        desc = getattr(maker, make)().descs[0] | change
        if change.get("source_vp") == -1:
            desc["source_vp"] = maker.vp ^ 1
        return Unit([desc], status, kind)

    return build


def _far_put(**change: int) -> Callable[[UnitMaker], Unit]:
    """A PUT of memory that does not belong to the VP."""
    return _one("put", Status.BAD_ADDRESS, CplKind.PUT, **change | {"kind": Kind.RDMA})


def _step(status: Status, /, **change: int) -> Callable[[UnitMaker], Unit]:
    """A sequence with fields of one of its descriptors changed; the others stay as they are."""

    def build(maker: UnitMaker) -> Unit:
        unit = maker.sequence(length=64, blocks=0)
        index = maker.rng.randrange(len(unit.descs))
        values = {name: maker.vp ^ 1 if value == -1 else value for name, value in change.items()}
        if "length" in values:  # the same in all of them, for it must agree
            for desc in unit.descs:
                desc |= {name: values[name] for name in ("length", "pulse_bytes") if name in values}
                desc |= {"operand": 0, "kind": Kind.RDMA, "write_back": 0, "reduce_flag": 0}
        if "pulse_bytes" in values:
            index = 0
        unit.descs[index] |= values
        kind = CplKind.DESCRIPTOR if status is Status.BAD_DESCRIPTOR and index == 0 else CplKind.COLLECTIVE
        return Unit(unit.descs, status, kind, index)

    return build


def _in_blocks(
    status: Status, /, *, block_count: int, pulse_bytes: int, length: int = 64, **change: int
) -> Callable[[UnitMaker], Unit]:
    """A sequence of blocks with fields of one of its descriptors changed; of all, if the length is."""

    def build(maker: UnitMaker) -> Unit:
        unit = maker.sequence(length=64, blocks=2)
        index = maker.rng.randrange(len(unit.descs)) if change and length == 64 else 0
        for desc in unit.descs:
            desc |= {"block_count": block_count, "pulse_bytes": pulse_bytes, "slice_first": 0, "slice_count": 1}
            if length != 64:
                desc |= {"length": length, "operand": 0, "kind": Kind.RDMA, "write_back": 0, "reduce_flag": 0} | change
        unit.descs[index] |= change
        kind = CplKind.DESCRIPTOR if status is Status.BAD_DESCRIPTOR and index == 0 else CplKind.COLLECTIVE
        return Unit(unit.descs, status, kind, index)

    return build


def _window(field: str, before: int, beyond: int) -> Callable[[UnitMaker], Unit]:
    """A sequence that reaches `before` its window, or `beyond` it: over the border to the next window."""

    def build(maker: UnitMaker) -> Unit:
        low, high = maker.window
        length = 128
        unit = maker.sequence(length=length, blocks=0)
        index = maker.rng.randrange(len(unit.descs))
        use = {"operand": Operand.MEMORY, "kind": Kind.RDMA} if field == "local_addr" else {"write_back": 1}
        unit.descs[index] |= use | {field: low - before if before else high - length + beyond}
        return Unit(unit.descs, Status.BAD_ADDRESS, detail=index)

    return build


def _beside(make: str, kind: CplKind, /, *, above: bool, step: int = 0) -> Callable[[UnitMaker], Unit]:
    """A PUT or GET, or a sequence of one descriptor with operand or result, in a window without the right."""

    def build(maker: UnitMaker) -> Unit:
        low, high = maker.window
        addr = (high if above else low - SIDE_BYTES) + 0x100 + step
        change = {"length": 64}
        if make == "sequence":
            unit = maker.sequence(length=64, steps=1, blocks=0)
            change |= {"write_back": 1, "result_addr": addr} if above else {
                "operand": Operand.MEMORY, "kind": Kind.RDMA, "local_addr": addr,
            }
        else:
            unit = getattr(maker, make)()
            change |= {"kind": Kind.RDMA, "local_addr": addr}
        return Unit([unit.descs[0] | change], Status.BAD_ADDRESS, kind)

    return build


def _aliased(make: str, kind: CplKind, field: str, /) -> Callable[[UnitMaker], Unit]:
    """A PUT or GET, or a sequence of one descriptor, with an address that is the VP's but for a bit above."""

    def build(maker: UnitMaker) -> Unit:
        addr = maker.window[0] | 1 << maker.rng.choice((min(ADDRESS_BITS, 63), 63))
        use = {"write_back": 1} if field == "result_addr" else {"kind": Kind.RDMA}
        if make == "sequence":
            unit = maker.sequence(length=64, steps=1, blocks=0)
            use |= {"operand": Operand.MEMORY} if field == "local_addr" else {}
        else:
            unit = getattr(maker, make)()
        return Unit([unit.descs[0] | use | {"length": 64, field: addr}], Status.BAD_ADDRESS, kind)

    return build


def _differs(**change: int) -> Callable[[UnitMaker], Unit]:
    """A sequence whose descriptor 1, 2 or 3 does not go with the first."""

    def build(maker: UnitMaker) -> Unit:
        unit = maker.sequence(steps=4)
        index = maker.rng.randrange(1, 4)
        for name, delta in change.items():
            value = unit.descs[index][name] + delta
            unit.descs[index][name] = value if value <= formats.DESCRIPTOR[name].max_value else 0
        return Unit(unit.descs, Status.BAD_SEQUENCE, detail=index)

    return build


def _decreasing(maker: UnitMaker) -> Unit:
    unit = maker.sequence(steps=3)
    for desc, count in zip(unit.descs, (4, 3, 9), strict=True):
        desc["cp_count"] = count
    return Unit(unit.descs, Status.BAD_SEQUENCE, detail=1)


def _headless(maker: UnitMaker) -> Unit:
    descs = maker.sequence(steps=4).descs[1:]
    return Unit(descs, Status.BAD_SEQUENCE)


def _endless(maker: UnitMaker) -> Unit:
    unit = maker.sequence(steps=5)
    return Unit(unit.descs[:-1], Status.BAD_SEQUENCE, detail=4)


def _unreadable(index: int) -> Callable[[UnitMaker], Unit]:
    def build(maker: UnitMaker) -> Unit:
        unit = maker.sequence(steps=4)
        kind = CplKind.DESCRIPTOR if index == 0 else CplKind.COLLECTIVE
        return Unit(unit.descs, Status.MEMORY_ERROR, kind, index, unreadable=index)

    return build


def _broken_elements(maker: UnitMaker) -> Unit:
    unit = maker.sequence(length=64, blocks=0)
    index = maker.rng.randrange(len(unit.descs))
    datatype, operator = maker.rng.choice(SUPPORTED)
    for desc in unit.descs:
        desc |= {"reduce_flag": 0, "length": 64 - ELEMENT_BYTES[datatype] // 2}
    unit.descs[index] |= {"reduce_flag": 1, "datatype": datatype, "operator": operator}
    return Unit(unit.descs, Status.BAD_LENGTH, detail=index)


_descriptor, _unsupported = Status.BAD_DESCRIPTOR, Status.UNSUPPORTED

REFUSALS: dict[str, Callable[[UnitMaker], Unit]] = {
    **{
        f"reserved {index}": _one("send", _descriptor, CplKind.DESCRIPTOR, **{f"reserved_{index}": 1 << shift})
        for index, shift in ((0, 2), (1, 1), (2, 2), (3, 0), (4, 15))
    },
    "kind 2": _one("send", _descriptor, CplKind.DESCRIPTOR, kind=2),
    "p2p_op 3": _one("send", _descriptor, CplKind.DESCRIPTOR, p2p_op=3),
    "foreign source_vp": _one("put", _descriptor, CplKind.DESCRIPTOR, source_vp=-1),
    "p2p with ct": _one("send", _descriptor, CplKind.DESCRIPTOR, ct=1),
    "p2p with ch": _one("send", _descriptor, CplKind.DESCRIPTOR, ch=1),
    "SEND by RDMA": _one("send", _descriptor, CplKind.DESCRIPTOR, kind=Kind.RDMA),
    "long PUT by MP": _one("put", Status.BAD_LENGTH, CplKind.PUT, kind=Kind.MP, length=65),
    "GET by MP": _one("get", _descriptor, CplKind.DESCRIPTOR, kind=Kind.MP),
    "multicast GET": _one("get", _unsupported, CplKind.GET, multicast=1),
    "GET to where nothing is": _one("get", Status.BAD_ADDRESS, CplKind.GET, local_addr=0x10_0000, length=1),
    "unaligned GET": _beside("get", CplKind.GET, above=False, step=1),
    "GET beyond the top": _one("get", Status.BAD_ADDRESS, CplKind.GET, local_addr=(1 << 64) - 64, length=128),
    "GET into memory to be read": _beside("get", CplKind.GET, above=True),
    "GET to an alias": _aliased("get", CplKind.GET, "local_addr"),
    "PUT of an alias": _aliased("put", CplKind.PUT, "local_addr"),
    "operand of an alias": _aliased("sequence", CplKind.COLLECTIVE, "local_addr"),
    "result to an alias": _aliased("sequence", CplKind.COLLECTIVE, "result_addr"),
    "PUT of memory to be written": _beside("put", CplKind.PUT, above=False),
    "operand to be written": _beside("sequence", CplKind.COLLECTIVE, above=False),
    "result to be read": _beside("sequence", CplKind.COLLECTIVE, above=True),
    "multicast SEND": _one("send", _unsupported, CplKind.SEND, multicast=1),
    "long SEND": _one("send", Status.BAD_LENGTH, CplKind.SEND, length=65),
    "unaligned PUT": _far_put(local_addr=0x10_0001, length=64),
    "PUT of the address space": _far_put(local_addr=0x10_0000, length=0xFFFF_FFFF),
    "one foreign byte": _far_put(local_addr=0x10_0000, length=1),
    "PUT beyond the top": _far_put(local_addr=(1 << 64) - 64, length=128),
    "collective p2p_op": _step(_descriptor, p2p_op=1),
    "collective reserved": _step(_descriptor, reserved_3=0x8000),
    "collective source_vp": _step(_descriptor, source_vp=-1),
    "datatype 7": _step(_descriptor, datatype=7),
    "operator 9": _step(_descriptor, operator=9),
    "peer": _step(_descriptor, peer=CONFIG.cou.n_peers),
    "payload by RDMA": _step(_descriptor, operand=Operand.PAYLOAD, kind=Kind.RDMA),
    "memory by MP": _step(_descriptor, operand=Operand.MEMORY, kind=Kind.MP),
    "multicast without receivers": _step(_descriptor, multicast=1, mlid=0xC000, members=0),
    "multicast to a unicast LID": _step(_descriptor, multicast=1, mlid=0xBFFF, members=1),
    "part of a whole message": _step(_descriptor, slice_first=1),
    "two of one block": _step(_descriptor, slice_count=2),
    "slice beyond the last block": _in_blocks(
        _descriptor, block_count=4, pulse_bytes=16, slice_first=3, slice_count=2
    ),
    "slice far beyond the last block": _in_blocks(_descriptor, block_count=4, pulse_bytes=16, slice_first=0xFFFF),
    "two empty blocks": _in_blocks(_descriptor, block_count=4, pulse_bytes=16, slice_first=4, slice_count=2),
    "all blocks but the first": _in_blocks(_descriptor, block_count=4, pulse_bytes=16, slice_first=1, slice_count=0),
    "too many blocks": _in_blocks(_unsupported, block_count=CONFIG.cou.n_blocks + 1, pulse_bytes=16),
    "SwapRemoteAddr with blocks": _in_blocks(_unsupported, block_count=2, pulse_bytes=16, swap_remote_addr=1),
    "blocks beyond the mtu": _in_blocks(
        Status.BAD_LENGTH, block_count=8, pulse_bytes=64, slice_count=MTU // 64 + 1
    ),
    "all blocks beyond the mtu": _in_blocks(Status.BAD_LENGTH, block_count=8, pulse_bytes=64, slice_count=0),
    "blocks beyond the intermediate result": _in_blocks(
        Status.BAD_LENGTH, block_count=CONFIG.cou.n_blocks,
        pulse_bytes=CONFIG.cou.intermediate_bytes // CONFIG.cou.n_blocks + 16,
    ),
    "pulses of 24 bytes": _in_blocks(Status.BAD_LENGTH, block_count=2, pulse_bytes=24),
    "blocks of broken elements": _in_blocks(
        Status.BAD_LENGTH, block_count=2, pulse_bytes=16, length=60, datatype=Datatype.FLOAT64
    ),
    "reduction": _step(_unsupported, reduce_flag=1, datatype=Datatype.FLOAT64, operator=Operator.MAXLOC),
    "long payload": _step(Status.BAD_LENGTH, length=65, operand=Operand.PAYLOAD, kind=Kind.MP),
    "pulse_bytes 0": _step(Status.BAD_LENGTH, length=64, pulse_bytes=0),
    "pulse_bytes 96": _step(Status.BAD_LENGTH, length=64, pulse_bytes=96),
    "pulse_bytes beyond the mtu": _step(Status.BAD_LENGTH, length=64, pulse_bytes=MTU + 64),
    "broken elements": _broken_elements,
    "operand before the window": _window("local_addr", FLIT, 0),
    "operand beyond the window": _window("local_addr", 0, FLIT),
    "unaligned operand": _window("local_addr", 0, 1 - FLIT),
    "result before the window": _window("result_addr", FLIT, 0),
    "result beyond the window": _window("result_addr", 0, FLIT),
    "other job": _differs(job_id=1),
    "other length": _differs(length=8),
    "other pulse_bytes": _differs(pulse_bytes=64),
    "other block_count": _differs(block_count=2),
    "decreasing cp_count": _decreasing,
    "no CH": _headless,
    "no CT": _endless,
    "unreadable CH": _unreadable(0),
    "unreadable within": _unreadable(2),
    "unreadable CT": _unreadable(3),
}
"""One unit of every kind that is refused; each leaves the VP in order."""
