"""ACKs beside the operations that were opened: only those of whom was asked, with the nonce, become commands."""

import inspect
import random
from collections import Counter
from typing import Any

import pytest

from firmware_models.abi.encoding import PacketType
from firmware_models.abi.formats import NONCE_FIELDS, nonce_fields
from rtl.abi import PacketHeader
from rtl.p2p import answer_check, records
from rtl.p2p.answer_check import AnswerCheck
from rtl.p2p.records import Outstanding, TrackerCommand
from testbench.parts.faults import changed
from testbench.parts.simulation import Offers, Takes, fields, run

N_ENTRIES, CYCLES = 4, 2500
BEARERS = ("source_id", "source_vp", "dest_vp", *NONCE_FIELDS)
"""Fields of an answer that say whose it is."""


class Checker:
    """The part beside those who open operations, and those who answer them or would like to have."""

    def __init__(self, rng: random.Random):
        self.rng, self.part = rng, AnswerCheck(n=N_ENTRIES)
        self.answers, self.commands = Offers(self.part.i, rng, self._answer), Takes(self.part.o, rng)
        self.answers.may = lambda: bool(self.opened)
        self.opened: dict[int, dict[str, int]] = {}
        self.before: list[dict[str, int]] = []
        self.expected: list[tuple[int, int, int]] = []
        self.counts: Counter[str] = Counter()
        self.pulses: Counter[str] = Counter()
        self.looked_at: dict[str, int] | None = None
        """Operation of the answer's entry as it is when the answer is looked at."""
        self.is_new = True

    def _answer(self) -> int:
        """Draws an ACK: the right one, one with a bit that is wrong, one of an earlier operation, anything."""
        rng = self.rng
        asked = rng.choice([*self.opened.values()] if rng.random() < 0.85 else self.before or [*self.opened.values()])
        header = {
            "type": PacketType.ACK, "tag": asked["number"], "source_id": asked["node"], "source_vp": asked["peer_vp"],
            "dest_vp": asked["vp"], "status": rng.getrandbits(8), "addr": rng.getrandbits(64),
            "length": rng.getrandbits(13), **nonce_fields(asked["nonce"]),
        }
        if rng.random() < 0.6:
            name = rng.choice(("tag", *BEARERS))
            header[name] ^= 1 << rng.randrange(2 if name == "tag" else 0, PacketHeader.members[name].width)
        return int(PacketHeader.const(header).as_bits())

    def drive(self, context: Any) -> None:
        """Opens an operation now and then, but none whose answer is being compared."""
        rng, opens = self.rng, {}
        if rng.random() < 0.1:
            opens = {"number": rng.getrandbits(16), "vp": rng.getrandbits(11), "node": rng.getrandbits(24),
                     "peer_vp": rng.getrandbits(11), "nonce": rng.getrandbits(32)}
            if rng.random() < 0.3 and self.opened:
                opens = rng.choice([*self.opened.values()]) | {"number": opens["number"]}
        context.set(self.part.opened, bool(opens))
        shown = opens or {name: rng.getrandbits(width.width) for name, width in Outstanding}
        context.set(self.part.outstanding, shown)
        self.opening = opens

    def settle(self, read: Any) -> None:
        """Follows each answer from the cycle on in which it is looked at."""
        part = self.part
        for name in ("unknown", "forged"):
            self.pulses[name] += read(getattr(part, name))
        if self.answers.offered is None:
            self.is_new = True
        else:
            header = fields(PacketHeader, self.answers.offered)
            if self.is_new:
                self.looked_at, self.is_new = self.opened.get(header["tag"] % N_ENTRIES), False
            if read(part.i.ready):
                self._judge(header)
                self.is_new = True
        if self.opening:
            entry = self.opening["number"] % N_ENTRIES
            self.before += [self.opened[entry]] if entry in self.opened else []
            self.opened[entry] = self.opening

    def _judge(self, header: dict[str, int]) -> None:
        asked = self.looked_at
        if asked is None or asked["number"] != header["tag"]:
            self.counts["unknown"] += 1
            return
        expected = {"source_id": asked["node"], "source_vp": asked["peer_vp"], "dest_vp": asked["vp"],
                    **nonce_fields(asked["nonce"])}
        wrong = [name for name in BEARERS if header[name] != expected[name]]
        self.counts.update([*wrong, "forged"] if wrong else ["right"])
        if not wrong:
            self.expected.append((header["tag"], header["status"], header["addr"]))


@pytest.mark.parametrize("seed", range(2))
def test_check(seed: int) -> None:
    checker = Checker(random.Random(seed))
    run(checker.part, [checker, checker.answers, checker.commands], cycles=CYCLES, rng=checker.rng)
    found = [fields(TrackerCommand, bits) for bits in checker.commands.taken]
    assert [(one["number"], one["status"], one["detail"]) for one in found] == checker.expected
    assert {name: checker.pulses[name] for name in ("unknown", "forged")} == {
        name: checker.counts[name] for name in ("unknown", "forged")}
    assert min(checker.counts[name] for name in (*BEARERS, "unknown", "right")) > 2, checker.counts


def test_rate() -> None:
    """An answer takes three cycles."""
    checker = Checker(random.Random(0))
    checker.answers.rate = checker.commands.rate = 1
    run(checker.part, [checker, checker.answers, checker.commands], cycles=600, rng=checker.rng)
    assert len(checker.answers.taken) >= 600 // 3 - 10


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("~wrong.any())", "~wrong[0])", id="number-alone"),
    pytest.param("self.forged.eq(~wrong[0] & wrong[1:].any())", "self.forged.eq(wrong[1:].any())", id="counted-twice"),
    pytest.param("self.o.ready | wrong.any()", "1", id="lost"),
    pytest.param("self.outstanding.number[:entry_bits]", "self.outstanding.number[:entry_bits - 1]", id="entry"),
    pytest.param("command.detail.eq(header.addr)", "command.detail.eq(0)", id="no-address"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "AnswerCheck", changed(AnswerCheck, old, new))
    with pytest.raises(AssertionError):
        test_check(0)


@pytest.mark.parametrize("old", [
    "outstanding.vp != answer.dest_vp", "outstanding.node != answer.source_id",
    "outstanding.peer_vp != answer.source_vp",
    "outstanding.nonce[:half] != nonce[:half]", "outstanding.nonce[half:] != nonce[half:]",
])
def test_planted_comparisons(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comparison that is left out is found."""
    names = dict(vars(records))
    source = inspect.getsource(records)
    assert source.count(old) == 1
    new = f"outstanding.vp[:0] != {old.split(' != ')[0]}[:0]"
    exec(compile(source.replace(old, new), records.__file__, "exec"), names)
    monkeypatch.setattr(answer_check, "differs", names["differs"])
    with pytest.raises(AssertionError):
        test_check(0)
