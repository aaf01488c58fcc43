"""Whole runs: times worked out by hand, invariants, determinism, deadlock; and bugs planted in the core."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sim.model.congestion import (
    ALGORITHMS,
    Flow,
    Network,
    Traffic,
    defaults,
    draw,
    dumbbell,
    fingerprint,
    ring,
    simulate,
)
from sim.model.congestion.audit import audit
from sim.model.congestion.core.library import load

RATE = 100_000_000_000
PS_A_BYTE = 80
"""At 100 Gb/s."""


def go(network: Network, flows: Sequence[Flow], algorithm: str = "none", *, buffer: int = 4 << 20, **more: Any) -> Any:
    return simulate(network, flows, defaults(algorithm, RATE, buffer=buffer), **more)


def mixed(seed: int = 1) -> list[Flow]:
    """Ten hosts, a few hundred flows that meet."""
    return draw(range(10), Traffic(load=0.9, seed=seed, duration_ns=60_000, tested_share=0.4, members=4, fan=3, mesh=3,
                                   long_bytes=640_000))


def across(sizes: Sequence[int], ready: Sequence[int]) -> list[int]:
    """When packets that are ready at some times have crossed three links, each stored and then forwarded; ps."""
    for _ in range(3):
        free, arrives = 0, []
        for length, time in zip(sizes, ready, strict=True):
            free = max(free, time) + length * PS_A_BYTE
            arrives.append(free + 1_000_000)
        ready = arrives
    return list(ready)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("size", [1, 1000, 1001, 20_000])
def test_one_flow_takes_what_its_path_takes(algorithm: str, size: int) -> None:
    """Store and forward over three links: packets one behind the other, the last one and its acknowledgement alone.

    A flow that fits into its first round trip: no algorithm has anything to say yet.
    """
    parameters = defaults(algorithm, RATE)
    outcome = go(dumbbell(2), [Flow(0, 2, size, 7)], algorithm)
    n_full, rest = divmod(size, 1000)
    packets = [1000 + parameters.overhead] * n_full + [rest + parameters.overhead] * bool(rest)
    arrived = across(packets, [0] * len(packets))
    acknowledged = across([parameters.ack_size] * len(packets), arrived)
    assert outcome.delivered_ns[0] == arrived[-1] // 1000
    assert outcome.fct_ns[0] == pytest.approx(acknowledged[-1] / 1000, abs=1e-3)
    assert outcome.violations == []


def test_two_flows_share_a_link() -> None:
    """Without control, two flows over one link have half of it each, by turns; headers take their part."""
    outcome = go(dumbbell(2), [Flow(0, 2, 2_000_000, 0), Flow(1, 3, 2_000_000, 0)])
    assert outcome.violations == []
    assert outcome.rates / 1e9 == pytest.approx([50 * 1000 / 1048] * 2, rel=0.02)
    assert outcome.pause_ns > 0  # 200 Gb/s into 100: the first switch has to pause both


def test_a_host_takes_its_flows_in_turn() -> None:
    outcome = go(dumbbell(3), [Flow(0, 3 + n, 600_000, 0) for n in range(3)])
    assert outcome.rates / 1e9 == pytest.approx([100 / 3 * 1000 / 1048] * 3, rel=0.05)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_invariants_and_determinism(algorithm: str) -> None:
    """Hundreds of flows that meet: nothing is violated; the same twice, and another run with another seed."""
    seed = 3
    print("seed", seed)
    first, again, other = (go(dumbbell(5), mixed(seed), algorithm, seed=s) for s in (seed, seed, seed + 1))
    assert first.violations == []
    assert first.deadlock == []
    assert fingerprint(first) == fingerprint(again)
    assert fingerprint(first) != fingerprint(other)
    assert first.tally["delivered"] == sum(flow.size for flow in first.flows)


@pytest.mark.parametrize("algorithm", ["dctcp", "hpcc", "pint"])
def test_short_queues(algorithm: str) -> None:
    """Two long flows with a window: together no more than two windows are under way, so the queue is within one."""
    outcome = go(dumbbell(2), [Flow(0, 2, 3_000_000, 0), Flow(1, 3, 3_000_000, 0)], algorithm)
    assert outcome.peak_bytes < 2 * 90_000
    assert outcome.pause_ns == 0


def test_hpcc_stays_below_its_target() -> None:
    """Two flows settle at eta of the line, each at half of it."""
    outcome = go(dumbbell(2), [Flow(0, 2, 12_000_000, 0), Flow(1, 3, 12_000_000, 0)], "hpcc", followed=(0, 1),
                 series_ns=50_000)
    rates = outcome.series[:, 20:35] * 8 / 50_000
    assert rates.sum(axis=0).mean() == pytest.approx(95 * 1000 / 1090, rel=0.05)
    assert rates.mean(axis=1) == pytest.approx([rates.mean()] * 2, rel=0.1)


class TestDeadlock:
    """Flows that go two switches on in a ring, each over the links of two others."""

    flows = tuple(Flow(host, (host + 2) % 5, 2_000_000, 0) for host in range(5))

    def test_found(self) -> None:
        outcome = go(ring(5), self.flows, buffer=200_000)
        assert len(outcome.deadlock) == 5
        assert outcome.deadlock[0].startswith("switch ")
        assert "5 of 5 flows did not end" in outcome.violations
        assert np.isnan(outcome.fct_ns).all()

    def test_not_with_room(self) -> None:
        outcome = go(ring(5), self.flows, "hpcc", buffer=4 << 20)
        assert (outcome.deadlock, outcome.violations) == ([], [])

    def test_not_on_a_tree(self) -> None:
        outcome = go(dumbbell(5), [Flow(n, 5 + n, 2_000_000, 0) for n in range(5)], buffer=400_000)
        assert (outcome.deadlock, outcome.violations) == ([], [])
        assert outcome.pause_ns > 0


def test_flows_that_wait_for_each_other_are_no_deadlock_of_pauses() -> None:
    flows = [Flow(0, 2, 1000, 0, waits_for=(1,)), Flow(2, 0, 1000, 0, waits_for=(0,)), Flow(1, 3, 1000, 0)]
    outcome = go(dumbbell(2), flows)
    assert outcome.deadlock == []
    assert outcome.violations == ["2 of 3 flows did not end"]


@pytest.mark.parametrize(("change", "says"), [
    (lambda s: s.flows["received"].__setitem__(0, 1), "more bytes were acknowledged"),
    (lambda s: s.flows["sent"].__setitem__(0, s.flows["sent"][0] + 1), "other bytes sent"),
    (lambda s: s.flows["finished_at"].__setitem__(0, s.flows["start"][0] + 10), "ended sooner"),
    (lambda s: s.ports["tx_bytes"].__setitem__(3, s.ports["tx_bytes"][3] + 1), "neither came in"),
    (lambda s: (s.ports["tx_bytes"].__setitem__(3, 9), s.ports["rx_bytes"].__setitem__(2, 9)), "bytes, not"),
    (lambda s: s.ports["queue_bytes"].__setitem__(3, 1), "queue_bytes"),
    (lambda s: s.ports["is_paused"].__setitem__(3, True), "is_paused"),
    (lambda s: s.nodes["occupied"].__setitem__(-1, 1), "occupied"),
    (lambda s: s.nodes["peak"].__setitem__(-1, 1 << 40), "held more than its buffer"),
    (lambda s: s.tally["n_free"].__setitem__(0, 0), "did not come back"),
    (lambda s: s.tally["now"].__setitem__(0, 1000), "more than its line"),
    (lambda s: s.tally["lost"].__setitem__(0, 2), "2 packets were lost"),
])
def test_audit_sees(change: Any, says: str) -> None:
    """Each invariant is broken once, after the run."""
    flows, parameters, network = mixed(), defaults("dcqcn", RATE), dumbbell(5)
    outcome = simulate(network, flows, parameters)
    assert audit(outcome.state, network, flows, parameters, outcome.pfc) == []
    change(outcome.state)
    found = audit(outcome.state, network, flows, parameters, outcome.pfc)
    assert any(says in line for line in found), found


BUGS = {
    "no pause is sent": (("switch.h", "send_pfc(state, p, kPause);", ""), "lost", {}),
    "pauses are not obeyed": (("core.cpp", "!port.is_switch && !port.is_paused", "!port.is_switch"), "lost", {}),
    "a queue is a stack": (("wire.h", "        append(state, port.data, port.data_last, place);",
                            "        if (port.data == kNone) port.data_last = place;\n"
                            "        state.packets[place].next = static_cast<int32_t>(port.data);\n"
                            "        port.data = place;"), "out of order", {}),
    "a byte is not released": (("buffer.h", "    node.occupied -= size;", "    node.occupied -= size - 1;"),
                               "occupied", {}),
    "packets take no time": (("wire.h", "(size * int64_t{8'000'000'000'000} + rate - 1) / rate", "size / rate"),
                             "more than its line", {}),
    "an acknowledgement counts twice": (("host.h", "    flow.acked = std::max(flow.acked, packet.sequence);",
                                         "    flow.acked += 2 * control.payload;"), "acknowledged", {}),
    "a packet stays behind": (("host.h", "    give_back(state, place);\n}", "    if (packet.sequence != 3000) "
                               "give_back(state, place);\n}"), "did not come back", {}),
    "a rate above the line": (("dcqcn.h", "std::max(control.min_rate, flow.rate * (1 - flow.alpha / 2))",
                               "1.2 * flow.line_rate"),
                              "above the line", {"buffer": 4 << 20}),  # below that, pauses come before marks
    "a busy port sends": (("core.cpp", "    if (state.tally[0].now < port.busy_until) {\n"
                           "        expect_free(state, p);\n"
                           "        return;\n    }\n", ""), "while a port was busy", {}),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_seen(name: str) -> None:
    """A core with one bug: a run says so."""
    edit, says, more = BUGS[name]
    flows = [Flow(n, 5, 1_000_000, 0) for n in range(5)] + mixed() + [Flow(n, 6, 4_000_000, 100_000) for n in range(5)]
    flows.sort(key=lambda flow: flow.start_ns)
    outcome = go(dumbbell(5), flows, "dcqcn", **{"buffer": 600_000, **more})
    assert outcome.violations == []
    broken = go(dumbbell(5), flows, "dcqcn", library=load(edits=(edit,)), **{"buffer": 600_000, **more})
    assert any(says in line for line in broken.violations), broken.violations


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_checked_core(algorithm: str) -> None:
    """The core that checks every place of its arrays and every overflow does the same."""
    plain, checked = (go(dumbbell(5), mixed(5), algorithm, library=load(is_checked=c)) for c in (False, True))
    assert fingerprint(plain) == fingerprint(checked)


