"""Names of MPI that programs and libraries have, as ``nm`` of the binutils lists them."""

import re
import resource
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

COLLECTIVE = re.compile(
    r"I?(Allreduce|Reduce|Reduce_scatter|Reduce_scatter_block|Scan|Exscan|Bcast|Barrier|Allgather|Allgatherv|Alltoall"
    r"|Gather|Gatherv|Scatter|Scatterv)(_init)?(_c)?"
)
"""Collectives that NICs carry out, without the prefix of their names."""
_FILES, _ENDLESS = 64, resource.RLIM_INFINITY


def names(path: str, prefix: str, *, defined: bool) -> set[str]:
    """Collectives that a program or a library defines, or wants, by names of this prefix; without it.

    Empty if that cannot be known: there is no ``nm``, or no such file, or it is a script.
    """
    found, nm = shutil.which(path) or path, shutil.which("nm")
    if nm is None or not Path(found).is_file():
        return set()
    kind = "--defined-only" if defined else "--undefined-only"
    text = subprocess.run([nm, "-D", kind, found], capture_output=True, text=True, check=False).stdout
    # Versions stand behind an @.
    symbols = {word.partition("@")[0] for line in text.splitlines() for word in line.split()[-1:]}
    bare = {symbol.removeprefix(prefix) for symbol in symbols if symbol.startswith(prefix)}
    return {name for name in bare if COLLECTIVE.fullmatch(name)}


def remarks(programs: Iterable[str], preloads: Iterable[str]) -> list[str]:
    """Calls that the report does not see: by PMPI_ names, and by libraries that the user has loaded."""
    lines = []
    for program in dict.fromkeys(programs):
        wanted = sorted(names(program, "PMPI_", defined=False))
        if wanted:
            called = ", ".join(f"PMPI_{name}" for name in wanted)
            lines.append(
                f"{Path(program).name} calls {called}: what is called by PMPI_ names is MPI's, and is not counted"
            )
    for library in dict.fromkeys(preloads):
        hidden = sorted(names(library, "MPI_", defined=True))
        if hidden:
            lines.append(
                f"{', '.join(f'MPI_{name}' for name in hidden)} of {Path(library).name} (LD_PRELOAD) are not called: "
                "conic's stand before them"
            )
    return lines


def limits() -> list[str]:
    """Limits of this process that a launcher and its ranks may not be able to begin with."""
    lines = []
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != _ENDLESS and files < _FILES:
        lines.append(f"the limit of open files is {files} (ulimit -n)")
    size, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if size != _ENDLESS:
        lines.append(f"the limit of the size of a file is {size} bytes (ulimit -f)")
    return lines
