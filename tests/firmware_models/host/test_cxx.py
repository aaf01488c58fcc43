"""C++ includes every header that `conic verilog` writes and links the driver that a C compiler made."""

import re
import subprocess
from pathlib import Path

import pytest

from firmware_models.abi.c_header import abi_header
from firmware_models.host import DRIVER_FILES

FLAGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
HEADERS = {"conic_abi.h": abi_header()} | {path.name: path.read_text() for path in DRIVER_FILES if path.suffix == ".h"}
FUNCTIONS = sorted(set(re.findall(r"^(?:int|void|uint32_t) \*?(conic_\w+)\(", HEADERS["conic_driver.h"], re.MULTILINE)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Headers, and the driver as an object of C."""
    made = tmp_path_factory.mktemp("cxx")
    for name, text in HEADERS.items():
        (made / name).write_text(text)
    for path in DRIVER_FILES:
        (made / path.name).write_text(path.read_text())
    run(made, "gcc", "-std=c99", *FLAGS, "-c", "conic_driver.c", "-o", "driver.o")
    return made


def run(folder: Path, *command: str) -> str:
    """Standard output of `command`, which has to succeed."""
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_functions_of_the_driver_are_known(folder: Path) -> None:
    """Those of the header are those of the object: none is left out below."""
    symbols = run(folder, "nm", "--defined-only", "--extern-only", "driver.o").split()
    assert sorted(name for name in symbols if name.startswith("conic_")) == FUNCTIONS


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_every_function_links(folder: Path, standard: str) -> None:
    uses = "".join(f"    used += reinterpret_cast<void *>(&{name}) != nullptr;\n" for name in FUNCTIONS)
    (folder / "all.cpp").write_text(
        '#include "conic_driver.h"\n#include <cstdio>\n'
        f"int main()\n{{\n    volatile int used = 0;\n{uses}"
        "    conic_descriptor entry = {};\n    conic_descriptor_set_tag(&entry, 5);\n"
        '    std::printf("%d %d\\n", used, (int)conic_descriptor_get_tag(&entry));\n}\n'
    )
    run(folder, "g++", f"-std={standard}", "-Wno-address", "all.cpp", "driver.o", "-o", "all")
    assert run(folder, "./all").split() == [str(len(FUNCTIONS)), "5"]


@pytest.mark.parametrize("name", HEADERS)
def test_names_are_those_of_c(folder: Path, name: str) -> None:
    """Whatever a header declares, now or later, has the linkage of C: no include stands inside of the block."""
    text = HEADERS[name]
    opened = text.index('#ifdef __cplusplus\nextern "C" {\n#endif\n')
    closed = text.index("#ifdef __cplusplus\n}\n#endif\n")
    assert "#include" not in text[opened:closed]
    declared = re.search(r"^(?:static inline|typedef|enum|int|void|uint32_t) ", text, re.MULTILINE)
    assert declared is not None
    assert declared.start() > opened
    assert text[closed:].removeprefix("#ifdef __cplusplus\n}\n#endif\n").split() == ["#endif"]
    (folder / "twice.cpp").write_text(f'#include "{name}"\n#include "{name}"\n')
    run(folder, "g++", "-std=c++11", *FLAGS, "-fsyntax-only", "twice.cpp")
