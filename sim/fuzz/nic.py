"""One NIC between hostile processes and a hostile network, under a guard of host memory.

Hostile VPs post whatever they like; the node at the other end of the cable is played and sends whatever it likes.
Beside them stand a VP that works on, and one that does nothing and whose memory nobody may touch.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from firmware_models.abi.encoding import Kind, Operand, P2pOp, PacketType, Right
from firmware_models.abi.formats import DESCRIPTOR, JOB_BITS, P2P_RANGE, PACKET_HEADER, PACKET_VERSION
from firmware_models.abi.registers import CONTROL_PAGE
from firmware_models.config import Config
from firmware_models.host import NodeDriver, Port
from firmware_models.routing.topology import parse_topology as parse_network
from sim.cluster import Cluster, Execution
from sim.fabric.topology import End, Topology
from sim.fuzz.accesses import RegisterAccesses
from sim.fuzz.records import mutated

HOSTILE = range(6)
BYSTANDER, HONEST = 6, 7
"""VPs: those that post nonsense; one that only has memory; one that works."""
HONEST_JOB = 0x55
EDGE_JOB = 0xFF
"""A JobID that nobody was given, and that is not refused: as many jobs are open as the NIC has places for."""
PLAYED_ID = 1
WATCHDOG = 300
_WINDOW = 4096
_PATIENCE = 400_000
_LONG = 100_000
"""Cycles after which operations that are at work all the same are ended."""
_CHUNK = 2_000
_CANARY = 0xA5
_WINDOW_SLOTS = 4
"""Of the credits of one peer."""
_OFTEN = 300
"""Longer payloads are sent now and then only."""


class FuzzError(AssertionError):
    """A NIC hangs, harms a VP, or touches memory that is nobody's business; the message has the seed."""


class NicFuzzer:
    """A NIC with its host and the network that attacks it.

    Parameters
    ----------
    library : Path
        Library of a cluster of `config`.
    config : Config
        The hardware; links are plain.
    seed : int
        Of everything.
    """

    def __init__(self, library: Path, config: Config, *, seed: int):
        self.config, self.seed, self._flit = config, seed, config.datapath.flit_bytes
        self.numbers = np.random.default_rng(seed)
        self.descriptors = self.packets = self.n_accesses = 0
        self.accesses = RegisterAccesses(config, self.numbers, spared=range(BYSTANDER, HONEST + 1))
        self.cluster = Cluster(
            library, _direct(), memory_bytes=1 << 20, seed=seed, players=1, player_credits=config.link.buffer_flits,
            execution=Execution(threads=1),
        )
        self.driver = driver = NodeDriver(self.cluster, 0)
        driver.start()
        driver.set_watchdog(WATCHDOG)
        driver.set_retry_limit(WATCHDOG)
        for job in range(1 << JOB_BITS):
            if job not in (*HOSTILE, EDGE_JOB, HONEST_JOB):
                driver.refuse_job(job)
        self.ports = {vp: driver.open_port(vp, dq_log2=8, cq_log2=9, rq_log2=3) for vp in (*HOSTILE, BYSTANDER, HONEST)}
        self.windows = {vp: self._open(port) for vp, port in self.ports.items()}
        self._settle("the NIC takes its configuration", lambda: self.cluster.run(1))
        self.cluster.run_for(8_000)

    def __enter__(self) -> "NicFuzzer":
        return self

    def __exit__(self, *_error: object) -> None:
        self.cluster.close()

    def _open(self, port: Port) -> int:
        """Memory of a port: window 0 for everything, window 1 that may be read only; what the guard lets pass."""
        base = self.driver.allocate(2 * _WINDOW, alignment=_WINDOW)
        limit, steps = base + _WINDOW, port.steps
        self.driver.store(base, bytes([_CANARY]) * 2 * _WINDOW)
        local = (Right.LOCAL_READ, Right.LOCAL_WRITE)
        self.driver.carry_out(steps.enable(base, limit, tuple(Right) if port.vp in HOSTILE else local))
        for ring, is_write in ((steps.descriptors, False), (steps.completions, True), (steps.received, True)):
            self.cluster.allow(0, ring.base, ring.base + ring.size * ring.entry.bytes, is_write=is_write)
        if port.vp in HOSTILE:
            port.register_window(1, limit, limit + _WINDOW, (Right.LOCAL_READ, Right.REMOTE_READ))
            self.cluster.allow(0, limit, limit + _WINDOW, is_write=False)
        if port.vp != BYSTANDER:
            for is_write in (False, True):
                self.cluster.allow(0, base, limit, is_write=is_write)
        return base

    def post(self, count: int) -> None:
        """Every hostile VP posts so many descriptors, at most 256; until all have ended.

        An operation of 2**32 bytes that neither sends nor touches memory is at work for as long as it takes, and no
        watchdog ends it: after a while jobs are closed, as a kernel would.
        """
        for vp in HOSTILE:
            port, base = self.ports[vp], self.windows[vp]
            words = mutated(self.numbers, DESCRIPTOR, _descriptors(vp, base, self.config), count,
                            addresses=self._addresses())
            port.post(words.astype("<u8").tobytes())
            port.ring()
        self.descriptors += count * len(HOSTILE)
        ports = [self.ports[vp] for vp in HOSTILE]

        def ended() -> bool:
            self._collect(ports)
            return all(port.room == port.steps.descriptors.size for port in ports)

        for _ in range(_LONG // _CHUNK):
            if ended():
                break
            self.cluster.run_for(_CHUNK)
        else:
            self.close()
        self._settle("descriptors end", ended)
        self.check()

    def send(self, count: int) -> None:
        """The played node sends so many packets; until the NIC has taken all of them."""
        templates = [template for vp in HOSTILE for template in _packets(vp, self.windows[vp], self._flit)]
        words = mutated(self.numbers, PACKET_HEADER, templates, count, addresses=self._addresses())
        channels = self.numbers.integers(2, size=count)
        self.play([self._packet(int(channel), row.tobytes()) for row, channel in
                   zip(words.astype("<u8"), channels, strict=True)])

    def access(self, count: int) -> None:
        """So many register accesses, while hostile VPs have doorbells rung that promise what stands in their rings."""
        accesses = self.accesses
        before, refused = self.cluster.refused_accesses(0), 0
        for access in accesses.take(count):
            refused += access.refused
            if access.value is None:
                self.cluster.queue_read(0, access.address)
            else:
                self.cluster.write_register_bytes(0, access.address, access.value, access.strobes)
        self.n_accesses += count
        self._settle("register accesses are answered", lambda: self.cluster.run(1))
        seen = self.cluster.refused_accesses(0) - before
        self._expect(seen == refused, f"{seen} register accesses were refused, not {refused}")
        for name, value in accesses.held.items():
            now = self.driver.read_register(CONTROL_PAGE[name].offset)
            self._expect(now == value, f"{name} holds {now:#x}, not {value:#x}")
        self.check()

    def fill_rings(self) -> None:
        """Descriptors of all kinds in the rings of hostile VPs; no doorbell says so."""
        for vp in HOSTILE:
            ring = self.ports[vp].steps.descriptors
            words = mutated(self.numbers, DESCRIPTOR, _descriptors(vp, self.windows[vp], self.config), ring.size,
                            addresses=self._addresses())
            self.driver.store(ring.base, words.astype("<u8").tobytes())

    def _packet(self, channel: int, header: bytes) -> tuple[int, bytes]:
        """A packet with a payload as its header says, mostly; sometimes a flit more or less, or none."""
        fields = PACKET_HEADER.unpack(header)
        flit, length = self._flit, fields["length"]
        wrong = int(self.numbers.integers(-24, 4))
        n_bytes = length + flit * wrong * (wrong in (-1, 1, 2))
        n_bytes = min(max(n_bytes, 0), self.config.datapath.mtu + flit)
        payload = self.numbers.bytes(-(-n_bytes // flit) * flit) if n_bytes < _OFTEN or wrong == 0 else b""
        if fields["coll_end"] and payload and self.numbers.random() < 0.8:
            # A range around the packet's own bytes, of which most are proper and some lie in a window.
            before, left = flit * int(self.numbers.integers(64)), length + int(self.numbers.integers(_WINDOW))
            operation = P2P_RANGE.pack(before=before, left=left)
            payload = operation + payload[len(operation):]
        return channel, header + bytes(-len(header) % flit) + payload

    def play(self, packets: Sequence[tuple[int, bytes]]) -> None:
        """The played node sends packets, each with its channel; until the NIC has taken all of them."""
        self.cluster.play(0, packets, flit_bytes=self.config.datapath.flit_bytes)
        self.packets += len(packets)
        self._settle("packets are taken", lambda: self.cluster.run(1))
        self.cluster.run_for(2 * WATCHDOG)
        self._collect([self.ports[vp] for vp in (*HOSTILE, BYSTANDER)])
        self.check()

    def close(self) -> None:
        """Closes the jobs that everybody plays with."""
        for job in (*HOSTILE, EDGE_JOB):
            self.driver.close_job(job)

    def renew(self) -> None:
        """Closes these jobs, gives them back what they could wait for, and opens them: all work as new."""
        jobs = [*HOSTILE, EDGE_JOB]
        self.close()
        self.cluster.run_for(2 * WATCHDOG)
        self._collect([self.ports[vp] for vp in HOSTILE])
        credit = {"type": PacketType.CREDIT, "version": PACKET_VERSION, "source_id": PLAYED_ID}
        for job in jobs:
            if self.driver.job_state(job).owing:
                self._play([credit | {"job_id": job, "credits": 255, "peer": peer, "tag": slot}
                            for peer in range(self.config.cou.n_peers) for slot in range(_WINDOW_SLOTS)])

        def rests() -> bool:
            states = {job: self.driver.job_state(job) for job in jobs}
            for job, state in states.items():
                # A credit that is kept without a packet is a shared credit, which the played node holds and returns
                # here.
                self._play([credit | {"job_id": job, "loan": 1}] * min(state.kept, 4))
            return all(state.at_rest for state in states.values())

        self._settle("closed jobs come to rest", rests)
        for job in jobs:
            self.driver.open_job(job)

    def _play(self, headers: Sequence[Mapping[str, int]]) -> None:
        """The played node sends CREDIT packets."""
        flit = self.config.datapath.flit_bytes
        if headers:
            raw = [PACKET_HEADER.pack(**header) for header in headers]
            self.cluster.play(0, [(1, header + bytes(-len(header) % flit)) for header in raw], flit_bytes=flit)
            self._settle("CREDIT packets are taken", lambda: self.cluster.run(1))

    def _addresses(self) -> list[int]:
        """Ends of windows and rings, of all VPs, and of memory: where an off-by-one would show."""
        found = [0, len(self.driver.memory), (1 << 40) - 64]
        for vp, base in self.windows.items():
            found += [base, base + _WINDOW, base + 2 * _WINDOW, self.ports[vp].steps.completions.base]
        return found

    def _collect(self, ports: list[Port]) -> None:
        """Hosts read what has come, and return the room."""
        for port in ports:
            before = port.steps.completions.consumed, port.steps.received.consumed
            while port.steps.take_completion() is not None:
                pass
            while port.steps.take_message() is not None:
                pass
            if port.steps.completions.consumed != before[0]:
                self.driver.carry_out(port.steps.acknowledge())
            if port.steps.received.consumed != before[1]:
                self.driver.carry_out(port.steps.acknowledge_messages())

    def check(self) -> None:
        """The honest VP works, nobody's memory has changed, and nothing foreign was asked for."""
        port, base = self.ports[HONEST], self.windows[HONEST]
        operand = self.numbers.bytes(64)
        self.driver.store(base, operand)
        self.driver.store(base + 64, bytes(64))
        port.post(DESCRIPTOR.pack(**_local(HONEST, base, job=HONEST_JOB)))
        port.ring()
        seen: list[dict[str, int]] = []

        def ended() -> bool:
            entry = port.steps.take_completion()
            if entry is not None:
                seen.append(entry)
            return bool(seen)

        self._settle("the operation of an honest VP ends", ended)
        self.driver.carry_out(port.steps.acknowledge())
        self._expect(seen[0]["status"] == 0, f"the operation of an honest VP ends in status {seen[0]['status']}")
        self._expect(self.driver.load(base + 64, 64) == operand, "the result of an honest VP is wrong")
        for vp, first in ((HONEST, 128), (BYSTANDER, 0)):
            rest = self.driver.load(self.windows[vp] + first, 2 * _WINDOW - first)
            self._expect(rest == bytes([_CANARY]) * len(rest), f"memory of VP {vp} has changed")
        faults = self.cluster.memory_faults(0)
        where = f"first {faults.first_foreign:#x}"
        self._expect(not faults.foreign, f"{faults.foreign} accesses to foreign memory, {where}")

    def _settle(self, what: str, done: Callable[[], bool]) -> None:
        """Lets time pass until `done` says so."""
        for _ in range(_PATIENCE // _CHUNK):
            if done():
                return
            self.cluster.run_for(_CHUNK)
        self._expect(False, f"hang: not so within {_PATIENCE} cycles: {what}")

    def _expect(self, holds: bool, what: str) -> None:
        if not holds:
            raise FuzzError(
                f"seed {self.seed}, after {self.descriptors} descriptors and {self.packets} packets: {what}"
                if not self.n_accesses else f"seed {self.seed}, after {self.n_accesses} register accesses: {what}"
            )


def _direct() -> Topology:
    """A NIC, and a played node at the other end of its cable."""
    return Topology(
        name="direct", n_nodes=2, radixes=(), cables=((End(False, 0), End(False, PLAYED_ID)),), routes=(),
        network=parse_network("star:2"),
    )


def _local(vp: int, base: int, *, job: int) -> Mapping[str, int]:
    """A sequence of one descriptor, which writes its operand to its result."""
    return {
        "kind": Kind.RDMA, "c": 1, "ch": 1, "ct": 1, "job_id": job, "source_vp": vp, "length": 64, "pulse_bytes": 64,
        "operand": Operand.MEMORY, "local_addr": base, "result_addr": base + 64, "write_back": 1,
    }


def _descriptors(vp: int, base: int, config: Config) -> list[Mapping[str, int]]:
    """First descriptors of a hostile VP: valid ones, of every kind."""
    common = {"source_vp": vp, "dest_id": PLAYED_ID, "dest_vp": vp, "local_addr": base, "remote_addr": base + 1024}
    step = {**_local(vp, base, job=vp), "dest_id": PLAYED_ID, "dest_vp": vp, "peer": 1}
    return [
        {**common, "kind": Kind.MP, "p2p_op": P2pOp.SEND, "length": 8},
        {**common, "kind": Kind.RDMA, "p2p_op": P2pOp.PUT, "length": 256},
        {**common, "kind": Kind.RDMA, "p2p_op": P2pOp.GET, "length": 64} if config.nic.get else {**common, "length": 1},
        step, {**step, "length": 1024, "pulse_bytes": 256},
        {**step, "ct": 0, "cp": 1}, {**step, "ch": 0, "cp_count": 1, "reduce_flag": 1},
        {**step, "kind": Kind.MP, "operand": Operand.PAYLOAD, "cp": 1, "write_back": 0},
        {**step, "cp": 1, "multicast": 1, "members": 1, "mlid": 0xC000},
        {**step, "block_count": 4, "slice_count": 1, "length": 256, "pulse_bytes": 16},
    ]


def _packets(vp: int, base: int, flit_bytes: int) -> list[Mapping[str, int]]:
    """First packets of a hostile node: valid ones, of every type, for a hostile VP."""
    common = {"version": PACKET_VERSION, "dest_vp": vp, "source_id": PLAYED_ID, "source_vp": vp, "addr": base}
    return [
        {**common, "type": PacketType.COLLECTIVE, "job_id": vp, "length": 64, "peer": 1},
        {**common, "type": PacketType.CREDIT, "job_id": vp, "credits": 1, "peer": 1},
        {**common, "type": PacketType.CREDIT, "job_id": vp, "loan": 1, "peer": 1},
        {**common, "type": PacketType.SEND, "length": 8}, {**common, "type": PacketType.PUT, "length": 128},
        {**common, "type": PacketType.PUT, "length": 128, "coll_end": 1, "addr": base + 1024},
        {**common, "type": PacketType.GET, "pulse": 64, "length": flit_bytes, "coll_end": 1, "addr": base + 1024},
        {**common, "type": PacketType.GET, "pulse": 64}, {**common, "type": PacketType.GET_DATA, "length": 64},
        {**common, "type": PacketType.ACK},
    ]
