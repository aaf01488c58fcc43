"""The checker finds what is planted, and agrees with the executor about what ends."""

import random
from dataclasses import replace

import numpy as np
import pytest

from firmware_models.config import load_preset
from firmware_models.golden import DeadlockError, DuplicateKeyError, ExecutionError, LeftoverError, Node, execute
from firmware_models.schedule import (
    Combine,
    Endpoint,
    Schedule,
    Source,
    Step,
    build,
    check,
    compile_schedule,
    pack_sequences,
)
from firmware_models.schedule.sequence import numbered

CONFIG = load_preset("paper")


def own(*sequences, number=True):
    """A schedule of one's own."""
    sequences = numbered(sequences) if number else tuple(tuple(sequence) for sequence in sequences)
    return Schedule(collective="reduce", algorithm="own", n_nodes=len(sequences), root=0, sequences=sequences)


def edited(schedule, rank, place, **changes):
    """The schedule with one step changed."""
    steps = list(schedule.sequences[rank])
    steps[place] = replace(steps[place], **changes)
    return replace(
        schedule, sequences=(*schedule.sequences[:rank], tuple(steps), *schedule.sequences[rank + 1 :])
    )


def executed(schedule, *, seed, peer_credits=1):
    """The outcome of the schedule on the executor, with one element."""
    endpoints = [Endpoint(node_id=rank, vp=0, local_addr=0, result_addr=64) for rank in range(schedule.n_nodes)]
    sequences = compile_schedule(schedule, endpoints=endpoints, job_id=0, config=CONFIG, length=8)
    nodes = [
        Node(node_id=rank, descriptors=ring, memory=np.zeros(128, np.uint8))
        for rank, ring in enumerate(pack_sequences(sequences))
    ]
    return execute(nodes, seed=seed, peer_credits=peer_credits)


def wait(rank):
    """Waits for a packet of `rank`."""
    return Step(source=Source.NOTHING, receive_from=(rank,), combine=Combine.TRIGGER)


def send(rank, index=None):
    """Sends a packet to `rank`."""
    return Step(source=Source.NOTHING, send_to=rank, send_index=index)


def test_missing_packet():
    """A packet that nobody sends."""
    schedule = edited(build("reduce", n_nodes=4), 1, 0, send_to=None, send_index=None)
    assert check(schedule).violations == ("rank 0 waits for packet 0 from rank 1, which nobody sends",)


def test_swapped_seq_ids():
    """Two packets numbered the wrong way round."""
    schedule = edited(edited(build("reduce", n_nodes=4), 1, 0, send_index=1), 2, 0, send_index=0)
    assert check(schedule).violations == (
        "rank 0 expects packet 0 from rank 1, but rank 2 sends it",
        "rank 0 expects packet 1 from rank 2, but rank 1 sends it",
    )


def test_packet_sent_twice():
    """Two packets with one number; the other number is missing."""
    schedule = edited(build("reduce", n_nodes=4), 2, 0, send_index=0)
    assert check(schedule).violations == (
        "packet 0 of rank 0 is sent 2 times, by ranks [1, 2]",
        "rank 0 waits for packet 1 from rank 2, which nobody sends",
    )


def test_packet_that_nobody_consumes():
    """A packet too many."""
    assert check(own([send(1)], [wait(0)], [send(1)])).violations == (
        "rank 2 sends a packet to rank 1, which does not consume it",
    )


def test_bad_steps():
    """Steps that mean nothing."""
    assert check(own([send(0)], [send(2)], [])).violations[:3] == (
        "rank 0 step 0 names rank 0, which is itself or does not exist",
        "rank 2 has no steps",
        "rank 0 sends a packet to rank 0, which does not consume it",
    )
    assert check(own([Step(source=Source.RESULT, send_to=1)], [wait(0)])).violations == (
        "rank 0 step 0 takes the result of a step before it",
    )


def test_cycle_of_waits():
    """Both wait before they send: the executor hangs too."""
    schedule = own([wait(1), send(1)], [wait(0), send(0)])
    (violation,) = check(schedule).violations
    assert violation.startswith("cycle of waits: rank ")
    assert " waits for " in violation
    with pytest.raises(DeadlockError, match=r"node 0 pulse 0 descriptor 0 waits for packet \(job 0 VP 0 SeqID 0 pulse"):
        executed(schedule, seed=1)


def test_cycle_through_a_credit():
    """The packet sent first is consumed last: that ends with two credits, but not with one."""
    schedule = own([send(1, 1), send(1, 0)], [wait(0), wait(0)], number=False)
    assert check(schedule).violations[0].startswith("cycle of waits: ")
    with pytest.raises(DeadlockError, match=r"waits for a credit of peer 0 \(NodeID 1\)"):
        executed(schedule, seed=1)
    executed(schedule, seed=1, peer_credits=2)


def test_ambiguous_seq_id():
    """33 packets on the way at once share a SeqID; 33 that are answered one by one do not."""
    crowd = own([send(1)] * 33, [wait(0)] * 33)
    report = check(crowd)
    assert report.max_live_seq_ids == 33
    assert report.violations == ("packet 32 of rank 1 may meet packet 0, which has the same SeqID 0",)
    assert check(own([send(1)] * 32, [wait(0)] * 32)).ok
    # Rank 1 begins to consume when all 33 packets of rank 0 are on their way.
    held = own([*[send(1)] * 33, send(2)], [wait(2), *[wait(0)] * 33], [wait(0), send(1)])
    assert not check(held).ok
    with pytest.raises(DuplicateKeyError, match=r"two packets \(job 0 VP 0 SeqID 1 pulse 0\) for node 1"):
        executed(held, seed=1, peer_credits=64)
    answered = own([send(1), wait(1)] * 33, [wait(0), send(0)] * 33)
    report = check(answered)
    assert report.ok
    assert (report.packets, report.steps, report.max_live_seq_ids) == (66, 66, 1)


def test_limits():
    """Peers and descriptors, where limits are given."""
    report = check(build("reduce", n_nodes=32), n_peers=4)
    assert report.violations == ("senders of one rank must be at most 4, not 5",)
    report = check(build("broadcast", n_nodes=32), n_peers=4, sequence_depth=4)
    assert report.violations == (
        "receivers of one rank must be at most 4, not 5", "descriptors of a sequence must be at most 4, not 5",
    )


def test_buffer_packets():
    """The root of a reduction may find all its children's packets at once; a rank of a broadcast one."""
    assert check(build("reduce", n_nodes=8)).buffer_packets == (3, 0, 1, 0, 2, 0, 1, 0)
    assert check(build("broadcast", n_nodes=8)).buffer_packets == (0, 1, 1, 1, 1, 1, 1, 1)
    crowd = own([send(1)] * 8, [wait(0)] * 8)
    assert check(crowd, peer_credits=3).buffer_packets == (0, 3)


def mutant(schedule, rng):
    """The schedule with one send dropped, redirected or renumbered, or two steps of a rank exchanged."""
    senders = list(schedule.packets())
    packet = rng.choice(senders)
    kind = rng.randrange(4)
    if kind == 0:
        return edited(schedule, packet.sender, packet.step, send_to=None, send_index=None)
    if kind == 1:
        return edited(schedule, packet.sender, packet.step, send_to=rng.randrange(schedule.n_nodes))
    if kind == 2:
        return edited(schedule, packet.sender, packet.step, send_index=rng.randrange(5))
    steps = list(schedule.sequences[packet.sender])
    a, b = rng.randrange(len(steps)), rng.randrange(len(steps))
    steps[a], steps[b] = steps[b], steps[a]
    sequences = list(schedule.sequences)
    sequences[packet.sender] = tuple(steps)
    return replace(schedule, sequences=tuple(sequences))


@pytest.mark.parametrize("seed", [1, 2])
def test_mutants(seed):
    """Schedules that the checker passes always end; those that hang, collide or leave packets behind, it has not
    passed."""
    rng = random.Random(f"mutants {seed}")
    passed, failed = 0, 0
    for _ in range(150):
        schedule = mutant(build(rng.choice(("broadcast", "reduce", "allreduce")), n_nodes=rng.randrange(2, 10)), rng)
        report = check(schedule)
        try:
            for order in range(2):
                executed(schedule, seed=order)
            passed += report.ok
        except (DeadlockError, DuplicateKeyError, LeftoverError, ExecutionError):
            assert not report.ok, f"seed {seed}: {schedule}"
            failed += 1
    assert passed > 5, "mutants that are right must be among them"
    assert failed > 50, "mutants that hang must be among them"
