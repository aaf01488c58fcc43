"""Each update rule against steps computed by hand from its paper, with the parameters of the HPCC release."""

import math
from typing import Any

import numpy as np
import pytest

from sim.model.congestion import defaults
from sim.model.congestion.core.library import address, load
from sim.model.congestion.core.records import CONTROL, FLOW, HOP, MAX_HOPS, NEVER, PORT
from sim.model.congestion.prepare import control_record

G = 1e9
LINE = 100 * G
NS, US = 1000, 1_000_000


def rule(algorithm: str, **flow: Any) -> tuple[Any, Any, Any]:
    """A flow at line rate, unless `flow` says otherwise, the parameters of its run, and the rules."""
    record, core = np.zeros(1, FLOW), load()
    record["rate"] = record["reference"] = record["line_rate"] = LINE
    record["alpha"] = record["utilisation"] = 1
    record["is_first_mark"] = True
    record["window"], record["base_rtt"] = 125_000, 10_000
    for name in ("alpha_at", "decrease_at", "increase_at"):
        record[name] = NEVER
    for name, value in flow.items():
        record[name] = value
    control = control_record(defaults(algorithm, int(LINE)), int(LINE), 10_000, 1000)
    assert control.dtype == CONTROL
    return record, control, core


def rate(record: Any) -> float:
    return float(record["rate"][0]) / G


class TestDctcp:
    """Alizadeh et al., equations 1 and 2."""

    def test_two_round_trips(self) -> None:
        flow, control, core = rule("dctcp", sent=10_000)
        ack = lambda acked, marked: core.conic_dctcp(address(flow), address(control), acked, marked)  # noqa: E731
        ack(1000, 0)  # the first acknowledgement ends no round trip: 10 packets are under way, and the line is full
        assert (rate(flow), flow["batch"][0], flow["update_at"][0]) == (100, 11, 10_000)
        for acked in range(2000, 11_000, 1000):
            ack(acked, acked in (3000, 4000, 5000, 6000, 7000))
        assert rate(flow) == 50  # alpha is 1 still; marks after the first of a round trip change nothing
        flow["sent"] = 20_000
        ack(11_000, 0)
        assert flow["alpha"][0] == pytest.approx(15 / 16 + 5 / 11 / 16)
        assert rate(flow) == pytest.approx(50.615)
        ack(12_000, 1)
        assert rate(flow) == pytest.approx(50.615 * (1 - (15 / 16 + 5 / 11 / 16) / 2))

    def test_no_increase_while_reduced(self) -> None:
        flow, control, core = rule("dctcp", sent=10_000, update_at=5000, batch=5, rate=50 * G)
        core.conic_dctcp(address(flow), address(control), 6000, 1)  # ends the round trip, and is marked
        assert rate(flow) == pytest.approx(50 * (1 - (15 / 16 + 1 / 5 / 16) / 2))

    def test_bounds(self) -> None:
        flow, control, core = rule("dctcp", sent=10_000, update_at=20_000, rate=1.2 * G)
        core.conic_dctcp(address(flow), address(control), 1000, 1)
        assert rate(flow) == 1
        flow, control, core = rule("dctcp", sent=10_000, update_at=5000, batch=5, rate=99.9 * G)
        core.conic_dctcp(address(flow), address(control), 6000, 0)
        assert rate(flow) == 100


class TestDcqcn:
    """Zhu et al., equations 1 to 4, on the release's timers of 1, 4 and 300 µs."""

    def test_decreases(self) -> None:
        flow, control, core = rule("dcqcn")
        mark = lambda now: core.conic_dcqcn_mark(address(flow), address(control), now)  # noqa: E731
        advance = lambda now: core.conic_dcqcn_advance(address(flow), address(control), now)  # noqa: E731
        mark(0)
        advance(4 * US)
        kept = 255 / 256
        assert (rate(flow), flow["alpha"][0]) == (100, pytest.approx(kept**4))  # 1 ns before the rate falls
        advance(4 * US + NS)
        first = 100 * (1 - kept**4 / 2)
        assert rate(flow) == pytest.approx(first)
        advance(8 * US + NS)
        assert rate(flow) == pytest.approx(first)  # no mark since
        mark(9 * US)
        advance(12 * US + NS)
        alpha = (kept**10 + 1 / 256) * kept**2  # the mark counts at 10 µs, once
        assert flow["alpha"][0] == pytest.approx(alpha)
        assert rate(flow) == pytest.approx(first * (1 - alpha / 2))
        assert flow["reference"][0] == LINE  # nothing was regained in between: the target stays

    def test_recovers(self) -> None:
        flow, control, core = rule("dcqcn", is_first_mark=False, alpha=0.5, rate=40 * G, reference=60 * G,
                                   decrease_at=NEVER, alpha_at=NEVER, increase_at=300 * US)
        steps = []
        for n in range(1, 5):
            core.conic_dcqcn_advance(address(flow), address(control), n * 300 * US)
            steps.append(rate(flow))
        # Halfway to 60; then to 60.02 (20 Mb/s); then to 60.22 and 60.42 (200 Mb/s each).
        assert steps == pytest.approx([50, 55.01, 57.615, 59.0175])

    def test_lowers_target_after_increase(self) -> None:
        flow, control, core = rule("dcqcn", is_first_mark=False, is_marked_decrease=True, alpha=0.5, rate=40 * G,
                                   reference=60 * G, stage=1, decrease_at=4 * US)
        core.conic_dcqcn_advance(address(flow), address(control), 4 * US)
        assert (flow["reference"][0], rate(flow)) == (40 * G, 30)

    def test_bounds(self) -> None:
        flow, control, core = rule("dcqcn", is_first_mark=False, is_marked_decrease=True, rate=1.1 * G, alpha=1,
                                   decrease_at=4 * US)
        core.conic_dcqcn_advance(address(flow), address(control), 4 * US)
        assert rate(flow) == 1
        flow, control, core = rule("dcqcn", is_first_mark=False, rate=100 * G, increase_at=US)
        core.conic_dcqcn_advance(address(flow), address(control), 2000 * US)
        assert rate(flow) == 100


class TestTimely:
    """Mittal et al., algorithm 1."""

    def test_steps(self) -> None:
        flow, control, core = rule("timely", rate=50 * G, reference=50 * G)

        def ack(acked: int, sent: int, rtt_us: int) -> float:
            flow["sent"] = sent
            core.conic_timely(address(flow), address(control), acked, rtt_us * 1000)
            return rate(flow)

        assert ack(1000, 10_000, 30) == 50  # the first round trip is remembered only
        assert ack(10_000, 12_000, 90) == 50  # within the round trip
        assert ack(11_000, 20_000, 40) == pytest.approx(50.1)  # below T_low, gradient 0.4375
        assert flow["rtt_difference"][0] == pytest.approx(8750)
        gradient = (0.125 * 8750 + 0.875 * 20_000) / 20_000
        assert ack(21_000, 30_000, 60) == pytest.approx(50.1 * (1 - 0.8 * gradient))
        assert ack(31_000, 40_000, 600) == pytest.approx(12.838125 * (1 - 0.8 * (1 - 500 / 600)))  # above T_high
        slow = 12.838125 * (1 - 0.8 * (1 - 500 / 600))
        steps = [ack(41_000 + n * 10_000, 50_000 + n * 10_000, 100) for n in range(6)]
        assert steps[:5] == pytest.approx([slow + 0.1 * (n + 1) for n in range(5)])  # gradient below 0
        assert steps[5] == pytest.approx(slow + 0.5 + 0.5)  # hyperactive after five in a row

    def test_bounds(self) -> None:
        flow, control, core = rule("timely", rate=1.5 * G, reference=1.5 * G, update_at=1, sent=9000, last_rtt=60_000)
        core.conic_timely(address(flow), address(control), 1000, 499_000)  # gradient far above 1: to nothing, but
        assert rate(flow) == 1
        flow, control, core = rule("timely", update_at=1, sent=9000, last_rtt=30_000)
        core.conic_timely(address(flow), address(control), 1000, 20_000)
        assert rate(flow) == 100


class TestHpcc:
    """Li et al., algorithm 1: T 10 µs, eta 0.95, W_AI as a rate of 40 Mb/s; units at 100 Gb/s of 512 and 320 bytes."""

    @staticmethod
    def ack(flow: Any, control: Any, core: Any, seen: Any, acked: int, *hops: tuple[int, int, int, int]) -> None:
        came = np.array(list(hops), HOP)
        core.conic_hpcc(address(flow), address(seen), address(came), len(hops), address(control), acked)

    def test_steps(self) -> None:
        flow, control, core = rule("hpcc", sent=50_000)
        seen = np.zeros(MAX_HOPS, HOP)
        self.ack(flow, control, core, seen, 1000, (5000, 100, 200, 100_000), (6000, 7, 0, 100_000))
        assert (rate(flow), flow["update_at"][0]) == (100, 50_000)  # remembered only
        # First link: 20 * 512 B in 1000 ns are 81.92 Gb/s; the lesser queue, 100 * 320 B, is 0.256 of what T carries.
        self.ack(flow, control, core, seen, 2000, (6000, 120, 100, 100_000), (7000, 17, 0, 100_000))
        utilisation = (1 * 9000 + (0.8192 + 0.256) * 1000) / 10_000
        assert flow["utilisation"][0] == pytest.approx(utilisation)
        first = 100 / (utilisation / 0.95) + 0.04
        assert rate(flow) == pytest.approx(first)
        assert flow["reference"][0] == LINE  # W^c changes once a round trip
        # The other link is the fullest one now: 30 * 512 B in 1000 ns, no queue.
        self.ack(flow, control, core, seen, 3000, (7000, 130, 0, 100_000), (8000, 47, 0, 100_000))
        utilisation = utilisation * 0.9 + 1.2288 * 0.1
        assert rate(flow) == pytest.approx(100 / (utilisation / 0.95) + 0.04)  # from 100 again, not from the last rate
        flow["sent"] = 90_000
        self.ack(flow, control, core, seen, 51_000, (8000, 140, 0, 100_000), (9000, 47, 0, 100_000))
        utilisation = utilisation * 0.9 + 0.4096 * 0.1
        assert flow["reference"][0] / G == pytest.approx(100 / (utilisation / 0.95) + 0.04)
        assert flow["update_at"][0] == 90_000

    def test_fields_wrap(self) -> None:
        flow, control, core = rule("hpcc", sent=50_000, update_at=40_000)
        seen = np.array([((1 << 24) - 400, (1 << 20) - 5, 10, 100_000)] + [(0, 0, 0, 0)] * 4, HOP)
        self.ack(flow, control, core, seen, 2000, (600, 15, 10, 100_000))
        used = 20 * 512 * 8 / 1000 / 100 + 10 * 320 / 125_000
        assert flow["utilisation"][0] == pytest.approx(0.9 + 0.1 * used)

    def test_long_gap_counts_once(self) -> None:
        """tau is at most T: then nothing of the old utilisation is left."""
        flow, control, core = rule("hpcc", sent=50_000, update_at=40_000)
        seen = np.zeros(MAX_HOPS, HOP)
        self.ack(flow, control, core, seen, 2000, (20_000, 100, 0, 100_000))
        assert flow["utilisation"][0] == pytest.approx(100 * 512 * 8 / 20_000 / 100)
        assert rate(flow) == 100  # 5 times the line's rate would be right, which is the line's

    def test_faster_link_has_shorter_queue(self) -> None:
        """A queue counts by the time that its link takes for it."""
        flow, control, core = rule("hpcc", sent=50_000, update_at=40_000)
        seen = np.array([(0, 0, 100, 400_000)] + [(0, 0, 0, 0)] * 4, HOP)
        self.ack(flow, control, core, seen, 2000, (1000, 0, 100, 400_000))
        assert flow["utilisation"][0] == pytest.approx(0.9 + 0.1 * 0.256 / 4)

    def test_least_rate(self) -> None:
        flow, control, core = rule("hpcc", sent=50_000, update_at=40_000, reference=1.1 * G, rate=1.1 * G,
                                   utilisation=5)
        self.ack(flow, control, core, np.zeros(MAX_HOPS, HOP), 2000, (1000, 20, 0, 100_000))
        assert rate(flow) == 1

    def test_max_stage(self) -> None:
        """With maxStage 2: two steps of W_AI while the links are free, then one division."""
        flow, control, core = rule("hpcc", sent=2000, update_at=1, reference=50 * G, rate=50 * G, utilisation=0.5)
        control["max_stage"] = 2
        seen = np.zeros(MAX_HOPS, HOP)
        rates = []
        for n in range(1, 4):
            flow["sent"] = (n + 1) * 2000
            self.ack(flow, control, core, seen, n * 2000 + 1, (n * 10_000, n * 122, 0, 100_000))
            rates.append(rate(flow))
        used = 122 * 512 * 8 / 10_000 / 100
        assert rates == pytest.approx([50.04, 50.08, 50.08 / (used / 0.95) + 0.04])

    def test_gap_follows_rate(self) -> None:
        """The packet after the last one leaves when the new rate says so."""
        flow, control, core = rule("hpcc", sent=50_000, update_at=40_000, last_size=1090, next_at=5_000_000,
                                   utilisation=2)
        self.ack(flow, control, core, np.zeros(MAX_HOPS, HOP), 2000, (1, 0, 0, 100_000))
        gap = 1090 * 8e12
        assert flow["next_at"][0] == 5_000_000 + int(gap / flow["rate"][0]) - int(gap / LINE)

    def test_header(self) -> None:
        """Values that a switch writes: ns modulo 2^24, bytes in 512 modulo 2^20, queue in 320."""
        port, hop = np.zeros(1, PORT), np.zeros(1, HOP)
        _, control, core = rule("hpcc")
        port["tx_bytes"], port["queue_bytes"], port["rate"] = (1 << 29) + 5 * 512 + 511, 7 * 320 + 319, int(LINE)
        core.conic_hpcc_hop(address(port), address(control), ((1 << 24) + 77) * NS + 999, address(hop))
        assert hop.tolist() == [(77, 5, 7, 100_000)]


class TestPint:
    """Ben Basat et al.: the switch's utilisation, its byte, and HPCC's rule on it."""

    def test_switch(self) -> None:
        port, core = np.zeros(1, PORT), load()
        port["rate"], port["utilisation"], port["queue_bytes"], port["last_size"] = int(LINE), 0.5, 10_000, 1090
        port["last_time"] = 2 * US
        # T 10 µs, tau 0.5 µs: 0.95 of the old, 10,000 B for 0.5 of 10 µs, one packet of 1,090 B; 125,000 B are full.
        assert core.conic_pint_smoothed(address(port), 2 * US + 500 * NS, 10_000) == \
            pytest.approx(0.475 + 0.08 * 0.05 + 1090 / 125_000)
        # After a long rest tau is T, and the old is forgotten.
        assert core.conic_pint_smoothed(address(port), 200 * US, 10_000) == pytest.approx(0.08 + 1090 / 125_000)

    def test_byte(self) -> None:
        core, random = load(), np.array([12345], np.uint64)
        assert core.conic_pint_encode(0.0, 1.05, address(random)) == 0
        assert core.conic_pint_encode(1e6, 1.05, address(random)) == 255
        assert core.conic_pint_decode(128, 1.05) == pytest.approx(1.05**128 / 512)
        value = 700 / 512
        drawn = np.array([core.conic_pint_encode(value, 1.05, address(random)) for _ in range(20_000)])
        lower = math.floor(math.log(700) / math.log(1.05))
        assert set(drawn.tolist()) == {lower, lower + 1}
        assert np.mean(1.05**drawn / 512) == pytest.approx(value, rel=2e-3)  # right on average

    def test_sender(self) -> None:
        flow, control, core = rule("pint", sent=50_000)
        ack = lambda acked, power: core.conic_pint(address(flow), address(control), acked, power)  # noqa: E731
        ack(1000, 200)
        assert rate(flow) == 100  # the first one is not worked on
        ack(2000, 135)
        assert rate(flow) == pytest.approx(100 / (1.05**135 / 512 / 0.95) + 0.04)
        assert flow["reference"][0] == LINE
        flow["sent"] = 90_000
        ack(51_000, 135)
        assert flow["reference"][0] / G == pytest.approx(100 / (1.05**135 / 512 / 0.95) + 0.04)
        ack(52_000, 255)
        assert rate(flow) == 1


def test_window() -> None:
    """A window scales with the rate, and is never below one byte: one packet may always be under way."""
    flow, control, core = rule("hpcc", sent=62_000, acked=0, rate=50 * G)
    assert not core.conic_is_window_full(address(flow), address(control))
    flow["sent"] = 62_500
    assert core.conic_is_window_full(address(flow), address(control))
    flow["rate"], flow["sent"] = 0.0001 * G, 0
    assert not core.conic_is_window_full(address(flow), address(control))
    flow["window"], flow["sent"] = 0, 1 << 40
    assert not core.conic_is_window_full(address(flow), address(control))


def test_parameters_of_the_release() -> None:
    """At 100 Gb/s, as its `run.py` computes them."""
    found = {name: defaults(name, int(LINE)) for name in ("none", "dctcp", "dcqcn", "timely", "hpcc", "pint")}
    assert (found["dcqcn"].k_min, found["dcqcn"].k_max, found["dcqcn"].p_max) == (400e3, 1600e3, 0.2)
    assert (found["dctcp"].k_min, found["dctcp"].k_max, found["dctcp"].p_max) == (300e3, 300e3, 1)
    assert (found["dcqcn"].increase, found["dcqcn"].hyper_increase, found["dcqcn"].gain) == (20e6, 200e6, 1 / 256)
    assert (found["timely"].increase, found["timely"].hyper_increase) == (100e6, 500e6)
    assert (found["dctcp"].increase, found["dctcp"].gain) == (615e6, 1 / 16)
    assert (found["hpcc"].increase, found["pint"].increase) == (40e6, 40e6)
    assert [found[name].overhead for name in found] == [48, 48, 48, 56, 90, 49]
    assert [found[name].ack_size for name in found] == [60, 60, 60, 60, 88, 60]
    assert [name for name in found if found[name].has_window] == ["dctcp", "hpcc", "pint"]
