"""The DMA engine."""

from functools import partial

import pytest

from rtl.dma.axi4 import Axi4Signature
from rtl.dma.engine import DmaEngine
from rtl.dma.reader import DmaReader
from rtl.dma.writer import DmaWriter
from testbench.dma.dma_bench import bundle
from testbench.runner import run_bench


@pytest.mark.parametrize("transfers", [12, pytest.param(100, marks=pytest.mark.long)], ids=["short", "long"])
def test_engine(transfers):
    run_bench(bundle(), bench="testbench.dma.dma_bench", parameters={"transfers": transfers})


@pytest.mark.parametrize("address_bits", [pytest.param(32, marks=pytest.mark.long), 40])
def test_narrow_addresses(address_bits):
    run_bench(
        partial(bundle, address_bits=address_bits), bench="testbench.dma.dma_bench",
        testcase="transfers_at", parameters={"transfers": 15, "address_bits": address_bits},
    )


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("part", [DmaReader, DmaWriter])
def test_parameters_are_checked(part):
    good = {"n": 1, "data_width": 64, "max_burst_beats": 16}
    part(**good)
    for name, value, message in [
        ("n", 0, "n must be at least 1, not 0"),
        ("max_burst_beats", 12, "max_burst_beats must be a power of two from 1 to 256, not 12"),
        ("max_burst_beats", 512, "max_burst_beats must be a power of two from 1 to 256, not 512"),
        ("max_outstanding", 0, "max_outstanding must be at least 1, not 0"),
        ("buffer_beats", 15, "buffer_beats must be at least a burst \\(16\\), not 15"),
        ("data_width", 32, "data_width must be 64, 128, 256 or 512, not 32"),
        ("id_width", 0, "id_width must be at least 1, not 0"),
        ("address_bits", 31, "address_bits must be 32 to 64, not 31"),
        ("address_bits", 65, "address_bits must be 32 to 64, not 65"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}$"):
            part(**(good | {name: value}))


@pytest.mark.parametrize("beats", [1, 256])
def test_extreme_bursts_elaborate(beats):
    from amaranth.back import rtlil

    rtlil.convert(DmaEngine(n_readers=1, n_writers=1, data_width=512, max_burst_beats=beats))


def test_bus_has_all_signals_of_axi4():
    names = set(Axi4Signature(data_width=64, id_width=4).members)
    address = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos", "valid", "ready")
    expected = {channel + name for channel in ("aw", "ar") for name in address}
    expected |= {"wdata", "wstrb", "wlast", "wvalid", "wready", "bid", "bresp", "bvalid", "bready"}
    expected |= {"rid", "rdata", "rresp", "rlast", "rvalid", "rready"}
    assert names == expected
