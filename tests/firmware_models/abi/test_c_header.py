"""The C header, as a compiler sees it, says what the Python codec says."""

import random
import re
import subprocess
from pathlib import Path

import pytest

from firmware_models.abi import encoding, formats, registers
from firmware_models.abi.c_header import abi_header
from firmware_models.abi.format import WORD_BITS, Format

FLAGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


@pytest.fixture
def header(tmp_path: Path) -> Path:
    path = tmp_path / "conic_abi.h"
    path.write_text(abi_header())
    return path


@pytest.mark.parametrize("language", [["gcc", "-x", "c", "-std=c99"], ["gcc", "-x", "c"], ["g++", "-x", "c++"]],
                         ids=["c99", "c", "c++"])
def test_compiles(header: Path, language: list[str]) -> None:
    run([*language, *FLAGS, "-fsyntax-only", str(header)])


def test_setters_agree_with_codec(header: Path, tmp_path: Path) -> None:
    """A C program sets every field of every format to random values and prints the bytes."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    body, expected = [], []
    for fmt in formats.FORMATS:
        values = random_values(fmt, rng)
        body.append(f"    {{ conic_{fmt.name} entry; memset(&entry, 0, sizeof entry);")
        for name, value in values.items():
            if fmt[name].width > WORD_BITS:
                constant = f"CONIC_{fmt.name.upper()}_{name.upper()}"
                body += [f"      entry.word[{constant}_WORD + {n}] = UINT64_C({value >> (64 * n) & (1 << 64) - 1});"
                         for n in range(fmt[name].width // WORD_BITS)]
                body.append(f"      if ({constant}_WORDS != {fmt[name].width // WORD_BITS}u) return 1;")
            else:
                body.append(f"      conic_{fmt.name}_set_{name}(&entry, UINT64_MAX);")  # the setter has to clear
                body.append(f"      conic_{fmt.name}_set_{name}(&entry, UINT64_C({value}));")
                body.append(f"      if (conic_{fmt.name}_get_{name}(&entry) != UINT64_C({value})) return 1;")
        body.append(f"      print(&entry, CONIC_{fmt.name.upper()}_BYTES); }}")
        expected.append(fmt.pack(**values).hex())
    program = tmp_path / "pack.c"
    program.write_text("\n".join([
        "#include <stdio.h>", "#include <string.h>", '#include "conic_abi.h"',
        "static void print(const void *entry, unsigned bytes)",
        '{ for (unsigned n = 0; n < bytes; n++) printf("%02x", ((const unsigned char *)entry)[n]); puts(""); }',
        "int main(void) {", *body, "    return 0;", "}", "",
    ]))
    run(["gcc", *FLAGS, str(program), "-o", str(tmp_path / "pack")])
    assert run([str(tmp_path / "pack")]).split() == expected


def test_fields_of_registers(header: Path, tmp_path: Path) -> None:
    """A C program packs every register from random fields, and takes the word apart again."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    body, expected = [], []
    for prefix, page in (("REG", registers.CONTROL_PAGE), ("VP", registers.VP_PAGE), ("SWITCH", registers.SWITCH_PAGE)):
        for register in page:
            name = f"CONIC_{prefix}_{register.name.upper()}"
            values = {field.name: rng.getrandbits(field.width) for field in register.fields}
            terms = [f"CONIC_SET({name}_{field.upper()}, UINT32_C({value}))" for field, value in values.items()]
            body.append(f"    word = {' | '.join(terms)}; print(word);")
            body += [f"    if (CONIC_GET({name}_{field.upper()}, word) != UINT32_C({value})) return 1;"
                     for field, value in values.items()]
            if register.reset:
                resets = {field.name: field.reset for field in register.fields}
                body.append(f"    if ({name}_RESET != UINT32_C({register.pack(**resets)})) return 1;")
            expected.append(f"{register.pack(**values):08x}")
    program = tmp_path / "fields.c"
    program.write_text("\n".join([
        "#include <stdio.h>", '#include "conic_abi.h"',
        'static void print(uint32_t word) { printf("%08x\\n", (unsigned)word); }',
        "int main(void) {", "    uint32_t word;", *body, "    return 0;", "}", "",
    ]))
    run(["gcc", *FLAGS, str(program), "-o", str(tmp_path / "fields")])
    assert run([str(tmp_path / "fields")]).split() == expected


def test_constants(header: Path) -> None:
    """Encodings and register addresses, read back from the preprocessor and a regular expression."""
    text = header.read_text()
    for enum in (encoding.Datatype, encoding.CplKind, encoding.Status):
        prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enum.__name__).upper()
        for member in enum:
            assert re.search(rf"\bCONIC_{prefix}_{member.name} = {int(member)}\b", text)
    for register in registers.CONTROL_PAGE:
        assert f"#define CONIC_REG_{register.name.upper()} 0x{register.offset:x}u" in text
    for register in registers.VP_PAGE:
        assert f"#define CONIC_VP_{register.name.upper()} 0x{register.offset:x}u" in text


def random_values(fmt: Format, rng: random.Random) -> dict[str, int]:
    """A legal value for every field that is not reserved."""
    return {
        field.name: int(rng.choice(list(field.values))) if field.values else rng.getrandbits(field.width)
        for field in fmt.fields if not field.is_reserved
    }


def run(command: list[str]) -> str:
    """Standard output of `command`, which has to succeed."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout
