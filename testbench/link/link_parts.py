"""Components that the bench of the link exercises: pairs of ends, with sizes at the boundaries."""

from dataclasses import dataclass

from rtl.link.link_rx import LinkRx
from rtl.link.link_tx import LinkTx
from testbench.bundle import Bundle


@dataclass(frozen=True)
class LinkSize:
    """Parameters of one pair of ends."""

    data_width: int
    buffer_flits: int


SIZES = {"narrow": LinkSize(64, 16), "wide": LinkSize(256, 64), "tiny": LinkSize(128, 1)}


def link_bundle() -> Bundle:
    """A sending and a receiving end of each size, not connected."""
    parts = {}
    for name, size in SIZES.items():
        parts[f"{name}_tx"] = LinkTx(data_width=size.data_width, buffer_flits=size.buffer_flits)
        parts[f"{name}_rx"] = LinkRx(data_width=size.data_width, buffer_flits=size.buffer_flits)
    return Bundle(parts)
