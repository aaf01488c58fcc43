"""Formulas by hand, the schemes beside each other, and what is refused."""

import numpy as np
import pytest

from firmware_models.connections import (
    ConnectionsError,
    Costs,
    Layout,
    Machine,
    Policy,
    QueueSizes,
    Scheme,
    best_group_size,
    node_bytes,
    process_bytes,
    queue_pairs,
)
from firmware_models.connections.group_size import group_size_curve

GROUPED = [scheme for scheme in Scheme if scheme.traits.is_grouped]


def test_by_hand() -> None:
    """Nine processes on nodes of three, queues that are all different, buffers of 64, 32, 16 and 8 bytes."""
    sizes = QueueSizes(buffer_bytes=64, n_receive_buffers=2, send_depth=3, receive_depth=5, work_request_bytes=100,
                       n_size_classes=4)
    machine = Machine(n_processes=9, n_cores=3)
    assert process_bytes(Scheme.RC, machine, sizes) == 8 * (2 * 64 + (3 + 5) * 100)
    assert process_bytes(Scheme.RC_SRQ, machine, sizes) == 8 * (64 + 3 * 100 + 100)
    assert process_bytes(Scheme.XRC, machine, sizes) == 3 * (64 + 3 * 100 + 100)
    assert process_bytes(Scheme.XRC_SIZES, machine, sizes) == 3 * ((64 + 32 + 16 + 8) / 4 + 3 * 100 + 100)
    assert queue_pairs(Scheme.GROUP, machine, 4) == 3 + 2
    assert queue_pairs(Scheme.GROUP_XRC, machine, 6) == 2 + 1
    assert node_bytes(Scheme.GROUP_XRC, machine, sizes, 6) == 3 * 3 * (64 + 3 * 100 + 100)


@pytest.mark.parametrize(("processes", "groups", "pairs"), [
    (4095, 1, 1024), (4096, 1, 1024), (4097, 2, 1025), (8191, 2, 1025), (8192, 2, 1025), (8193, 3, 1026),
])
def test_last_group(processes: int, groups: int, pairs: int) -> None:
    """One process more than full groups makes one group, and one connection, more."""
    machine = Machine(n_processes=processes, n_cores=4)
    layout = Layout(scheme=Scheme.GROUP_XRC, machine=machine, group_size=4096)
    assert (layout.n_groups, queue_pairs(Scheme.GROUP_XRC, machine, 4096)) == (groups, pairs)


@pytest.mark.parametrize("scheme", Scheme)
def test_counted_buffers(scheme: Scheme) -> None:
    """Bytes counted buffer by buffer are the formula's; with several sizes, whenever the turns come out even."""
    sizes = QueueSizes(buffer_bytes=8000)
    for processes in (6, 7, 12, 13, 600, 601):
        machine = Machine(n_processes=processes, n_cores=1)
        group_size = processes if scheme.traits.is_grouped else None
        pairs = queue_pairs(scheme, machine, group_size)
        counted = int(sizes.held_bytes(scheme, np.array([pairs]))[0])
        formula = process_bytes(scheme, machine, sizes, group_size)
        if scheme.traits.has_sizes and pairs % 6:
            assert formula < counted < formula + 8000
        else:
            assert counted == formula


@pytest.mark.parametrize(("pairs", "buffers"), [(1, 8192), (8191, 8192), (8192, 8192), (8193, 16_384)])
def test_fixed_depth(pairs: int, buffers: int) -> None:
    """A shared receive queue for every 8,192 queue pairs is full whether it is needed or not (section 5)."""
    sizes = QueueSizes(buffer_bytes=8000, srq_depth=8192)
    assert int(sizes.held_bytes(Scheme.XRC, np.array([pairs]))[0]) == pairs * 16 * 64 + buffers * (8000 + 64)


@pytest.mark.parametrize("scheme", GROUPED)
def test_best_group_size(scheme: Scheme) -> None:
    """No group size has fewer queue pairs, and of those that have as few it is the largest: all tried."""
    for processes in (2, 3, 16, 17, 63, 64, 65, 200):
        for cores in (1, 2, 3, 4, 7):
            machine = Machine(n_processes=processes, n_cores=cores)
            unit = cores if scheme.traits.has_xrc else 1
            tried = [(queue_pairs(scheme, machine, size), -size)
                     for size in range(unit, -(-processes // unit) * unit + 1, unit)]
            found = best_group_size(scheme, machine)
            assert (found.n_queue_pairs, -found.group_size) == min(tried)
            assert found.n_groups == -(-processes // found.group_size)


def test_curve() -> None:
    """A curve goes from the smallest groups to one of all, and nowhere below the best."""
    machine = Machine(n_processes=10_000, n_cores=4)
    curve = group_size_curve(Scheme.GROUP_XRC, machine, 50)
    assert (curve[0].group_size, curve[-1].group_size) == (4, 10_000)
    best = best_group_size(Scheme.GROUP_XRC, machine)
    assert min(point.n_queue_pairs for point in curve) >= best.n_queue_pairs == 99


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Machine(n_processes=1), "processes must be 2 to 1073741824, not 1"),
    (lambda: Machine(n_processes=(1 << 30) + 1), "processes must be 2 to 1073741824, not 1073741825"),
    (lambda: Machine(n_processes=2, n_cores=0), "cores must be 1 to 4096, not 0"),
    (lambda: Machine(n_processes=2, n_cores=4097), "cores must be 1 to 4096, not 4097"),
    (lambda: QueueSizes(buffer_bytes=0), "buffer_bytes must be 1 to 1073741824, not 0"),
    (lambda: QueueSizes(send_depth=0), "send_depth must be 1 to 65536, not 0"),
    (lambda: QueueSizes(n_receive_buffers=16), "receive_depth must be 17 to 65536, above n_receive_buffers, not 16"),
    (lambda: QueueSizes(receive_depth=65_537), "receive_depth must be 6 to 65536, above n_receive_buffers, not 65537"),
    (lambda: QueueSizes(work_request_bytes=63), "work_request_bytes must be 64 to 4096, not 63"),
    (lambda: QueueSizes(n_size_classes=17), "n_size_classes must be 1 to 16, not 17"),
    (lambda: QueueSizes(buffer_bytes=8001),
     "buffer_bytes must be a multiple of 32, for 6 sizes each half of the one before, not 8001"),
    (lambda: QueueSizes(srq_depth=0), "srq_depth must be 1 to 1048576, not 0"),
    (lambda: Policy(max_dynamic=0), "max_dynamic must be 1 to 1073741824, not 0"),
    (lambda: Policy(proxy_messages=-1), "proxy_messages must be 0 to 1073741824, not -1"),
    (lambda: Costs(message_ns=-1), "message_ns must be 0 to 1e12, not -1"),
    (lambda: queue_pairs(Scheme.GROUP, Machine(n_processes=9)), "group_size must be given for group, not None"),
    (lambda: queue_pairs(Scheme.GROUP, Machine(n_processes=9), 10), "group_size must be 1 to 9, not 10"),
    (lambda: queue_pairs(Scheme.GROUP, Machine(n_processes=9), 0), "group_size must be 1 to 9, not 0"),
    (lambda: Layout(scheme=Scheme.GROUP_XRC, machine=Machine(n_processes=9, n_cores=4), group_size=6),
     "group_size must be a multiple of 4, the cores of a node, for group-xrc, not 6"),
    (lambda: Layout(scheme=Scheme.GROUP_XRC, machine=Machine(n_processes=9, n_cores=4), group_size=16),
     "group_size must be 1 to 12, not 16"),
    (lambda: best_group_size(Scheme.RC, Machine(n_processes=9)), "scheme must be one with groups, not 'rc'"),
])
def test_refused(make, message: str) -> None:
    with pytest.raises(ConnectionsError) as refusal:
        make()
    assert str(refusal.value) == message
