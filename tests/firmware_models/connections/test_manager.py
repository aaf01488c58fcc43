"""The connection manager beside a naive one and beside the formulas."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from firmware_models.connections import (
    ConnectionsError,
    Costs,
    Layout,
    Machine,
    Policy,
    QueueSizes,
    Run,
    Scheme,
    process_bytes,
    queue_pairs,
    run_trace,
    violations,
)
from firmware_models.connections.audit import static_units
from firmware_models.connections.choice import candidates, compare_group_sizes
from firmware_models.connections.trace import Trace, parse_trace, trace_of

_spec = importlib.util.spec_from_file_location("reference", Path(__file__).parent / "reference.py")
assert _spec is not None
assert _spec.loader is not None
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

LAYOUTS = [
    (Scheme.GROUP, 24, 4, 6), (Scheme.GROUP, 23, 4, 6), (Scheme.GROUP, 25, 4, 6), (Scheme.GROUP, 7, 1, 1),
    (Scheme.GROUP_XRC, 24, 2, 6), (Scheme.GROUP_XRC, 23, 2, 6), (Scheme.GROUP_XRC, 25, 2, 6),
    (Scheme.GROUP_XRC, 26, 4, 8), (Scheme.GROUP_XRC_SIZES, 26, 4, 12), (Scheme.RC, 9, 2, None),
    (Scheme.XRC, 9, 2, None),
]
"""Scheme, processes, cores, group size; whole groups, one process less, one more."""

POLICIES = [
    Policy(), Policy(idle_phases=0), Policy(idle_phases=1), Policy(max_dynamic=1), Policy(max_dynamic=2),
    Policy(proxy_messages=None), Policy(proxy_messages=1), Policy(proxy_messages=2, idle_phases=1, max_dynamic=2),
]


def layout_of(scheme: Scheme, processes: int, cores: int, group_size: int | None) -> Layout:
    return Layout(scheme=scheme, machine=Machine(n_processes=processes, n_cores=cores), group_size=group_size)


def random_trace(n_processes: int, seed: int, n_messages: int = 400) -> Trace:
    """Messages between few pairs again and again, some to oneself, some longer than a buffer."""
    generator = np.random.default_rng(seed)
    pairs = generator.integers(0, n_processes, (60, 2))
    chosen = pairs[generator.integers(0, len(pairs), n_messages)]
    size = generator.choice([0, 64, 4096, 8192, 8193], n_messages)
    return trace_of(f"random {seed}", n_processes, chosen[:, 0], chosen[:, 1], size,
                    np.sort(generator.integers(0, 12, n_messages)))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_static(layout: tuple) -> None:
    """Counts, the rule and the audit's walk are what section 4.1 says, written down pair by pair."""
    made = layout_of(*layout)
    expected = reference.static_units(made)
    assert made.static_queue_pairs.tolist() == [len(units) for units in expected]
    everybody = np.arange(made.n_processes)
    for process, units in enumerate(expected):
        assert set(static_units(made, process).tolist()) == units
        reached = {int(other) for other in everybody[made.is_static(np.array([process]), everybody)]}
        assert reached == {other for other in everybody.tolist()
                           if other != process and other // made.unit_processes in units}


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_beside_the_naive_one(layout: tuple, policy: Policy) -> None:
    for seed in (1, 2, 3):
        print(f"seed {seed}")
        made = layout_of(*layout)
        trace = random_trace(made.n_processes, seed)
        run = run_trace(made, trace, policy=policy)
        naive = reference.NaiveManager(made, policy, 8192).run(trace)
        for name in ("messages", "handshakes", "evictions", "opened", "closed", "live_peak"):
            assert getattr(run, name) == getattr(naive, name), name
        assert run.dynamic_peak.tolist() == naive.peak
        assert run.relayed.tolist() == naive.relayed
        check_times(run, naive.waits)
        assert violations(run, seed=seed) == []


def check_times(run: Run, waits: list[tuple[int, int, str, int]]) -> None:
    """Added latency: handshakes of four static messages and new queue pairs, proxies of one message and its bytes."""
    costs, waited = run.costs, np.zeros(run.layout.n_processes)
    phases: dict[tuple[int, int], float] = {}
    for process, phase, kind, amount in waits:
        if kind == "proxy":
            wait_ns = costs.message_ns + amount * costs.byte_ns
        else:
            wait_ns = 4 * costs.message_ns + amount * costs.queue_pair_ns
        waited[process] += wait_ns
        phases[phase, process] = phases.get((phase, process), 0) + wait_ns
    assert run.waited_ns == pytest.approx(waited)
    assert run.waited_ns_total == pytest.approx(waited.sum())
    slowest = [max(wait for (when, _), wait in phases.items() if when == phase) for phase in {key[0] for key in phases}]
    assert run.critical_ns == pytest.approx(sum(slowest))


def test_grows() -> None:
    """More queue pairs than the store begins with room for: 300,000 alive at once, each found again."""
    layout = layout_of(Scheme.GROUP, 40_000, 1, 200)
    trace = parse_trace("random:rounds=4,seed=5", 40_000)
    twice = Trace(name="twice", n_processes=40_000, n_messages=2 * trace.n_messages, n_phases=8,
                  make=lambda: (chunk for _ in range(2) for chunk in trace.chunks()))
    run = run_trace(layout, twice)
    pairs = {tuple(sorted(pair)) for chunk in trace.chunks()
             for pair in zip(chunk.source.tolist(), chunk.destination.tolist(), strict=True)}
    ends = np.array(sorted(pairs))
    dynamic = ends[~layout.is_static(ends[:, 0], ends[:, 1])]
    assert run.handshakes == len(dynamic) > 1 << 17
    assert run.opened == run.live_peak == run.closed == 2 * len(dynamic)
    assert run.dynamic_peak.tolist() == np.bincount(dynamic.ravel(), minlength=40_000).tolist()


@pytest.mark.parametrize("scheme", Scheme)
@pytest.mark.parametrize("processes", [64, 96, 192])
def test_formulas(scheme: Scheme, processes: int) -> None:
    """All to all with everybody static, or within groups: queue pairs, buffers and bytes are the formula's."""
    sizes = QueueSizes(buffer_bytes=8000, n_size_classes=3)
    group_size = 32 if scheme.traits.is_grouped else None
    layout = layout_of(scheme, processes, 4, group_size)
    run = run_trace(layout, parse_trace(f"alltoall:{group_size or processes}", processes), sizes=sizes)
    assert run.handshakes == 0
    pairs = queue_pairs(scheme, layout.machine, group_size)
    assert int(run.queue_pairs.max()) == pairs
    assert int(run.buffers.max()) == pairs * (1 if scheme.traits.has_srq else 5)
    formula = process_bytes(scheme, layout.machine, sizes, group_size)
    held = int(run.held_bytes.max())
    assert held == formula if pairs % 3 == 0 or not scheme.traits.has_sizes else formula < held < formula + 8000
    assert int(run.node_bytes.max()) == 4 * held


def test_all_pairs_by_handshake() -> None:
    """All to all of everybody: every pair that is not static shakes hands once, and everybody then has all units."""
    for scheme, unit in ((Scheme.GROUP, 1), (Scheme.GROUP_XRC, 4)):
        layout = layout_of(scheme, 64, 4, 16)
        run = run_trace(layout, parse_trace("alltoall", 64))
        full = 63 if unit == 1 else 16
        assert set(run.queue_pairs.tolist()) == {full}
        assert run.opened == 64 * full - int(layout.static_queue_pairs.sum())
        if unit == 1:
            assert run.handshakes == run.opened // 2


def test_a_million_processes() -> None:
    """Sixty seconds are allowed; the paper's 1,268 connections, and three phases of a stencil."""
    layout = layout_of(Scheme.GROUP_XRC, 1_000_000, 4, 4096)
    run = run_trace(layout, parse_trace("stencil:100x100x100", 1_000_000))
    assert run.seconds < 60
    assert sum(run.messages.values()) == 2 * 3 * 99 * 100 * 100
    assert int(layout.static_queue_pairs.max()) == 1268
    # 244 full groups of 4,096, whose processes have 1,024 nodes and 243 counterparts, 576 more in the last group.
    assert int(layout.static_queue_pairs.sum()) == 244 * 4096 * (1024 + 243) + 244 * 576 + 576 * (144 + 244)
    assert violations(run) == []


def test_audit_sees() -> None:
    """The checks of a run fail on what they are for."""
    layout = layout_of(Scheme.GROUP, 30, 1, 7)
    run = run_trace(layout, parse_trace("random:rounds=3", 30))
    assert violations(run) == []
    broken = run.__class__(**{**run.__dict__, "closed": run.closed - 1, "messages": {**run.messages, "self": 1}})
    assert [line.split(" must")[0] for line in violations(broken)] == ["messages", "queue pairs torn down"]
    layout.__dict__["static_queue_pairs"] = layout.static_queue_pairs + 1
    assert "static queue pairs of the busiest process must be 10, not 11" in violations(run)
    assert any(line.startswith("static queue pairs of process 29") for line in violations(run))


def test_group_sizes_compared() -> None:
    """Nothing that is marked is beaten in both memory and latency; candidates are whole nodes."""
    machine = Machine(n_processes=512, n_cores=4)
    sizes = candidates(Scheme.GROUP_XRC, machine)
    assert sizes == [4, 8, 16, 32, 52, 64, 128, 256, 512]
    found = compare_group_sizes(Scheme.GROUP_XRC, machine, parse_trace("stencil:8x8x8", 512), group_sizes=sizes,
                                sizes=QueueSizes(), policy=Policy(), costs=Costs())
    marked = [one for one in found if one.is_best]
    assert 0 < len(marked) < len(found)
    for one in marked:
        assert not any(other.run.held_bytes.max() < one.run.held_bytes.max()
                       and other.run.waited_ns_total < one.run.waited_ns_total for other in found)


def test_too_many_processes() -> None:
    with pytest.raises(ConnectionsError, match=r"^processes of alltoall must be at most 8, not 9$"):
        run_trace(layout_of(Scheme.RC, 8, 1, None), parse_trace("alltoall", 9))


@pytest.mark.long
def test_a_million_random_partners() -> None:
    """Ten million messages, each between processes that never met: twenty million queue pairs alive."""
    layout = layout_of(Scheme.GROUP_XRC, 1_000_000, 4, 4096)
    run = run_trace(layout, parse_trace("random:rounds=10,seed=1", 1_000_000))
    assert run.opened == run.live_peak > 19_000_000
    assert violations(run) == []
