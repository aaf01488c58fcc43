"""Multicasts in schedules: numbers, groups, peers, what is refused, and what comes out under any order."""

import random
from dataclasses import replace

import numpy as np
import pytest

from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import load_preset
from firmware_models.golden import DeadlockError, ExecutionError, execute, reference
from firmware_models.golden.execution import Node
from firmware_models.schedule import (
    Endpoint,
    MulticastGroup,
    PeerTable,
    ScheduleError,
    build,
    check,
    compile_schedule,
    pack_sequence,
)
from firmware_models.schedule.flow import play
from firmware_models.schedule.peer import GroupAddress

CONFIG = load_preset("small")
WAYS = [("broadcast", "multicast"), ("allreduce", "reduce-multicast"), ("barrier", "multicast")]
MGID = 0x1234


def group(n_nodes, **fields):
    """All nodes."""
    return MulticastGroup(**{"mgid": MGID, "mlid": 0xC003, "node_ids": frozenset(range(n_nodes))} | fields)


def endpoints(n_nodes):
    """Operand at 0, result at 2048, VP 3 everywhere."""
    return [Endpoint(node_id=node, vp=3, local_addr=0, result_addr=2048) for node in range(n_nodes)]


def nodes_of(schedule, inputs, **fields):
    """Nodes of the executor with the schedule's sequences."""
    length = inputs.nbytes // len(inputs) if schedule.moves_data else 0
    sequences = compile_schedule(
        schedule, endpoints=endpoints(schedule.n_nodes), job_id=1, config=CONFIG, length=length, pulse_bytes=64,
        groups=[group(schedule.n_nodes)], **fields,
    )
    return [
        Node(node_id=node, descriptors=pack_sequence(sequence), groups={MGID},
             memory=np.concatenate([np.frombuffer(inputs[node].tobytes(), np.uint8), np.zeros(4096, np.uint8)]))
        for node, sequence in enumerate(sequences)
    ]


@pytest.mark.parametrize(("collective", "algorithm"), WAYS)
@pytest.mark.parametrize("n_nodes", [2, 3, 4, 5, 8, 13, 16, 33])
def test_executes_under_any_order(collective, algorithm, n_nodes):
    """Every bit, whatever comes when, with any number of credits."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    numbers = np.random.default_rng(seed)
    inputs = numbers.standard_normal((n_nodes, 40)) * 10.0 ** numbers.integers(-8, 9, (n_nodes, 40))
    root = int(numbers.integers(n_nodes)) if collective == "broadcast" else 0
    schedule = build(collective, algorithm, n_nodes=n_nodes, root=root)
    nodes = nodes_of(schedule, inputs)
    golden = reference(collective, algorithm, inputs, root=root)
    for peer_credits in (1, 2, 6):
        execution = execute(nodes, seed=seed + peer_credits, peer_credits=peer_credits, n_contexts=3)
        for rank in np.flatnonzero(golden.receives):
            got = execution.memories[rank][2048:2048 + inputs[rank].nbytes]
            assert got.tobytes() == golden.results[rank].tobytes()
        assert all(len(found) == 1 for found in execution.completions)


def test_peers_of_one_vp():
    """A multicast bears one number, also where ranks have consumed different numbers of packets before."""
    schedule = build("allreduce", "reduce-multicast", n_nodes=16)
    assert schedule.groups() == (tuple(range(16)),)
    assert {len(schedule.sequences[rank][0].receive_from) for rank in range(1, 16)} == {0, 1, 2, 3}
    assert {schedule.numbers(rank)[-1] for rank in range(1, 16)} == {3}
    report = check(schedule, n_peers=4)
    assert report.ok
    assert (report.packets, report.steps, report.max_receivers, report.max_live_seq_ids) == (30, 5, 1, 4)
    assert play(schedule, list(schedule.packets()), allowed=32).steps == 5


def test_same_bits_as_binomial_reduce():
    """The association is that of the binomial reduction, at node counts where it differs from recursive doubling."""
    numbers = np.random.default_rng(5)
    inputs = numbers.standard_normal((11, 200)) * 10.0 ** numbers.integers(-8, 9, (11, 200))
    ours = reference("allreduce", "reduce-multicast", inputs).results
    assert (ours == reference("reduce", "binomial", inputs).results[0]).all()
    assert (ours[0] != reference("allreduce", "recursive-doubling", inputs).results[0]).any()


def test_checker_finds_unequal_numbers():
    """Without the numbers that are passed over, a multicast comes under the wrong number somewhere."""
    schedule = build("allreduce", "reduce-multicast", n_nodes=6)
    leaf = schedule.sequences[1]
    wrong = (*schedule.sequences[:1], (leaf[0], replace(leaf[1], skip=0)), *schedule.sequences[2:])
    violations = check(replace(schedule, sequences=wrong)).violations
    assert violations == (
        "rank 1 waits for packet 0 from rank 0, which nobody sends",
        "rank 0 sends packet 1 to rank 1, which does not consume it",
    )


def test_checker_finds_misuse():
    schedule = build("broadcast", "multicast", n_nodes=3)
    root = schedule.sequences[0][0]

    def faults(**change):
        return check(replace(schedule, sequences=((replace(root, **change),), *schedule.sequences[1:]))).violations

    assert faults(send_to=1)[0] == "rank 0 step 0 sends to a rank and to a group"
    assert faults(multicast_to=(1, 2, 2))[0] == "rank 0 step 0 names a receiver twice"
    assert faults(multicast_to=(0, 1, 2))[0] == "rank 0 step 0 names rank 0, which is itself or does not exist"
    assert faults(skip=-1)[0] == "rank 0 step 0 passes over -1 numbers"


def test_descriptors():
    """MGID, colour, receivers, and the SeqIDs that are passed over."""
    schedule = build("allreduce", "reduce-multicast", n_nodes=4)
    sequences = compile_schedule(
        schedule, endpoints=endpoints(4), job_id=1, config=CONFIG, length=8, groups=[group(3), group(4, mgid=9)],
    )
    sends = {name: sequences[0][0][name] for name in
             ("multicast", "mlid", "dest_id", "dest_vp", "members", "peer", "out_seq_id")}
    assert sends == {
        "multicast": 1, "mlid": 0xC003, "dest_id": 9, "dest_vp": 3, "members": 3, "peer": 0, "out_seq_id": 1,
    }
    assert [sequences[rank][1].get("seq_skip", 0) for rank in (1, 2, 3)] == [1, 0, 1]
    assert all(DESCRIPTOR.pack(**fields) for sequence in sequences for fields in sequence)


def test_refused():
    schedule = build("broadcast", "multicast", n_nodes=4)
    common = {"job_id": 1, "config": CONFIG, "length": 8}
    with pytest.raises(ScheduleError, match=r"^groups must hold one of NodeIDs 0, 1, 2, 3: there is none$"):
        compile_schedule(schedule, endpoints=endpoints(4), groups=[group(3)], **common)
    mixed = endpoints(4)
    mixed[2] = replace(mixed[2], vp=5)
    with pytest.raises(ScheduleError, match=r"^vp of rank 2 must be 3 as at all receivers of a multicast, not 5$"):
        compile_schedule(schedule, endpoints=mixed, groups=[group(4)], **common)
    for field, value, allowed in (("mgid", 1 << 24, "0 to 16777215"), ("mlid", 0xBFFF, "49152 to 65535")):
        with pytest.raises(ScheduleError, match=f"^{field} must be {allowed}, not {value}$"):
            group(4, **{field: value})
    with pytest.raises(ScheduleError, match=r"^members of a group must be 2 to 256, not 257$"):
        group(257)


def test_group_is_a_sender_of_its_own():
    """A node that sends to a member both directly and by multicast has two shares of its buffer."""
    peers = PeerTable(2)
    here, there = (0, 3), (1, 3)
    peers.connect([(here, there)], [(here, GroupAddress(7, 3), [there, (2, 3)])])
    assert (peers.number(here, there), peers.number(here, GroupAddress(7, 3))) == (0, 1)
    with pytest.raises(ScheduleError, match=r"^senders of NodeID 1 in one job must be at most 2"):
        peers.connect([((2, 3), there)])


def test_executor_finds_wrong_groups():
    """A node that has not joined gets nothing, and the sender's number of receivers must be right."""
    schedule = build("broadcast", "multicast", n_nodes=3)
    nodes = nodes_of(schedule, np.ones((3, 8)))
    nodes[2] = replace(nodes[2], groups=())
    with pytest.raises(ExecutionError, match=r"^members of node 0 must be 1, the receivers in group 4660, not 2$"):
        execute(nodes, seed=1)
    late = build("barrier", "multicast", n_nodes=3)
    nodes = nodes_of(late, np.ones((3, 8)))
    nodes[1] = replace(nodes[1], descriptors=nodes[1].descriptors[:0])
    with pytest.raises(DeadlockError, match=r"^node 0 pulse 0 descriptor 0 waits for packet"):
        execute(nodes, seed=1)
