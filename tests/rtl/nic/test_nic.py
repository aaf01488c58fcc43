"""The NIC as a whole."""

from firmware_models.config.load import parse_config
from rtl.nic.nic import Nic
from testbench.runner import run_bench


def test_nic():
    """Registers, collectives, messages, errors, with random pauses on every bus and link."""
    config = parse_config(
        "datapath: {data_width: 64, mtu: 128}\n"
        "nic: {n_vps: 4, n_cous: 2, n_p2p_tags: 4}\n"
        "cou: {n_jobs: 2, n_contexts: 4, sequence_depth: 4, buffer_bytes: 4096, n_peers: 8, peer_credits: 2}\n"
        "link: {buffer_flits: 32}\n",
        source="test",
    )
    result = run_bench(Nic(config), bench="testbench.nic.nic_bench")
    print(f"{result.report['operations']} collective operations")
    assert result.report["operations"] == 18
