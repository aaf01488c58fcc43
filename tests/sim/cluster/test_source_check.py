"""A node that uses the NodeID of another: its packets end at the switch that it is connected to."""

import pytest

from firmware_models.abi import registers
from firmware_models.abi.encoding import Kind, P2pOp, PacketType, Status
from firmware_models.abi.formats import DESCRIPTOR, PACKET_HEADER, PACKET_VERSION
from firmware_models.config import Config
from sim.cluster import Cluster, Execution, build_library
from sim.fabric.topology import parse_topology
from sim.operation.session import Session

VP, SIZE = 1, 1 << 13
FOREIGN = 0x66
SWITCH = {register.name: register.offset for register in registers.SWITCH_PAGE}
FORGED = registers.SWITCH_COUNTERS.offset("forged")


@pytest.mark.parametrize("check", [True, False])
def test_no_node_speaks_for_another(small: Config, check: bool) -> None:
    """Answers to a GET that another node is asked for: with the check none comes in; without it the NIC drops them."""
    topology = parse_topology("star:3")
    with Cluster(
        build_library(small), topology, memory_bytes=1 << 20, players=1, player_credits=small.link.buffer_flits,
        execution=Execution(threads=1), source_check=check,
    ) as cluster:
        session = Session(cluster, small, nodes=2)
        bases, ports = [], []
        for driver in session.drivers:
            port, base = driver.open_port(VP), driver.allocate(SIZE)
            port.open_window(base, base + SIZE)
            driver.store(base, bytes([0x11 + 0x11 * driver.node]) * SIZE)
            bases.append(base)
            ports.append(port)
        session.configure()
        session.warm_up()
        answer = {
            "version": PACKET_VERSION, "type": PacketType.GET_DATA, "source_id": 1, "dest_id": 0, "dest_vp": VP,
            "source_vp": VP, "tag": 0, "length": small.datapath.mtu,
        }
        packets = [
            (1, PACKET_HEADER.pack(**answer, addr=bases[1] + at) + bytes([FOREIGN]) * small.datapath.mtu)
            for _ in range(20) for at in range(0, SIZE, small.datapath.mtu)
        ]
        cluster.play(0, packets, flit_bytes=small.datapath.flit_bytes)
        ports[0].watch_completions(1)
        ports[0].post(DESCRIPTOR.pack(
            kind=Kind.RDMA, p2p_op=P2pOp.GET, source_vp=VP, dest_vp=VP, dest_id=1, length=SIZE, local_addr=bases[0],
            remote_addr=bases[1],
        ))
        ports[0].ring()
        assert cluster.run(1_000_000)
        completion = ports[0].poll()
        assert completion is not None
        assert completion.status is Status.OK
        foreign = session.drivers[0].load(bases[0], SIZE).count(FOREIGN)
        assert foreign == 0
        cluster.run_for(50_000)
        forged = _forged(cluster, port=2), session.drivers[0].read_counter("rx_forged")
        assert forged == ((len(packets), 0) if check else (0, len(packets)))


def _forged(cluster: Cluster, *, port: int) -> int:
    """Counter `forged` of a port of the switch."""
    cluster.write_switch_register(0, SWITCH["port_select"], port)
    return cluster.read_switch_register(0, FORGED)
