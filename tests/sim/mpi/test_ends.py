"""How a program ends is how it ends under `mpiexec`, and the report is of what ran until then."""

import re
import signal
import subprocess
import sys

import pytest

from sim.mpi.interposer import tool

ENDS = [
    ("none", 0), ("abort", 7), ("abort", 0), ("abort", 300), ("abort first", 5), ("abort self", 9), ("exit", 3),
    ("signal", signal.SIGSEGV), ("signal", signal.SIGKILL), ("signal", signal.SIGTERM), ("signal", signal.SIGABRT),
    ("error", 0), ("return", 6),
]
CONIC = [sys.executable, "-m", "sim.cli.main", "mpiexec"]


@pytest.mark.parametrize(("how", "code"), ENDS)
def test_exit_codes(run, compiled, how, code):
    words = [compiled("ends.c"), how, str(int(code))]
    plain = subprocess.run([tool("mpiexec"), "-n", "2", *words], capture_output=True, check=False, timeout=60)
    result = run("ends.c", ranks=2, command=words)
    # Where a rank just ends, the launcher kills the others, and says with what whichever it sees first has ended.
    killed = {"exit": {signal.SIGKILL}, "signal": {signal.SIGKILL, signal.SIGTERM}}
    expected = {int(code), *killed[how]} if how in killed else {plain.returncode}
    assert {result.code, plain.returncode} <= expected
    assert result.report["operations"][0]["operations"] >= 1
    says_why = how in ("exit", "signal", "error")
    assert (result.error is not None) is says_why, result.error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_interrupted_program_is_reported(compiled, number):
    words = ["-n", "2", compiled("ends.c"), "sleep"]
    codes, said = [], ""
    # Plain mpiexec does not report the others: a shell says of them 128 and their number.
    taken = number in (signal.SIGINT, signal.SIGTERM)
    for launcher in ([tool("mpiexec")], CONIC) if taken else (CONIC,):
        command, pipe = [*launcher, *words], subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
            for _ in range(2):
                process.stdout.readline()
            process.send_signal(number)
            said = process.communicate(timeout=20)[1]
            codes.append(process.returncode)
    assert codes == ([codes[0]] * 2 if taken else [128 + number])
    assert re.search(r"^2 of 2 calls on the NICs", said, re.MULTILINE)
