"""Components that the bench of the reliable link exercises: two ends of each width."""

from dataclasses import dataclass

from rtl.link.link_layer import LinkLayer
from testbench.bundle import Bundle


@dataclass(frozen=True)
class LayerSize:
    """Parameters of a link, and the flits of its longest packet."""

    data_width: int
    buffer_flits: int
    replay_flits: int
    longest: int
    replay_cycles: int = 256
    silence_cycles: int = 512
    dead_cycles: int = 2048


SIZES = {
    "narrow": LayerSize(64, 64, 128, 36),
    "middle": LayerSize(256, 32, 32, 32),
    "wide": LayerSize(512, 256, 256, 65),
}
"""`middle` has no room to spare: a buffer of one packet, and nothing kept beyond it."""
SIZES_4KIB = {
    "64": LayerSize(64, 1024, 1024, 516, replay_cycles=4096, silence_cycles=4096, dead_cycles=16384),
    "128": LayerSize(128, 512, 512, 258, replay_cycles=2048, silence_cycles=4096, dead_cycles=16384),
    "256": LayerSize(256, 256, 256, 129, replay_cycles=2048, silence_cycles=4096, dead_cycles=16384),
    "512": LayerSize(512, 128, 128, 65, replay_cycles=2048, silence_cycles=4096, dead_cycles=16384),
}
"""By the width of a flit: for packets of 4 KiB and a header."""
WIRE_CYCLES = 10
"""Cycles that a word is on the wire, where goodput is measured."""


def layer_bundle(size: LayerSize) -> Bundle:
    """Both ends of a link of this size."""

    def end() -> LinkLayer:
        return LinkLayer(
            data_width=size.data_width, buffer_flits=size.buffer_flits, replay_flits=size.replay_flits,
            replay_cycles=size.replay_cycles, silence_cycles=size.silence_cycles,
            dead_cycles=size.dead_cycles,
        )

    return Bundle({"a": end(), "b": end()})
