"""The packet buffer against a dictionary."""

from functools import partial

import pytest

from rtl.buffer.layouts import hash_bits
from rtl.buffer.packet_buffer import PacketBuffer, tag_table
from testbench.runner import run_bench
from testbench.unit_config import UNIT


def churn(
    *, data_width: int, mtu: int, rounds: int, mode: str = "cuckoo", ecc: bool = False,
) -> dict[str, int]:
    """Runs the bench on a buffer of 32 slots; how many of each operation there were."""
    config = UNIT.changed(
        datapath={"data_width": data_width, "mtu": mtu},
        cou={"n_jobs": 2, "n_contexts": 4, "n_peers": 8, "peer_credits": 1, "buffer_bytes": 32 * mtu,
             "buffer_mode": mode, "ecc": ecc},
    )
    buffer = partial(PacketBuffer, config)
    table = tag_table(config)
    parameters = {
        "data_width": data_width, "mtu": mtu, "n_slots": 32, "n_packets": config.buffer_packets, "rounds": rounds,
        "banks": 4 if mode == "cuckoo" else 1, "index_bits": table.index_bits, "ecc": ecc, "mode": mode,
        "hash_bits": hash_bits(config),
    }
    result = run_bench(buffer, bench="testbench.buffer.packet_buffer_bench", parameters=parameters)
    print(", ".join(f"{count} {name}" for name, count in result.report.items()))
    return result.report


@pytest.mark.parametrize(("data_width", "mtu", "mode", "ecc"), [
    (64, 128, "cuckoo", True), (256, 256, "cuckoo", False), (64, 128, "linear", False),
])
def test_packet_buffer(data_width, mtu, mode, ecc):
    """Churn from half full to full, with random, structured and colliding keys."""
    counts = churn(data_width=data_width, mtu=mtu, rounds=6 if ecc else 80, mode=mode, ecc=ecc)
    assert counts["inserted"] == counts["freed"] > (40 if ecc else 500)


@pytest.mark.long
@pytest.mark.parametrize("ecc", [False, True])
@pytest.mark.parametrize("mode", ["cuckoo", "linear"])
def test_packet_buffer_for_long(mode, ecc):
    """The same with many more operations."""
    assert churn(data_width=64, mtu=128, rounds=2000, mode=mode, ecc=ecc)["inserted"] > 10_000
