"""Tables of kept studies: the numbers of rows that were made for it, where a reader looks for them."""

from typing import Any

from sim.page.study_tables import noise, pulses


def loud(name: str, size: int, way: str, *microseconds: float) -> list[dict[str, Any]]:
    return [{"noise": name, "bytes": size, "way": way, "seed": seed, "microseconds": each}
            for seed, each in enumerate(microseconds)]


def test_noise() -> None:
    rows = [
        *loud("none", 4096, "offloaded", 10), *loud("none", 4096, "host-based", 30.126),
        *loud("none", 256, "offloaded", 8), *loud("none", 256, "host-based", 20),
        *loud("cut", 4096, "offloaded", 11, 13), *loud("cut", 4096, "host-based", 36.126, 40.126),
        *loud("cut", 256, "offloaded", 9, 8), *loud("cut", 256, "host-based", 20, 20),
    ]
    assert list(noise({"rows": rows})) == [
        ("noise", "256 B: offloaded", "by hosts", "hidden", "4 KiB: offloaded", "by hosts", "hidden"),
        ("none", "8", "20", "", "10", "30.13", ""),
        ("cut", "+0.5", "+0.0", "", "+2.0", "+8.0", "75%"),
    ]


def test_pulses() -> None:
    rows = [
        {"algorithm": algorithm, "bytes": size, "hardware": hardware, "pulse_bytes": pulse, "microseconds": time,
         "most_packets": packets}
        for algorithm, size, hardware, pulse, time, packets in (
            ("ring", 4096, "as it is", 2048, 40.4, 9), ("ring", 4096, "as it is", 64, 1070.25, 6),
            ("ring", 256, "as it is", 64, 7, 2), ("ring", 4096, "mtu 512", 64, 80, 1),
            ("comb", 4096, "as it is", 16, 5, 3),
        )
    ]
    assert list(pulses({"rows": rows})) == [
        ("algorithm", "message", "hardware", "16", "64", "2,048"),
        ("comb", "4 KiB", "as it is", "5 (3)", "", ""),
        ("ring", "256 B", "as it is", "", "7 (2)", ""),
        ("ring", "4 KiB", "as it is", "", "1,070 (6)", "40.4 (9)"),
        ("ring", "4 KiB", "mtu 512", "", "80 (1)", ""),
    ]
