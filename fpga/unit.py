"""Area and speed of one unit by itself on an ECP5: synthesised alone, placed in the harness, median of fixed seeds."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import MappingProxyType

from amaranth.back import rtlil, verilog
from amaranth.lib import wiring

from fpga.fanout import split
from fpga.harness import Harness
from fpga.place import Part, Placement, configure, place
from fpga.synthesis import READERS, WIRE_DELAY, synthesise

SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the placer: single seeds spread by 5%, so medians of five are compared."""

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
"""nextpnr as it is."""


@dataclass(frozen=True, kw_only=True)
class UnitFigures:
    """Area and speed of a unit.

    Parameters
    ----------
    cells : dict of str to int
        Cells of the unit alone, by type.
    placements : tuple of Placement
        The unit in its harness, one a seed.
    """

    cells: dict[str, int]
    placements: tuple[Placement, ...]

    @property
    def lut4(self) -> int:
        """Four-input look-up tables."""
        return self.cells.get("LUT4", 0)

    @property
    def lut4eq(self) -> int:
        """The same, with carry cells and distributed RAM as the tables whose places they take."""
        return self.lut4 + 2 * self.cells.get("CCU2C", 0) + 4 * self.cells.get("TRELLIS_DPR16X4", 0)

    @property
    def ff(self) -> int:
        """Flip-flops."""
        return self.cells.get("TRELLIS_FF", 0)

    @property
    def dsp(self) -> int:
        """18x18 multipliers."""
        return self.cells.get("MULT18X18D", 0)

    @property
    def ram(self) -> int:
        """Block RAMs of 18 Kbit."""
        return self.cells.get("DP16KD", 0)

    @property
    def fmax_mhz(self) -> dict[str, float]:
        """Best and median frequency over the seeds."""
        rates = [placement.fmax_mhz for placement in self.placements]
        return {"best": round(max(rates), 1), "median": round(median(rates), 1)}


def measure_unit(
    component: Callable[[], wiring.Component], *, seeds: Sequence[int] = SEEDS, part: Part | None = None,
    advance: Callable[[], None] = lambda: None, pins: str = "", arguments: Sequence[str] = (),
    max_fanout: int | None = None, wire_delay: int = WIRE_DELAY, settings: Mapping[str, str] = NO_SETTINGS,
) -> UnitFigures:
    """Synthesises a unit alone, and places it in the harness once a seed.

    Parameters
    ----------
    component : callable
        Makes the unit; called twice, for a component is elaborated once.
    seeds : sequence of int
        Seeds of the placer; none for the cells alone.
    part : Part, optional
        Device; by default an ECP5-85k of speed 8.
    advance : callable
        Called after each placement.
    pins : str
        Where pins of the harness are (LPF); others, and all without it, are where the placer likes them.
    arguments : sequence of str
        Further arguments of nextpnr.
    wire_delay : int
        As for :func:`fpga.synthesis.synthesise`.
    max_fanout : int, optional
        The most loads of a driver in the harness (:func:`fpga.fanout.split`); without, as many as there are.
    settings : mapping of str to str
        As for :func:`fpga.place.configure`.
    """
    cells = synthesise(export(component()), top="unit", wire_delay=wire_delay)
    if not seeds:
        return UnitFigures(cells=cells, placements=())
    build = Path("build", "fpga")
    build.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=build) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        netlist, places = Path(folder, "harness.json"), Path(folder, "harness.lpf")
        places.write_text(pins)
        located = ["--lpf", places.name, "--lpf-allow-unconstrained"] if pins else []
        synthesise(export(Harness(component())), top="unit", keep=netlist, wire_delay=wire_delay)
        if max_fanout is not None:
            split(netlist, top="unit", max_fanout=max_fanout)
        configure(netlist, top="unit", settings=settings)

        def run(seed: int) -> Placement:
            placement = place(netlist, part=part or Part(), seed=seed, arguments=[*located, *arguments])
            advance()
            return placement

        return UnitFigures(cells=cells, placements=tuple(pool.map(run, seeds)))


def export(component: wiring.Component, *, language: str = "verilog") -> str:
    """A component, its module named ``unit``.

    Parameters
    ----------
    component : wiring.Component
        What is written; it cannot be elaborated again.
    language : str
        One of :data:`fpga.synthesis.READERS`.

    Raises
    ------
    ValueError
        If there is no such language.
    """
    match language:
        case "rtlil":
            return str(rtlil.convert(component, name="unit", emit_src=False))
        case "verilog":
            return str(verilog.convert(component, name="unit", strip_internal_attrs=True))
    raise ValueError(f"language must be one of {', '.join(READERS)}, not {language!r}")
