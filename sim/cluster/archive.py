"""Functions that all builds of clusters use."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path

from testbench.verilated_model import run_tool


def archive(made: Path, objects: Sequence[Path]) -> None:
    """Puts objects into an archive, which appears when it is complete: an interrupted build leaves nothing that looks
    like one.
    """
    part = made.with_suffix(".new")
    part.unlink(missing_ok=True)
    run_tool(["ar", "rcs", str(part), *map(str, objects)])
    part.rename(made)


def fst_stubs() -> Path:
    """The folder with headers that stand in for libraries where Verilator's writer of FST files wants them."""
    return Path(str(resources.files("testbench"))) / "fst"


@cache
def sources_hash(package: str, folders: tuple[str, ...]) -> str:
    """Hash of the version of a package, and of all Python and C++ of some folders of this project."""
    digest = hashlib.sha256(version(package).encode())
    for folder in folders:
        root = Path(str(resources.files(folder)))
        for path in sorted(path for kind in ("*.py", "*.h") for path in root.rglob(kind)):
            digest.update(f"{folder} {path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
