"""Finds in what Verilator has written which members of a model hold its state: to hash them, and to look at them."""

import re
from collections.abc import Iterator
from pathlib import Path

_MEMBER = re.compile(r"^\s*((?:[CSIQ]Data|VlWide<\d+>)/\*[\d:]+\*/|VlUnpacked<.+>) (\w+);")
_INSTANCE = re.compile(r"^\s*(\w+)\* (\w+);")
_OWN = "__V"
"""Prefix of Verilator's own members: temporaries, and copies that remember edges."""


def state_header(folder: Path, prefix: str, top: str) -> str:
    """Text of ``state.h``: functions that hash the members of class `prefix` and of its parts, add up their bytes, and
    list them by the names that they have in the design, whose top module is `top`.

    What follows from registers and inputs is hashed beside the registers, since Verilator does not tell them apart: two
    models with equal registers have equal hashes if their inputs are equal.
    """
    hashes, sizes, members = [], [f"sizeof({prefix})"], []
    for path, name, hierarchy in _parts(folder, prefix):
        sizes.append(f"sizeof({path})")
        text = (folder / f"{name}.h").read_text()
        hashes += [
            f"    hash = mix(hash, &{path}.{first}, reinterpret_cast<const char*>(&{path}.{last} + 1) - "
            f"reinterpret_cast<const char*>(&{path}.{first}));"
            for first, last in _runs(text)
        ]
        members += [
            f'    {{"{full}", {path}.{member}}},' for member in _members(text)
            if (full := _name(hierarchy, member, top)) is not None
        ]
    headers = [path.name for path in sorted(folder.glob(f"{prefix}_*.h")) if "__pch" not in path.name]
    includes = "".join(f'#include "{name}"\n' for name in headers)
    return (
        f'#pragma once\n{includes}#include "{prefix}.h"\n#include "register_at.h"\nnamespace conic {{\n'
        f"inline uint64_t state_hash(const {prefix}& top) {{\n    uint64_t hash = 1;\n" + "\n".join(hashes)
        + "\n    return hash;\n}\n"
        f"inline size_t state_bytes(const {prefix}& top) {{\n    return {' + '.join(sizes)};\n}}\n"
        f"inline std::vector<RegisterAt> registers_of({prefix}& top) {{\n    return {{\n" + "\n".join(members)
        + "\n    };\n}\n}\n"
    )


def _members(text: str) -> Iterator[str]:
    """Names of all members that are no temporaries of Verilator's own."""
    for line in text.splitlines():
        member = _MEMBER.match(line)
        if member and not member[2].startswith(_OWN):
            yield member[2]


def _name(hierarchy: str, member: str, top: str) -> str | None:
    """A member's name in the design: below the instance that `top` has of it; None outside of that."""
    full = ".".join(filter(None, (hierarchy, member.removeprefix("__PVT__").replace("__DOT__", "."))))
    prefix = f"{top}.top."
    return _decoded(full.removeprefix(prefix)) if full.startswith(prefix) else None


def _decoded(name: str) -> str:
    """A name as Verilog has it: Verilator writes what C++ has not in hexadecimal."""
    return re.sub(r"__0([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), name)


def _parts(folder: Path, prefix: str) -> Iterator[tuple[str, str, str]]:
    """Each object of a model, as an expression, with its class and its name in the design."""
    waiting = [("(*top.rootp)", f"{prefix}___024root", "")]
    while waiting:
        path, name, hierarchy = waiting.pop(0)
        yield path, name, hierarchy
        for line in (folder / f"{name}.h").read_text().splitlines():
            instance = _INSTANCE.match(line)
            if instance and (folder / f"{instance[1]}.h").exists() and instance[1] != f"{prefix}__Syms":
                inner = instance[2].removeprefix("__PVT__").replace("__DOT__", ".")
                waiting.append((f"(*{path}.{instance[2]})", instance[1], ".".join(filter(None, (hierarchy, inner)))))


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
    """Returns a type without its comments: the rest differs between types of different sizes."""
    return re.sub(r"/\*.*?\*/", "", kind)
