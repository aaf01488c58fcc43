"""The register map, the formats and the encodings as a Markdown page."""

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum

from . import encoding, registers
from .format import WORD_BITS, Format
from .formats import FORMATS
from .member_doc import member_docs

ENCODINGS: tuple[type[IntEnum], ...] = tuple(
    entry for entry in vars(encoding).values()
    if isinstance(entry, type) and issubclass(entry, IntEnum) and entry is not IntEnum
)
"""Every encoding, in the order of the source."""


def abi_page(*, diagrams: str | None = None) -> str:
    """The page.

    Parameters
    ----------
    diagrams : str, optional
        Folder of the bit diagrams, relative to the page: `<folder>/<format>.svg`. Without it the page has the
        tables only.
    """
    return "\n".join([*_head(), *_formats(diagrams), *_encodings(), *_registers()]).rstrip() + "\n"


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
            place = (f"{word}-{(offset + field.width) // WORD_BITS - 1}", "all")
        else:
            high = low + field.width - 1
            place = (str(word), str(low) if high == low else f"{high}:{low}")
        name = "reserved" if field.is_reserved else f"`{field.name}`"
        values = "" if field.values is None else f" [`{field.values.__name__}`](#{_anchor(field.values.__name__)})."
        rows.append((*place, name, field.doc + values))
    yield from _table(("Word", "Bits", "Field", "Meaning"), rows)


def _encodings() -> Iterator[str]:
    yield from ("## Encodings", "")
    for enum in ENCODINGS:
        yield from (f"### `{enum.__name__}`", "", " ".join((enum.__doc__ or "").split()), "")
        docs = member_docs(enum)
        yield from _table(("Value", "Name", "Meaning"), [(str(int(m)), f"`{m.name}`", docs[m.name]) for m in enum])


def _registers() -> Iterator[str]:
    yield from ("## Registers", "")
    yield (f"32 bits wide, little-endian, on AXI4-Lite with {registers.ADDRESS_BITS}-bit byte addresses. `ro` is read, "
           "`wo` written, `rw` both, `w1c` read and cleared by writing ones.")
    yield from ("", "### Control page", "", "From address 0; belongs to the kernel.", "")
    yield from _register_table(registers.CONTROL_PAGE)
    yield from ("### VP pages", "")
    yield (f"VP *v* has the page at `0x{registers.VP_PAGES:06x} + v * 0x{registers.VP_PAGE_BYTES:x}`, for the process "
           "that owns it. Indexes count entries and wrap at 2^16, not at the ring's size.")
    yield ""
    yield from _register_table(registers.VP_PAGE)
    yield from ("### Event counters", "")
    yield "64 bits each, low half first; reading the low half latches the high half. On the control page."
    yield ""
    yield from _table(("Address", "Counter", "Counts"), [
        (f"`0x{registers.COUNTERS + 8 * number:03x}`", f"`{counter.name}`", counter.doc)
        for number, counter in enumerate(registers.EVENT_COUNTERS)
    ])
    yield ("Cycles of the offload unit in `buffer_select`, by what it did or waited for; read likewise. They add up to "
           "the cycles since reset.")
    yield ""
    yield from _table(("Address", "Counter", "Counts"), [
        (f"`0x{registers.STATE_COUNTERS_AT + 8 * number:03x}`", f"`{counter.name}`", counter.doc)
        for number, counter in enumerate(registers.STATE_COUNTERS)
    ])
    yield from ("### Switch", "", "In an address space of its own.", "")
    yield from _register_table(registers.SWITCH_PAGE)
    yield ("Counters of the port in `port_select`: 64 bits each, low half first; reading the low half latches the high "
           "half. A read waits until all events before it are counted, which takes some cycles for each port.")
    yield ""
    yield from _table(("Address", "Counter", "Counts"), [
        (f"`0x{registers.SWITCH_COUNTERS_AT + 8 * number:03x}`", f"`{counter.name}`", counter.doc)
        for number, counter in enumerate(registers.SWITCH_COUNTERS)
    ])


def _register_table(page: Iterable[registers.Register]) -> Iterator[str]:
    yield from _table(("Offset", "Register", "Access", "Bits", "Reset", "Meaning"), [
        (f"`0x{r.offset:03x}`", f"`{r.name}`", r.access.value, str(r.width), f"`0x{r.reset:x}`" if r.reset else "0",
         r.doc if r.count == 1 else f"{r.doc} {r.count} registers, 4 bytes apart.")
        for r in page
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
