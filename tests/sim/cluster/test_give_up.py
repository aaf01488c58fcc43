"""A node that takes nothing any more: what is sent to it stands in front of nobody else for ever."""

import pytest

from firmware_models.abi import registers
from firmware_models.abi.encoding import Kind, P2pOp, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import Config
from sim.cluster import Cluster, Execution, build_library
from sim.fabric.topology import parse_topology
from sim.operation.request import CollectiveRequest
from sim.operation.session import Session

VP, DEAD = 5, 2
WATCHDOG = 20_000
LOG2_WINDOW = 12
N_PUTS = 16
SWITCH = {register.name: register.offset for register in registers.SWITCH_PAGE}
LOST = registers.SWITCH_COUNTERS.offset("link_lost")


@pytest.mark.parametrize("give_up", [LOG2_WINDOW, 0])
def test_a_dead_node_stands_in_nobodys_way(small: Config, give_up: int) -> None:
    """PUTs of node 0 to a node that has stopped, and an allreduce of nodes 0 and 1, which ends within two windows of
    the time that it takes alone; without windows it does not end.
    """
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=2, size=1 << 14, config=small, preset="small",
    )
    with Cluster(
        build_library(small), parse_topology("star:3"), memory_bytes=1 << 21, execution=Execution(threads=1),
        give_up=give_up,
    ) as cluster:
        session = Session(cluster, small, nodes=3)
        port, base = session.drivers[0].open_port(VP), session.drivers[0].allocate(1 << 12)
        port.open_window(base, base + (1 << 12))
        for driver in session.drivers:
            driver.set_watchdog(WATCHDOG)
        dead = session.drivers.pop()
        posted = session.post(request, 0)
        session.drivers.append(dead)
        session.configure()
        session.warm_up()
        cluster.stop(DEAD, cluster.cycle)
        port.post(b"".join(
            DESCRIPTOR.pack(
                kind=Kind.RDMA, p2p_op=P2pOp.PUT, source_vp=VP, dest_vp=VP, dest_id=DEAD, length=1 << 12,
                local_addr=base, remote_addr=base,
            ) for _ in range(N_PUTS)
        ))
        port.ring()
        cluster.run_for(3_000)
        begin = cluster.cycle
        for member in posted.ports:
            member.watch_completions(1)
            member.ring()
        ended = cluster.run(3 * WATCHDOG)
        assert ended == bool(give_up)
        if not give_up:
            return
        completions = [member.poll() for member in posted.ports]
        assert all(completion is not None and completion.status is Status.OK for completion in completions)
        _, mismatched = session.compare(request, [posted])
        assert mismatched == 0
        assert cluster.cycle - begin < (2 << LOG2_WINDOW) + WATCHDOG // 4

        # Whatever needs the dead node ends in an error, and all that was for it is counted.
        port.watch_completions(N_PUTS)
        assert cluster.run(N_PUTS * 2 * WATCHDOG)
        assert {completion.status for completion in iter(port.poll, None)} == {Status.TIMEOUT}
        cluster.write_switch_register(0, SWITCH["port_select"], DEAD)
        shown = registers.SWITCH_PAGE["port_give_up"].unpack(cluster.read_switch_register(0, SWITCH["port_give_up"]))
        assert shown["given_up"] == 0b01, "channel 0, and not channel 1, for which nothing came"
        assert cluster.read_switch_register(0, LOST) > 0
