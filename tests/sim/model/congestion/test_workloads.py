"""Drawn workloads, collectives as flows, networks and their paths, the measure."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from firmware_models.schedule import algorithm_names, build, collective_names
from sim.model.congestion import (
    CONFIGURATIONS,
    CongestionError,
    Degradation,
    Flow,
    Link,
    Network,
    Traffic,
    alone,
    collective_flows,
    defaults,
    degradation,
    draw,
    dumbbell,
    fat_tree,
    parse_topology,
    simulate,
    small,
)
from sim.model.congestion.network import flow_key

RATE = 100_000_000_000


class TestTraffic:
    """The paper's section 3."""

    def test_as_the_paper_counts(self) -> None:
        """320 hosts: 19,181 flows, 1.4% of them long with 58.76% of the bytes; 20% of the nodes under test."""
        flows = draw(range(320), Traffic(load=0.6))
        kinds = Counter(flow.kind for flow in flows)
        n_long = kinds["long"] + kinds["all-to-all"]
        total = sum(flow.size for flow in flows)
        assert len(flows) == pytest.approx(19_181, rel=0.02)
        assert n_long / len(flows) == pytest.approx(0.014, abs=0.0005)
        long_bytes = sum(flow.size for flow in flows if flow.kind in ("long", "all-to-all"))
        assert long_bytes / total == pytest.approx(0.5876, abs=0.01)
        tested = {node for flow in alone(flows) for node in (flow.source, flow.destination)}
        assert len(tested) == 64
        others = [flow for flow in flows if flow.kind in ("incast", "broadcast", "all-to-all")]
        assert len(others) + len(alone(flows)) == len(flows)
        assert not tested & {node for flow in others for node in (flow.source, flow.destination)}

    def test_load_is_what_background_nodes_send(self) -> None:
        for load in (0.3, 0.6, 0.9):
            flows = draw(range(320), Traffic(load=load))
            offered = sum(flow.size for flow in flows) - sum(flow.size for flow in alone(flows))
            assert offered / (256 * 12.5 * 1_250_000) == pytest.approx(load, rel=0.03)

    def test_seed_and_load(self) -> None:
        """The same for a seed; flows under test are the same at every load; in order of time."""
        one, same, other = (draw(range(50), Traffic(load=0.5, seed=seed)) for seed in (1, 1, 2))
        assert one == same != other
        assert alone(one) == alone(draw(range(50), Traffic(load=0.9, seed=1)))
        assert [flow.start_ns for flow in one] == sorted(flow.start_ns for flow in one)

    def test_operations(self) -> None:
        """An incast has one receiver, a broadcast one sender, an all-to-all all pairs; all of one moment."""
        flows = draw(range(320), Traffic(load=0.3))
        groups: dict[int, list[Flow]] = {}
        for flow in flows:
            groups.setdefault(flow.group, []).append(flow)
        for mine in groups.values():
            assert len({flow.kind for flow in mine}) == 1
            sources, destinations = {flow.source for flow in mine}, {flow.destination for flow in mine}
            match mine[0].kind:
                case "incast":
                    assert (len(sources), len(destinations)) == (16, 1)
                case "broadcast":
                    assert (len(sources), len(destinations)) == (1, 16)
                case "all-to-all":
                    assert sources == destinations
                    assert len(mine) == 12
                case "all-reduce":  # gathered at one moment, then scattered at another
                    assert len(mine) == 14
                    assert len({flow.start_ns for flow in mine}) == 2
                case _:
                    assert len(mine) == 1

    @pytest.mark.parametrize(("change", "says"), [
        ({"load": 0.0}, "load: must be above 0 and at most 1, not 0"), ({"load": 1.1}, "load: must be"),
        ({"seed": -1}, "seed: must be at least 0"), ({"short_bytes": 0}, "short_bytes: must be at least 1"),
        ({"tested_share": 0.01}, "hosts: must be enough"), ({"members": 1}, "members: must be at least 2"),
    ])
    def test_refused(self, change: dict[str, float], says: str) -> None:
        with pytest.raises(CongestionError, match=says):
            draw(range(20), replace(Traffic(load=0.5), **change))  # type: ignore[arg-type]


class TestCollectives:
    """Messages of the project's schedules as flows."""

    @pytest.mark.parametrize("which", collective_names())
    def test_every_schedule_ends(self, which: str) -> None:
        for algorithm in algorithm_names(which):
            flows = collective_flows(which, algorithm, [3, 0, 7, 5, 9], 4096)
            schedule = build(which, algorithm, n_nodes=5)
            assert len(flows) == sum(len(step.targets) for sequence in schedule.sequences for step in sequence)
            outcome = simulate(dumbbell(5), flows, defaults("hpcc", RATE))
            assert outcome.violations == []
            for number, flow in enumerate(flows):
                assert all(outcome.delivered_ns[other] <= outcome.start_ns[number] for other in flow.waits_for)
                if flow.follows is not None:
                    assert outcome.start_ns[flow.follows] <= outcome.start_ns[number]

    def test_time_of_a_ring(self) -> None:
        """Four ranks, 2 (4 - 1) rounds: each message is one packet over two links, and the next one needs it."""
        flows = collective_flows("allreduce", "ring", [0, 1, 2, 3], 3200)
        outcome = simulate(fat_tree(1), flows, defaults("none", RATE))
        rounds = Counter(flow.source for flow in flows if flow.size == 800)
        assert set(rounds.values()) == {6}
        message_ns = 2 * (1000 + 848 * 0.08)
        assert outcome.delivered_ns.max() >= int(6 * message_ns)
        assert outcome.delivered_ns.max() <= 7 * message_ns + 4000  # and what paces the ring, at the end

    def test_refused(self) -> None:
        with pytest.raises(CongestionError, match="must be one of"):
            collective_flows("sort", None, [0, 1], 8)
        with pytest.raises(CongestionError, match="must be different ones"):
            collective_flows("barrier", None, [0, 0], 8)


class TestNetwork:
    """Paths and base round trips."""

    def test_shapes(self) -> None:
        network = fat_tree()
        assert (len(network.hosts), len(network.switches), len(network.links)) == (320, 56, 480)
        assert [len(network.ports_of[node]) for node in (0, 320, 340, 360)] == [1, 20, 8, 5]
        assert (len(small().hosts), small().n_ports) == (18, 38)

    def test_paths_are_shortest_and_spread(self) -> None:
        network = fat_tree()
        paths = [network.path(0, 319, flow_key(0, 319, 10_000 + n, 100, 1)) for n in range(800)]
        assert {len(path) for path in paths} == {6}
        for path in paths[:50]:
            nodes = [network.node_of(port) for port in path]
            assert nodes[0] == 0
            assert [network.node_of(port ^ 1) for port in path] == [*nodes[1:], 319]
        cores = Counter(network.node_of(path[3]) for path in paths)
        assert len(cores) == 16  # all of them, evenly
        assert max(cores.values()) < 2 * 800 / 16
        assert paths == [network.path(0, 319, flow_key(0, 319, 10_000 + n, 100, 1)) for n in range(800)]
        assert len(network.path(0, 15, 0)) == 2
        assert len(network.path(0, 16, 0)) == 4

    def test_base_round_trip(self) -> None:
        """6 links of 1 µs both ways, 1,000 bytes of 80 ns on each one way: 12,480 ns, 156,000 bytes (third.cc)."""
        assert fat_tree().largest_round_trip(1000) == (12_480, 156_000)
        assert small().largest_round_trip(1000) == (6240, 78_000)

    def test_refused(self) -> None:
        link = Link(0, 2, RATE, 1000)
        with pytest.raises(CongestionError, match="node 1: a host must have one link, not 0"):
            Network(3, [2], [link], "n")
        with pytest.raises(CongestionError, match="node 3: must be reached from node 0"):
            Network(6, [1, 4], [Link(a, b, RATE, 1) for a, b in ((0, 1), (2, 1), (3, 4), (5, 4))], "n")
        with pytest.raises(CongestionError, match="dumbbell: must be 1 to 1024"):
            parse_topology("dumbbell:0")
        with pytest.raises(OSError, match="nowhere"):
            parse_topology("nowhere")


class TestMetric:
    """Equations 1 to 6."""

    def test_by_hand(self) -> None:
        found = Degradation(s_l=2.0, s_s=3.0, s_a=7.0)
        assert found.w == pytest.approx((4 + 1 + 9) / 3)
        totals = [found.total(weights) for weights in CONFIGURATIONS.values()]
        assert totals == pytest.approx([4 + 14 / 3, 3.5 + 14 / 3, 4.75 + 14 / 3])

    def test_of_runs(self) -> None:
        """A flow that meets one of its length takes twice as long; the others are undisturbed."""
        tested = [Flow(0, 4, 5_000_000, 0, kind="long"), Flow(5, 1, 1000, 0, kind="short"),
                  Flow(6, 2, 1000, 0, kind="all-reduce")]
        network, parameters = dumbbell(4), defaults("none", RATE)
        lone = simulate(network, tested, parameters)
        loaded = simulate(network, [*tested, Flow(3, 4, 5_000_000, 0, kind="incast")], parameters)
        found = degradation(loaded, lone)
        assert found.s_l == pytest.approx(2, rel=0.01)
        assert (found.s_s, found.s_a) == pytest.approx((1, 1), rel=0.01)
        with pytest.raises(CongestionError, match="must have 0 to 5 at 0 ns"):
            degradation(lone, simulate(network, [Flow(0, 5, 1, 0, kind="long")], parameters))
        assert np.isfinite(found.w)
