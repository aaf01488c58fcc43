"""Time of processes, added up by hand; no NIC is there."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from firmware_models.abi.encoding import CplKind, Status
from sim.host import Host, parse_host
from sim.process import Arrival, Node, Process

# A cycle is a nanosecond.
HOST = parse_host("""
network:
  clock_mhz: 1000
cpu:
  cores: 2
  post_ns: 10
  doorbell_ns: 5
  poll_ns: 8
  take_ns: 3
  reduce_ns: 2
pcie:
  one_way_ns: 100
memory:
  gbytes: 20
  core_gbytes: 10
""", source="x")
ENTRY = {
    "status": Status.OK, "kind": CplKind.SEND, "job_id": 0, "vp": 0,
    "bytes": 0, "tag": 7, "detail": 0, "timestamp": 0,
}


@dataclass
class Ring:
    """A port's rings, without memory: each entry is the same completion."""

    size: int = 64
    status: Status = Status.OK
    doorbells: list[tuple[int, float]] = field(default_factory=list)

    @property
    def completions(self) -> Any:
        return self

    def take_completion(self) -> dict[str, Any]:
        return ENTRY | {"status": self.status}

    def acknowledge(self) -> Any:
        yield from ()

    def ring(self) -> Any:
        yield from ()

    received = completions


def process(node: Node, number: int = 0, *, ring: Ring | None = None, start: float = 0.0) -> Process:
    steps = ring or Ring()
    port = cast(Any, SimpleNamespace(steps=steps, post=lambda _descriptors: None))
    made = Process(node, number, port, cast(Any, None), start=start)
    made.horizon = 1e9
    return made


def ended(one: Process) -> None:
    with pytest.raises(StopIteration):
        next(one.next_entry())


def test_posting() -> None:
    one = process(Node(0, HOST))
    one.post(b"", 3)
    assert one.time == 3 * 10 + 5


def test_a_look_every_so_often() -> None:
    """It looks at 0, 8, 16, …; what becomes visible at 17 is seen at 24, and taken for 3."""
    one = process(Node(0, HOST))
    one.arrive(Arrival(17, 0, is_message=False))
    ended(one)
    assert one.time == 24 + 3
    # What is there already is seen at once.
    one.arrive(Arrival(20, 1, is_message=False))
    ended(one)
    assert one.time == 30


def test_what_may_be_unknown_is_not_looked_at() -> None:
    one = process(Node(0, HOST))
    one.arrive(Arrival(50, 0, is_message=False))
    one.horizon = 50
    looking = one.next_entry()
    next(looking)
    assert one.time == 0
    one.horizon = 51
    with pytest.raises(StopIteration):
        next(looking)


def test_cores() -> None:
    """Jobs 0 and 2 share a core of the two, job 1 has one of its own."""
    node = Node(0, HOST)
    first, second, third = (process(node, number) for number in range(3))
    for each in (first, second, third):
        each.work(40)
    assert [first.time, second.time, third.time] == [40, 40, 80]


def test_memory() -> None:
    """100 bytes thrice are 300: 30 ns for one core; two cores together need 600 / 20, so they do not disturb each
    other, and a third one waits."""
    host: Host = parse_host("""
network:
  clock_mhz: 1000
cpu:
  cores: 4
memory:
  gbytes: 20
  core_gbytes: 10
""", source="x")
    node = Node(0, host)
    several = [process(node, number) for number in range(3)]
    for each in several:
        each.move(3, 100)
    assert [each.time for each in several] == [30, 30, 45]
    several[0].move(1, 10, nanoseconds=50)  # computing takes longer than the bytes
    assert several[0].time == 80


def test_an_error_is_told() -> None:
    one = process(Node(3, HOST), 1, ring=Ring(status=Status.TIMEOUT))
    one.arrive(Arrival(0, 0, is_message=False))
    with pytest.raises(RuntimeError, match="node 3, job 1: TIMEOUT"):
        next(one.next_entry())
