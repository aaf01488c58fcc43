"""Ends of the link."""

import pytest

from rtl.link.link_rx import LinkRx
from rtl.link.link_tx import LinkTx
from testbench.link.link_parts import link_bundle
from testbench.runner import run_bench


def test_link():
    run_bench(link_bundle(), bench="testbench.link.link_bench")


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("end", [LinkTx, LinkRx])
@pytest.mark.parametrize("bad", [0, -4, "16"])
def test_buffer_flits_is_checked(end, bad):
    with pytest.raises(ValueError, match=f"^buffer_flits must be a positive integer, not {bad!r}$"):
        end(data_width=64, buffer_flits=bad)
