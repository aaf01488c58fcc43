"""The register map, the formats and the encodings as a C header."""

import re
from collections.abc import Iterable, Iterator

from . import formats, registers
from .format import WORD_BITS, Format
from .markdown import ENCODINGS
from .member_doc import member_docs
from .register import OnOne, Register, RegisterField
from .register_page import Counters

LIMITS = ("JOB_BITS", "NODE_BITS", "VP_BITS", "SEQ_BITS", "PULSE_BITS", "FRAGMENT_BITS", "PEER_BITS", "MLID_BITS",
          "FIRST_MLID", "PAYLOAD_BYTES", "PACKET_VERSION")


def abi_header() -> str:
    """The header: C99 or newer, and C++; little-endian hosts."""
    return "\n".join([*_head(), *_limits(), *_encodings(), *_formats(), *_registers(), *_tail()]) + "\n"


def _head() -> Iterator[str]:
    yield "/* conic: the contract between hardware and software."
    yield " *"
    yield " * Generated from firmware_models/abi by `conic verilog`. Formats are arrays of 64-bit little-endian words."
    yield " */"
    yield "#ifndef CONIC_ABI_H"
    yield "#define CONIC_ABI_H"
    yield ""
    yield "#include <stdint.h>"
    yield ""
    yield "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__"
    yield '#error "conic_abi.h supports little-endian hosts only"'
    yield "#endif"
    yield ""
    yield "#ifdef __cplusplus"
    yield 'extern "C" {'
    yield "#endif"
    yield ""


def _limits() -> Iterator[str]:
    yield "/* Widths and sizes */"
    for name in LIMITS:
        yield f"#define CONIC_{name} {getattr(formats, name)}u"
    yield ""


def _encodings() -> Iterator[str]:
    for enum in ENCODINGS:
        docs = member_docs(enum)
        prefix = _snake(enum.__name__)
        yield f"/* {_one_line(enum.__doc__ or '')} */"
        yield f"enum conic_{prefix} {{"
        for number, member in enumerate(enum):
            comma = "," if number < len(enum) - 1 else ""
            note = f" /* {docs[member.name]} */" if docs[member.name] else ""
            yield f"    CONIC_{prefix.upper()}_{member.name} = {int(member)}{comma}{note}"
        yield from ("};", "")


def _formats() -> Iterator[str]:
    for fmt in formats.FORMATS:
        yield from _format(fmt)


def _format(fmt: Format) -> Iterator[str]:
    upper, words = f"CONIC_{fmt.name.upper()}", -(-fmt.width // WORD_BITS)
    yield f"/* {_one_line(fmt.doc)} */"
    yield f"#define {upper}_BITS {fmt.width}u"
    yield f"#define {upper}_BYTES {fmt.bytes}u"
    yield f"typedef struct conic_{fmt.name} {{ uint64_t word[{words}]; }} conic_{fmt.name};"
    yield ""
    for field, offset in fmt.positions():
        if field.is_reserved:
            continue
        word, shift = divmod(offset, WORD_BITS)
        yield f"/* {_one_line(field.doc)} */"
        if field.width > WORD_BITS:
            yield f"#define {upper}_{field.name.upper()}_WORD {word}u"
            yield f"#define {upper}_{field.name.upper()}_WORDS {field.width // WORD_BITS}u"
        else:
            yield f"#define {upper}_{field.name.upper()}_MAX UINT64_C(0x{field.max_value:x})"
            yield from _accessors(fmt.name, field.name, word, shift, field.max_value)
    yield ""


def _accessors(fmt: str, field: str, word: int, shift: int, mask: int) -> Iterator[str]:
    yield f"static inline uint64_t conic_{fmt}_get_{field}(const conic_{fmt} *entry)"
    yield f"{{ return (entry->word[{word}] >> {shift}) & UINT64_C(0x{mask:x}); }}"
    yield f"static inline void conic_{fmt}_set_{field}(conic_{fmt} *entry, uint64_t value)"
    yield (f"{{ entry->word[{word}] = (entry->word[{word}] & ~(UINT64_C(0x{mask:x}) << {shift}))"
           f" | ((value & UINT64_C(0x{mask:x})) << {shift}); }}")


def _registers() -> Iterator[str]:
    yield "/* Fields of registers: CONIC_SET(CONIC_REG_CONTROL_ENABLE, 1) is the field's bits with that value,"
    yield " * CONIC_GET(CONIC_REG_CONTROL_ENABLE, word) the field's value in a word that has been read. */"
    yield "#define CONIC_SET(field, value) (((uint32_t)(value) << field##_SHIFT) & field##_MASK)"
    yield "#define CONIC_GET(field, word) (((uint32_t)(word) & field##_MASK) >> field##_SHIFT)"
    yield ""
    yield "/* Control page of the NIC, from address 0 */"
    yield from _page("REG", registers.CONTROL_PAGE)
    yield f"/* Page of virtual port vp, 0x{registers.VP_PAGE_BYTES:x} bytes */"
    yield f"#define CONIC_VP_PAGE(vp) (0x{registers.VP_PAGES:x}u + (uint32_t)(vp) * 0x{registers.VP_PAGE_BYTES:x}u)"
    yield from _page("VP", registers.VP_PAGE)
    yield "/* Event counters, 64 bits: low half here, high half 4 bytes later */"
    yield from _counters("COUNTER", registers.EVENT_COUNTERS)
    yield "/* Cycles of the offload unit in buffer_select, by what it did or waited for */"
    yield from _counters("STATE_COUNTER", registers.STATE_COUNTERS)
    yield ""
    yield "/* Switch, in an address space of its own */"
    yield from _page("SWITCH", registers.SWITCH_PAGE)
    yield "/* Counters of the port in port_select, 64 bits: low half here, high half 4 bytes later */"
    yield from _counters("SWITCH_COUNTER", registers.SWITCH_COUNTERS)
    yield ""


def _counters(prefix: str, counters: Counters) -> Iterator[str]:
    for counter in counters:
        yield f"#define CONIC_{prefix}_{counter.name.upper()} 0x{counters.offset(counter.name):x}u /* {counter.doc} */"


def _page(prefix: str, page: Iterable[Register]) -> Iterator[str]:
    for register in page:
        name = f"CONIC_{prefix}_{register.name.upper()}"
        note = f"{register.access.value}, {register.width} bits: {register.doc}"
        yield f"#define {name} 0x{register.offset:x}u /* {note} */"
        if register.count > 1:
            yield f"#define {name}_COUNT {register.count}u /* 4 bytes apart */"
        if register.reset:
            yield f"#define {name}_RESET 0x{register.reset:x}u"
        for field in register.fields:
            note = "" if register.is_number else f" /* {field.access.value}; a 1 {_on_one(field)}: {field.doc} */"
            yield f"#define {name}_{field.name.upper()}_SHIFT {field.low}u"
            yield f"#define {name}_{field.name.upper()}_MASK 0x{field.mask:x}u{note}"
    yield ""


def _on_one(field: RegisterField) -> str:
    """Effect of a written 1, as a predicate."""
    return {
        OnOne.IGNORES: "is ignored", OnOne.HOLDS: "is held", OnOne.CLEARS: "clears it", OnOne.ACTS: "acts once",
    }[field.on_one]


def _tail() -> Iterator[str]:
    yield "#ifdef __cplusplus"
    yield "}"
    yield "#endif"
    yield ""
    yield "#endif"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("*/", "* /")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
