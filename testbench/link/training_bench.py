"""Bench of the training of a reliable link: one end, and the control words that it sees."""

from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.wire import LINK_VERSION, ControlKind
from rtl.link.link_training import LinkTraining
from rtl.link.wire import Control, Training
from testbench import clock
from testbench.codec import decode, encode

SILENCE = 16
DEAD = 32
SIZES = {"data_width": 256, "buffer_flits": 64, "replay_flits": 128}
ALIKE = {"version": LINK_VERSION, "width": 2, "buffer": 6, "replay": 7}


def end() -> LinkTraining:
    """The end under test."""
    return LinkTraining(**SIZES, silence_cycles=SILENCE, dead_cycles=DEAD)


async def sees(dut: SimHandleBase, layout: Any, **fields: int) -> None:
    """One good control word."""
    dut.good.value, dut.fields.value = 1, encode(layout, fields)
    await RisingEdge(dut.clk)
    dut.good.value = 0
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)


async def trains(dut: SimHandleBase, **fields: int) -> None:
    """One training word of an end that is built alike, but for what is given."""
    await sees(dut, Training, **{"kind": ControlKind.TRAIN, **ALIKE, **fields})


def says(dut: SimHandleBase) -> dict[str, int]:
    """Fields of this end's training words."""
    return decode(Training, int(dut.training.value))


async def bring_up(dut: SimHandleBase) -> None:
    """Up, as with an end that was reset at the same time."""
    await clock.start(dut)
    assert (says(dut), dut.up.value) == ({"kind": 2, "seen": 0, "fresh": 1, **ALIKE, "reserved_0": 0}, 0)
    await trains(dut, fresh=1)
    assert (says(dut)["seen"], dut.up.value) == (1, 0)
    await trains(dut, fresh=1, seen=1)
    assert (says(dut)["fresh"], dut.up.value) == (0, 1)


@cocotb.test()
async def comes_up_by_a_word_of_an_end_that_is_up(dut: SimHandleBase) -> None:
    """But not before it has seen one that trains: such a word may be left over."""
    await clock.start(dut)
    await sees(dut, Control, kind=ControlKind.IDLE)
    assert not dut.up.value
    await trains(dut)
    await sees(dut, Control, kind=ControlKind.DATA)
    assert dut.up.value


@cocotb.test()
@cocotb.parametrize(reason=("silence", "retrain", "the other end"))
async def goes_down_and_comes_up_again(dut: SimHandleBase, reason: str) -> None:
    """Once for each reason, with one pulse; words of training that have been seen do not count any more."""
    await bring_up(dut)
    await sees(dut, Control, kind=ControlKind.IDLE)
    falls = 0
    dut.retrain.value = int(reason == "retrain")
    for cycle in range(SILENCE + 4):
        dut.good.value = int(reason == "the other end" and cycle == 0)
        dut.fields.value = encode(Training, {"kind": ControlKind.TRAIN, **ALIKE})
        await RisingEdge(dut.clk)
        dut.retrain.value = 0
        falls += int(dut.falls.value)
    assert (falls, dut.up.value, dut.refused.value) == (1, 0, 0)
    assert says(dut)["seen"] == int(reason == "the other end")
    await trains(dut, seen=1)
    assert dut.up.value


@cocotb.test()
@cocotb.parametrize(comes_up=(False, True))
async def is_dead_when_it_has_been_down_for_long(dut: SimHandleBase, comes_up: bool) -> None:
    """From reset on, or when it was up; until it comes up, which it does not while what is kept is thrown away."""
    await clock.start(dut)
    if comes_up:
        await trains(dut, fresh=1)
        await trains(dut, fresh=1, seen=1)
    down, seen = 0, []
    for _ in range(DEAD + SILENCE + 8):
        await RisingEdge(dut.clk)
        down = 0 if dut.up.value else down + 1
        seen.append((down, int(dut.dead.value)))
    first = next(down for down, dead in seen if dead)
    assert DEAD <= first <= DEAD + 4, first
    assert all(dead == (down >= first) for down, dead in seen)
    dut.empties.value = 1
    await trains(dut)
    await trains(dut, seen=1)
    assert (dut.up.value, dut.dead.value) == (0, 1)
    dut.empties.value = 0
    await trains(dut, seen=1)
    assert (dut.up.value, dut.dead.value) == (1, 0)


@cocotb.test()
async def stays_up_while_words_come(dut: SimHandleBase) -> None:
    """Silence counts from the last one on."""
    await bring_up(dut)
    for _ in range(10):
        await sees(dut, Control, kind=ControlKind.IDLE)
        await clock.cycles(dut, SILENCE - 6)
        assert dut.up.value


@cocotb.test()
@cocotb.parametrize(reason=("reset alone", "wrong", *ALIKE))
async def refuses_for_good(dut: SimHandleBase, reason: str) -> None:
    """An end that was reset alone, acknowledges what was not sent, or is built otherwise."""
    if reason in ALIKE:
        await clock.start(dut)
        await trains(dut, **{reason: ALIKE[reason] ^ 1})
    else:
        await bring_up(dut)
        await sees(dut, Control, kind=ControlKind.IDLE)
        assert not dut.refused.value
        if reason == "wrong":
            dut.wrong.value = 1
            await RisingEdge(dut.clk)
            dut.wrong.value = 0
            await clock.cycles(dut, 2)
        else:
            await trains(dut, fresh=1)
    assert (dut.refused.value, dut.up.value) == (1, 0)
    await trains(dut, seen=1)
    await sees(dut, Control, kind=ControlKind.IDLE)
    assert not dut.up.value


@cocotb.test()
async def a_fresh_end_is_welcome_before_any_word(dut: SimHandleBase) -> None:
    """If the other end has never reported that it is up, nothing of what was sent counts, and it may still be reset."""
    await bring_up(dut)
    await trains(dut, fresh=1)
    assert not dut.refused.value
