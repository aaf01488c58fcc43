"""Time of processes, added up by hand; no NIC is there."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from firmware_models.abi.encoding import CplKind, Status
from sim.host import Host, Interruptions, late_cycles, parse_host
from sim.host import noise as noise_module
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


def test_what_nics_move_passes_the_memory_too() -> None:
    """It has passed while the process did something else, if memory was free; if not, or if it is much, cores wait."""
    host: Host = parse_host("""
network:
  clock_mhz: 1000
memory:
  gbytes: 20
  core_gbytes: 20
  dma_passes: 2
""", source="x")
    node = Node(0, host)
    one = process(node, 0)
    one.work(50)
    one.count_dma(100)  # 10 ns, which are over
    one.move(1, 100)
    assert one.time == 55
    one.count_dma(200)  # 20 ns, none of which memory was free
    one.move(1, 100)
    assert one.time == 55 + 20 + 5


def test_an_error_is_told() -> None:
    one = process(Node(3, HOST), 1, ring=Ring(status=Status.TIMEOUT))
    one.arrive(Arrival(0, 0, is_message=False))
    with pytest.raises(RuntimeError, match="node 3, job 1: TIMEOUT"):
        next(one.next_entry())


NOISY = """
network:
  clock_mhz: 1000
noise:
  interrupt_ns: 10
  interrupt_every_ns: 100
  seed: 5
"""


@dataclass
class Gaps:
    """Times between interruptions, as if they had been drawn."""

    values: list[float]

    def expovariate(self, _rate: float) -> float:
        return self.values.pop(0)


def interrupted(monkeypatch: pytest.MonkeyPatch, *gaps: float) -> Interruptions:
    """A core that is taken away for 10 cycles, again and again, at these distances."""
    monkeypatch.setattr(noise_module.random, "Random", lambda _seed: Gaps([*gaps, 1e9]))
    return Interruptions(parse_host(NOISY, source="x"), node=0, core=0)


@pytest.mark.parametrize(("begin", "cycles", "end"), [
    (0, 20, 20),     # done when the first one begins
    (0, 21, 31),     # 20, 10 away, 1 more
    (0, 26, 46),     # 20, away, 5, away, 1
    (20, 1, 31),     # begins with it
    (20, 0, 30),
    (25, 0, 30),     # not even nothing can be done while the core is away
    (25, 5, 35),     # as soon as it is back, and done when the next one begins
    (30, 6, 46),
    (50, 7, 57),     # both are over
])
def test_interruptions(begin: float, cycles: float, end: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 20 to 30 and at 35 to 45."""
    assert interrupted(monkeypatch, 20, 5).end_of(begin, cycles) == end


def test_interruptions_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    core = interrupted(monkeypatch, 20, 5, 5)
    assert [core.end_of(*work) for work in ((0, 10), (10, 15), (35, 3), (60, 4))] == [10, 35, 48, 64]


def test_interruptions_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that falls into an interruption is made behind it, and what is taken costs its time then."""
    node = Node(0, HOST)
    node.interruptions = [interrupted(monkeypatch, 20)]
    one = process(node)
    one.arrive(Arrival(17, 0, is_message=False))
    ended(one)
    assert one.time == 30 + 3
    assert one.busy == 3


def test_noise_is_drawn() -> None:
    """From the seed, for each core of each node; as often, and as long, as the host says; and none in the presets."""
    host = parse_host(NOISY, source="x")
    one, same, other = (Interruptions(host, node=node, core=0) for node in (3, 3, 4))
    ends = [each.end_of(0, 1e6) for each in (one, same, other)]
    assert ends[0] == ends[1] != ends[2]
    # 1,000,000 cycles of work meet 10,000 interruptions; their number has a standard deviation of 100.
    assert ends[0] == pytest.approx(1.1e6, rel=0.005)
    assert Interruptions(HOST, node=0, core=0).end_of(3, 1e9) == 1e9 + 3


def test_late() -> None:
    host = parse_host("network:\n  clock_mhz: 1000\nnoise:\n  late_ns: 50\n  late_share: 0.25", source="x")
    late = [late_cycles(host, node=node, job=job) for node in range(40) for job in range(100)]
    assert set(late) == {0.0, 50.0}
    assert late.count(50.0) == pytest.approx(1000, abs=120)  # four standard deviations
    assert late_cycles(HOST, node=0, job=0) == 0
