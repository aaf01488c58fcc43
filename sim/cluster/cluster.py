"""The simulated cluster as Python sees it: memory, registers, time."""

import ctypes
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi import registers
from sim.cluster.faults import ClusterFaults, WireFault
from sim.cluster.interface import load_library
from sim.cluster.registers import ClusterInside
from sim.cluster.settings import Execution, LinkTiming, MemoryTiming, Waves
from sim.cluster.side_by_side import pack_of_this_thread
from sim.fabric.topology import End, Topology


class EventKind(IntEnum):
    """Kind of an event; `data` as in event.h."""

    TRANSMIT = 0
    RECEIVE = 1
    UNIT = 2
    REGISTER = 3
    WATCH = 4
    TRANSMIT_END = 5
    RECEIVE_END = 6


EVENT = np.dtype([("cycle", "<u8"), ("node", "<u4"), ("kind", "<u4"), ("data", "<u8", (8,))])
"""Layout of ``conic::Event``."""

GIVE_UP = 13
"""Windows of 8,192 cycles: a node that does not take 16 flits in one takes less than a 500th of what a link brings."""
_LONGER = 3
"""Of windows between switches: two to this power."""
_LONGEST_WINDOW = (1 << registers.SWITCH_PAGE["port_give_up"]["log2_cycles"].width) - 1
_NODE, _SWITCH = 0, 1
_MOST_ACCESS_CYCLES = 10_000
_PART_CYCLES = 20_000


class SimulationFaultError(RuntimeError):
    """Hardware broke a rule: an assertion of the RTL, of AXI4, of links, or of the boundary. The cluster is of no
    further use."""


class RegisterAccessError(RuntimeError):
    """A register access was answered with an error, or not at all."""


_FAULT = (1 << 64) - 1
"""Value of a count that could not be made."""
_NO_MEMORY = "std::bad_alloc"


class Cluster(ClusterFaults, ClusterInside):
    """NICs and switches of one configuration, wired as a topology says.

    Parameters
    ----------
    library : Path
        What :func:`sim.cluster.build.build_library` returned.
    topology : Topology
        Switches, nodes and cables; its routes are written into the switches.
    memory_bytes : int
        Host memory of each node.
    memory, links : MemoryTiming, LinkTiming
        Timing.
    seed : int
        Of every random choice: equal seeds give equal runs.
    waves : Waves, optional
        A waveform of all models; the library must have been built for it.
    check_boundary : bool
        Check in every cycle that no output of a model follows an input: what makes the simulation exact. It is slower.
    execution : Execution
        Threads, and what is left out. Cycles of a waveform, and of the check of the boundary, are in lockstep whatever
        it says; with a library built for waveforms all is on one thread.
    players : int
        The last so many nodes are only played: no NIC is there, and :meth:`play` says what they send. Links are plain.
    random_start : bool
        What has no reset begins with random values, so that a result that depends on one shows; otherwise with 0.
    player_credits : int
        Flits of each channel that a NIC or switch has room for (``link.buffer_flits``).
    source_check : bool, optional
        If true, switches let in only packets of the node that is connected there, at each port with a node, played
        ones included: others are counted in ``forged``. By default if some nodes are played: a NIC cannot forge, and
        the check keeps a packet for a cycle whose sender leaves a gap between its first flits.
    give_up : int
        Switches give up the link to a node that takes nothing for so long (register ``port_give_up``): windows of two
        to this power of cycles, eight times as long between switches; 0: never, so that the packets for such a node
        stand in front of others.

    Raises
    ------
    SimulationFaultError
        Here and whenever time passes, if hardware breaks a rule.
    """

    def __init__(
        self, library: Path, topology: Topology, *, memory_bytes: int, memory: MemoryTiming | None = None,
        links: LinkTiming | None = None, seed: int = 0, waves: Waves | None = None,
        check_boundary: bool = False, execution: Execution | None = None, players: int = 0, player_credits: int = 0,
        random_start: bool = True, source_check: bool | None = None, give_up: int = GIVE_UP,
    ):
        memory, links, execution = memory or MemoryTiming(), links or LinkTiming(), execution or Execution()
        self.topology, self._seed = topology, seed
        self._n_nics = n_nics = topology.n_nodes - players
        self._api = load_library(library)
        is_apart = execution.lockstep or waves is not None or check_boundary or links.latency == 0 or players > 0
        pack = None if is_apart else pack_of_this_thread(library, n_nics)
        self._handle = self._api.conic_create(
            n_nics, len(topology.radixes), memory_bytes, memory.read_latency, memory.write_latency,
            memory.jitter, memory.stall, memory.beat_cycles, links.latency, links.jitter, links.stall, links.errors,
            seed, random_start, execution.n_threads, execution.skip, execution.lockstep, pack,
        )
        if not self._handle:
            reason = self._api.conic_fault().decode()
            raise MemoryError(f"{topology.n_nodes} nodes, {memory_bytes} bytes each: {reason}")
        for _ in range(players):
            self._passed(self._api.conic_add_player(self._handle, player_credits))
        for number, (a, b) in enumerate(topology.cables):
            self._passed(self._api.conic_connect(
                self._handle, self._station(a), a.port, self._station(b), b.port, seed * 65537 + number,
            ))
        if waves is not None:
            self._passed(self._api.conic_open_waves(
                self._handle, str(waves.path).encode(), waves.first, waves.last,
            ))
        if check_boundary:
            self._passed(self._api.conic_check_boundary(self._handle))
        self._passed(self._api.conic_reset(self._handle))
        self.memories: list[NDArray[np.uint8]] = [
            np.ctypeslib.as_array(self._api.conic_memory(self._handle, node), (memory_bytes,))
            for node in range(n_nics)
        ]
        """Host memory of each node, byte by byte; shared with the simulation."""
        checks = players > 0 if source_check is None else source_check
        self._program_switches(source_writes(topology) if checks else [])
        # Nobody waits for these: they are written while software sets up the NICs.
        for switch, address, value in give_up_writes(topology, give_up) if give_up else []:
            self.write_switch_register(switch, address, value)

    def close(self) -> None:
        """Ends the simulation and completes the waveform. The memories must not be used any more."""
        if self._handle:
            self.memories = []
            self._api.conic_destroy(self._handle)
            self._handle = None

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def cycle(self) -> int:
        """Cycles since reset."""
        return int(self._api.conic_now(self._handle))

    @property
    def damaged(self) -> int:
        """Words of reliable links that were damaged so far by what :class:`LinkTiming` says of `errors`."""
        return self.damage(WireFault.MIXED)

    @property
    def settled_cycle(self) -> int:
        """The cycle in which everything had happened that the last :meth:`run` waited for; exact, where :attr:`cycle`
        may be up to a link's latency later."""
        return int(self._api.conic_settled_at(self._handle))

    @property
    def evaluated(self) -> int:
        """Cycles of models that were evaluated, over all models; the others were left out."""
        return int(self._api.conic_evaluated(self._handle))

    @property
    def bytes_a_node(self) -> int:
        """Bytes that the models take, over the number of nodes; without host memory."""
        return int(self._api.conic_bytes_a_node(self._handle))

    def fingerprint(self) -> int:
        """A hash of all registers and memories of all models."""
        return int(self._api.conic_fingerprint(self._handle))

    def run(self, most: int) -> bool:
        """Runs until every watched word has been written and every register access is done, or for `most` cycles.

        Returns whether the former was the case. Looks whether it is so after as many cycles as links take.
        """
        end = self.cycle + most
        while True:  # in parts, between which signals are heard
            part = min(_PART_CYCLES, end - self.cycle)
            if self._passed(self._api.conic_run(self._handle, part)):
                return True
            if self.cycle >= end:
                return False

    def run_for(self, cycles: int) -> None:
        """Runs for a number of cycles, whatever happens."""
        self._passed(self._api.conic_step(self._handle, cycles))

    def watch(self, node: int, address: int) -> None:
        """Makes :meth:`run` wait until the NIC of `node` writes the memory word at `address`."""
        self._passed(self._api.conic_watch(self._handle, node, address))

    def was_written(self, node: int, address: int) -> bool:
        """True if that has happened."""
        return bool(self._passed(self._api.conic_was_written(self._handle, node, address)))

    def write_register(self, node: int, address: int, value: int, *, not_before: int = 0) -> None:
        """Queues a register write of the host of `node`; it is made while the cluster runs, at cycle `not_before` or
        later."""
        self._passed(self._api.conic_write(self._handle, _NODE, node, address, value, not_before))

    def write_register_bytes(self, node: int, address: int, value: int, strobes: int) -> None:
        """Queues a register write of some bytes of a word only, each with a bit of `strobes`; and at any address."""
        self._passed(self._api.conic_write_bytes(self._handle, _NODE, node, address, value, strobes))

    def queue_read(self, node: int, address: int) -> None:
        """Queues a register read whose value nobody wants, at any address."""
        self._passed(self._api.conic_read(self._handle, _NODE, node, address))

    def refused_accesses(self, node: int) -> int:
        """Register accesses of the host of `node` that were answered with an error so far."""
        return int(self._api.conic_register_errors(self._handle, _NODE, node))

    def write_switch_register(self, switch: int, address: int, value: int) -> None:
        """Queues a register write to a switch; writes stay in order."""
        self._passed(self._api.conic_write(self._handle, _SWITCH, switch, address, value, 0))

    def answer_key(self, node: int) -> int:
        """Draws a key of the nonces of a node: from the seed, so that runs are equal."""
        return Random(f"answer key of node {node} {self._seed}").getrandbits(64)

    def read_register(self, node: int, address: int) -> int:
        """Reads a register; runs the cluster for as long as that takes.

        Raises
        ------
        RegisterAccessError
            If the NIC answers with an error or not at all.
        """
        return self._read(_NODE, node, address)

    def read_switch_register(self, switch: int, address: int) -> int:
        """Reads a register of a switch, behind the writes to it; errors as above."""
        return self._read(_SWITCH, switch, address)

    def _read(self, is_switch: int, number: int, address: int) -> int:
        whose = self._handle, is_switch, number
        where = f"register {address:#x} of {'switch' if is_switch else 'node'} {number}"
        before = self._api.conic_register_errors(*whose)
        self._passed(self._api.conic_read(*whose, address))
        if not self._passed(self._api.conic_await_registers(*whose, _MOST_ACCESS_CYCLES)):
            raise RegisterAccessError(f"{where} did not answer")
        if self._api.conic_register_errors(*whose) != before:
            raise RegisterAccessError(f"{where} was answered with an error")
        return int(self._api.conic_value(*whose))

    def check_registers(self) -> None:
        """Raises :class:`RegisterAccessError` if some access was answered with an error so far."""
        for is_switch, count in ((_NODE, self._n_nics), (_SWITCH, len(self.topology.radixes))):
            for number in range(count):
                errors = self._api.conic_register_errors(self._handle, is_switch, number)
                if errors:
                    raise RegisterAccessError(f"{'switch' if is_switch else 'node'} {number}: {errors} accesses failed")

    def observe(self, node: int, first: int, last: int) -> None:
        """Records from now on what the NIC of `node` writes to memory [first, last), for :meth:`landed`."""
        self._passed(self._api.conic_observe(self._handle, node, first, last))

    def landed(self) -> list[tuple[int, int, int]]:
        """Cycle, node and address of every burst that was written to what is observed since the last call, in order
        of time."""
        return [
            (int(event["cycle"]), int(event["node"]), int(event["data"][0]))
            for event in self._read_events(self._api.conic_land(self._handle), self._api.conic_landed)
        ]

    def log_events(self, on: bool) -> None:
        """Switches the log of events on or off."""
        self._passed(self._api.conic_log_events(self._handle, on))

    def events(self) -> NDArray[Any]:
        """All events logged so far, in order of time; dtype :data:`EVENT`."""
        return self._read_events(self._api.conic_event_count(self._handle), self._api.conic_events)

    def _read_events(self, count: int, where: Callable[[Any], int]) -> NDArray[Any]:
        if count == _FAULT:
            self._passed(-1)
        if not count:
            return np.empty(0, EVENT)
        buffer: Any = (ctypes.c_char * (count * EVENT.itemsize)).from_address(where(self._handle))
        return np.array(np.frombuffer(buffer, EVENT))

    def _station(self, end: End) -> int:
        """Stations are NICs, then switches, then players."""
        if end.is_switch:
            return self._n_nics + end.number
        return end.number + (len(self.topology.radixes) if end.number >= self._n_nics else 0)

    def _passed(self, outcome: int) -> int:
        if outcome < 0:
            reason = self._api.conic_fault().decode()
            if reason == _NO_MEMORY:
                raise MemoryError("the simulation needs more memory than there is")
            raise SimulationFaultError(f"cycle {self.cycle}: {reason}")
        return outcome

    def _program_switches(self, further: list[tuple[int, int, int]]) -> None:
        """Enters the routes, and what is written `further`: switch, address, value."""
        routes = [
            (switch, *write) for switch, writes in enumerate(route_writes(self.topology)) for write in writes
        ]
        for switch, address, value in (*further, *routes):
            self.write_switch_register(switch, address, value)
        if not self.run(1_000_000):
            raise RegisterAccessError("a switch did not take its routes")
        self.check_registers()


def source_writes(topology: Topology) -> list[tuple[int, int, int]]:
    """Register writes (switch, address, value) by which each port with a node lets in packets of that node alone."""
    page = {register.name: register.offset for register in registers.SWITCH_PAGE}
    ends = [
        (switch, node.number) for cable in topology.cables for switch, node in (cable, cable[::-1])
        if switch.is_switch and not node.is_switch
    ]
    return [
        (switch.number, page[name], value) for switch, node_id in ends for name, value in (
            ("port_select", switch.port),
            ("port_source", registers.SWITCH_PAGE.pack("port_source", node_id=node_id, check=1)),
        )
    ]


def give_up_writes(topology: Topology, log2_cycles: int) -> list[tuple[int, int, int]]:
    """Register writes (switch, address, value) after which links that take nothing are given up.

    A link between switches stands still behind every node that does, so it is given more time.
    """
    page = {register.name: register.offset for register in registers.SWITCH_PAGE}
    ends = [(a, b) for cable in topology.cables for a, b in (cable, cable[::-1]) if a.is_switch]
    return [
        (end.number, page[name], value) for end, other in ends for name, value in (
            ("port_select", end.port),
            ("port_give_up", registers.SWITCH_PAGE.pack(
                "port_give_up", log2_cycles=min(log2_cycles + _LONGER * other.is_switch, _LONGEST_WINDOW),
            )),
        )
    ]


def route_writes(topology: Topology) -> list[list[tuple[int, int]]]:
    """For each switch the register writes (address, value) that enter the topology's routes."""
    page = {register.name: register.offset for register in registers.SWITCH_PAGE}
    return [
        [
            (page[name], value)
            for node_id, port in enumerate(routes) for name, value in (("table_select", node_id), ("table_port", port))
        ]
        for routes in topology.routes
    ]
