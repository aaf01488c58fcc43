"""Programs of processes: what one sends is what another receives, to the byte; segments make up the whole."""

from collections import Counter

import pytest

from firmware_models.schedule import algorithm_names, build, collective_names
from sim.process.program import TREES, Action, Deliver, Load, Message, Program, Send, chains, programs

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


@pytest.mark.parametrize(("collective", "algorithm"), sorted(TREES))
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


def touched(action: Action) -> set[int]:
    match action:
        case Load(first, last) | Deliver(first, last):
            return set(range(first, last))
        case Send(first, message):
            return set(range(first, first + message.n_bytes))
        case Message():
            return set(range(action.first, action.first + action.n_bytes))


@pytest.mark.parametrize(("collective", "algorithm"), PLAIN)
@pytest.mark.parametrize("segment_bytes", [0, 16, 24])
@pytest.mark.parametrize("elements", [1, 2, 41])
def test_chains(collective: str, algorithm: str, segment_bytes: int, elements: int) -> None:
    """Every action is in one of them, in its order, and no byte in two; those of one share bytes, one with another."""
    schedule = build(collective, algorithm, n_nodes=5)
    for program in programs(schedule, n_bytes=8 * elements, item=8, segment_bytes=segment_bytes):
        found = chains(program)
        places = {id(action): place for place, action in enumerate(program)}
        assert sorted(places[id(action)] for chain in found for action in chain) == list(range(len(program)))
        bytes_of = []
        for chain in found:
            order = [places[id(action)] for action in chain]
            assert order == sorted(order)
            sets = [touched(action) for action in chain]
            together = sets.pop(max(range(len(sets)), key=lambda n: len(sets[n])))
            while joined := [each for each in sets if each & together]:
                together = together.union(*joined)
                sets = [each for each in sets if not each & together]
            assert not any(sets)
            bytes_of.append(together)
        assert sum(map(len, bytes_of)) == len(set().union(*bytes_of))


def test_trees_of_a_double_tree_are_apart() -> None:
    schedule = build("broadcast", "double-binary-tree", n_nodes=8)
    assert {len(chains(each)) for each in programs(schedule, n_bytes=512, item=8, segment_bytes=0)} == {2}
    assert {len(chains(each)) for each in programs(schedule, n_bytes=512, item=8, segment_bytes=64)} == {8}
