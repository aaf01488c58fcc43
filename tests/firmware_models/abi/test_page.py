"""The generated page and diagrams hold every field, member and register."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from firmware_models.abi import encoding
from firmware_models.abi.bit_diagram import BIT_WIDTH, ROW_BITS, bit_diagram, register_diagram
from firmware_models.abi.format import WORD_BITS, Format
from firmware_models.abi.formats import FORMATS
from firmware_models.abi.markdown import ENCODINGS, PAGES, abi_page
from firmware_models.abi.member_doc import member_docs


def test_page_is_complete() -> None:
    page = abi_page()
    for fmt in FORMATS:
        for field in fmt.fields:
            assert field.is_reserved or f"| `{field.name}` | {field.doc}" in page
    for enum in ENCODINGS:
        for member in enum:
            assert f"| {int(member)} | `{member.name}` |" in page
    for register in (register for registers in PAGES.values() for register in registers):
        assert f"| `0x{register.offset:03x}` | `{register.name}` | {register.access.value} |" in page
        for field in register.fields:
            row = f"| `{register.name}` | {field.bits} | `{field.name}` | {field.access.value} | {field.reset} |"
            assert (row in page) != register.is_number


def test_page_says_who_wins() -> None:
    assert "| `written` | w1c | 0 | clears; at once, hardware wins |" in abi_page()


def test_member_docs() -> None:
    docs = member_docs(encoding.Status)
    assert docs["OK"] == "Done; results are in place."
    assert member_docs(encoding.CplKind)["SEND"] == ""
    assert set(docs) == {member.name for member in encoding.Status}


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_diagram_shows_every_bit(fmt: Format) -> None:
    """The cells' widths add up to the format's, whole words counted once a row."""
    diagram = ElementTree.fromstring(bit_diagram(fmt))
    cells = [rect for rect in diagram.iter("{http://www.w3.org/2000/svg}rect") if rect.get("class")]
    drawn = sum(int(rect.get("width", "0")) for rect in cells) // BIT_WIDTH
    whole = [field.width for field in fmt.fields if field.width >= WORD_BITS]
    assert drawn == fmt.width - sum(whole) + ROW_BITS * len(whole)
    names = {text.text for text in diagram.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "name"}
    assert names == {field.name for field in fmt.fields if not field.is_reserved}
    assert not re.search(r"reserved_\d", bit_diagram(fmt))


@pytest.mark.parametrize("name", [name for name in PAGES if name != "vp"])
def test_register_diagram_shows_every_bit(name: str) -> None:
    """Every named field once, under its register's name, and 32 bits a row."""
    page = [register for register in PAGES[name] if not register.is_number]
    diagram = ElementTree.fromstring(register_diagram(name, PAGES[name]))
    cells = [rect for rect in diagram.iter("{http://www.w3.org/2000/svg}rect") if rect.get("class")]
    assert sum(int(rect.get("width", "0")) for rect in cells) == BIT_WIDTH * ROW_BITS * len(page)
    shown = {kind: sorted(text.text or "" for text in diagram.iter("{http://www.w3.org/2000/svg}text")
                          if text.get("class") == kind) for kind in ("label", "name")}
    assert shown["label"] == sorted(register.name for register in page)
    assert shown["name"] == sorted(field.name for register in page for field in register.fields)
