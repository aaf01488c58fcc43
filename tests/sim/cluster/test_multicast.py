"""Multicast on the RTL of a cluster: tables in switches, membership in NICs, collectives that use both."""

from pathlib import Path

import numpy as np
import pytest

from firmware_models.abi.encoding import Status
from firmware_models.config import load_preset
from firmware_models.host import HostError, NodeDriver
from firmware_models.routing.formats import mcfdbs_text, read_tables
from firmware_models.routing.network import ForwardingTables
from firmware_models.schedule import Endpoint, build, compile_schedule, pack_sequence
from sim.cluster import Cluster, LinkTiming, MemoryTiming
from sim.cluster.multicast import check_tables, join_groups, load_tables, plan_multicast
from sim.collective import CollectiveRequest, run_collective, verify
from sim.fabric.topology import TopologyError, parse_topology

SMALL = load_preset("small")
TWO_LEVEL = str(Path(__file__).parents[1] / "data" / "two_level.yaml")
WAYS = [("broadcast", "multicast"), ("allreduce", "reduce-multicast"), ("barrier", "multicast")]


def request_for(collective, algorithm, **fields):
    """A request on preset small."""
    defaults = {"nodes": 4, "size": 0 if collective == "barrier" else 520}
    return CollectiveRequest(
        collective=collective, algorithm=algorithm, config=SMALL, preset="small", **defaults | fields
    )


def broadcasts(library, groups, *, mft_entries, through=None, length=520):
    """Every group broadcasts on the two-level tree, all at once: job and VP i for group i, its first member is root.

    Returns the plan, the packets that each NIC has discarded as not joined, and whether every member got the data.
    """
    wired = parse_topology(TWO_LEVEL)
    plan = plan_multicast(wired, groups, mft_entries=mft_entries)
    numbers = np.random.default_rng(len(groups))
    with Cluster(
        library, wired, memory_bytes=1 << 18, seed=3, memory=MemoryTiming(jitter=40, stall=0.5),
        links=LinkTiming(jitter=40, stall=0.5),
    ) as cluster:
        drivers = [NodeDriver(cluster, node) for node in range(wired.n_nodes)]
        for driver in drivers:
            driver.start()
        load_tables(cluster, plan.tables if through is None else through(wired, plan.tables))
        join_groups(drivers, plan.groups)
        running, matches = [], []
        for number, members in enumerate(groups):
            endpoints, data = [], numbers.bytes(length)
            for node in members:
                port = drivers[node].open_port(number)
                local, result = drivers[node].allocate(length), drivers[node].allocate(length)
                drivers[node].store(local, data if node == members[0] else bytes(length))
                port.open_window(local, result + length)
                endpoints.append(Endpoint(node_id=node, vp=number, local_addr=local, result_addr=result))
                running.append((port, result, data))
            sequences = compile_schedule(
                build("broadcast", "multicast", n_nodes=len(members)), endpoints=endpoints, job_id=number, config=SMALL,
                length=length, pulse_bytes=64, groups=plan.groups,
            )
            for (port, *_), sequence in zip(running[-len(members):], sequences, strict=True):
                port.post(pack_sequence(sequence))
        assert cluster.run(1_000_000)
        cluster.run_for(6_000)
        for port, *_ in running:
            port.watch_completions(1)
            port.ring()
        assert cluster.run(1_000_000), "some broadcast does not end"
        # What is still on its way to NICs that discard it.
        cluster.run_for(2_000)
        cluster.check_registers()
        for port, result, data in running:
            completion = port.poll()
            assert completion is not None
            assert completion.status is Status.OK
            matches.append(port.driver.load(result, length) == data)
        discarded = [driver.read_counter("rx_not_joined") for driver in drivers]
        assert sum(driver.read_counter("rx_malformed") for driver in drivers) == 0
        return plan, discarded, all(matches)


def test_colour_shared_by_trees_that_share_no_switch(library, tmp_path):
    """Two groups, one colour, no switch in common: each gets its own; the tables come out of an OpenSM dump."""

    def through_dump(wired, tables):
        dump = tmp_path / "opensm.mcfdbs"
        dump.write_text(mcfdbs_text(wired.network, tables))
        return read_tables(dump, wired.network)

    plan, discarded, right = broadcasts(library, [[0, 3, 2], [5, 7, 6]], mft_entries=16, through=through_dump)
    assert [group.mlid for group in plan.groups] == [0xC000, 0xC000]
    assert len(set(plan.tables.switch.tolist())) == 6, "an entry a switch"
    assert right
    assert discarded == [0] * 8


def test_merged_groups_share_a_tree(library):
    """One table entry for three groups, two of which have to share a tree: NICs discard what is not theirs."""
    groups = [[0, 1, 2], [2, 3, 4], [7, 6]]
    plan, discarded, right = broadcasts(library, groups, mft_entries=1)
    assert {group.mlid for group in plan.groups} == {0xC000}
    assert right
    pulses = -(-520 // 64)
    # Of 0's broadcast copies come to 3 and 4, of 2's to 0 and 1.
    assert discarded == [pulses, pulses, 0, pulses, pulses, 0, 0, 0]


@pytest.mark.parametrize(("collective", "algorithm"), WAYS)
@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_star(collective, algorithm, nodes):
    """Every bit is the golden model's."""
    result = run_collective(request_for(collective, algorithm, nodes=nodes))
    assert result.mismatched_bits == 0
    assert result.counters["rx_not_joined"] == result.counters["rx_malformed"] == 0


def test_jobs_side_by_side():
    """Jobs share the group; each has its own VP and its own credits."""
    assert run_collective(request_for("allreduce", "reduce-multicast", jobs=4)).mismatched_bits == 0


def test_orders():
    """One result under stalls and delays."""
    result = verify(request_for("allreduce", "reduce-multicast", nodes=5, topology=TWO_LEVEL), orders=4)
    assert (result.distinct_results, result.mismatched_bits) == (1, 0)


@pytest.mark.long
@pytest.mark.parametrize(("collective", "algorithm"), WAYS)
@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8, 16])
def test_fat_tree(collective, algorithm, nodes):
    """16 NICs on 20 switches, and fewer."""
    size = 0 if collective == "barrier" else 8192
    result = run_collective(request_for(collective, algorithm, nodes=nodes, topology="fat-tree:4", size=size))
    assert result.mismatched_bits == 0
    assert result.counters["rx_not_joined"] == 0


def test_no_entry_left(library, small):
    """A NIC can be a member of so many groups."""
    with Cluster(library, parse_topology("star:2"), memory_bytes=1 << 16) as cluster:
        driver = NodeDriver(cluster, 0)
        for mgid in range(small.nic.n_groups):
            driver.join_group(mgid)
        driver.join_group(0)
        with pytest.raises(HostError, match=r"^groups of node 0 must be at most 16 \(nic.n_groups\), not 17$"):
            driver.join_group(99)


def test_circles_are_refused():
    """Trees of a ring of switches that pass each other in a circle."""
    ring = parse_topology("torus:4:1")
    ports = np.array([[0b110], [0b110], [0b110], [0b110]], dtype=np.uint64) | np.uint64(0b1000)
    tables = ForwardingTables.of([0, 1, 2, 3], [0, 0, 0, 0], ports)
    message = r"^topology 'torus:4:1': multicast trees and routes could deadlock: switch"
    with pytest.raises(TopologyError, match=message):
        check_tables(ring, tables, mft_entries=16)


def test_refused():
    star = parse_topology("star:4")
    with pytest.raises(TopologyError, match=r"^group 1 must have at least 2 members, not 1$"):
        plan_multicast(star, [[0, 1], [2]], mft_entries=16)
    with pytest.raises(TopologyError, match=r"^member of group 0 must be 0 to 3, not 4$"):
        plan_multicast(star, [[0, 4]], mft_entries=16)
    tables = plan_multicast(star, [[0, 1], [1, 2], [2, 3]], mft_entries=16, algorithm="minihop").tables
    with pytest.raises(TopologyError, match=r"^colours must be below 2 \(switch.mft_entries\), not 2$"):
        check_tables(star, tables, mft_entries=2)
