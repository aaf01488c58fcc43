"""Records the inputs from which every file of ``docs/figures`` was measured, so that one that is older than its presets
is found.

``python -m sim.page.measured buffer switch`` records, after these were measured again, with which presets; without a
name it says which are stale. What stands in ``docs/figures/measured.json``:

``config``
    Hash of the presets, or of the fields of them, that the figure depends on. A test fails if it is another one now:
    the figure speaks of hardware that is no more.
``content``
    Hash of the figure's file: one that was measured again and not recorded is found, too.
``sources``, ``at``
    Hash of the RTL, and commit and day. RTL changes every day, and measuring takes hours, so this is shown
    (``docs/measured.md``), not enforced.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from firmware_models.config import FIELDS, Config, load_preset
from firmware_models.files import write_text

FILE = "measured.json"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A file of measured figures.

    Parameters
    ----------
    command : str
        What measures it again.
    depends : tuple of str
        What it depends on: a preset, ``small``, or a field of one, ``small:cou.buffer_bytes``.
    """

    command: str
    depends: tuple[str, ...] = ()


def _study(name: str, *depends: str) -> Figure:
    file = name.replace("-", "_") if name != "mft" else "routing"
    return Figure(command=f"conic study {name} --save-rows docs/figures/{file}.json", depends=depends)


def _cycles(name: str, *depends: str) -> Figure:
    return Figure(command=f"python -m sim.page.figures docs/figures/{name}.json", depends=depends)


def _bench(command: str, name: str, *depends: str) -> Figure:
    return Figure(command=f"conic {command} --json > docs/figures/{name}.json", depends=depends)


_BUFFER = ("small:cou.buffer_bytes", "small:datapath.mtu")

FIGURES: dict[str, Figure] = {
    "boards": Figure(command="make bitstream BOARD=…, then python -m fpga.board_figures docs/figures/boards.json",
                     depends=("ulx3s_85f", "ecpix5_85f", "versa_ecp5_5g")),
    "buffer": Figure(command="python -m fpga.buffer_figures docs/figures/buffer.json", depends=_BUFFER),
    "buffer_load": _bench("buffer --seed 1 --sweep --plot docs/figures/buffer_load.svg", "buffer_load",
                          "paper:cou.buffer_bytes", "paper:datapath.mtu"),
    "builds": _bench("bench builds", "builds", "small", "paper"),
    "cluster": _cycles("cluster", "small"),
    "congestion_collectives": _study("congestion-collectives"),
    "congestion_dumbbell": _study("congestion-dumbbell"),
    "congestion_large": _study("congestion-large"),
    "congestion_small": _study("congestion-small"),
    "congestion_speed": _bench("bench congestion", "congestion_speed"),
    "connections": _study("connections", "paper:nic.n_vps", "paper:nic.n_windows", "paper:nic.n_cous"),
    "core": Figure(command="python -m fpga.core_figures docs/figures/core.json", depends=("ecpix5_85f",)),
    "coverage": Figure(command="python -m testbench.coverage docs/figures/coverage.json"),
    "fpga": Figure(command="python -m fpga.figures docs/figures/fpga.json", depends=("small",)),
    "latency": _bench("bench latency", "latency", "small"),
    "mpich_tests": Figure(command="python -m testbench.mpich MPICH/test/mpi --figures docs/figures/mpich_tests.json"),
    "multicast": _cycles("multicast", "small"),
    "offload_area": Figure(command="python -m fpga.offload_area paper docs/figures/offload_area.json",
                           depends=("paper",)),
    "paper": _cycles("paper", "paper"),
    "pool": _cycles("pool", "small"),
    "reduce": Figure(command="python -m fpga.reduce_figures docs/figures/reduce.json"),
    "routing": _study("mft"),
    "scale": _bench("bench scale --nodes 1024", "scale", "small"),
    "simulator": _bench("bench simulator --preset small --preset paper", "simulator", "small", "paper"),
    "switch": _bench("bench switch", "switch", "small:link.buffer_flits", "small:datapath.mtu", "small:switch.radix"),
    "throughput": _bench("bench throughput", "throughput", "small", "paper"),
    "units": Figure(command="python -m fpga.budget --figures docs/figures/units.json",
                    depends=("small:link.buffer_flits", "small:datapath.mtu", "small:datapath.data_width",
                             "small:reduce.add_cycles", "paper:cou.buffer_bytes", "paper:datapath.mtu")),
    "walk": Figure(command="make walk", depends=("small",)),
}
"""Every file by its name."""


LATER: dict[str, Callable[[Config], Any]] = {
    "link.reliable": lambda _: False, "link.replay_flits": lambda _: 1024, "link.replay_cycles": lambda _: 2048,
    "link.dead_cycles": lambda _: 16384, "nic.reads_under_way": lambda _: 16, "nic.fetch_batch": lambda _: 8,
    "nic.read_ahead_beats": lambda config: 4 * config.nic.max_burst_beats, "switch.readers": lambda _: 1,
    "nic.p2p": lambda _: True,
}
"""Fields that came after figures were measured, and the value at which hardware is what it was: it does not count.

Who adds a field to the configuration adds it here, too, or measures everything again.
"""


def config_hash(figure: Figure) -> str:
    """A hash of the values that the figure depends on, as they are now."""
    values = {}
    for what in figure.depends:
        preset, _, field = what.partition(":")
        config = load_preset(preset)
        for path in [field] if field else FIELDS:
            section, name = path.split(".")
            value = getattr(getattr(config, section), name)
            if path not in LATER or value != LATER[path](config):
                values[f"{preset}:{path}"] = repr(value)
    return _hash(json.dumps(values, sort_keys=True).encode())


def content_hash(path: Path) -> str:
    """A hash of a file."""
    return _hash(path.read_bytes())


def sources_hash(root: Path) -> str:
    """A hash of the RTL."""
    files = sorted((root / "rtl").rglob("*.py"))
    return _hash(b"\0".join(f"{path.relative_to(root)}\0".encode() + path.read_bytes() for path in files))


def stale(figures: Path) -> Iterator[tuple[str, str]]:
    """Names of the files that are not what was recorded of them, and why, with what would be right."""
    recorded = _recorded(figures)
    for name, figure in FIGURES.items():
        row = recorded.get(name, {})
        if row.get("content") != content_hash(figures / f"{name}.json"):
            yield name, f"its file is another one than recorded: python -m sim.page.measured {name}"
        elif row.get("config") != config_hash(figure):
            yield name, f"was measured with other values of {', '.join(figure.depends)}: {figure.command}"


def record(names: list[str], figures: Path) -> None:
    """Notes that these files were measured now, with the presets and the RTL that there are."""
    recorded, root = _recorded(figures), figures.resolve().parents[1]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    for name in names:
        recorded[name] = {
            "config": config_hash(FIGURES[name]), "content": content_hash(figures / f"{name}.json"),
            "sources": sources_hash(root), "at": f"{datetime.now(UTC):%Y-%m-%d}, {commit.stdout.strip()}",
        }
    rows = ",\n ".join(f"{json.dumps(name)}: {json.dumps(recorded[name])}" for name in sorted(recorded))
    write_text(figures / FILE, f"{{\n {rows}\n}}\n")


def _recorded(figures: Path) -> dict[str, dict[str, Any]]:
    return dict(json.loads((figures / FILE).read_text())) if (figures / FILE).exists() else {}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def main(names: list[str]) -> int:
    """Records the figures of these names; without one, says which are stale. Exit code 1 if there are any."""
    folder = Path("docs", "figures")
    if unknown := [name for name in names if name not in FIGURES]:
        print(f"names must be some of {', '.join(FIGURES)}, not {unknown[0]!r}", file=sys.stderr)
        return 2
    if names:
        record(names, folder)
        return 0
    found = list(stale(folder))
    for name, reason in found:
        print(f"{name} {reason}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
