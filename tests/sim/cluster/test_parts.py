"""Memory, AXI4 rules, links, register port and boundary of the simulator, in C++ and without hardware (parts.cpp)."""

import re
import subprocess
from importlib import resources
from pathlib import Path

import pytest


@pytest.mark.parametrize("flit_bytes", [8, 64])
def test_parts(flit_bytes: int, tmp_path: Path) -> None:
    (tmp_path / "shape.h").write_text(
        f"#pragma once\n#define CONIC_SWITCH_PORTS(X) X(0) X(1)\n"
        f"namespace conic {{ constexpr unsigned kFlitBytes = {flit_bytes}, kHeaderBytes = 32; }}\n"
    )
    sources = Path(str(resources.files("sim.cluster")))
    for name, fields in _outputs((sources / "boundary.h").read_text()).items():
        lines = "".join(f"  unsigned long {field};\n" for field in fields)
        (tmp_path / f"{name}.h").write_text(f"#pragma once\nstruct {name} {{\n{lines}}};\n")
    command = [
        "g++", "-std=c++17", "-O1", "-Wall", "-Werror", "-fsanitize=address,undefined", "-include", "algorithm",
        f"-I{tmp_path}", f"-I{sources}", str(Path(__file__).with_name("parts.cpp")), "-o", str(tmp_path / "parts"),
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    outcome = subprocess.run([str(tmp_path / "parts")], capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


def _outputs(boundary: str) -> dict[str, list[str]]:
    """Outputs that boundary.h looks at, of a NIC and of a switch with two ports."""
    nic, switch, registers = (
        set(re.findall(r"top\.([\w#]+)", part))
        for part in re.split(r"explicit Boundary\(const VSwitch|void registers\(", boundary)
    )
    ports = {name.replace("##p##", str(port)) for name in switch for port in range(2)}
    return {"VNic": sorted(nic | registers), "VSwitch": sorted(ports | registers)}
