"""Programs of processes: what one sends is what another receives, to the byte; segments make up the whole."""

from collections import Counter

import pytest

from firmware_models.schedule import algorithm_names, build, collective_names
from sim.process.program import SEGMENTED, Message, Program, Send, programs

PLAIN = [
    (collective, algorithm) for collective in collective_names() for algorithm in algorithm_names(collective)
    if "multicast" not in algorithm
]


def messages(program: Program) -> list[Message]:
    return [action for action in program if isinstance(action, Message)]


@pytest.mark.parametrize(("collective", "algorithm"), PLAIN)
@pytest.mark.parametrize("n_nodes", [4, 5])
def test_sent_is_received(collective: str, algorithm: str, n_nodes: int) -> None:
    schedule = build(collective, algorithm, n_nodes=n_nodes)
    found = programs(schedule, n_bytes=40 * n_nodes, item=8, segment_bytes=16)
    sent = [action.message for program in found for action in program if isinstance(action, Send)]
    received = [message for program in found for message in messages(program)]
    assert Counter(sent) == Counter(received)
    for program in found:
        assert [message.number for message in messages(program)] == list(range(len(messages(program))))


@pytest.mark.parametrize(("collective", "algorithm"), sorted(SEGMENTED))
def test_segments(collective: str, algorithm: str) -> None:
    """Each rank receives what it does without segments, in pieces of at most a segment, each byte once."""
    schedule = build(collective, algorithm, n_nodes=6)
    whole, cut = (programs(schedule, n_bytes=8 * 101, item=8, segment_bytes=size) for size in (0, 96))
    for one, other in zip(whole, cut, strict=True):
        per_sender = [Counter[int](), Counter[int]()]
        for counter, program in zip(per_sender, (one, other), strict=True):
            for message in messages(program):
                counter[message.sender] += message.n_bytes
        assert per_sender[0] == per_sender[1]
        assert all(message.n_bytes <= 96 for message in messages(other))
        assert len(messages(other)) >= len(messages(one))


def test_segments_are_elements() -> None:
    schedule = build("broadcast", "binomial", n_nodes=2)
    found = programs(schedule, n_bytes=64, item=16, segment_bytes=1)
    spans = [(message.first, message.n_bytes) for message in messages(found[1])]
    assert spans == [(0, 16), (16, 16), (32, 16), (48, 16)]
