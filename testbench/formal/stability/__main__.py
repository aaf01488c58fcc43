"""``python -m testbench.formal.stability [NAME…] [--quick] [--mutation M] [--json FILE]``: exit code 0 if all hold."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from amaranth.back import rtlil

from testbench.formal.emit import MutantFinder
from testbench.formal.stability.designs import REST_PROOFS, UNSEEN, RestProof, is_event
from testbench.formal.stability.netlist import Netlist
from testbench.formal.stability.rest import Report, Rest
from testbench.formal.stability.unseen import faults_of_unseen
from testbench.toolchain import build_folder

COUNT_CYCLES = ("core.csr.cycles", "core.states_0.run")
"""Registers of a NIC with one unit that count every cycle."""


def prove(proof: RestProof, mutation: str | None = None) -> Report:
    """One proof, with a defect or without; a defect must not be imported yet."""
    if mutation is not None:
        defect = next(defect for defect in proof.mutations if defect.name == mutation)
        if defect.module in sys.modules:
            raise ValueError(f"{defect.module} was imported before its mutation")
        sys.meta_path.insert(0, MutantFinder(defect))
    component = proof.build()
    from rtl.emit import Boundary

    folder = build_folder() / "formal" / f"rest-{proof.name}" / (mutation or "check")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "top.il").write_text(rtlil.convert(Boundary(component), name="top", emit_src=False))
    netlist = Netlist(folder)
    is_unit = proof.top == "unit"
    report = Rest(
        netlist, events=list(filter(is_event(proof.top), netlist.inputs)),
        held=("watchdog", "node_id") if is_unit else (), excepted=COUNT_CYCLES if proof.top == "nic" else (),
        answers=[name for name in netlist.outputs if is_unit and name.endswith("_ready")],
    ).prove()
    for stream in UNSEEN if is_unit else ():
        report.faults += faults_of_unseen(netlist, stream)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """The command of this module."""
    parser = argparse.ArgumentParser(
        prog="python -m testbench.formal.stability", description="Proves that what says that it rests does.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="proofs to run; all if none is named")
    parser.add_argument("--quick", action="store_true", help="only those that take seconds")
    parser.add_argument("--mutation", metavar="M", help="with this defect alone, in this process")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came out as JSON")
    chosen = parser.parse_args(arguments)
    if chosen.names and chosen.quick:
        parser.error("--quick: does nothing with NAME; leave it out")
    known = {proof.name: proof for proof in REST_PROOFS}
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        print(f"NAME: must be one of {', '.join(known)}, not {unknown[0]!r}", file=sys.stderr)
        return 2
    rows = []
    for proof in [known[name] for name in chosen.names] or [p for p in REST_PROOFS if p.quick or not chosen.quick]:
        begin = time.monotonic()
        report = prove(proof, chosen.mutation)
        row = {
            "proof": proof.name, "cycles": report.cycles, "registers": sum(report.forced) + sum(report.settled),
            "seconds": round(time.monotonic() - begin, 1), "faults": report.faults, "mutations": [],
        }
        print(f"{proof.name}: {row['registers']} registers, {report.cycles} cycles, {row['seconds']} s, "
              f"{'; '.join(report.faults[:3]) or 'at rest'}", flush=True)
        for defect in proof.mutations if chosen.mutation is None else ():
            caught = run_mutation(proof.name, defect.name)
            print(f"  {defect.name}: {'caught' if caught else 'NOT CAUGHT'}", flush=True)
            row["mutations"].append({"name": defect.name, "caught": caught})
        rows.append(row)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["faults"] or not all(m["caught"] for m in row["mutations"]) for row in rows))


def run_mutation(proof: str, mutation: str) -> bool:
    """True if a defect is found, in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-m", "testbench.formal.stability", proof, "--mutation", mutation],
        capture_output=True, text=True, check=False,
    )
    if result.returncode not in (0, 1) or result.stderr:
        raise RuntimeError(f"{proof}: {mutation}: {result.stderr or result.returncode}")
    return result.returncode == 1


if __name__ == "__main__":
    sys.exit(main())
