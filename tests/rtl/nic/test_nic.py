"""The NIC as a whole."""

from dataclasses import replace
from functools import partial

import pytest

from rtl.nic.nic import Nic
from testbench.runner import run_bench
from testbench.unit_config import UNIT

CONFIG = UNIT.changed(
    datapath={"data_width": 64, "mtu": 128},
    nic={"n_vps": 4, "n_cous": 2, "n_p2p_tags": 4},
    cou={"n_jobs": 2, "n_contexts": 4, "sequence_depth": 4, "buffer_bytes": 8192, "n_peers": 8, "peer_credits": 2},
    link={"buffer_flits": 32},
)


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.long)], ids=["some", "all"])
def test_nic(thorough):
    """Registers, collectives, messages, errors, with random pauses on every bus and link, of some lengths or of all."""
    result = run_bench(partial(Nic, CONFIG), bench="testbench.nic.nic_bench", parameters={"thorough": thorough})
    print(f"{result.report['operations']} collective operations")
    assert result.report["operations"] == (18 if thorough else 10)


def test_strangers():
    """Packets that should not have come: counted by name, and harmless."""
    parameters = {"data_width": 64, "mtu": 128, "buffer_flits": 32}
    assert run_bench(partial(Nic, CONFIG), bench="testbench.nic.stranger_bench", parameters=parameters).tests == 5


def test_without_get():
    """A NIC that is built without GET refuses it, counts what comes of others', and does the rest."""
    parameters = {"data_width": 64, "mtu": 128, "buffer_flits": 32}
    config = replace(CONFIG, nic=replace(CONFIG.nic, get=False, n_cous=1))
    assert run_bench(partial(Nic, config), bench="testbench.nic.no_get_bench", parameters=parameters).tests == 2


@pytest.mark.long
def test_without_p2p():
    """A NIC that is built without a point-to-point path refuses what is for it, counts what comes, does the rest."""
    parameters = {"data_width": 64, "mtu": 128, "buffer_flits": 32}
    config = replace(CONFIG, nic=replace(CONFIG.nic, p2p=False, get=False, n_cous=1))
    assert run_bench(partial(Nic, config), bench="testbench.nic.no_p2p_bench", parameters=parameters).tests == 2


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.long)])
def test_intruders_and_jobs(times):
    """Packets that nobody asked for; jobs on their units, and more of them than there are places."""
    result = run_bench(
        partial(Nic, CONFIG), bench="testbench.nic.intruder_bench",
        parameters={"data_width": 64, "buffer_flits": 32, "n_vps": 4, "n_cous": 2, "n_jobs": 2, "times": times,
                    "job_credits": CONFIG.cou.n_peers * CONFIG.cou.peer_credits},
    )
    print(f"{result.report['operations']} operations beside {result.report['intruders']} intruders")
    assert result.report["intruders"] == times * 19
