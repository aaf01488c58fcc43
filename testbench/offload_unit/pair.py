"""Two offload units back to back: each may be a RTL unit or its model, with random pauses on every stream."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from amaranth import Module, Signal
from amaranth.sim import Simulator

from firmware_models.config import Config
from testbench.offload_unit.memory import HostMemory
from testbench.offload_unit.monitor import UnitMonitor
from testbench.offload_unit.programs import NODES, ROOM, Conversation
from testbench.offload_unit.record import Packet
from testbench.offload_unit.stand_in import UnitStandIn
from testbench.offload_unit.surroundings import Surroundings
from testbench.offload_unit.unit_checker import UnitChecker
from testbench.offload_unit.wires import Wires

QUIET = 120
"""Cycles after the last completion in which packets and reports may still leave."""


class Node:
    """A unit with its surroundings, and the recording of what passes its boundary."""

    def __init__(self, unit: Any, config: Config, *, node_id: int, n_rooms: int, rng: random.Random):
        self.unit, self.config = unit, config
        self.memory = HostMemory(bytearray(rng.randbytes(n_rooms * ROOM)))
        self.around = Surroundings(unit, config, memory=self.memory, node_id=node_id, rng=rng)
        self.monitor = UnitMonitor(unit, config)
        self.before = self.memory
        self.parts = [self.around, *([unit] if isinstance(unit, UnitStandIn) else []), self.monitor]

    def post(self, conversation: Conversation, place: int) -> None:
        """Gives its part of a conversation to the node."""
        sequence, at = conversation.descriptors[place], conversation.place
        operand = conversation.operands[place]
        for memory in (self.memory, self.before):
            memory.content[at:at + len(operand)] = operand
        self.around.sequences.setdefault(sequence[0]["job_id"], deque()).append(sequence)

    def check(self) -> None:
        """Compares everything that passed the boundary with the model."""
        UnitChecker(self.config, self.before).check(self.monitor.recording)


class Pair:
    """Two nodes, and the network between them, which keeps the order of a channel.

    Parameters
    ----------
    units : two components with ``OffloadUnitSignature(config)``
        Node 0 and node 1.
    config : Config
        Of both.
    n_rooms : int
        Conversations that their memories have room for.
    rng : Random
        For pauses.
    """

    def __init__(self, units: Sequence[Any], config: Config, *, n_rooms: int, rng: random.Random):
        self.nodes = [
            Node(unit, config, node_id=node_id, n_rooms=n_rooms, rng=rng)
            for unit, node_id in zip(units, NODES, strict=True)
        ]
        for node, other in zip(self.nodes, self.nodes[::-1], strict=True):
            for vc in range(2):
                node.around.sent[vc] = other.around.arrive[vc]
        self._quiet = self.cycle = 0
        self.timed: dict[int, Callable[[], None]] = {}
        """Actions, by the cycle in which they are taken."""
        self.script: list[Callable[[], None]] = []
        """Actions, each taken when all is at rest after the one before."""

    def post(self, conversation: Conversation) -> None:
        """Gives a conversation to both nodes."""
        for place, node in enumerate(self.nodes):
            node.post(conversation, place)

    def arrive(self, place: int, packet: Packet) -> None:
        """A packet of nobody comes to a node."""
        self.nodes[place].around.arrive[0](packet)

    @property
    def is_idle(self) -> bool:
        """True if both nodes have ended all their sequences, and no packet is left."""
        return all(node.around.is_idle for node in self.nodes)

    def begin(self) -> None:
        """Notes what memories hold; call it when all is posted and before the first cycle."""
        for node in self.nodes:
            node.before = node.memory.copy()

    def drive(self, contexts: Sequence[Any]) -> None:
        """Drives all inputs, and the outputs of models, of a cycle. Each node has a context of its own."""
        for node, context in zip(self.nodes, contexts, strict=True):
            for part in node.parts:
                part.drive(context)

    def settle(self, contexts: Sequence[Any]) -> bool:
        """Looks at a cycle; False once all has been at rest for a while and no action is left."""
        for node, context in zip(self.nodes, contexts, strict=True):
            for part in node.parts:
                part.settle(context.get)
        self.cycle += 1
        if self.cycle in self.timed:
            self.timed.pop(self.cycle)()
        self._quiet = self._quiet + 1 if self.is_idle and not self.timed else 0
        if self._quiet < QUIET:
            return True
        if not self.script:
            return False
        self.script.pop(0)()
        self._quiet = 0
        return True

    def end(self, contexts: Sequence[Any]) -> None:
        """Compares everything that passed the boundaries with the model.

        Raises
        ------
        AssertionError
            If a unit has done something else.
        """
        for node, context in zip(self.nodes, contexts, strict=True):
            node.monitor.end(context.get)
        for node in self.nodes:
            node.check()

    def run(self, *, cycles: int) -> None:
        """Lets two models run without a simulator."""
        contexts = [Wires(), Wires()]
        self.begin()
        for _ in range(cycles):
            self.drive(contexts)
            if not self.settle(contexts):
                break
        self.end(contexts)

    def simulate(self, *, cycles: int) -> None:
        """Lets units of any kind run in Amaranth's simulator."""
        m, beat = Module(), Signal()
        for place, node in enumerate(self.nodes):
            m.submodules[f"unit_{place}"] = node.unit
        m.d.sync += beat.eq(~beat)  # stand-ins have no clock of their own
        simulator = Simulator(m)
        simulator.add_clock(1e-6)

        async def bench(context: Any) -> None:
            # A model has no part in the simulation.
            contexts = [Wires() if isinstance(node.unit, UnitStandIn) else context for node in self.nodes]
            self.begin()
            for _ in range(cycles):
                self.drive(contexts)
                await context.delay(1e-7)
                if not self.settle(contexts):
                    break
                await context.tick()
            self.end(contexts)

        simulator.add_testbench(bench)
        simulator.run()
