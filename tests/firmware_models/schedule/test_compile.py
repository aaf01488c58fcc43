"""Descriptors of small schedules, field by field; what the compiler refuses, to the letter."""

import re
from dataclasses import replace

import pytest

from firmware_models.abi.encoding import Datatype, Kind, Operand, Operator
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import load_preset
from firmware_models.golden.arithmetic import DTYPES
from firmware_models.schedule import (
    Endpoint,
    PeerTable,
    Schedule,
    ScheduleError,
    Source,
    Step,
    build,
    compile_schedule,
    largest_pulse,
    pack_sequence,
    pack_sequences,
)
from firmware_models.schedule.compile import ELEMENT_BYTES
from firmware_models.schedule.sequence import numbered

CONFIG = load_preset("small").changed(datapath={"mtu": 256}, cou={"intermediate_bytes": 2048})


def endpoints(n_nodes, **changes):
    """Ranks on NodeIDs from 100, with operands in memory."""
    return [
        Endpoint(**{"node_id": 100 + rank, "vp": rank, "local_addr": 0x1000, "result_addr": 0x2000} | changes)
        for rank in range(n_nodes)
    ]


def compiled(schedule, **changes):
    """The schedule compiled for these endpoints, with changes."""
    arguments = {"endpoints": endpoints(schedule.n_nodes), "job_id": 7, "config": CONFIG, "length": 256, "tag": 99}
    arguments |= changes
    return compile_schedule(schedule, **arguments)


def crc_16(text):
    """CRC-16-CCITT, bit by bit."""
    remainder = 0xFFFF
    for byte in text.encode():
        remainder ^= byte << 8
        for _ in range(8):
            remainder = remainder << 1 ^ (0x11021 if remainder & 0x8000 else 0)
    return remainder


def test_reduce_of_three():
    """Root 0 reduces the packets of ranks 1 and 2, in this order, in one descriptor."""
    root, first, second = compiled(build("reduce", n_nodes=3))
    common = {"c": 1, "ch": 1, "ct": 1, "job_id": 7, "tag": 99, "length": 256, "pulse_bytes": 256}
    common["terms"] = crc_16("reduce binomial 3 0 256 256 float64 sum")
    operand = {"kind": Kind.RDMA, "operand": Operand.MEMORY, "local_addr": 0x1000}
    unpacked = [DESCRIPTOR.unpack(pack_sequence(sequence)) for sequence in (root, first, second)]
    zero = dict.fromkeys(unpacked[0], 0)
    assert unpacked == [
        zero | common | operand
        | {"source_vp": 0, "cp_count": 2, "reduce_flag": 1, "write_back": 1, "result_addr": 0x2000},
        zero | common | operand | {"source_vp": 1, "cp": 1, "dest_id": 100, "dest_vp": 0, "out_seq_id": 0, "peer": 0},
        zero | common | operand | {"source_vp": 2, "cp": 1, "dest_id": 100, "dest_vp": 0, "out_seq_id": 1, "peer": 0},
    ]


def test_broadcast_of_four():
    """CPCount is cumulative; the root's peers are numbered as it sends to them; who forwards delivers last."""
    root, _, middle, leaf = compiled(build("broadcast", n_nodes=4))
    assert [(desc["ch"], desc["ct"], desc["cp_count"], desc["peer"]) for desc in root] == [(1, 0, 0, 0), (0, 1, 0, 1)]
    assert [desc["operand"] for desc in root] == [Operand.MEMORY, Operand.INTERMEDIATE]
    assert [(desc["cp_count"], desc["swap_local_data"], desc["cp"], desc["write_back"]) for desc in middle] == [
        (1, 1, 1, 1)
    ]
    assert [(desc["cp_count"], desc.get("cp", 0), desc["write_back"]) for desc in leaf] == [(1, 0, 1)]


def test_in_place_root_writes_nothing():
    """The root of a broadcast has its data already, unless it wants them elsewhere; a sum is written in any case."""
    def written(collective, **changes):
        sequences = compiled(build(collective, n_nodes=4), endpoints=endpoints(4, **changes))
        return [any(desc.get("write_back") for desc in sequence) for sequence in sequences]

    assert written("broadcast") == [True] * 4
    assert written("broadcast", result_addr=0x1000) == [False, True, True, True]
    assert written("reduce", result_addr=0x1000) == [True, False, False, False]


def test_kinds():
    """MP with an operand of at most 64 bytes at hand, RDMA otherwise; either can be demanded."""
    schedule = build("allreduce", n_nodes=2)
    operand = bytes(range(64))

    def first(**changes):
        return compiled(schedule, **changes)[0][0]

    small = first(length=64, endpoints=endpoints(2, operand=operand))
    assert (small["kind"], small["operand"]) == (Kind.MP, Operand.PAYLOAD)
    assert DESCRIPTOR.pack(**small)[64:] == operand
    assert first(length=64)["kind"] == Kind.RDMA
    assert first(length=64, endpoints=endpoints(2, operand=operand), kind=Kind.RDMA)["operand"] == Operand.MEMORY
    assert first(length=72, endpoints=endpoints(2, operand=bytes(72)))["kind"] == Kind.RDMA


def test_barrier():
    """No data, no operand, no address."""
    for sequence in compiled(build("barrier", n_nodes=5), length=0):
        assert all(desc["operand"] == Operand.NONE and not desc.get("write_back") for desc in sequence)
        assert [desc["cp_count"] for desc in sequence] == [0, 1, 2, 3]


def test_seq_ids_wrap():
    """The 33rd packet of a receiver has SeqID 0 again, and CPCount goes on."""
    ping = [Step(source=Source.NOTHING, send_to=1), Step(source=Source.NOTHING, receive_from=(1,))] * 33
    pong = [Step(source=Source.NOTHING, receive_from=(0,)), Step(source=Source.NOTHING, send_to=0)] * 33
    schedule = Schedule(
        collective="x", algorithm="x", n_nodes=2, root=0, sequences=numbered([ping, pong]), moves_data=False
    )
    config = replace(CONFIG, cou=replace(CONFIG.cou, sequence_depth=128))
    sequence, _ = compiled(schedule, length=0, config=config)
    assert [desc["out_seq_id"] for desc in sequence if desc.get("cp")] == [*range(32), 0]
    assert sequence[-1]["cp_count"] == 33


def test_peer_numbers_stay():
    """A later operation of the job keeps the numbers of the earlier ones; a refused one changes nothing."""
    peers = PeerTable(n_peers=3)
    compiled(build("broadcast", n_nodes=4, root=1), peers=peers)
    before = {rank: peers.number((101, 1), (100 + rank, rank)) for rank in (2, 3)}
    root, *_ = compiled(build("reduce", n_nodes=4), peers=peers)[1:]
    assert root[0]["peer"] == 2
    message = "destinations of NodeID 100 in one job must be at most 3 (cou.n_peers), not 4"
    with pytest.raises(ScheduleError, match=f"^{re.escape(message)}$"):
        compiled(build("barrier", n_nodes=16), length=0, peers=peers)
    compiled(build("barrier", n_nodes=4), length=0, peers=peers)
    assert {rank: peers.number((101, 1), (100 + rank, rank)) for rank in (2, 3)} == before


def test_element_sizes():
    """The compiler's table agrees with NumPy's types."""
    assert {datatype: ELEMENT_BYTES[datatype] for datatype in DTYPES} == {
        datatype: dtype.itemsize for datatype, dtype in DTYPES.items()
    }


def test_too_many_senders():
    """The root of a large reduction hears from too many."""
    config = replace(CONFIG, cou=replace(CONFIG.cou, n_peers=8))
    with pytest.raises(
        ScheduleError, match=r"^senders of NodeID 0 in one job must be at most 8 \(cou\.n_peers\), not 9$"
    ):
        compiled(build("reduce", n_nodes=300), endpoints=[
            Endpoint(node_id=rank, vp=0, local_addr=0, result_addr=0) for rank in range(300)
        ], config=config)


@pytest.mark.parametrize(("collective", "algorithm", "nodes", "largest"), [
    ("allreduce", "recursive-doubling", 8, 256),  # one block: the mtu
    ("allreduce", "ring", 4, 256), ("allreduce", "ring", 16, 128),  # 16 blocks in 2,048 bytes
    ("allreduce", "rabenseifner", 8, 64), ("allreduce", "rabenseifner", 16, 32),  # packets of half of the blocks
    ("reduce-scatter", "halving", 7, 32), ("reduce-scatter", "halving", 13, 16),  # packets of all blocks
])
def test_pulses_of_blocks(collective, algorithm, nodes, largest):
    """As large as the widest packet and the intermediate result allow, and no larger."""
    schedule = build(collective, algorithm, n_nodes=nodes)
    assert largest_pulse(schedule, CONFIG) == largest
    assert compiled(schedule, length=8 * nodes * 64)[0][0]["pulse_bytes"] == largest
    for wrong in (largest + 16, largest - 8, 0):
        with pytest.raises(ScheduleError, match=r"^pulse_bytes must be a multiple of \d+ from \d+ to "):
            compiled(schedule, length=8 * nodes * 64, pulse_bytes=wrong)


def test_too_many_blocks():
    """More than the hardware counts, or has room for."""
    schedule = build("allgather", "ring", n_nodes=33)
    config = replace(CONFIG, cou=replace(CONFIG.cou, sequence_depth=128))
    with pytest.raises(ScheduleError, match=r"^blocks must be at most 32 \(cou\.n_blocks\), not 33$"):
        compiled(schedule, length=8 * 33, config=config)
    wide = build("allgather", "recursive-doubling", n_nodes=17)
    message = (
        "blocks must be so few that pulses of 16 are within 15 (packets of 17 blocks, mtu 256; 17 blocks, "
        "cou.intermediate_bytes 2048), not 17"
    )
    with pytest.raises(ScheduleError, match=f"^{re.escape(message)}$"):
        compiled(wide, length=8 * 17)


@pytest.mark.parametrize(("changes", "message"), [
    ({"length": 12}, "length must be a multiple of 8 (float64), not 12"),
    ({"length": 6, "datatype": Datatype.FLOAT32}, "length must be a multiple of 4 (float32), not 6"),
    ({"length": -8}, "length must be a multiple of 8 (float64), not -8"),
    ({"length": 1 << 32}, "length must be at most 4294967295, not 4294967296"),
    ({"length": 72, "kind": Kind.MP}, "length must be at most 64 in MP descriptors, not 72"),
    ({"job_id": 256}, "job_id must be 0 to 255, not 256"),
    ({"tag": -1}, "tag must be 0 to 4294967295, not -1"),
    ({"pulse_bytes": 32}, "pulse_bytes must be a multiple of 64 from 64 to the mtu 256, not 32"),
    ({"pulse_bytes": 100}, "pulse_bytes must be a multiple of 64 from 64 to the mtu 256, not 100"),
    ({"pulse_bytes": 512}, "pulse_bytes must be a multiple of 64 from 64 to the mtu 256, not 512"),
    ({"datatype": Datatype.BYTE}, "datatype must be a number type in a reduction, not 'byte'"),
    ({"endpoints": endpoints(3)}, "endpoints must be 4, one per node, not 3"),
    ({"endpoints": endpoints(4, node_id=5)}, "node_id of rank 1 must be 0 to 16777215 and used once, not 5"),
    ({"endpoints": endpoints(4, vp=16)}, "vp of rank 0 must be 0 to 15, not 16"),
    ({"endpoints": endpoints(4, local_addr=0x1004)}, "local_addr of rank 0 must be a multiple of 8 bytes, not 4100"),
    ({"endpoints": endpoints(4, local_addr=None)}, "local_addr of rank 0 must be given for RDMA, not None"),
    ({"length": 8, "kind": Kind.MP}, "operand of rank 0 must be 8 bytes, not None"),
    ({"length": 8, "endpoints": endpoints(4, operand=b"123")}, "operand of rank 0 must be 8 bytes, not 3"),
])
def test_refused(changes, message):
    """One line: field, what is allowed, value."""
    with pytest.raises(ScheduleError, match=f"^{re.escape(message)}$"):
        compiled(build("reduce", n_nodes=4), **changes)


def test_other_refusals():
    """A barrier with data; a sequence longer than the unit's store; a packet without number."""
    with pytest.raises(ScheduleError, match=r"^length must be 0 for barrier, not 8$"):
        compiled(build("barrier", n_nodes=4), length=8)
    config = replace(CONFIG, cou=replace(CONFIG.cou, sequence_depth=4))
    message = r"^descriptors of rank 0 must be at most 4 \(cou\.sequence_depth\), not 5$"
    with pytest.raises(ScheduleError, match=message):
        compiled(build("allreduce", n_nodes=16), config=config)
    schedule = build("reduce", n_nodes=2)
    lost = replace(schedule, sequences=(schedule.sequences[0], (replace(schedule.sequences[1][0], send_index=None),)))
    with pytest.raises(ScheduleError, match=r"^send_index of rank 1 step 0 must be a number, not None$"):
        compiled(lost)


def test_every_descriptor_can_be_packed():
    """No field is out of range at the extremes."""
    sequences = compile_schedule(
        build("allreduce", n_nodes=33), job_id=255, config=load_preset("paper"), length=4096, tag=(1 << 32) - 1,
        datatype=Datatype.INT64, operator=Operator.XOR,
        endpoints=[
            Endpoint(node_id=(1 << 24) - 1 - rank, vp=2047, local_addr=(1 << 64) - 4096, result_addr=(1 << 64) - 4096)
            for rank in range(33)
        ],
    )
    rings = pack_sequences(sequences)
    assert [len(ring) for ring in rings] == [128 * len(sequence) for sequence in sequences]
