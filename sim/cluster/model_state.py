"""Finds in what Verilator has written which members of a model hold its state, for hashes of it."""

import re
from collections.abc import Iterator
from pathlib import Path

_MEMBER = re.compile(r"^\s*((?:[CSIQ]Data|VlWide<\d+>)/\*[\d:]+\*/|VlUnpacked<.+>) (\w+);")
_INSTANCE = re.compile(r"^\s*(\w+)\* (\w+);")
_OWN = "__V"
"""What Verilator's own members begin with: temporaries, and what remembers edges."""


def bytes_apart(folder: Path, prefix: str) -> tuple[list[str], str]:
    """Headers of a model that stands apart in `folder`, and an expression for its bytes."""
    names = dict.fromkeys(name for _, name in _parts(folder, prefix))
    headers = [f"{name}.h" for name in (prefix, *names)]
    sizes = [f"sizeof({prefix})", *(f"sizeof({name})" for _, name in _parts(folder, prefix))]
    return headers, " + ".join(sizes)


def state_header(folder: Path, prefix: str, *, apart: tuple[Path, str] | None = None, n_apart: int = 0) -> str:
    """Text of ``state.h``: functions that hash the members of class `prefix` and of its parts, and add up their bytes.

    `apart` is the folder and the class of a model that `n_apart` parts of this one are: their bytes count, their
    members are out of sight.

    What follows from registers and inputs is hashed beside the registers, since Verilator does not tell them apart: two
    models with equal registers have equal hashes if their inputs are equal.
    """
    hashes, sizes = [], [f"sizeof({prefix})"]
    for path, name in _parts(folder, prefix):
        sizes.append(f"sizeof({path})")
        hashes += [
            f"    hash = mix(hash, &{path}.{first}, reinterpret_cast<const char*>(&{path}.{last} + 1) - "
            f"reinterpret_cast<const char*>(&{path}.{first}));"
            for first, last in _runs((folder / f"{name}.h").read_text())
        ]
    headers = [path.name for path in sorted(folder.glob(f"{prefix}_*.h")) if "__pch" not in path.name]
    if apart is not None:
        more, size = bytes_apart(*apart)
        headers += more
        sizes.append(f"{n_apart} * ({size})")
    includes = "".join(f'#include "{name}"\n' for name in headers)
    return (
        f'#pragma once\n{includes}#include "{prefix}.h"\n#include "verilated_model.h"\nnamespace conic {{\n'
        f"inline uint64_t state_hash(const {prefix}& top) {{\n    uint64_t hash = 1;\n" + "\n".join(hashes)
        + "\n    return hash;\n}\n"
        f"inline size_t state_bytes(const {prefix}& top) {{\n    return {' + '.join(sizes)};\n}}\n}}\n"
    )


def _parts(folder: Path, prefix: str) -> Iterator[tuple[str, str]]:
    """Each object of a model, as an expression, with its class."""
    waiting = [("(*top.rootp)", f"{prefix}___024root")]
    while waiting:
        path, name = waiting.pop(0)
        yield path, name
        for line in (folder / f"{name}.h").read_text().splitlines():
            instance = _INSTANCE.match(line)
            if instance and (folder / f"{instance[1]}.h").exists() and instance[1] != f"{prefix}__Syms":
                waiting.append((f"(*{path}.{instance[2]})", instance[1]))


def _runs(text: str) -> Iterator[tuple[str, str]]:
    """First and last of each run of members of one type, between which there is no padding."""
    run: list[str] = []
    kind = ""
    for line in [*text.splitlines(), ""]:
        member = _MEMBER.match(line)
        counts = member is not None and not member[2].startswith(_OWN)
        if run and not (counts and member is not None and _size(member[1]) == kind):
            yield run[0], run[-1]
            run = []
        if counts and member is not None:
            kind = _size(member[1])
            run.append(member[2])


def _size(kind: str) -> str:
    """What tells types of members of different sizes apart."""
    return re.sub(r"/\*.*?\*/", "", kind)
