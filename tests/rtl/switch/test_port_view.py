"""Figures of the port that software looks at: those of the cycle before, of that port alone."""

import random

import pytest
from amaranth import Value

from firmware_models.abi.registers import SWITCH_PAGE
from rtl.interface import PLAIN_LINK
from rtl.switch.port_view import PortView
from rtl.switch.sizes import SwitchSizes
from testbench.parts.faults import changed
from testbench.parts.simulation import run
from testbench.unit_config import UNIT


def sizes(radix: int) -> SwitchSizes:
    return SwitchSizes(config=UNIT.changed(switch={"radix": radix}))


@pytest.mark.parametrize("radix", [2, 5, 8])
@pytest.mark.parametrize("linked", [True, False])
def test_ports(radix: int, linked: bool) -> None:
    rng, part = random.Random(radix), PortView(sizes=sizes(radix))
    shown: dict[str, int] | None = None
    seen: set[int] = set()

    class Figures:
        def drive(self, context) -> None:
            nonlocal shown
            following, port = {}, rng.randrange(radix)
            context.set(part.port, port)
            for name, values in (("credits", part.credits), ("depth", part.depth), ("depth_peak", part.peak)):
                levels = [[rng.getrandbits(len(level)) for level in values[k]] for k in range(radix)]
                for k in range(radix):
                    for vc, level in enumerate(values[k]):
                        context.set(level, levels[k][vc])
                channels = {f"channel_{vc}": level for vc, level in enumerate(levels[port])}
                following[name] = SWITCH_PAGE[f"port_{name}"].pack(**channels)
            states = [rng.getrandbits(3) if linked else int(PLAIN_LINK.as_bits()) for _ in range(radix)]
            for k in range(radix if linked else 0):
                context.set(Value.cast(part.link[k]), states[k])
            given_up = [rng.getrandbits(2) for _ in range(radix)]
            for k in range(radix):
                context.set(part.given_up[k], given_up[k])
            self.following = {**following, "link": states[port], "given_up": given_up[port]}
            self.port = port

        def settle(self, read) -> None:
            nonlocal shown
            if shown is not None:
                assert {name: read(Value.cast(getattr(part, f"port_{name}"))) for name in shown} == shown
            seen.add(self.port)
            shown = self.following

    run(part, [Figures()], cycles=200, rng=rng)
    assert seen == set(range(radix))


@pytest.mark.parametrize(("old", "new"), [
    pytest.param('("depth_peak", self.peak)', '("depth_peak", self.depth)', id="depth-for-its-peak"),
    pytest.param("value[vc] for value", "value[0] for value", id="channel-0-for-both"),
    pytest.param("Array(self.link)[self.port]", "self.link[0]", id="the-link-of-port-0"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PortView", changed(PortView, old, new))
    with pytest.raises(AssertionError):
        test_ports(5, True)
