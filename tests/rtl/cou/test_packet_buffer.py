"""The packet buffer against a dictionary."""

import pytest

from firmware_models.config.load import parse_config
from rtl.cou.packet_buffer import PacketBuffer
from testbench.runner import run_bench


def churn(*, data_width: int, mtu: int, rounds: int) -> dict[str, int]:
    """Runs the bench on a buffer of 32 slots; how many of each operation there were."""
    config = parse_config(
        f"datapath: {{data_width: {data_width}, mtu: {mtu}}}\n"
        f"cou: {{n_jobs: 2, n_contexts: 4, n_peers: 8, peer_credits: 2, buffer_bytes: {32 * mtu}}}\n", source="test",
    )
    parameters = {"data_width": data_width, "mtu": mtu, "n_slots": 32, "rounds": rounds}
    result = run_bench(PacketBuffer(config), bench="testbench.cou.packet_buffer_bench", parameters=parameters)
    print(", ".join(f"{count} {name}" for name, count in result.report.items()))
    return result.report


@pytest.mark.parametrize(("data_width", "mtu"), [(64, 128), (256, 256)])
def test_packet_buffer(data_width, mtu):
    """Churn from half full to full, with random, structured and colliding keys."""
    counts = churn(data_width=data_width, mtu=mtu, rounds=120)
    assert counts["inserted"] == counts["freed"] > 800


@pytest.mark.long
def test_packet_buffer_for_long():
    """The same with many more operations."""
    assert churn(data_width=64, mtu=128, rounds=4000)["inserted"] > 25_000
