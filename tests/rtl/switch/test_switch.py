# amaranth: UnusedElaboratable=no
"""The switch."""

from functools import partial

import pytest

from firmware_models.config import load_preset
from rtl.switch.route_table import RouteTable
from rtl.switch.switch import Switch
from testbench.runner import run_bench
from testbench.switch.tree_parts import SwitchTree
from testbench.unit_config import UNIT

SIZES = {
    # The destination stands in the second flit; the smallest buffers.
    "narrow": {
        "data_width": 64, "radix": 4, "entries": 16, "buffer_flits": 64, "mft_entries": 16, "readers": 1,
    },
    # One flit of header; buffers of synchronous memory, a radix that is no power of two, the smallest table; an input
    # sends two packets at once.
    "wide": {"data_width": 256, "radix": 3, "entries": 2, "buffer_flits": 64, "mft_entries": 64, "readers": 2},
}


def config_of(size):
    """The configuration of one of the sizes."""
    return UNIT.changed(
        datapath={"data_width": size["data_width"], "mtu": 4 * size["data_width"]},
        cou={"buffer_bytes": 1 << 18, "intermediate_bytes": 4096},  # of no meaning here, but must suit the mtu
        link={"buffer_flits": size["buffer_flits"]},
        switch={"radix": size["radix"], "table_entries": size["entries"], "mft_entries": size["mft_entries"],
                "readers": size["readers"]},
    )


@pytest.mark.parametrize("name", SIZES)
def test_unicast(name):
    size = SIZES[name]
    result = run_bench(partial(Switch, config_of(size)), bench="testbench.switch.switch_bench", parameters=size)
    print(result.report)
    assert result.report["hop_cycles"]["max"] <= 6
    assert result.report["permutation_throughput"] >= 0.95


@pytest.mark.parametrize("name", SIZES)
def test_multicast(name):
    size = SIZES[name]
    result = run_bench(partial(Switch, config_of(size)), bench="testbench.switch.multicast_bench", parameters=size)
    print(result.report)
    assert result.report["multicast_throughput"] >= 0.9


def test_tree():
    """Three switches in two levels."""
    tree = SwitchTree(config_of(SIZES["narrow"]))
    run_bench(tree, bench="testbench.switch.tree_bench", parameters=SIZES["narrow"] | {"places": tree.places})


@pytest.mark.usefixtures("refusal")
def test_small_buffers_are_refused():
    message = r"^link.buffer_flits must be above 36, the flits of a packet of mtu 256, not 32$"
    with pytest.raises(ValueError, match=message):
        Switch(UNIT.changed(link={"buffer_flits": 32}))


def test_presets_have_all_ports():
    for preset in ("small", "paper"):
        config = load_preset(preset)
        switch = Switch(config)
        assert len(switch.rx) == len(switch.tx) == config.switch.radix


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("entries", [0, 1, 3, "8"])
def test_table_size_is_checked(entries):
    with pytest.raises(ValueError, match=f"^entries must be a power of two of at least 2, not {entries!r}$"):
        RouteTable(n_lookups=1, entries=entries)
