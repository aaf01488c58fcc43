"""Performance left to an honest job under attack: ``python -m sim.fuzz.siege [SIZE]`` measures it.

Two nodes carry out an allreduce. At one of them another process does what it likes, as fast as it can; on a third
cable of the switch a node is played that sends whatever it likes, as fast as the link takes it.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from firmware_models.abi.encoding import Kind, P2pOp, PacketType
from firmware_models.abi.formats import DESCRIPTOR, PACKET_HEADER, PACKET_VERSION
from firmware_models.config import Config, load_preset
from sim.cluster import Cluster, Execution, build_library
from sim.fabric.topology import Topology, parse_topology
from sim.fuzz.accesses import doorbell
from sim.operation.request import CollectiveRequest
from sim.operation.session import Session

HONEST_JOB, HOSTILE_VP = 0, 5
"""The job that is measured, on the VP of its number; a VP of both nodes that belongs to the attacker."""
N_NODES, VICTIM, PLAYED = 2, 0, 2
JOBS = (HONEST_JOB, 9)
"""JobIDs that are in use; the others are refused. The second one is the attacker's."""
_HEAD_START = 3_000
_MOST = 2_000_000
_BUFFER = 1 << 16

Packets = list[tuple[int, bytes]]


@dataclass(frozen=True)
class Siege:
    """Cycles and errors of an honest operation."""

    attack: str
    cycles: int
    mismatched_bits: int
    attacker_packets: int
    uncovered: int


class _Field:
    """Two NICs and the played node, ready."""

    def __init__(self, cluster: Cluster, config: Config, request: CollectiveRequest):
        self.cluster, self.config = cluster, config
        self.n_doorbells = 0
        self.share = request.size / (1 << 16)
        self.session = Session(cluster, config, nodes=N_NODES)
        self.ports = [driver.open_port(HOSTILE_VP, dq_log2=8, cq_log2=9) for driver in self.session.drivers]
        self.bases = [driver.allocate(_BUFFER) for driver in self.session.drivers]
        for port, base in zip(self.ports, self.bases, strict=True):
            port.open_window(base, base + _BUFFER)
        for driver in self.session.drivers:
            for job in range(256):
                if job not in JOBS:
                    driver.refuse_job(job)
        self.posted = [self.session.post(request, HONEST_JOB)]
        self.session.configure()
        self.session.warm_up()

    def count(self, whole: int) -> int:
        """So many for an operation of 64 KiB, fewer for a shorter one: the attack outlasts it."""
        return int(whole * self.share)

    def play(self, count: int, packet: Callable[[int], tuple[int, bytes]]) -> int:
        """The played node sends; what it sends takes longer than the honest operation."""
        self.cluster.play(0, [packet(number) for number in range(count)], flit_bytes=self.config.datapath.flit_bytes)
        return count

    def collective(self, number: int, **fields: int) -> tuple[int, bytes]:
        """A packet without a credit, now short, now long."""
        length = (8, self.config.datapath.mtu)[number % 2]
        return 0, _header(type=PacketType.COLLECTIVE, length=length, seq_id=number % 32, pulse=number // 32 % 65536,
                          peer=number % 16, **fields) + bytes(length)

    def puts(self, length: int) -> None:
        """As many PUTs to the other node as there is room for, rung."""
        port = self.ports[VICTIM]
        port.post(b"".join(DESCRIPTOR.pack(
            kind=Kind.RDMA, p2p_op=P2pOp.PUT, source_vp=HOSTILE_VP, dest_vp=HOSTILE_VP, dest_id=1, length=length,
            local_addr=self.bases[0], remote_addr=self.bases[1],
        ) for _ in range(250)))
        port.ring()

    def storm(self) -> None:
        """Doorbells of the attacker's VP that bring nothing new, one after the other, behind those of the others."""
        driver, address = self.session.drivers[VICTIM], doorbell(HOSTILE_VP)
        for _ in range(self.n_doorbells):
            driver.write_register(address, self.ports[VICTIM].steps.descriptors.produced)


def _header(**fields: int) -> bytes:
    """A header of the played node, for the victim."""
    return PACKET_HEADER.pack(**({
        "version": PACKET_VERSION, "source_id": PLAYED, "dest_id": VICTIM, "dest_vp": HOSTILE_VP,
    } | fields))


def _uncovered(field: _Field) -> int:
    return field.play(field.count(1_500), lambda n: field.collective(n, job_id=JOBS[1]))


def _strange_jobs(field: _Field) -> int:
    return field.play(field.count(1_500), lambda n: field.collective(n, job_id=10 + n % 200))


def _credits(field: _Field) -> int:
    return field.play(field.count(30_000), lambda n: (1, _header(
        type=PacketType.CREDIT, job_id=(JOBS[1], n % 255 + 1)[n % 2], credits=255 * (n % 3 > 0), loan=n % 3 == 0,
        peer=n % 16, tag=n % 4,
    )))


def _descriptors(field: _Field) -> int:
    field.puts(4096)
    return 0


def _short_descriptors(field: _Field) -> int:
    field.puts(64)
    return 0


def _doorbells(field: _Field) -> int:
    field.n_doorbells = field.count(4_000)
    return 0


def _everything(field: _Field) -> int:
    _descriptors(field)
    _doorbells(field)
    return _uncovered(field) + _credits(field)


ATTACKS: dict[str, Callable[[_Field], int]] = {
    "none": lambda _field: 0,
    "packets without credits": _uncovered,
    "packets of jobs that nobody has": _strange_jobs,
    "credits that nobody waits for": _credits,
    "long PUTs of another VP": _descriptors,
    "short PUTs of another VP": _short_descriptors,
    "doorbells of another VP": _doorbells,
    "all of it at once": _everything,
}


def _topology() -> Topology:
    return parse_topology(f"star:{N_NODES + 1}")


def build(config: Config) -> Path:
    """The library for :func:`besiege`."""
    return build_library(config.changed(switch={"radix": max(2, *_topology().radixes)}))


def besiege(library: Path, config: Config, attack: str, *, size: int = 1 << 16) -> Siege:
    """Measures one operation of `size` bytes under `attack`, from the doorbells to the last completion.

    The attack begins some thousand cycles before, and goes on until after it.
    """
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=N_NODES, size=size, config=config, preset="small",
    )
    with Cluster(
        library, _topology(), memory_bytes=1 << 21, players=1,
        player_credits=config.link.buffer_flits, execution=Execution(threads=1),
    ) as cluster:
        field = _Field(cluster, config, request)
        session = field.session
        sent = ATTACKS[attack](field)
        begin = cluster.cycle + _HEAD_START
        session.ring(field.posted, not_before=lambda: begin)
        field.storm()
        if not session.wait(_MOST):
            raise RuntimeError(session.hang(f"the operation under attack ({attack})", field.posted))
        last = max(completion.timestamp for completion in session.completions(field.posted))
        _, mismatched = session.compare(request, field.posted)
        uncovered = sum(driver.read_counter("rx_uncovered") for driver in session.drivers)
        return Siege(attack, last - begin, mismatched, sent, uncovered)


def main(arguments: Sequence[str]) -> None:
    """Prints a JSON object for each attack."""
    config = load_preset("small")
    library = build(config)
    for attack in ATTACKS:
        print(json.dumps(vars(besiege(library, config, attack, size=int(arguments[0]) if arguments else 1 << 16))))


if __name__ == "__main__":
    main(sys.argv[1:])
