"""Cases of the study of faults: what goes wrong, where, and under which collective."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from firmware_models.config import load_preset
from sim.faults import FaultScript
from sim.faults.script import (
    Absent,
    BitFlip,
    Event,
    FailedAccess,
    FullCompletions,
    LinkDown,
    Links,
    Memory,
    SlowHost,
    Stop,
)
from sim.operation.request import CollectiveRequest

RATES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3)
"""Shares of the words of a link with a bit changed."""
OUTAGES = (500, 2_000, 8_000, 20_000)
"""Cycles for which a link is down."""
WATCHDOG = 10_000
_EXPONENT = 52
"""First bit of a double's exponent: what changes there does not vanish in rounding."""
_RESPONSES: tuple[Literal["SLVERR"], Literal["DECERR"]] = ("SLVERR", "DECERR")
_MEMORIES: tuple[Literal["tag"], Literal["header"], Literal["payload"]] = ("tag", "header", "payload")


@dataclass(frozen=True)
class Case:
    """A fault, by name and script; `is_private` if it is of job 0 alone and must not touch the other."""

    name: str
    script: FaultScript
    is_private: bool = False

    @property
    def is_for_good(self) -> bool:
        """True if some operations end by their watchdogs, one after the other."""
        return any(isinstance(event, Stop | Absent) or (isinstance(event, LinkDown) and not event.cycles)
                   for event in self.script.events)

    @property
    def strikes_at(self) -> int:
        """Cycle after the first doorbell before which nothing goes wrong."""
        return min((getattr(event, "at", 0) for event in self.script.events), default=0)


@dataclass(frozen=True)
class Scale:
    """How much is tried: seeds of every fault, bytes of a message."""

    seeds: int
    size: int
    rates: tuple[float, ...] = RATES
    outages: tuple[int, ...] = OUTAGES
    collectives: tuple[tuple[str, str], ...] = field(default=(("allreduce", "recursive-doubling"),))


QUICK = Scale(seeds=2, size=4096, rates=(0.0, 3e-4, 1e-3), outages=(2_000, 8_000))
FULL = Scale(seeds=20, size=16384, collectives=(
    ("allreduce", "recursive-doubling"), ("allreduce", "ring"), ("broadcast", "binomial"), ("reduce", "binomial"),
))


@dataclass(frozen=True)
class Site:
    """Where it goes wrong: nodes of a preset at one switch."""

    preset: str
    nodes: int

    def request(
        self, collective: str, algorithm: str, *, size: int, seed: int, jobs: int = 2, nodes: int | None = None,
    ) -> CollectiveRequest:
        """A collective, in two jobs side by side. Raises :class:`ConfigError`, :class:`RequestError`."""
        count = nodes or self.nodes
        return CollectiveRequest(
            collective=collective, algorithm=algorithm, nodes=count, size=size, jobs=jobs, seed=seed,
            config=load_preset(self.preset), preset=self.preset, topology=f"star:{count}",
        )

    def stream(self, size: int) -> CollectiveRequest:
        """One node that sends to another, as fast as it may, over reliable links: what is left of them under errors."""
        return _reliable(self.request("broadcast", "binomial", size=size, seed=0, jobs=1, nodes=2))

    def doubling(self, size: int) -> CollectiveRequest:
        """An allreduce in one job over reliable links."""
        return _reliable(self.request("allreduce", "recursive-doubling", size=size, seed=0, jobs=1))


def _reliable(asked: CollectiveRequest) -> CollectiveRequest:
    return replace(asked, config=asked.config.changed(link={"reliable": True}))


def faults(seed: int, *, nodes: int) -> Iterator[Case]:
    """Every kind of fault once; `seed` says when and where."""
    node, at = seed % nodes, 300 + 137 * seed
    for name, links in (
        ("bit errors", Links(flipped=1e-3)), ("lost frames", Links(lost=1e-2)), ("doubled frames", Links(doubled=1e-2)),
        ("delayed frames", Links(delayed=1e-2, delay=300)),
    ):
        yield Case(name, FaultScript(watchdog=WATCHDOG, links=links))
    once: list[tuple[str, Event]] = [
        ("link down for a while", LinkDown(kind="link_down", node=node, at=at, cycles=6_000)),
        ("link down for good", LinkDown(kind="link_down", node=node, at=at)),
        ("node stops", Stop(kind="stop", node=node, at=at)),
        ("slow host", SlowHost(kind="slow_host", node=node, at=at, cycles=3_000, extra=1_000)),
    ]
    for name, event in once:
        yield _at_once(name, event)
    for response in _RESPONSES:
        yield _at_once(f"read refused, {response}", FailedAccess(
            kind="read_error", node=node, at=at, response=response))
        yield _at_once(f"write refused, {response}", FailedAccess(
            kind="write_error", node=node, at=at, response=response))
    for memory in _MEMORIES:
        for bits in (1, 2):
            yield _at_once(f"{bits} bit{'s' * (bits > 1)} of a {memory}", BitFlip(
                kind="bit_flip", node=node, at=at, memory=memory, bits=bits,
                first_bit=_EXPONENT if memory == "payload" else 3))
    yield _at_once("process stops", Absent(kind="absent", node=node), is_private=True)
    yield _at_once("full completion queue", FullCompletions(kind="full_completions", node=node, cycles=5_000),
                   is_private=True)
    by_rate = Memory(reads=3e-3, writes=3e-3)
    yield Case("reads and writes refused by rate", FaultScript(watchdog=WATCHDOG, memory=by_rate))


def _at_once(name: str, event: Event, *, is_private: bool = False) -> Case:
    return Case(name, FaultScript(watchdog=WATCHDOG, events=[event]), is_private)
