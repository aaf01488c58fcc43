"""Budgets of units on an ECP5, area and speed: ``budgets.yaml`` beside this file.

``python -m fpga.budget NAME ...`` measures units (all without a name) and says which exceed their budget;
``--write`` puts what was measured, and some room for noise, into the file, ``--figures FILE`` what was measured into
another.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from amaranth.lib import wiring

from firmware_models.config import load_preset
from fpga.selftest.bridge import Bridge
from fpga.unit import UnitFigures, measure_unit
from rtl.buffer.packet_slots import SlotPool
from rtl.interface import beat
from rtl.kit.axi_lite import AxiLiteFront
from rtl.kit.queue import BlockQueue
from rtl.kit.skid import SkidBuffer
from rtl.link.depacketizer import Depacketizer
from rtl.link.link_rx import LinkRx
from rtl.link.link_tx import LinkTx
from rtl.link.packetizer import Packetizer
from rtl.reduce.float_add import FloatAdd

FILE = Path(__file__).with_name("budgets.yaml")
SEEDS = (1, 2, 3)
MOST = ("lut4eq", "ff", "block_ram", "dsp")
"""Figures that must not be more than the budget; ``fmax_mhz``, the median over :data:`SEEDS`, must not be less."""
_config = load_preset("small")
_width, _mtu, _flits = _config.datapath.data_width, _config.datapath.mtu, _config.link.buffer_flits

UNITS: dict[str, Callable[[], wiring.Component]] = {
    "SkidBuffer": lambda: SkidBuffer(shape=beat(_width)),
    "BlockQueue": lambda: BlockQueue(shape=beat(_width), depth=_flits),
    "AxiLiteFront": lambda: AxiLiteFront(address_bits=24),
    "LinkTx": lambda: LinkTx(data_width=_width, buffer_flits=_flits),
    "LinkRx": lambda: LinkRx(data_width=_width, buffer_flits=_flits),
    "Packetizer": lambda: Packetizer(data_width=_width),
    "Depacketizer": lambda: Depacketizer(data_width=_width, mtu=_mtu),
    "FloatAdd": lambda: FloatAdd(cycles=_config.reduce.add_cycles),
    "SlotPool": lambda: SlotPool(n_slots=load_preset("paper").buffer_slots),
    "Bridge": lambda: Bridge(divisor=50),
}
"""Units of preset `small` (the pool of slots of `paper`) and of the self-test design, by the name in the budget."""


@dataclass(frozen=True, kw_only=True)
class Excess:
    """A figure of a unit that is worse than its budget."""

    unit: str
    figure: str
    measured: float
    budget: float

    def __str__(self) -> str:
        return (
            f"{self.unit}: {self.figure} is {self.measured:g}, the budget {self.budget:g}: "
            f"{self.measured - self.budget:+g}"
        )


def figures_of(unit: UnitFigures) -> dict[str, float]:
    """The figures that budgets know; no frequency if the unit was not placed."""
    figures: dict[str, float] = {
        "lut4eq": unit.lut4eq, "ff": unit.ff, "block_ram": unit.ram, "dsp": unit.dsp,
    }
    return figures | ({"fmax_mhz": unit.fmax_mhz["median"]} if unit.placements else {})


def load_budgets(file: Path = FILE) -> dict[str, dict[str, float]]:
    """The budget of every unit."""
    budgets: dict[str, dict[str, float]] = yaml.safe_load(file.read_text())
    return budgets


def compare(name: str, figures: Mapping[str, float], budget: Mapping[str, float]) -> list[Excess]:
    """Every figure that is worse than its budget; figures that were not measured are not compared."""
    return [
        Excess(unit=name, figure=figure, measured=figures[figure], budget=limit) for figure, limit in budget.items()
        if figure in figures and (figures[figure] > limit if figure in MOST else figures[figure] < limit)
    ]


def check(name: str, *, seeds: Sequence[int] = SEEDS) -> list[Excess]:
    """Measures a unit and compares it with its budget; without seeds its cells alone, in seconds."""
    return compare(name, figures_of(measure_unit(UNITS[name], seeds=seeds)), load_budgets()[name])


def with_room(figures: Mapping[str, float]) -> dict[str, float]:
    """A budget for a unit that has these figures: a twentieth of room for tables, registers and frequency."""
    return {
        name: round(value * 0.95, 1) if name == "fmax_mhz" else
        int(value if name in ("block_ram", "dsp") else -(-value * 21 // 20))
        for name, value in figures.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures the units that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m fpga.budget")
    parser.add_argument("units", nargs="*", metavar="UNIT", help=", ".join(UNITS))
    parser.add_argument("--write", action="store_true", help="make what is measured the budget")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="JSON file that gets what is measured.")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.units if name not in UNITS]
    if unknown:
        parser.error(f"UNIT must be one of {', '.join(UNITS)}, not {unknown[0]!r}")
    budgets: dict[str, Any] = load_budgets() if FILE.exists() else {}
    excesses: list[Excess] = []
    for name in options.units or UNITS:
        figures = figures_of(measure_unit(UNITS[name], seeds=SEEDS))
        print(f"{name}: {figures}", file=sys.stderr)
        if options.figures is not None:
            _keep(options.figures, name, figures)
        if options.write:
            budgets[name] = with_room(figures)
            rows = {unit: budgets[unit] for unit in UNITS if unit in budgets}
            FILE.write_text(_HEADER + yaml.safe_dump(rows, sort_keys=False, default_flow_style=None))
        else:
            excesses += compare(name, figures, budgets[name])
    for excess in excesses:
        print(excess)
    return 1 if excesses else 0


def _keep(file: Path, name: str, figures: Mapping[str, float]) -> None:
    known = json.loads(file.read_text())["units"] if file.exists() else {}
    known[name] = dict(figures)
    rows = {unit: known[unit] for unit in UNITS if unit in known}
    file.write_text(json.dumps({
        "device": "LFE5U-85F", "speed": 8, "package": "CABGA756", "seeds": list(SEEDS), "units": rows,
    }, indent=1) + "\n")


_HEADER = """\
# What each unit may take of an ECP5-85k of speed 8, and its least frequency (median of three seeds, in the harness):
# python -m fpga.budget --write UNIT. A change that needs more says why in its commit, and writes its budget.
"""

if __name__ == "__main__":
    sys.exit(main())
