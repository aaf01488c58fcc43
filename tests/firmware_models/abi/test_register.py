"""Registers and their fields: words, positions, and what is refused."""

import random

import pytest

from firmware_models.abi import board, registers
from firmware_models.abi.encoding import Right
from firmware_models.abi.format import FormatError
from firmware_models.abi.register import Access, OnOne, Register, RegisterField, Winner, flag, halves, joined, number
from firmware_models.abi.register_page import Counter, Counters, Page

PAGES = {
    "control": registers.CONTROL_PAGE, "vp": registers.VP_PAGE, "switch": registers.SWITCH_PAGE,
    "board": board.BOARD_PAGE,
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_round_trip(page: Page) -> None:
    """Unpacking gives the values that were packed, at the extremes and at random, and every field has bits of its own.
    """
    rng = random.Random(len(page))
    for register in page:
        together = 0
        for field in register.fields:
            assert not together & field.mask
            together |= field.mask
            assert register.pack(**{field.name: field.max_value}) == field.mask
        for choose in (lambda _: 0, lambda field: field.max_value, lambda field: rng.getrandbits(field.width)):
            values = {field.name: choose(field) for field in register.fields}
            word = register.pack(**values)
            assert register.unpack(word) == values
            assert not word & ~together
            assert register.unpack(word | ~together & 0xFFFFFFFF) == values
        assert register.width == together.bit_length() == register.format.width


def test_words_of_the_map() -> None:
    """Words that boards, drivers and Verilog in the field rely on."""
    control, switch = registers.CONTROL_PAGE, registers.SWITCH_PAGE
    assert control.pack("control", enable=1) == 1
    assert control.pack("group_entry", mgid=0xABCDEF, joined=1) == 0x80ABCDEF
    assert control.pack("vp_commit", enable=1, keep_windows=1) == 3
    assert control.pack("buffer_fault", memory=3, errors=1, first_bit=0x5A) == 0x5A7
    assert control["vp_window_rights"].reset == 0xF
    assert switch.pack("mft_block", block=0x1FF, group=3) == 0x300001FF
    assert switch["port_credits"].unpack(0x00400020) == {"channel_0": 0x20, "channel_1": 0x40}
    assert board.BOARD_PAGE.pack("leds", failed=1) == 2
    assert registers.vp_address(3, "rq_cons") == 0x803008
    assert registers.EVENT_COUNTERS.offset("rx_packets") == 0x208
    assert registers.EVENT_COUNTERS.end == 0x200 + 8 * len(registers.EVENT_COUNTERS)


@pytest.mark.parametrize("rights", [(), tuple(Right), (Right.REMOTE_READ,), (Right.LOCAL_READ, Right.LOCAL_READ)])
def test_rights(rights: tuple[Right, ...]) -> None:
    assert registers.rights_word(rights) == sum(1 << right for right in set(rights))


def test_halves() -> None:
    assert halves(0x0123456789ABCDEF) == (0x89ABCDEF, 0x01234567)
    assert joined(*halves(0x0123456789ABCDEF)) == 0x0123456789ABCDEF


def test_who_wins() -> None:
    """The one field that both sides write says who wins; software reads what it may clear."""
    both = {field.name: field for page in PAGES.values() for register in page for field in register.fields
            if field.winner is not Winner.NOBODY}
    assert list(both) == ["written"]
    assert both["written"].winner is Winner.HARDWARE
    assert both["written"].on_one is OnOne.CLEARS


@pytest.mark.parametrize(("values", "message"), [
    ({"mgid": 1 << 24}, "group_entry.mgid must be 0 to 16777215, not 16777216"),
    ({"joined": -1}, "group_entry.joined must be 0 to 1, not -1"),
    ({"left": 1}, "group_entry has no field 'left'"),
])
def test_refused_word(values: dict[str, int], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        registers.CONTROL_PAGE.pack("group_entry", **values)
    assert str(caught.value) == message


def test_unknown_names() -> None:
    with pytest.raises(FormatError, match="there is no register 'kontrol'"):
        registers.CONTROL_PAGE.pack("kontrol", enable=1)
    with pytest.raises(KeyError, match="control has no field 'on'"):
        registers.CONTROL_PAGE["control"]["on"]
    with pytest.raises(KeyError, match="there is no counter 'sheep'"):
        Counters(0, (Counter("rx", ""),)).offset("sheep")


@pytest.mark.parametrize(("make", "message"), [
    (lambda: flag("x", 32, Access.RW, ""), "x: bits must be within 31:0, not 32:32"),
    (lambda: RegisterField("x", 1, 2, Access.RW, ""), "x: bits must be within 31:0, not 1:2"),
    (lambda: flag("x", 0, Access.RW, "", reset=2), "x: reset must be 0 to 1, not 2"),
    (lambda: flag("x", 0, Access.W1C, ""), "x: winner must be said of fields that both sides write, and of no others"),
    (lambda: flag("x", 0, Access.RW, "", winner=Winner.SOFTWARE),
     "x: winner must be said of fields that both sides write, and of no others"),
    (lambda: number("x", 2, Access.RW, ""), "x: offset must be a multiple of 4, not 0x2"),
    (lambda: Register("x", 0, "", ()), "x: field names must be unique, and at least one, not []"),
    (lambda: Register("x", 0, "", (flag("a", 3, Access.RW, ""), flag("b", 3, Access.RW, ""))),
     "x.b must begin at bit 4 or above, not 3"),
    (lambda: Page((number("x", 0, Access.RW, "", count=2), number("y", 4, Access.RW, ""))),
     "y must stand at 0x8 or above, not 0x4"),
    (lambda: Page((number("x", 0, Access.RW, ""), number("x", 4, Access.RW, ""))),
     "register names must be unique, not ['x', 'x']"),
])
def test_refused_map(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared
        make()
    assert str(caught.value) == message
