"""``python -m testbench.mpich mpich/test/mpi``: MPICH's own tests under MPICH and on the simulated NICs.

Exit code 1 if a test that passes under MPICH does not on the NICs.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from testbench.mpich.suite import FOLDERS, Compiler, SuiteError, SuiteTest, listed

_BIN = Path(sys.executable).parent
CONIC = [str(_BIN / "conic"), "mpiexec"]
_BUILD = [str(_BIN / "conic"), "run", "barrier", "--algorithm", "dissemination", "--json", "--nodes"]
"""Leaves the cluster built that programs of so many ranks run on."""

_WAYS = ("plain", "nics")


@dataclass(frozen=True)
class Outcome:
    """Outcome of a test.

    Members
    -------
    verdict : str
        ``pass``, ``fail``, ``time-out`` (it was ended), or ``build`` (it does not compile).
    seconds : float
        How long it took.
    text : str
        The end of what it printed, unless it passed.
    """

    verdict: str
    seconds: float
    text: str = ""


def carry_out(test: SuiteTest, program: Path, *, launcher: list[str], seconds: float, folder: Path) -> Outcome:
    """Runs a test. It passes if it says ``No Errors`` and ends with 0, or with another code if it aborts, as MPICH's
    ``runtests`` has it."""
    command = [*launcher, *test.launcher, "-n", str(test.ranks), str(program), *test.arguments]
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        errors="replace", start_new_session=True, env=os.environ | test.environment,
    ) as process:
        try:
            text, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            return Outcome("time-out", round(time.perf_counter() - began, 2), text[-1500:])
    took = round(time.perf_counter() - began, 2)
    well = "No Errors" in text and (process.returncode != 0) == test.aborts
    return Outcome("pass", took) if well else Outcome("fail", took, f"exit code {process.returncode}\n{text[-1500:]}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m testbench.mpich", description=__doc__.partition("\n")[2])
    parser.add_argument("suite", type=Path, metavar="MPICH/test/mpi", help="the sources of MPICH's tests")
    parser.add_argument("--folder", action="append", dest="folders", choices=FOLDERS, help="only these; all otherwise")
    parser.add_argument("--only", default="", help="tests whose name contains this")
    parser.add_argument("--seconds", type=float, default=300.0, help="on the NICs, of one test (default 300)")
    parser.add_argument("--plain-seconds", type=float, default=120.0, help="under MPICH (default 120)")
    parser.add_argument("--build", type=Path, default=Path("build/mpich-tests"), help="where programs are left")
    parser.add_argument("--json", type=Path, help="rows, as they come")
    parser.add_argument("--figures", type=Path, help="rows as a page shows them: verdicts and seconds")
    parser.add_argument("--option", action="append", default=[], help="of conic mpiexec, --option=--check=mpich")
    given = parser.parse_args(arguments)
    tests = [test for folder in given.folders or FOLDERS for test in listed(given.suite.resolve(), folder)
             if given.only in test.name]
    compiler = Compiler(given.suite.resolve(), given.build.resolve(), str(_BIN / "mpicc"))
    for ranks in sorted({max(2, test.ranks) for test in tests}):
        subprocess.run([*_BUILD, str(ranks)], stdout=subprocess.DEVNULL, check=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for data in {path for test in tests for path in (given.suite.resolve() / test.folder).glob("*.txt")}:
            Path(folder, data.name).symlink_to(data)  # tests read such files from where they run
        for number, test in enumerate(tests, start=1):
            rows.append(_row(test, compiler, given, Path(folder)))
            print(f"{number}/{len(tests)} {_line(rows[-1])}", file=sys.stderr, flush=True)
            if given.json is not None:
                given.json.write_text(json.dumps(rows, indent=1) + "\n")
    if given.figures is not None:
        write_figures(rows, given.figures, seconds=given.seconds, plain_seconds=given.plain_seconds)
    _print(rows)
    return int(any(row["plain"]["verdict"] == "pass" != row["nics"]["verdict"] for row in rows))


def write_figures(rows: list[dict[str, Any]], path: Path, *, seconds: float, plain_seconds: float) -> None:
    """Writes what a page shows of rows: verdicts and seconds, and after how many a test was ended."""
    lines = [
        {"test": row["test"]} | {name: {key: row[name][key] for key in ("verdict", "seconds")} for name in _WAYS}
        for row in rows
    ]
    figures = {"seconds": {"plain": plain_seconds, "nics": seconds}, "rows": lines}
    path.write_text(json.dumps(figures, indent=1) + "\n")


def _row(test: SuiteTest, compiler: Compiler, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"test": test.name}
    try:
        program = compiler.program(test)
    except SuiteError as error:
        nothing = asdict(Outcome("build", 0.0, str(error)))
        return {**row, "plain": nothing, "nics": nothing}
    plain = carry_out(test, program, launcher=[str(_BIN / "mpiexec")], seconds=given.plain_seconds, folder=folder)
    nics = carry_out(test, program, launcher=[*CONIC, *given.option], seconds=given.seconds, folder=folder)
    return {**row, "plain": asdict(plain), "nics": asdict(nics)}


def _line(row: dict[str, Any]) -> str:
    plain, nics = row["plain"], row["nics"]
    return f"{row['test']}: {plain['verdict']} {plain['seconds']} s, on the NICs {nics['verdict']} {nics['seconds']} s"


def _print(rows: list[dict[str, Any]]) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    table = Table("test", "MPICH", "seconds", "on the NICs", "seconds")
    for row in rows:
        plain, nics = row["plain"], row["nics"]
        table.add_row(row["test"], *(f"{each}" for one in (plain, nics) for each in (one["verdict"], one["seconds"])))
    console.print(table)
    for name in _WAYS:
        counts = Counter(row[name]["verdict"] for row in rows)
        console.print(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SuiteError as error:
        sys.exit(f"python -m testbench.mpich: {error}")
