"""Descriptor queues, scheduler, VP table and completion queue."""

import pytest
from amaranth.back import rtlil

from firmware_models.config.load import load_preset
from rtl.queue.completion_queue import CompletionQueue
from rtl.queue.descriptor_queue import DescriptorQueue
from rtl.queue.vp_table import VpTable
from testbench.queue.parts import SUPPORTED, QueueSystem
from testbench.runner import run_bench

PARAMETERS = {
    "data_width": 64, "mtu": 64, "n_peers": 8, "n_blocks": 8, "intermediate_bytes": 256, "n_cous": 1,
    "sequence_depth": 8, "supported": (),
}
TABLE = {"n_vps": 8, "data_width": 64, "n_windows": 2, "n_clients": 1}


@pytest.mark.parametrize("units", [20, pytest.param(200, marks=pytest.mark.long)])
def test_queues(units):
    """`units` are posted to each of six VPs, beside all that the bench does once."""
    run_bench(QueueSystem(), bench="testbench.queue.queue_bench", parameters={"units": units})


def test_new_owner():
    run_bench(QueueSystem(), bench="testbench.queue.owner_bench")


@pytest.mark.parametrize("address_bits", [64, 32, pytest.param(40, marks=pytest.mark.long)])
def test_vp_table(address_bits):
    run_bench(
        QueueSystem(address_bits=address_bits), bench="testbench.queue.table_bench",
        parameters={"address_bits": address_bits},
    )


@pytest.mark.long
def test_queues_of_narrow_addresses():
    run_bench(
        QueueSystem(address_bits=32), bench="testbench.queue.queue_bench",
        testcase="refusals|random_traffic", parameters={"units": 5, "address_bits": 32},
    )


@pytest.mark.parametrize("preset", ["small", "paper"])
def test_presets_elaborate(preset):
    config = load_preset(preset)
    width = config.datapath.data_width
    parts = (
        VpTable(
            n_vps=config.nic.n_vps, data_width=width, n_windows=config.nic.n_windows, n_clients=config.nic.n_cous + 4
        ),
        DescriptorQueue(
            data_width=width, mtu=config.datapath.mtu, n_peers=config.cou.n_peers, n_blocks=config.cou.n_blocks,
            intermediate_bytes=config.cou.intermediate_bytes, n_cous=config.nic.n_cous,
            sequence_depth=config.cou.sequence_depth, supported=SUPPORTED,
        ),
        CompletionQueue(n=config.nic.n_cous + 3, data_width=width),
    )
    for part in parts:
        assert rtlil.convert(part)


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: VpTable(**TABLE | {"n_vps": 12}), "n_vps must be a power of two, 2 to 2048, not 12"),
        (lambda: VpTable(**TABLE | {"n_windows": 3}), "n_windows must be a power of two, 1 to 64, not 3"),
        (lambda: VpTable(**TABLE | {"n_windows": 128}), "n_windows must be a power of two, 1 to 64, not 128"),
        (lambda: VpTable(**TABLE | {"n_clients": 0}), "n_clients must be at least 1, not 0"),
        (
            lambda: VpTable(**TABLE, address_bits=31),
            "address_bits must be 32 to 64, not 31",
        ),
        (
            lambda: DescriptorQueue(**PARAMETERS, address_bits=65),
            "address_bits must be 32 to 64, not 65",
        ),
        (
            lambda: VpTable(**TABLE, first_index=-1),
            "first_index must be 0 to 65535, not -1",
        ),
        (lambda: CompletionQueue(n=1, data_width=32), "data_width must be 64, 128, 256 or 512, not 32"),
        (
            lambda: DescriptorQueue(**PARAMETERS | {"mtu": 48}),
            "mtu must be a power of two, 64 to 32768, not 48",
        ),
        (
            lambda: DescriptorQueue(**PARAMETERS | {"n_cous": 3}),
            "n_cous must be a power of two, not 3",
        ),
        (
            lambda: DescriptorQueue(**PARAMETERS | {"n_blocks": 3}),
            "n_blocks must be a power of two, 1 to 256, not 3",
        ),
        (
            lambda: DescriptorQueue(**PARAMETERS | {"intermediate_bytes": 32}),
            "intermediate_bytes must be a power of two, 64 to 1048576, not 32",
        ),
    ],
)
def test_parameters_are_checked(build, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        build()
