"""What a driver does with a NIC: sets up virtual ports, writes descriptors, rings doorbells, reads completions.

The driver of a node stands on a transport: a simulated cluster, in which it reads and writes memory at once while
register accesses take their time on the bus, or a board behind a serial port.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from firmware_models.abi import registers
from firmware_models.abi.encoding import CplKind, Right, Status
from firmware_models.abi.formats import COMPLETION, DESCRIPTOR, PAYLOAD_BYTES, RECEIVE
from sim.host.transport import Transport

ALL_RIGHTS = (1 << len(Right)) - 1
ALIGNMENT = 64
"""Alignment of every allocation, or more: the widest flit."""

_CONTROL = {register.name: register.offset for register in registers.CONTROL_PAGE}
_PAGE = {register.name: register.offset for register in registers.VP_PAGE}


class HostError(RuntimeError):
    """The host ran out of something; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Rings:
    """Sizes of a port's rings: logarithms of their entries."""

    dq_log2: int = 7
    cq_log2: int = 6
    rq_log2: int = 4


@dataclass(frozen=True)
class Completion:
    """An entry of a completion queue."""

    status: Status
    kind: CplKind
    job_id: int
    vp: int
    bytes: int
    tag: int
    detail: int
    timestamp: int


@dataclass(frozen=True)
class Received:
    """An entry of a receive queue: one mini packet."""

    payload: bytes
    source_id: int
    source_vp: int
    timestamp: int


@dataclass(frozen=True)
class BufferFigures:
    """Figures of one packet buffer; levels as fractions of its usable capacity, means over the cycles since reset."""

    now: float
    peak: float
    mean: float
    steps_mean: float
    steps_max: int
    stash_peak: int
    suspended: int
    corrected: int
    uncorrectable: int
    unlent: int


class NodeDriver:
    """The host of one node.

    Parameters
    ----------
    cluster : Transport
        What the node is part of: a cluster or a board.
    node : int
        Number of the node; also its NodeID.
    rings : Rings, optional
        Sizes of rings for ports that are opened without any.
    """

    def __init__(self, cluster: Transport, node: int, *, rings: Rings | None = None):
        self.cluster, self.node, self.rings = cluster, node, rings or Rings()
        self.memory = cluster.memories[node]
        self._groups: list[int] = []
        # Address 0 stays unused, so that a forgotten address shows.
        self._free = 4096

    def start(self) -> None:
        """Sets the NodeID and lets the NIC fetch descriptors."""
        self._write("node_id", self.node)
        self._write("irq_enable", 1)
        self._write("control", 1)

    def set_node_id(self, node_id: int) -> None:
        """Gives the NIC another NodeID than the number of its node."""
        self._write("node_id", node_id)

    def set_watchdog(self, cycles: int) -> None:
        """Ends operations that make no progress for so many cycles; 0 never."""
        self._write("watchdog", cycles)

    def set_retry_limit(self, cycles: int) -> None:
        """Ends what finds no place in the NIC for so many cycles with NO_PLACE; 0 never."""
        self._write("retry_limit", cycles)

    def join_group(self, mgid: int) -> None:
        """Lets the NIC take multicasts to group `mgid`. Raises :class:`HostError` if it has no entry left."""
        if mgid in self._groups:
            return
        n_groups = self._read("n_groups")
        if len(self._groups) == n_groups:
            raise HostError(f"groups of node {self.node} must be at most {n_groups} (nic.n_groups), not {n_groups + 1}")
        self._write("group_select", len(self._groups))
        self._write("group_entry", mgid | 1 << 31)
        self._groups.append(mgid)

    def allocate(self, n_bytes: int, *, alignment: int = ALIGNMENT) -> int:
        """Address of `n_bytes` of fresh memory. Raises :class:`HostError` if there is none left."""
        address = -(-self._free // alignment) * alignment
        end = address + -(-max(n_bytes, 1) // ALIGNMENT) * ALIGNMENT
        if end > len(self.memory):
            raise HostError(f"memory of node {self.node} must hold {end} bytes, not {len(self.memory)}")
        self._free = end
        return address

    def store(self, address: int, data: bytes) -> None:
        """Writes `data` to memory."""
        self.memory[address:address + len(data)] = np.frombuffer(data, np.uint8)

    def load(self, address: int, n_bytes: int) -> bytes:
        """Reads memory."""
        return bytes(self.memory[address:address + n_bytes].tobytes())

    def open_port(
        self, vp: int, *, dq_log2: int | None = None, cq_log2: int | None = None, rq_log2: int | None = None
    ) -> "Port":
        """Sets up a virtual port with rings of these sizes; its memory window is set by :meth:`Port.open_window`."""
        return Port(
            self, vp, dq_log2=self.rings.dq_log2 if dq_log2 is None else dq_log2,
            cq_log2=self.rings.cq_log2 if cq_log2 is None else cq_log2,
            rq_log2=self.rings.rq_log2 if rq_log2 is None else rq_log2,
        )

    def read_counter(self, name: str) -> int:
        """An event counter of the NIC."""
        index = [counter.name for counter in registers.EVENT_COUNTERS].index(name)
        low, high = (
            self.cluster.read_register(self.node, registers.COUNTERS + 8 * index + half) for half in (0, 4)
        )
        return low | high << 32

    def read_buffer(self, cou: int) -> "BufferFigures":
        """What the packet buffer of an offload unit has counted since reset."""
        self._write("buffer_select", cou)
        level_sum, steps_sum, settled, suspended, corrected, uncorrectable = (
            self._read(f"buffer_{name}_lo") | self._read(f"buffer_{name}_hi") << 32
            for name in ("level_sum", "steps_sum", "settled", "suspended", "corrected", "uncorrectable")
        )
        cycles = self._read("cycles_lo") | self._read("cycles_hi") << 32
        packets = self._read("buffer_packets")
        return BufferFigures(
            now=self._read("buffer_level") / packets, peak=self._read("buffer_peak") / packets,
            mean=level_sum / (packets * max(cycles, 1)), steps_mean=steps_sum / max(settled, 1),
            steps_max=self._read("buffer_steps_max"), stash_peak=self._read("buffer_stash_peak"),
            suspended=suspended, corrected=corrected, uncorrectable=uncorrectable,
            unlent=self._read("buffer_unlent"),
        )

    def read_states(self, cou: int) -> dict[str, int]:
        """Cycles since reset by what an offload unit did or waited for (:class:`~firmware_models.abi.UnitState`)."""
        self._write("buffer_select", cou)
        counts = {}
        for number, counter in enumerate(registers.STATE_COUNTERS):
            low, high = (
                self.cluster.read_register(self.node, registers.STATE_COUNTERS_AT + 8 * number + half)
                for half in (0, 4)
            )
            counts[counter.name] = low | high << 32
        return counts

    def _read(self, name: str) -> int:
        return self.cluster.read_register(self.node, _CONTROL[name])

    def _write(self, name: str, value: int) -> None:
        self.cluster.write_register(self.node, _CONTROL[name], value)


class Port:
    """One virtual port of a node: rings in host memory and their indexes."""

    def __init__(self, driver: NodeDriver, vp: int, *, dq_log2: int, cq_log2: int, rq_log2: int):
        self.driver, self.vp = driver, vp
        self.dq_log2, self.cq_log2, self.rq_log2 = dq_log2, cq_log2, rq_log2
        # The NIC takes the base of a ring for a multiple of its entries' size.
        self._dq, self._cq, self._rq = (
            driver.allocate(entry.bytes << log2, alignment=entry.bytes)
            for entry, log2 in ((DESCRIPTOR, dq_log2), (COMPLETION, cq_log2), (RECEIVE, rq_log2))
        )
        # Memory of a board may hold entries of an earlier run, whose phase would look right.
        driver.store(self._cq, bytes(COMPLETION.bytes << cq_log2))
        driver.store(self._rq, bytes(RECEIVE.bytes << rq_log2))
        self._produced = 0
        self._consumed = 0
        self._received = 0

    def open_window(self, base: int, limit: int) -> None:
        """Gives the port window 0, with all rights, and enables it; it has no other windows then.

        Raises :class:`HostError` if the NIC has no such addresses.
        """
        values = {
            "vp_select": self.vp, "vp_dq_log2": self.dq_log2, "vp_cq_log2": self.cq_log2, "vp_rq_log2": self.rq_log2,
        }
        values |= self._addresses(
            vp_dq_base=self._dq, vp_cq_base=self._cq, vp_rq_base=self._rq, vp_window_base=base, vp_window_limit=limit
        )
        for name, value in (*values.items(), ("vp_window_rights", ALL_RIGHTS), ("vp_commit", 1)):
            self.driver._write(name, value)

    def register_window(self, index: int, base: int, limit: int, rights: Iterable[Right] = tuple(Right)) -> None:
        """Registers memory [base, limit) as window `index` of the port, which :meth:`open_window` has enabled.

        Raises :class:`HostError` if the NIC does not have that window, or no such addresses.
        """
        bits = sum(1 << right for right in set(rights))
        self._select_window(index)
        values = self._addresses(vp_window_base=base, vp_window_limit=limit) | {"vp_window_rights": bits}
        for name, value in (*values.items(), ("window_commit", 1)):
            self.driver._write(name, value)

    def withdraw_window(self, index: int) -> None:
        """Withdraws a window: what is asked for from now on is refused. Operations that use it should have ended."""
        self._select_window(index)
        self.driver._write("window_commit", 0)

    def _select_window(self, index: int) -> None:
        n_windows = self.driver._read("n_windows")
        if not 0 <= index < n_windows:
            raise HostError(f"window of VP {self.vp} must be 0 to {n_windows - 1} (nic.n_windows), not {index}")
        self.driver._write("vp_select", self.vp)
        self.driver._write("window_select", index)

    def _addresses(self, **addresses: int) -> dict[str, int]:
        """The registers of addresses. Raises :class:`HostError` if the NIC has fewer bits than one of them needs."""
        values: dict[str, int] = {}
        for name, address in addresses.items():
            if address >> 32:
                # A register with the upper half of an address holds the bits that there are.
                self.driver._write(f"{name}_hi", 0xFFFFFFFF)
                n_bits = 32 + self.driver._read(f"{name}_hi").bit_length()
                if address >> n_bits:
                    raise HostError(
                        f"{name} of VP {self.vp} must be below 2**{n_bits} (nic.address_bits), not {address:#x}"
                    )
            values |= _halves(name, address)
        return values

    def post(self, descriptors: bytes) -> None:
        """Puts packed descriptors into the ring. Raises :class:`HostError` if they cannot fit."""
        count = len(descriptors) // DESCRIPTOR.bytes
        if count > 1 << self.dq_log2:
            raise HostError(f"descriptor ring of VP {self.vp} must hold {count} entries, not {1 << self.dq_log2}")
        for index in range(count):
            place = (self._produced + index) % (1 << self.dq_log2)
            self.driver.store(
                self._dq + place * DESCRIPTOR.bytes,
                descriptors[index * DESCRIPTOR.bytes:(index + 1) * DESCRIPTOR.bytes],
            )
        self._produced = (self._produced + count) % (1 << 16)

    def ring(self, *, not_before: int = 0) -> None:
        """Rings the doorbell: what has been posted may be fetched."""
        register = self._register("dq_prod")
        self.driver.cluster.write_register(self.driver.node, register, self._produced, not_before=not_before)

    def watch_completions(self, count: int) -> list[int]:
        """Makes the cluster run until `count` more completions are there; their addresses."""
        addresses = [self._completion_address(self._consumed + index) for index in range(count)]
        for address in addresses:
            self.driver.cluster.watch(self.driver.node, address)
        return addresses

    def poll(self) -> Completion | None:
        """The next completion, if it is there."""
        address = self._completion_address(self._consumed, last_word=False)
        entry = COMPLETION.unpack(self.driver.load(address, COMPLETION.bytes))
        if entry["phase"] != _phase(self._consumed, self.cq_log2):
            return None
        self._consumed += 1
        self.driver.cluster.write_register(self.driver.node, self._register("cq_cons"), self._consumed % (1 << 16))
        return Completion(
            status=Status(entry["status"]), kind=CplKind(entry["kind"]), job_id=entry["job_id"], vp=entry["vp"],
            bytes=entry["bytes"], tag=entry["tag"], detail=entry["detail"], timestamp=entry["timestamp"],
        )

    def receive(self) -> Received | None:
        """The next mini packet, if one is there; gives its entry back to the NIC."""
        address = self._rq + self._received % (1 << self.rq_log2) * RECEIVE.bytes
        entry = RECEIVE.unpack(self.driver.load(address, RECEIVE.bytes))
        if entry["phase"] != _phase(self._received, self.rq_log2):
            return None
        self._received += 1
        self.driver.cluster.write_register(self.driver.node, self._register("rq_cons"), self._received % (1 << 16))
        return Received(
            payload=entry["payload"].to_bytes(PAYLOAD_BYTES, "little")[:entry["length"]], source_id=entry["source_id"],
            source_vp=entry["source_vp"], timestamp=entry["timestamp"],
        )

    def _register(self, name: str) -> int:
        return registers.VP_PAGES + self.vp * registers.VP_PAGE_BYTES + _PAGE[name]

    def _completion_address(self, index: int, *, last_word: bool = True) -> int:
        """Address of an entry, or of its last word, which is written last."""
        entry = self._cq + index % (1 << self.cq_log2) * COMPLETION.bytes
        return entry + COMPLETION.bytes - 8 if last_word else entry


def _halves(name: str, value: int) -> dict[str, int]:
    """The two registers of a 64-bit value."""
    return {f"{name}_lo": value & 0xFFFFFFFF, f"{name}_hi": value >> 32}


def _phase(index: int, log2: int) -> int:
    """Phase bit of the entry that is number `index` since the ring was set up."""
    return ((index >> log2) + 1) % 2
