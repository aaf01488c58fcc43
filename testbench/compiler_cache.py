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


def cache_key(command: list[str], source: str) -> str:
    """Hash of all that decides over the object: the command but for its output, and the source."""
    output = command[command.index("-o") + 1]
    text = "\0".join(argument for argument in command if argument != output)
    with open(source, "rb") as file:
        return hashlib.sha256(text.encode() + b"\0" + file.read()).hexdigest()


def main(command: list[str]) -> int:
    """Runs the compiler, or copies its result of an earlier run."""
    folder = os.environ.get("CONIC_COMPILER_CACHE")
    source = command[-1]
    name = os.path.basename(source)
    if not folder or "-o" not in command or not (name.startswith("verilated") and name.endswith(".cpp")):
        return subprocess.call(command)

    output = command[command.index("-o") + 1]
    kept = os.path.join(folder, cache_key(command, source) + ".o")
    if not os.path.exists(kept):
        status = subprocess.call(command)
        if status:
            return status
        # Written aside and renamed: another build may want it at the same moment.
        os.makedirs(folder, exist_ok=True)
        part = f"{kept}.{os.getpid()}"
        shutil.copyfile(output, part)
        os.replace(part, kept)
        return 0
    shutil.copyfile(kept, output)
    # The makefile's dependency file is wanted beside the object.
    with open(os.path.splitext(output)[0] + ".d", "w") as file:
        file.write(f"{output}: {source}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
