"""`conic fp`: TestFloat vectors from a file and from standard input; bad input in one line."""

import json
import subprocess
import sys
from pathlib import Path

GOOD = "3FF0000000000000 4000000000000000 4008000000000000 00\n"


def conic(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sim.cli.main", "fp", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_file_and_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(GOOD * 3)
    for result in (conic("--testfloat", str(path), "--json"), conic("--testfloat", "-", "--json", text=GOOD * 3)):
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout) == {"function": "f64_add", "cycles": 8, "vectors": 3, "mismatches": 0}


def test_mismatch() -> None:
    result = conic("--testfloat", "-", "--cycles", "5", text=GOOD + GOOD.replace("4008", "4009"))
    assert result.returncode == 1
    assert "line 2: 3FF0000000000000 4000000000000000 expected 4009000000000000, got 4008000000000000" in result.stderr
    assert result.stdout.split() == ["function", "f64_add", "cycles", "5", "vectors", "2", "mismatches", "1"]


def test_bad_input(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    for arguments, text, message in (
        ((), "", "one of --testfloat FILE and --bench is required, and not both"),
        (("--testfloat", "-", "--bench"), "", "one of --testfloat FILE and --bench is required, and not both"),
        (("--testfloat", "-"), GOOD + "none\n", "line 2: expected two operands and a result of 16 hex"),
        (("--testfloat", "-"), "", "the input is empty: expected lines of testfloat_gen"),
        (("--testfloat", "-", "--function", "f16_add"), GOOD, "--function: must be one of f64_add"),
        (("--testfloat", "-", "--cycles", "4"), GOOD, "--cycles: must be 5 to 16, not 4"),
        (("--testfloat", missing), "", f"{missing!r}: No such file or directory"),
    ):
        result = conic(*arguments, text=text)
        assert result.returncode == 2, arguments
        assert message in result.stderr.splitlines()[-1]
        assert result.stdout == ""
