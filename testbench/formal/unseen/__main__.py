"""``python -m testbench.formal.unseen [NAME…] [--mutation M] [--json FILE]``: exit code 0 if the claim holds of all."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from amaranth.back import rtlil

from testbench.formal.emit import MutantFinder
from testbench.formal.unseen.claim import faults_of_unseen
from testbench.formal.unseen.designs import DESIGNS, MUTATIONS, STREAMS, Design
from testbench.formal.unseen.netlist import Netlist
from testbench.toolchain import build_folder


def prove(design: Design, mutation: str | None = None) -> list[str]:
    """Lists contradictions of the claim, with a defect or without; a defect must not be imported yet."""
    if mutation is not None:
        defect = next(defect for defect in MUTATIONS if defect.name == mutation)
        if defect.module in sys.modules:
            raise ValueError(f"{defect.module} was imported before its mutation")
        sys.meta_path.insert(0, MutantFinder(defect))
    component = design.build()
    from rtl.emit import Boundary

    folder = build_folder() / "formal" / f"unseen-{design.name}" / (mutation or "check")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "top.il").write_text(rtlil.convert(Boundary(component), name="top", emit_src=False))
    netlist = Netlist(folder)
    return [fault for stream in STREAMS for fault in faults_of_unseen(netlist, stream)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command of this module."""
    parser = argparse.ArgumentParser(
        prog="python -m testbench.formal.unseen",
        description="Proves that nothing follows the payload of a stream that is not valid.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="designs; all if none is named")
    parser.add_argument("--mutation", metavar="M", help="with this defect alone, in this process")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came out as JSON")
    chosen = parser.parse_args(arguments)
    known = {design.name: design for design in DESIGNS}
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        print(f"NAME: must be one of {', '.join(known)}, not {unknown[0]!r}", file=sys.stderr)
        return 2
    rows = []
    for design in [known[name] for name in chosen.names] or DESIGNS:
        begin = time.monotonic()
        faults = prove(design, chosen.mutation)
        row = {"design": design.name, "seconds": round(time.monotonic() - begin, 1), "faults": faults, "mutations": []}
        print(f"{design.name}: {row['seconds']} s, {'; '.join(faults[:3]) or 'holds'}", flush=True)
        for defect in MUTATIONS if chosen.mutation is None else ():
            caught = run_mutation(design.name, defect.name)
            print(f"  {defect.name}: {'caught' if caught else 'NOT CAUGHT'}", flush=True)
            row["mutations"].append({"name": defect.name, "caught": caught})
        rows.append(row)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["faults"] or not all(m["caught"] for m in row["mutations"]) for row in rows))


def run_mutation(design: str, mutation: str) -> bool:
    """True if a defect is found, in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-m", "testbench.formal.unseen", design, "--mutation", mutation],
        capture_output=True, text=True, check=False,
    )
    if result.returncode not in (0, 1) or result.stderr:
        raise RuntimeError(f"{design}: {mutation}: {result.stderr or result.returncode}")
    return result.returncode == 1


if __name__ == "__main__":
    sys.exit(main())
