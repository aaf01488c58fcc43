"""Schedules and executor against the reference arithmetic, which shares no code with them."""

import random

import numpy as np
import pytest

from firmware_models.abi.encoding import Kind
from firmware_models.config import load_preset
from firmware_models.golden import DeadlockError, ExecutionError, Node, execute, mismatched_bits, reference
from firmware_models.schedule import (
    Endpoint,
    MulticastGroup,
    PeerTable,
    ScheduleError,
    algorithm_names,
    build,
    check,
    collective_names,
    compile_schedule,
    pack_sequence,
)

CONFIG = load_preset("small")
EVERY = [(name, way) for name in collective_names() for way in algorithm_names(name)]
ALGORITHMS = [
    ("broadcast", "binomial"), ("reduce", "binomial"), ("allreduce", "recursive-doubling"),
    ("barrier", "dissemination"),
]
GROUP = 77
"""MGID of the multicast group of all nodes."""
BASE = 0x10000
RESULT = 0x4000


def compiled(collective, algorithm, inputs, *, root=0, pulse_bytes=64, kind=None, edit=None, config=CONFIG):
    """Nodes for the executor: descriptors, and memories with the operands in place."""
    n_nodes, length = len(inputs), inputs.shape[1] * inputs.itemsize
    schedule = build(collective, algorithm, n_nodes=n_nodes, root=root)
    in_group = any(step.multicast_to for sequence in schedule.sequences for step in sequence)
    vp_of = (lambda rank: 3) if in_group else (lambda rank: rank % 4)  # one VP at all receivers of a multicast
    members = frozenset(range(100, 100 + n_nodes))
    groups = [MulticastGroup(mgid=GROUP, mlid=0xC005, node_ids=members)] if in_group else []
    endpoints = [
        Endpoint(
            node_id=100 + rank, vp=vp_of(rank), local_addr=BASE, result_addr=BASE + RESULT,
            operand=inputs[rank].tobytes(),
        )
        for rank in range(n_nodes)
    ]
    sequences = compile_schedule(
        schedule, endpoints=endpoints, job_id=9, config=config, length=length, pulse_bytes=pulse_bytes, kind=kind,
        groups=groups,
    )
    nodes = []
    for rank, sequence in enumerate(sequences):
        if edit is not None:
            edit(rank, sequence)
        memory = np.zeros(2 * RESULT, np.uint8)
        memory[:length] = np.frombuffer(inputs[rank].tobytes(), np.uint8)
        nodes.append(Node(
            node_id=100 + rank, descriptors=pack_sequence(sequence), memory=memory, memory_base=BASE, groups=[GROUP],
        ))
    return nodes


def results(execution, inputs):
    """The result rows in the nodes' memories."""
    length = inputs.shape[1] * inputs.itemsize
    return np.stack([memory[RESULT:RESULT + length].view(np.float64) for memory in execution.memories])


def ill_conditioned(n_nodes, elements, seed):
    """Doubles whose sum depends on the order of summation."""
    rng = np.random.default_rng(seed)
    return rng.choice([1e8, -1e8, 1.0, 1e-7], (n_nodes, elements)) * rng.uniform(0.5, 2, (n_nodes, elements))


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
@pytest.mark.parametrize("n_nodes", [2, 3, 4, 5, 7, 8, 9, 11, 13])
def test_any_order_gives_the_reference(collective, algorithm, n_nodes):
    """Random orders of everything that hardware leaves open: bit for bit what the algorithm's definition says."""
    roots = (0, n_nodes - 1) if collective in ("broadcast", "reduce") else (0,)
    for root in roots:
        inputs = ill_conditioned(n_nodes, 0 if collective == "barrier" else 25, seed=n_nodes)
        golden = reference(collective, algorithm, inputs, root=root)
        for seed in range(4):
            # One credit or two, pulses one by one or all at once.
            nodes = compiled(collective, algorithm, inputs, root=root)
            execution = execute(nodes, seed=seed, peer_credits=1 + seed % 2, n_contexts=1 + 7 * (seed // 2))
            assert mismatched_bits(results(execution, inputs)[golden.receives], golden.results[golden.receives]) == 0
            assert all(len(entries) == 1 and entries[0]["status"] == 0 for entries in execution.completions)


ROOMY = load_preset("paper")


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n_nodes", [2, 3, 5, 6, 8, 11, 13])
def test_blocks_in_any_order(collective, algorithm, n_nodes):
    """Blocks of every size, none among them: what the definition says, whatever the order and the pulse."""
    roots = (0, 1) if collective in ("broadcast", "reduce", "scatter", "gather") else (0,)
    for elements in (1, n_nodes - 1, 3 * n_nodes + 1, 12 * n_nodes):
        if collective == "alltoall" and elements % n_nodes:
            continue
        inputs = ill_conditioned(n_nodes, 0 if collective == "barrier" else elements, seed=elements)
        for root in roots:
            golden = reference(collective, algorithm, inputs, root=root)
            nodes = compiled(collective, algorithm, inputs, root=root, config=ROOMY)
            for seed in range(2):
                got = results(execute(nodes, seed=seed, peer_credits=1 + seed), inputs)
                assert mismatched_bits(got[golden.receives], golden.results[golden.receives]) == 0, (elements, seed)


@pytest.mark.parametrize("elements", [1, 7, 8, 9, 31, 32, 33, 100])
@pytest.mark.parametrize("pulse_bytes", [64, 128, 256])
def test_pulses_do_not_matter(elements, pulse_bytes):
    """Every boundary of a pulse, plus and minus one element, at every pulse size: the same bits."""
    inputs = ill_conditioned(5, elements, seed=elements)
    golden = reference("allreduce", "recursive-doubling", inputs)
    nodes = compiled("allreduce", "recursive-doubling", inputs, pulse_bytes=pulse_bytes)
    assert mismatched_bits(results(execute(nodes, seed=1), inputs), golden.results) == 0


def test_payload_and_memory_give_the_same():
    """MP and RDMA descriptors of one operation."""
    inputs = ill_conditioned(6, 8, seed=3)
    by_kind = [
        results(execute(compiled("reduce", "binomial", inputs, kind=kind), seed=2), inputs)[0] for kind in Kind
    ]
    assert mismatched_bits(*by_kind) == 0


def test_special_values():
    """NaN becomes the canonical one as soon as it is computed with; infinities and signed zeros follow IEEE 754."""
    inputs = np.array([[np.nan, np.inf, np.inf, -0.0], [1.0, 1.0, -np.inf, -0.0], [1.0, 1.0, 1.0, -0.0]])
    got = results(execute(compiled("allreduce", "recursive-doubling", inputs), seed=0), inputs)
    assert [hex(bits) for bits in got.view(np.uint64)[0]] == [
        "0x7ff8000000000000", "0x7ff0000000000000", "0x7ff8000000000000", "0x8000000000000000"
    ]


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS[:3])
def test_special_bits(collective, algorithm):
    """NaNs with payloads, infinities, subnormals, signed zeros: moved data keep their bits, computed ones are right."""
    bits = np.random.default_rng(7).choice(np.array([
        0, 1 << 63, 1, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
        0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000123, 0x7FF0000000000001, 0x3FF0000000000000,
    ], np.uint64), (5, 40))
    inputs = bits.view(np.float64)
    golden = reference(collective, algorithm, inputs)
    got = results(execute(compiled(collective, algorithm, inputs), seed=4), inputs)
    assert mismatched_bits(got[golden.receives], golden.results[golden.receives]) == 0
    assert np.isnan(golden.results).any()


def test_operations_in_sequence():
    """All collectives one after the other in one job, on one table of peers: nodes run ahead, nothing is confused."""
    inputs = ill_conditioned(7, 20, seed=2)
    length, stride, peers = inputs[0].nbytes, 0x400, PeerTable(CONFIG.cou.n_peers)
    rings = [b""] * len(inputs)
    for number, (collective, algorithm) in enumerate(ALGORITHMS):
        endpoints = [
            Endpoint(node_id=rank, vp=0, local_addr=0, result_addr=(number + 1) * stride) for rank in range(len(inputs))
        ]
        sequences = compile_schedule(
            build(collective, algorithm, n_nodes=len(inputs)), endpoints=endpoints, job_id=1, config=CONFIG,
            peers=peers, length=0 if collective == "barrier" else length, pulse_bytes=64,
        )
        rings = [ring + pack_sequence(sequence) for ring, sequence in zip(rings, sequences, strict=True)]
    nodes = []
    for rank, ring in enumerate(rings):
        memory = np.zeros((len(ALGORITHMS) + 1) * stride, np.uint8)
        memory[:length] = inputs[rank].view(np.uint8)
        nodes.append(Node(node_id=rank, descriptors=ring, memory=memory))
    for seed in range(5):
        memories = execute(nodes, seed=seed).memories
        for number, (collective, algorithm) in enumerate(ALGORITHMS[:3]):
            first = (number + 1) * stride
            got = np.stack([memory[first : first + length].view(np.float64) for memory in memories])
            assert mismatched_bits(got, reference(collective, algorithm, inputs).results) == 0, (seed, collective)


def test_thousand_nodes():
    """1,024 nodes, two pulses each: it scales."""
    inputs = ill_conditioned(1024, 16, seed=6)
    nodes = compiled("allreduce", "recursive-doubling", inputs, config=load_preset("paper"))
    golden = reference("allreduce", "recursive-doubling", inputs)
    assert mismatched_bits(results(execute(nodes, seed=1), inputs), golden.results) == 0


def test_without_ordering_bits_vary():
    """The negative control: consume packets as they come, and the sums depend on the order."""
    inputs = ill_conditioned(9, 64, seed=5)
    nodes = compiled("reduce", "binomial", inputs)
    seen = {results(execute(nodes, seed=seed, ordered=False), inputs)[0].tobytes() for seed in range(20)}
    assert len(seen) > 1
    seen = {results(execute(nodes, seed=seed), inputs)[0].tobytes() for seed in range(20)}
    assert len(seen) == 1


def test_missing_packet_is_a_deadlock():
    """A send that is left out: the executor says that it hangs, and who waits for what."""

    def mute(rank, sequence):
        if rank == 1:
            sequence[0]["cp"] = 0

    with pytest.raises(DeadlockError, match=r"node 0 pulse 0 descriptor 0 waits for packet .*SeqID 0"):
        execute(compiled("reduce", "binomial", ill_conditioned(4, 8, seed=1), edit=mute), seed=0)


def test_swapped_seq_ids_are_seen():
    """Two packets numbered the wrong way round: other bits, or no end at all."""

    def swap(rank, sequence):
        for desc in sequence:
            if rank in (1, 2) and desc.get("cp"):
                desc["out_seq_id"] = 1 - desc["out_seq_id"]

    inputs = ill_conditioned(4, 64, seed=8)
    golden = reference("reduce", "binomial", inputs)
    got = results(execute(compiled("reduce", "binomial", inputs, edit=swap), seed=0), inputs)
    assert mismatched_bits(got[0], golden.results[0]) > 0


def test_bad_address_is_refused():
    """A descriptor that points outside of the memory."""

    def stray(_rank, sequence):
        for desc in sequence:
            desc["local_addr"] = 0

    with pytest.raises(ExecutionError):
        execute(compiled("reduce", "binomial", ill_conditioned(2, 16, seed=1), edit=stray), seed=0)


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_checker_passes_good_schedules(collective, algorithm):
    """Every node count up to 33, every root up to 9 nodes: no violation."""
    for n_nodes in range(2, 34):
        roots = range(n_nodes if collective in ("broadcast", "reduce") and n_nodes < 10 else 1)
        for root in roots:
            report = check(build(collective, algorithm, n_nodes=n_nodes, root=root))
            assert not report.violations, (n_nodes, root)
            assert report.packets > 0


@pytest.mark.parametrize(("fields", "message"), [
    ({"n_nodes": 1}, "1"), ({"n_nodes": 0}, "0"), ({"n_nodes": 4, "root": 4}, "root must be 0 to 3, not 4"),
    ({"n_nodes": 4, "root": -1}, "root must be 0 to 3, not -1"),
])
def test_refused(fields, message):
    """Names, ranges, values."""
    with pytest.raises(ScheduleError, match=message):
        build("reduce", "binomial", **fields)


def test_random_orders_differ():
    """The executor does try different orders: its packets arrive differently under different seeds."""
    nodes = compiled("allreduce", "recursive-doubling", ill_conditioned(5, 64, seed=1))
    traces = {
        tuple((record.node, record.pulse, record.index) for record in execute(nodes, seed=seed, trace=True).trace)
        for seed in random.Random(1).sample(range(1000), 5)
    }
    assert len(traces) > 1
