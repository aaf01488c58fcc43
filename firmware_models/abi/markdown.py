"""The register map, the formats and the encodings as a Markdown page."""

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum

from . import board, encoding, registers
from .format import WORD_BITS, Format
from .formats import FORMATS
from .member_doc import member_docs
from .register import OnOne, RegisterField, Winner
from .register_page import Counters, Page

ENCODINGS: tuple[type[IntEnum], ...] = tuple(
    entry for entry in vars(encoding).values()
    if isinstance(entry, type) and issubclass(entry, IntEnum) and entry is not IntEnum
)
"""Every encoding, in the order of the source."""


PAGES = {
    "control": registers.CONTROL_PAGE, "vp": registers.VP_PAGE, "switch": registers.SWITCH_PAGE,
    "board": board.BOARD_PAGE,
}
"""Pages of registers by the names of their diagrams, `<name>_registers.svg`."""


def abi_page(*, diagrams: str | None = None) -> str:
    """The page.

    Parameters
    ----------
    diagrams : str, optional
        Folder of the bit diagrams, relative to the page: `<folder>/<format>.svg` and `<folder>/<page>_registers.svg`.
        Without it the page has the tables only.
    """
    return "\n".join([*_head(), *_formats(diagrams), *_encodings(), *_registers(diagrams)]).rstrip() + "\n"


def _head() -> Iterator[str]:
    yield "# The contract between hardware and software"
    yield ""
    yield "Generated from `firmware_models/abi` by `make docs`: change it there, not here."
    yield ""
    yield ("Formats are sequences of 64-bit little-endian words; a field stands in bits *high* to *low* of its word. "
           "Reserved bits must be written as zero: a descriptor that has one set is refused with `BAD_DESCRIPTOR`.")
    yield ""
    for title in ("Formats", "Encodings", "Registers"):
        yield f"- [{title}](#{_anchor(title)})"
    yield ""


def _formats(diagrams: str | None) -> Iterator[str]:
    yield from ("## Formats", "")
    for fmt in FORMATS:
        yield from _format(fmt, diagrams)


def _format(fmt: Format, diagrams: str | None) -> Iterator[str]:
    yield from (f"### `{fmt.name}`", "")
    size = f"{fmt.bytes} bytes" if fmt.word_aligned else f"{fmt.width} bits"
    yield from (f"{fmt.doc} {size}.", "")
    if diagrams is not None:
        yield from (f"![Bits of {fmt.name}]({diagrams}/{fmt.name}.svg)", "")
    rows = []
    for field, offset in fmt.positions():
        word, low = divmod(offset, WORD_BITS)
        if field.width > WORD_BITS:
            bits = (f"{word}-{(offset + field.width) // WORD_BITS - 1}", "all")
        else:
            high = low + field.width - 1
            bits = (str(word), str(low) if high == low else f"{high}:{low}")
        name = "reserved" if field.is_reserved else f"`{field.name}`"
        values = "" if field.values is None else f" [`{field.values.__name__}`](#{_anchor(field.values.__name__)})."
        rows.append((*bits, name, field.doc + values))
    yield from _table(("Word", "Bits", "Field", "Meaning"), rows)


def _encodings() -> Iterator[str]:
    yield from ("## Encodings", "")
    for enum in ENCODINGS:
        yield from (f"### `{enum.__name__}`", "", " ".join((enum.__doc__ or "").split()), "")
        docs = member_docs(enum)
        yield from _table(("Value", "Name", "Meaning"), [(str(int(m)), f"`{m.name}`", docs[m.name]) for m in enum])


def _registers(diagrams: str | None) -> Iterator[str]:
    yield from ("## Registers", "")
    yield (f"32 bits wide, little-endian, on AXI4-Lite with {registers.ADDRESS_BITS}-bit byte addresses. `ro` is read, "
           "`wo` written, `rw` both, `w1c` read and cleared by writing ones. Bits that belong to no field read 0; what "
           "is written to them has no effect. `conic verilog` writes the same map as C header (`conic_abi.h`: "
           "`CONIC_SET`, `CONIC_GET`, masks and shifts), SystemRDL (`.rdl`) and IP-XACT (`.xml`).")
    yield from ("", "### Control page", "", "From address 0; belongs to the kernel.", "")
    yield from _register_tables("control", diagrams)
    yield from ("### VP pages", "")
    yield (f"VP *v* has the page at `0x{registers.VP_PAGES:06x} + v * 0x{registers.VP_PAGE_BYTES:x}`, for the process "
           f"that owns it. Indexes count entries and wrap at 2^{registers.INDEX_BITS}, not at the ring's size.")
    yield ""
    yield from _register_tables("vp", diagrams)
    yield from ("### Event counters", "")
    yield "64 bits each, low half first; reading the low half latches the high half. On the control page."
    yield ""
    yield from _counter_table(registers.EVENT_COUNTERS)
    yield ("Cycles of the offload unit in `buffer_select`, by what it did or waited for; read likewise. They add up to "
           "the cycles since reset.")
    yield ""
    yield from _counter_table(registers.STATE_COUNTERS)
    yield from ("### Switch", "", "In an address space of its own.", "")
    yield from _register_tables("switch", diagrams)
    yield ("Counters of the port in `port_select`: 64 bits each, low half first; reading the low half latches the high "
           "half. A read waits until all events before it are counted, which takes some cycles for each port.")
    yield ""
    yield from _counter_table(registers.SWITCH_COUNTERS)
    yield from ("### Board", "", "What a board's own address space holds ([fpga](fpga.md)).", "")
    yield from _register_tables("board", diagrams)


def _register_tables(name: str, diagrams: str | None) -> Iterator[str]:
    """The registers of a page, and the fields of those whose bits have names."""
    page = PAGES[name]
    yield from _table(("Offset", "Register", "Access", "Bits", "Reset", "Meaning"), [
        (f"`0x{r.offset:03x}`", f"`{r.name}`", r.access.value, str(r.width), f"`0x{r.reset:x}`" if r.reset else "0",
         r.doc if r.count == 1 else f"{r.doc} {r.count} registers, 4 bytes apart.")
        for r in page
    ])
    rows = list(_field_rows(page))
    if not rows:
        return
    yield from ("Fields of those that hold more than one number:", "")
    if diagrams is not None:
        yield from (f"![Bits of the {name} registers]({diagrams}/{name}_registers.svg)", "")
    yield from _table(("Register", "Bits", "Field", "Access", "Reset", "A written 1", "Meaning"), rows)


def _field_rows(page: Page) -> Iterator[tuple[str, ...]]:
    for register in page:
        if not register.is_number:
            for field in register.fields:
                yield (f"`{register.name}`", field.bits, f"`{field.name}`", field.access.value, str(field.reset),
                       _on_one(field), field.doc)


def _on_one(field: RegisterField) -> str:
    """Effect of a written 1, and the side that wins against it."""
    words = {
        OnOne.IGNORES: "is ignored", OnOne.HOLDS: "is held", OnOne.CLEARS: "clears", OnOne.ACTS: "acts once",
    }[field.on_one]
    return words if field.winner is Winner.NOBODY else f"{words}; at once, {field.winner.value} wins"


def _counter_table(counters: Counters) -> Iterator[str]:
    yield from _table(("Address", "Counter", "Counts"), [
        (f"`0x{counters.offset(counter.name):03x}`", f"`{counter.name}`", counter.doc) for counter in counters
    ])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def _anchor(title: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
