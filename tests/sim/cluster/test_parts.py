"""Memory, AXI4 rules, links, register port and boundary of the simulator, in C++ and without hardware (parts.cpp)."""

import subprocess
from importlib import resources
from pathlib import Path

import pytest


@pytest.mark.parametrize("flit_bytes", [8, 64])
def test_parts(flit_bytes: int, tmp_path: Path) -> None:
    sources = Path(str(resources.files("sim.cluster")))
    command = [
        "g++", "-std=c++20", "-O1", "-Wall", "-Werror", "-fsanitize=address,undefined", "-include", "algorithm",
        f"-DFLIT_BYTES={flit_bytes}", f"-I{sources}", str(Path(__file__).with_name("parts.cpp")),
        "-o", str(tmp_path / "parts"),
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    outcome = subprocess.run([str(tmp_path / "parts")], capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
