"""Draws operations: every algorithm, every operator, sizes at the boundaries of flits, packets and pulses."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

from firmware_models.abi.encoding import Kind
from firmware_models.abi.formats import PAYLOAD_BYTES
from firmware_models.config import Config
from firmware_models.golden import dtype_of
from firmware_models.schedule import Combine, algorithm_names, build, collective_names, largest_pulse
from rtl.reduce.operation import operations
from sim.operation.request import DATATYPES, CollectiveRequest

MAX_BYTES = 8192
"""Longest message."""
BOUNDARIES = ("flit", "packet", "pulse")
"""Boundaries at which a message, or each of its blocks, ends, or an element before or behind."""
OTHER_SIZES = ("one element", "many pulses")


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One operation.

    Members
    -------
    request : CollectiveRequest
        What is to be done; its nodes are the ranks.
    boundary : str
        Which boundary its size lies at.
    kind : Kind, optional
        As for ``compile_schedule``.
    in_place : bool
        If true, results go where the operands are.
    """

    request: CollectiveRequest
    boundary: str
    kind: Kind | None
    in_place: bool

    @property
    def reduces(self) -> bool:
        """True if the operation computes with its data."""
        sequences = self.request.schedule.sequences
        return any(step.combine is Combine.REDUCE for sequence in sequences for step in sequence)

    @property
    def is_mini(self) -> bool:
        """True if operands travel in descriptors."""
        return self.kind is Kind.MP or (self.kind is None and 0 < self.request.size <= PAYLOAD_BYTES)

    def __str__(self) -> str:
        request = self.request
        kind = "" if self.kind is None else f", {self.kind.name}"
        return (
            f"{request.collective} {request.algorithm} of {request.nodes}, root {request.root}, {request.size} bytes "
            f"{request.dtype} {request.op}, pulses of {request.pulse_bytes} ({self.boundary})"
            f"{kind}{', in place' if self.in_place else ''}, data {request.seed}"
        )


class Deck:
    """Draws from `cards` at random, each as often as the others: all of them before one comes again."""

    def __init__(self, rng: random.Random, cards: Sequence[str]):
        self._rng, self._cards = rng, list(cards)
        self._left: list[str] = []

    def draw(self) -> str:
        """The next card."""
        if not self._left:
            self._left = self._rng.sample(self._cards, len(self._cards))
        return self._left.pop()


class Dealer:
    """Deals operations for one configuration; equal `rng`, equal operations.

    Parameters
    ----------
    rng : random.Random
        Every choice.
    config : Config
        The hardware.
    """

    def __init__(self, rng: random.Random, config: Config):
        self._rng, self._config = rng, config
        self._algorithms = Deck(rng, algorithms())
        self._operators = Deck(rng, reductions(config))
        self._datatypes = Deck(rng, list(DATATYPES))
        self._boundaries = Deck(rng, boundaries())

    def deal(self, nodes: int) -> Draw:
        """An operation of `nodes` ranks."""
        rng = self._rng
        collective, _, algorithm = self._algorithms.draw().partition(" ")
        root = rng.randrange(nodes) if collective in ("broadcast", "reduce", "scatter", "gather") else 0
        schedule = build(collective, algorithm, n_nodes=nodes, root=root)
        dtype, op = self._datatypes.draw(), "sum"
        if any(step.combine is Combine.REDUCE for sequence in schedule.sequences for step in sequence):
            dtype, _, op = self._operators.draw().partition(" ")
        largest = largest_pulse(schedule, self._config)
        step = 64 if schedule.block_count == 1 else 16
        pulse = step * rng.randint(1, largest // step)
        boundary = self._boundaries.draw() if schedule.moves_data else "no data"
        if boundary.startswith("packet"):
            pulse = largest
        request = CollectiveRequest(
            collective=collective, algorithm=algorithm, nodes=nodes, root=root, dtype=dtype, op=op,
            size=dtype_of(DATATYPES[dtype]).itemsize * schedule.block_count if schedule.moves_data else 0,
            pulse_bytes=pulse, config=self._config, preset="soak", seed=rng.getrandbits(32),
        )
        if schedule.moves_data:
            request = replace(request, size=self._size(request, boundary, pulse))
        fits = 0 < request.size <= PAYLOAD_BYTES
        return Draw(
            request=request, boundary=boundary, kind=rng.choice((None, Kind.MP, Kind.RDMA)) if fits else None,
            in_place=schedule.moves_data and schedule.block_count == 1 and rng.random() < 0.2,
        )

    def _size(self, request: CollectiveRequest, boundary: str, pulse: int) -> int:
        """Bytes of a message each of whose blocks ends at `boundary`; unequal blocks lose a few elements."""
        rng, schedule = self._rng, request.schedule
        item = dtype_of(request.datatype).itemsize
        most = MAX_BYTES // schedule.block_count
        name, _, beside = boundary.partition(" ")
        if name in BOUNDARIES:
            unit = lcm(item, self._config.datapath.flit_bytes if name == "flit" else pulse)
            # A block of one element has no smaller one beside it.
            fewest = 2 if unit == item and beside == "-1" else 1
            block = unit * rng.randint(fewest, max(fewest, min(4, most // unit - 1))) + item * int(beside or 0)
        else:
            block = item if boundary == "one element" else item * rng.randint(1, most // item)
        elements = block // item * schedule.block_count
        if schedule.block_count > 1 and not schedule.equal_blocks and rng.random() < 0.5:
            elements -= rng.randrange(min(schedule.block_count, elements))
        return max(1, elements) * item


def algorithms() -> list[str]:
    """Every collective with each of its algorithms."""
    return [f"{collective} {name}" for collective in collective_names() for name in algorithm_names(collective)]


def reductions(config: Config) -> list[str]:
    """Every element type with each operator that the hardware has for it."""
    names = {datatype: name for name, datatype in DATATYPES.items()}
    return [f"{names[datatype]} {operator.name.lower()}" for datatype, operator in operations(config.reduce)]


def boundaries() -> list[str]:
    """Sizes: at each boundary, an element less, an element more; and others."""
    return [f"{name}{beside}" for name in BOUNDARIES for beside in (" -1", "", " +1")] + list(OTHER_SIZES)
