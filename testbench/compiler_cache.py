"""Compiler launcher that keeps the objects of Verilator's C++ runtime between builds.

Verilator's makefile calls it in front of the compiler (variable OBJCACHE). The runtime's sources depend on
Verilator alone, not on the design, so their objects are kept in the folder CONIC_COMPILER_CACHE, by the hash of
command line and source; that saves more than half of a small build. Every other command is run as it is.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path


def cache_key(command: list[str], source: Path) -> str:
    """Hash of all that decides over the object: the command but for its output, and the source."""
    output = command[command.index("-o") + 1]
    text = "\0".join(argument for argument in command if argument != output)
    return hashlib.sha256(text.encode() + b"\0" + source.read_bytes()).hexdigest()


def main(command: list[str]) -> int:
    """Runs the compiler, or copies its result of an earlier run."""
    folder = os.environ.get("CONIC_COMPILER_CACHE")
    source = Path(command[-1])
    is_runtime = source.name.startswith("verilated") and source.suffix == ".cpp"
    if not folder or "-o" not in command or not is_runtime:
        return subprocess.call(command)

    output = Path(command[command.index("-o") + 1])
    kept = Path(folder) / f"{cache_key(command, source)}.o"
    if kept.exists():
        shutil.copyfile(kept, output)
        # The makefile's dependency file is wanted beside the object.
        output.with_suffix(".d").write_text(f"{output}: {source}\n")
        return 0
    status = subprocess.call(command)
    if status == 0:
        # Written aside and renamed: another build may want it at the same moment.
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(output, part)
        part.replace(kept)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
