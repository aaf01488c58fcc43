"""A node that forges answers: unless node, VPs, number and nonce are right they change nothing, and are counted."""

from dataclasses import dataclass

import pytest

from firmware_models.abi.encoding import Kind, P2pOp, PacketType, Status
from firmware_models.abi.formats import DESCRIPTOR, NONCE_FIELDS, PACKET_HEADER, nonce_fields, nonce_of
from firmware_models.config import Config
from firmware_models.host import Completion, Received
from sim.cluster import Cluster, EventKind, Execution, build_library
from sim.fabric.topology import parse_topology
from sim.operation.session import Session

ASKS, ASKED, SIZE, MESSAGE = 2, 1, 1 << 14, 40
"""VP that asks at node 0, VP that is asked at node 1; bytes of a PUT or GET, and of a SEND."""
HERE, THERE, FOREIGN = 0x11, 0x22, 0x66
ROUNDS = 8
RIGHT = {"version": 1, "source_id": 1, "source_vp": ASKED, "dest_id": 0, "dest_vp": ASKS, "tag": 0}
"""An answer to the first operation of node 0, but for the nonce."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run: the completion, memory and messages of both nodes, counters of node 0."""

    completion: Completion | None
    memory: tuple[bytes, bytes]
    message: Received | None
    counters: dict[str, int]
    request: dict[str, int]
    """Header of the first packet of node 0."""

    @property
    def result(self) -> tuple[object, ...]:
        """All that must not depend on forgeries."""
        completion = self.completion
        assert completion is not None
        message = self.message and (self.message.source_id, self.message.source_vp, self.message.payload)
        return completion.status, completion.detail, completion.bytes, self.memory, message


def carry_out(config: Config, op: P2pOp, forged: list[bytes]) -> Outcome:
    """Node 0 asks node 1, once, while a played node sends `forged` to node 0."""
    with Cluster(
        build_library(config), parse_topology("star:3"), memory_bytes=1 << 20, players=1,
        player_credits=config.link.buffer_flits, execution=Execution(threads=1), seed=5, source_check=False,
    ) as cluster:
        session = Session(cluster, config, nodes=2)
        ports, bases = [], []
        for driver, vp, fill in zip(session.drivers, (ASKS, ASKED), (HERE, THERE), strict=True):
            ports.append(driver.open_port(vp))
            bases.append(driver.allocate(SIZE))
            ports[-1].open_window(bases[-1], bases[-1] + SIZE)
            driver.store(bases[-1], bytes([fill]) * SIZE)
        session.configure()
        session.warm_up()
        cluster.log_events(True)
        cluster.play(0, [(1, packet) for packet in forged], flit_bytes=config.datapath.flit_bytes)
        is_send = op == P2pOp.SEND
        ports[0].watch_completions(1)
        ports[0].post(DESCRIPTOR.pack(
            kind=Kind.MP if is_send else Kind.RDMA, p2p_op=op, source_vp=ASKS, dest_vp=ASKED, dest_id=1,
            length=MESSAGE if is_send else SIZE, payload=int.from_bytes(bytes([HERE]) * MESSAGE, "little"),
            local_addr=bases[0], remote_addr=bases[1],
        ))
        ports[0].ring()
        assert cluster.run(1_000_000)
        completion = ports[0].poll()
        cluster.run_for(60_000)
        requests = (
            PACKET_HEADER.unpack(event["data"].tobytes()[:PACKET_HEADER.bytes]) for event in cluster.events()
            if event["kind"] == EventKind.TRANSMIT and event["node"] == 0
        )
        return Outcome(
            completion=completion, message=ports[1].receive(), request=next(requests),
            memory=(session.drivers[0].load(bases[0], SIZE), session.drivers[1].load(bases[1], SIZE)),
            counters={name: session.drivers[0].read_counter(name) for name in ("rx_forged", "rx_unknown")},
        )


def forgeries(config: Config, request: dict[str, int]) -> list[bytes]:
    """Answers of every kind, each with one thing that is wrong, again and again while the operation lasts."""
    right, mtu = RIGHT | {name: request[name] for name in NONCE_FIELDS}, config.datapath.mtu
    wrong = [{"source_id": 2}, {"source_vp": ASKS}, {"dest_vp": ASKED}, {"tag": 1}, {"tag": 0x100}, nonce_fields(0)]
    wrong += [{name: right[name] ^ bit} for name in NONCE_FIELDS for bit in (1, 1 << PACKET_HEADER[name].width - 1)]
    packets = []
    for turn in range(ROUNDS):
        for other in wrong:
            for status in (Status.OK, Status.REMOTE_ACCESS):
                packets.append(PACKET_HEADER.pack(**right | other, type=PacketType.ACK, status=status, addr=FOREIGN))
            data = right | other | {"type": PacketType.GET_DATA, "addr": request["addr"] + turn % 2 * mtu}
            packets.append(PACKET_HEADER.pack(**data, status=Status.REMOTE_ACCESS))
            if turn < 2:
                packets.append(PACKET_HEADER.pack(**data, length=mtu) + bytes([FOREIGN]) * mtu)
                packets.append(PACKET_HEADER.pack(**data, length=8, status=Status.MEMORY_ERROR) + bytes([FOREIGN]) * 8)
    return packets


@pytest.mark.parametrize("op", [P2pOp.PUT, P2pOp.SEND, P2pOp.GET])
def test_forgeries_change_nothing(small: Config, op: P2pOp) -> None:
    honest = carry_out(small, op, [])
    assert honest.counters == {"rx_forged": 0, "rx_unknown": 0}
    packets = forgeries(small, honest.request)
    attacked = carry_out(small, op, packets)
    assert attacked.request == honest.request
    assert attacked.completion is not None
    assert attacked.completion.status is Status.OK
    assert attacked.result == honest.result
    assert sum(attacked.counters.values()) == len(packets)
    assert attacked.counters["rx_forged"] > len(packets) // 4


def test_whoever_knows_all_is_believed(small: Config) -> None:
    """The same answers with everything right end the PUT: it is the comparison that stops the others."""
    nonce = nonce_of(carry_out(small, P2pOp.PUT, []).request)
    answer = PACKET_HEADER.pack(
        **RIGHT | nonce_fields(nonce), type=PacketType.ACK, status=Status.REMOTE_ACCESS, addr=FOREIGN)
    attacked = carry_out(small, P2pOp.PUT, [answer] * 400)
    assert attacked.completion is not None
    assert (attacked.completion.status, attacked.completion.detail) == (Status.REMOTE_ACCESS, FOREIGN)
