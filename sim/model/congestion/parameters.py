"""Parameters of a run, with the values of the ns-3 release of HPCC.

Sources: `run.py` of that release writes the configuration of each algorithm, by the rate of hosts' links, bw; what it
does not set stands in `third.cc`, `rdma-hw.cc`, `switch-mmu.cc`, `int-header.h` and `pint.h`. The papers name most of
them too. Each field says where its value comes from.
"""

from dataclasses import dataclass

from sim.model.congestion.core.records import ALGORITHMS
from sim.model.congestion.error import CongestionError

MB = 1 << 20
"""Bytes of a megabyte of a switch's buffer (third.cc: ``buffer_size * 1024 * 1024``)."""
GIGA = 10**9
MEGA = 10**6
HEADER = 48
"""Bytes before the payload, without telemetry: PPP 14, IP 20, UDP 8, group and sequence number 6 (custom-header.cc)."""
ACK_HEADER = 46
"""The same of an acknowledgement: 14, 20 and 12 (qbb-header.cc)."""
SMALLEST = 60
"""The shortest frame (rdma-hw.cc pads acknowledgements to it)."""
TELEMETRY = {"hpcc": 42, "pint": 1, "timely": 8}
"""Bytes of telemetry: five hops of 8 bytes and their number; one byte; a time stamp (int-header.h)."""


@dataclass(frozen=True)
class Parameters:
    """Parameters of a run. Rates in bits a second, times in ns, sizes in bytes.

    Members
    -------
    algorithm : str
        One of `ALGORITHMS`.
    buffer : int
        Shared buffer of a switch. Release: 16 MB x bw / 50; the paper does not say, 4 MB gives its picture.
    payload : int
        Of a packet; PACKET_PAYLOAD_SIZE 1000. One acknowledgement a packet (L2_ACK_INTERVAL 1).
    is_ack_control : bool
        Acknowledgements go before data and are not paused; ``ack_prio``: where there is no window (DCQCN, TIMELY).
    has_window, is_window_scaled : bool
        At most a product of rate and round trip is under way, scaled with the rate; HAS_WIN, VAR_WIN: DCTCP, HPCC,
        PINT.
    min_rate : float
        MIN_RATE 1000Mb/s.
    reserve, resume_offset : int
        Of an ingress before it takes from the pool: 4 KiB; a pause ends 3 KiB below the threshold (switch-mmu.cc).
    pfc_shift : int
        The threshold is what is free of the pool over 2**3, less of a shift for faster links (third.cc).
    k_min, k_max, p_max : float
        ECN: bytes at host rate and probability. 100 kB, 400 kB x bw / 25 and 0.2; DCTCP 30 kB x bw / 10 and 1.
    gain : float
        g of DCTCP (1/16) and DCQCN (1/256); EWMA_GAIN.
    increase, hyper_increase : float
        Additive steps. DCQCN 5 and 50 Mb/s x bw / 25, TIMELY 10 and 50 x bw / 10, HPCC and PINT 10 x bw / 25, DCTCP
        615.
    alpha_ns, decrease_ns, increase_ns : int
        Timers of DCQCN: 1, 4, 300 µs (ALPHA_RESUME_INTERVAL, RATE_DECREASE_INTERVAL, RP_TIMER).
    recovery_stages : int
        Halvings of the way before the target rises; FAST_RECOVERY_TIMES 1.
    is_clamped : bool
        Every decrease lowers the target; CLAMP_TARGET_RATE 0: only the first after an increase.
    t_low_ns, t_high_ns, min_rtt_ns : int
        TIMELY: 50, 500, 20 µs (rdma-hw.cc: TimelyTLow, TimelyTHigh, TimelyMinRtt).
    smoothing, decrease : float
        TIMELY: alpha 0.875, the weight of a new difference, and beta 0.8 (rdma-hw.cc).
    hyper_stages : int
        TIMELY: increases in a row before the hyperactive ones, 5 (its paper, section 4.3; rdma-hw.cc).
    target : float
        HPCC's eta, U_TARGET 0.95.
    max_stage : int
        HPCC's maxStage, MI_THRESH 0.
    is_per_ack : bool
        HPCC and PINT react to every acknowledgement; FAST_REACT 1.
    log_base, sampled : float
        PINT: base of the scale, 1.05; share of acknowledgements looked at, 1 (PINT_LOG_BASE, PINT_PROB).
    """

    algorithm: str
    buffer: int = 4 * MB
    payload: int = 1000
    is_ack_control: bool = True
    has_window: bool = False
    is_window_scaled: bool = False
    min_rate: float = 1000.0 * MEGA
    reserve: int = 4096
    resume_offset: int = 3072
    pfc_shift: int = 3
    k_min: float = 0.0
    k_max: float = 0.0
    p_max: float = 0.0
    gain: float = 0.0
    increase: float = 0.0
    hyper_increase: float = 0.0
    alpha_ns: int = 1_000
    decrease_ns: int = 4_000
    increase_ns: int = 300_000
    recovery_stages: int = 1
    is_clamped: bool = False
    t_low_ns: int = 50_000
    t_high_ns: int = 500_000
    min_rtt_ns: int = 20_000
    smoothing: float = 0.875
    decrease: float = 0.8
    hyper_stages: int = 5
    target: float = 0.95
    max_stage: int = 0
    is_per_ack: bool = True
    log_base: float = 1.05
    sampled: float = 1.0

    @property
    def telemetry(self) -> int:
        """Bytes of telemetry in each packet."""
        return TELEMETRY.get(self.algorithm, 0)

    @property
    def is_marking(self) -> bool:
        """True if marks (ECN) mean anything."""
        return self.algorithm in ("dctcp", "dcqcn")

    @property
    def overhead(self) -> int:
        """Bytes of a data packet besides its payload."""
        return HEADER + self.telemetry

    @property
    def ack_size(self) -> int:
        """Bytes of an acknowledgement."""
        return max(SMALLEST, ACK_HEADER + self.telemetry)


def defaults(algorithm: str, host_rate: int, *, buffer: int = 4 * MB, payload: int = 1000) -> Parameters:
    """Those of the release for hosts of `host_rate`.

    Raises
    ------
    CongestionError
        If there is no such algorithm.
    """
    if algorithm not in ALGORITHMS:
        raise CongestionError(f"algorithm: must be one of {', '.join(ALGORITHMS)}, not {algorithm!r}")
    by_25, by_10 = host_rate / (25 * GIGA), host_rate / (10 * GIGA)
    windowed = {"is_ack_control": False, "has_window": True, "is_window_scaled": True}
    chosen: dict[str, dict[str, float | bool]] = {
        "none": {},
        "dctcp": {**windowed, "gain": 1 / 16, "increase": 615 * MEGA, "k_min": 30e3 * by_10, "k_max": 30e3 * by_10,
                  "p_max": 1.0},
        "dcqcn": {"gain": 1 / 256, "increase": 5 * MEGA * by_25, "hyper_increase": 50 * MEGA * by_25,
                  "k_min": 100e3 * by_25, "k_max": 400e3 * by_25, "p_max": 0.2},
        "timely": {"increase": 10 * MEGA * by_10, "hyper_increase": 50 * MEGA * by_10},
        "hpcc": {**windowed, "increase": 10 * MEGA * by_25},
        "pint": {**windowed, "increase": 10 * MEGA * by_25},
    }
    return Parameters(algorithm, buffer=buffer, payload=payload, **chosen[algorithm])  # type: ignore[arg-type]
