"""Shares of the outputs among both channels, beside the matching of each channel, which has a bench of its own."""

import random

import pytest
from amaranth import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.link.link_rx import N_VCS
from rtl.switch import allocator
from rtl.switch.allocator import Allocator
from rtl.switch.input_channel import CandidateSignature
from rtl.switch.sizes import SwitchSizes
from testbench.parts.faults import changed
from testbench.parts.simulation import run
from testbench.unit_config import UNIT


class Wires(wiring.Component):
    """Stands where a matching would: each answer shows which inputs it was asked with."""

    def __init__(self, *, sizes: SwitchSizes):
        self.radix = radix = sizes.radix
        super().__init__({
            "candidate": In(CandidateSignature(radix)).array(radix), "room": In(radix), "room_short": In(radix),
            "stalled": Out(radix),
        })

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.stalled.eq(self.room ^ ~self.room_short)
        for candidate in self.candidate:
            m.d.comb += [candidate.start.eq(candidate.waiting), candidate.start_mc.eq(~candidate.mc_ports)]
        return m


@pytest.mark.parametrize(("radix", "readers"), [(2, 1), (4, 2), (5, 1)])
@pytest.mark.parametrize("seed", range(2))
def test_channels(radix: int, readers: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "Matching", Wires)
    monkeypatch.setattr(allocator, "shared", lambda name, part, platform: part)
    sizes = SwitchSizes(config=UNIT.changed(switch={"radix": radix, "readers": readers}))
    rng, part = random.Random(seed), Allocator(sizes=sizes)
    every, given, yields = (1 << radix) - 1, {}, 0

    class Inputs:
        def drive(self, context) -> None:
            def put(key: tuple, signal: object) -> None:
                given[key] = rng.getrandbits(len(Value.cast(signal))) & rng.getrandbits(len(Value.cast(signal)))
                context.set(signal, given[key])

            for vc in range(N_VCS):
                for name in ("takes", "room", "room_short"):
                    put((name, vc), getattr(part, name)[vc])
                for number in range(radix):
                    for name in ("waiting", "mc_ports", "holds"):
                        put((name, vc, number), getattr(part.candidate[vc][number], name))
                    for reader in range(readers):
                        put(("sends", vc, number, reader), part.sends[vc][number][reader])

        def settle(self, read) -> None:
            nonlocal yields
            union = [0] * N_VCS
            for (name, vc, *_), ports in given.items():
                union[vc] |= ports if name == "sends" else 0
            for number in range(radix):
                assert read(part.sent[number]) == sum((union[vc] >> number & 1) << vc for vc in range(N_VCS))
            for number in range(radix):
                holds = [any(given["holds", vc, k] >> number & 1 for k in range(radix)) for vc in range(N_VCS)]
                assert read(part.holds[number]) == holds[0] | holds[1] << 1
            for vc in range(N_VCS):
                assert read(part.accepts[vc]) == given["takes", vc] & (every if vc else every & ~union[1])
                assert read(part.stalled[vc]) == every & (given["room", vc] ^ ~given["room_short", vc])
                for number in range(radix):
                    source = part.candidate[vc][number]
                    assert read(source.start) == given["waiting", vc, number]
                    assert read(source.start_mc) == every & ~given["mc_ports", vc, number]
            yields += (given["takes", 0] & union[1]) > 0

    run(part, [Inputs()], cycles=200, rng=rng)
    assert yields > 20


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("~sent[N_VCS - 1]", "~sent[0]", id="yields-to-itself"),
    pytest.param("if vc == N_VCS - 1 else", "if vc == 0 else", id="the-other-channel-yields"),
    pytest.param("channel[port] for channel in held", "held[0][port] for _ in held", id="holds-of-channel-0"),
    pytest.param("room_short.eq(self.room_short[vc])", "room_short.eq(self.room_short[0])", id="room-of-channel-0"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part = changed(Allocator, old, new)
    monkeypatch.setitem(part.elaborate.__globals__, "Matching", Wires)
    monkeypatch.setitem(part.elaborate.__globals__, "shared", lambda name, one, platform: one)
    monkeypatch.setitem(globals(), "Allocator", part)
    with pytest.raises(AssertionError):
        test_channels(4, 2, 1, monkeypatch)
