"""The shared buffer of a switch against numbers worked out by hand from the HPCC release's rules."""

from typing import Any

import numpy as np
import pytest

from sim.model.congestion import dumbbell, small
from sim.model.congestion.core.library import address, load
from sim.model.congestion.core.records import NODE, PORT
from sim.model.congestion.flows import Flow
from sim.model.congestion.parameters import MB, defaults
from sim.model.congestion.prepare import control_record, headroom, prepare

RATE = 100_000_000_000


@pytest.fixture
def switch() -> Any:
    """A pool of 80,000 bytes, an ingress with 37,500 bytes of headroom and 4,096 of its own, and the rules."""
    node, port = np.zeros(1, NODE), np.zeros(1, PORT)
    node["pool"], node["buffer"] = 80_000, 200_000
    port["headroom"], port["shift"] = 37_500, 3
    return node, port, control_record(defaults("dcqcn", RATE), RATE, 10_000, 1000), load()


def test_reserve_pool_headroom(switch: Any) -> None:
    """First the reserve, then the pool up to an eighth of what is free of it, then headroom; and back in reverse."""
    node, port, control, core = switch
    state = lambda: tuple(int(x) for x in (port["ingress_bytes"][0], node["shared"][0], port["headroom_bytes"][0]))  # noqa: E731
    admit = lambda: core.conic_admit(address(node), address(port), address(control), 1000)  # noqa: E731
    pause = lambda: core.conic_should_pause(address(node), address(port), address(control))  # noqa: E731
    for _ in range(4):
        assert admit()
    assert state() == (4000, 0, 0)
    assert admit()
    assert state() == (5000, 904, 0)  # 904 of it are above the reserve
    # The threshold is (80,000 - shared) / 8: 8,904 of the pool are in use when (80,000 - 8,904) / 8 = 8,887 may be.
    for _ in range(8):
        assert not pause()
        assert admit()
    assert state() == (13_000, 8904, 0)
    assert pause()
    assert admit()
    assert state() == (13_000, 8904, 1000)
    for _ in range(36):
        assert admit()
    assert not admit()  # 37,500 bytes of headroom hold 37 packets: this one would be lost
    port["is_pausing"] = True
    release = lambda: core.conic_release(address(node), address(port), address(control), 1000)  # noqa: E731
    resume = lambda: core.conic_should_resume(address(node), address(port), address(control))  # noqa: E731
    for _ in range(37):
        assert not resume()
        release()
    assert state() == (13_000, 8904, 0)
    # 3,072 below the threshold: 5,904 + 3,072 <= (80,000 - 5,904) / 8 = 9,262, but 6,904 + 3,072 > 9,137.
    release()
    release()
    assert state() == (11_000, 6904, 0)
    assert not resume()
    release()
    assert resume()
    for _ in range(10):
        release()
    assert state() == (0, 0, 0)
    assert node["occupied"][0] == 0


def test_marks() -> None:
    """No mark up to K_min, by chance up to K_max, always above."""
    port, random, core = np.zeros(1, PORT), np.array([99], np.uint64), load()
    port["k_min"], port["k_max"], port["p_max"] = 400_000, 1_600_000, 0.2

    def share(waiting: int) -> float:
        port["data_bytes"] = waiting
        return float(np.mean([core.conic_should_mark(address(port), address(random)) for _ in range(4000)]))

    assert (share(400_000), share(1_600_001)) == (0, 1)
    assert share(1_000_000) == pytest.approx(0.1, abs=0.02)
    assert share(1_600_000) == pytest.approx(0.2, abs=0.02)


def test_what_a_switch_keeps() -> None:
    """Headroom of 100 Gb/s and 1 µs is 37,500 bytes; 17 ports of the small network keep that and 4 KiB each."""
    parameters = defaults("dcqcn", RATE, buffer=4 * MB)
    assert headroom(RATE, 1000, parameters) == 37_500
    assert headroom(RATE, 0, parameters) == 3 * 1048 + 60  # what is being sent when the pause comes
    state = prepare(small(), [Flow(0, 4, 1, 0)], parameters, seed=1)
    assert state.nodes["pool"][3] == 4 * MB - 17 * (37_500 + 4096)
    assert state.nodes["pool"][2] == 4 * MB - 3 * (37_500 + 4096)


def test_faster_links() -> None:
    """A link of four times the hosts' rate may use half of what is free, and marks at four times the bytes."""
    from sim.model.congestion import fat_tree

    state = prepare(fat_tree(1, uplink=4 * RATE), [Flow(0, 20, 1, 0)], defaults("dcqcn", RATE), seed=1)
    fast = state.ports[state.ports["rate"] == 4 * RATE][0]
    slow = state.ports[state.ports["rate"] == RATE][0]
    assert (fast["shift"], slow["shift"]) == (1, 3)
    assert (fast["k_min"], slow["k_min"]) == (1_600_000, 400_000)


def test_too_small_a_buffer() -> None:
    from sim.model.congestion import CongestionError

    with pytest.raises(CongestionError, match=r"buffer: must be above 249576 bytes, .* switch 10 .* not 1000"):
        prepare(dumbbell(5), [Flow(0, 5, 1, 0)], defaults("dcqcn", RATE, buffer=1000), seed=1)
