"""Several components side by side under one top: one build of the simulator for all of them."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow, connect, flipped


class Bundle(wiring.Component):
    """Has every part as a submodule and its ports under the part's name: ``fifo__i__valid`` for part ``fifo``.

    Parameters
    ----------
    parts : mapping of str to wiring.Component
        The components; they share clock and reset.
    """

    def __init__(self, parts: Mapping[str, wiring.Component]):
        self.parts = dict(parts)
        super().__init__({
            f"{name}__{key}": member
            for name, part in self.parts.items()
            for key, member in part.signature.members.items()
        })

    def elaborate(self, platform):
        m = Module()

        def attach(member: Any, outside: Any, inside: Any) -> None:
            # Member by member: interfaces with arrays in them cannot be flipped as a whole.
            if isinstance(outside, list):
                for one, other in zip(outside, inside, strict=True):
                    attach(member, one, other)
            elif member.is_signature:
                connect(m, flipped(outside), inside)
            elif member.flow is Flow.Out:
                m.d.comb += outside.eq(inside)
            else:
                m.d.comb += inside.eq(outside)

        for name, part in self.parts.items():
            m.submodules[name] = part
            for key, member in part.signature.members.items():
                attach(member, getattr(self, f"{name}__{key}"), getattr(part, key))
        return m
