"""A link's replay buffer beside lists of flits: losses, replays, falls of the link, and credits that all return."""

import random
from collections import Counter
from itertools import cycle
from typing import Any

import pytest

from rtl.link.replay_buffer import ReplayBuffer
from testbench.parts.faults import changed
from testbench.parts.simulation import run

WIDTH, LAST = 16, 1 << 16
QUIET = 250
"""Cycles at the end in which nothing new comes."""


class Channel:
    """One channel's flits by their number, where its ends stand, and its credits."""

    def __init__(self, n_credits: int):
        self.flits: dict[int, tuple[int, int, int]] = {}
        self.put = self.sent = self.oldest = self.given = self.freed = 0
        self.credits, self.inside, self.drains, self.stale, self.changed = n_credits, 0, False, False, False
        # The other end: flits that it has, those of whole packets, those whose room is free, and a gap.
        self.expected = self.whole = self.free = 0
        self.gap = False

    def lasts(self, first: int, end: int) -> int:
        """Packets that end between two numbers."""
        return sum(self.flits[number][1] for number in range(first, end))


class Ends:
    """Whoever has flits, whoever sends them, the other end and the training of the link, beside the model of both."""

    def __init__(self, part: ReplayBuffer, rng: random.Random, cycles: int):
        self.part, self.rng, self.cycles_left = part, rng, cycles
        self.modulus = 2 * part.replay_flits
        self.channels = [Channel(part.buffer_flits) for _ in range(2)]
        self.counts: Counter[str] = Counter()
        self.at = self.ahead = self.lost_kept = self.lost_come = 0
        self.link, self.link_cycles, self.emptying = "up", 100, 0
        self.found = [0, 0]
        self.falls = cycle(("down", "dead"))

    def drive(self, context: Any) -> None:
        self.cycles_left -= 1
        rng, part, quiet = self.rng, self.part, self.cycles_left < QUIET
        # A flit that comes, against a credit.
        self.flit = None
        able = [vc for vc, channel in enumerate(self.channels) if channel.credits and (not quiet or channel.inside)]
        if able and rng.random() < 0.7:
            vc = rng.choice(able)
            last = rng.random() < 0.3 or self.channels[vc].inside == part.buffer_flits - 1
            bad = rng.getrandbits(1) if last and part.marked else 0
            self.flit = (vc, (rng.getrandbits(WIDTH), int(last), bad))
        context.set(part.i.valid, self.flit is not None)
        vc, (data, last, bad) = self.flit or (rng.getrandbits(1), (rng.getrandbits(WIDTH), 1, 1))
        context.set(part.i.flit, {"data": data, "last": last, "vc": vc, "bad": bad})

        # The link: up, down for a short time, or dead until the buffer is empty.
        self.link_cycles -= 1
        if self.link_cycles <= 0 and not (self.link == "dead" and self.emptying):
            self.link = "up" if self.link != "up" or quiet else next(self.falls)
            self.link_cycles = rng.randint(60, 200) if self.link == "up" else rng.randint(3, 30)
            self.counts[self.link] += 1
            self.emptying = self.link == "dead"
            if self.link == "up":
                # The other end has forgotten packets that it had in part, and all its room is free.
                for channel in self.channels:
                    if channel.drains:
                        channel.expected = channel.free = channel.whole
                        channel.gap = False
        up = self.link == "up"
        context.set(part.link.up, up)
        context.set(part.link.dead, self.link == "dead")

        # A notice of the other end, as it stands; now and then one about flits that there are not.
        self.notice = None
        if up and rng.random() < (0.5 if quiet else 0.3):
            vc = rng.randrange(2)
            channel, is_credit = self.channels[vc], rng.randrange(2)
            channel.free = rng.randint(channel.free, channel.whole) if not quiet else channel.whole
            replay = int(channel.gap and not is_credit)
            value = channel.free if is_credit else channel.whole
            if not is_credit and not channel.drains and rng.random() < 0.03:
                value, replay = rng.randint(channel.put + 1, channel.oldest + self.modulus - 1), 0
            self.notice = (vc, is_credit, replay, value)
        vc, is_credit, replay, value = self.notice or (rng.getrandbits(1), rng.getrandbits(1), 1, rng.getrandbits(9))
        context.set(part.notice.valid, self.notice is not None)
        context.set(part.notice.payload, {
            "about": vc, "is_credit": is_credit, "replay": replay, "value": value % self.modulus})

        # The sender: asks for a channel's flit, and sends it unless the numbers have just jumped.
        self.back = 0b11 if not up else rng.choice((0,) * 40 + (1, 2, 3))
        self.at, self.ahead = self.ahead, self.ahead ^ (rng.random() < 0.3)
        if up and quiet:
            self.back = 0 if self.cycles_left % 32 else 0b11
        channel = self.channels[self.at]
        self.readable = not channel.drains and channel.sent != channel.put and not channel.stale
        self.sends = up and self.readable and rng.random() < 0.8
        context.set(part.back, self.back)
        context.set(part.ahead, self.ahead)
        context.set(part.sends, self.sends)

    def settle(self, read: Any) -> None:
        part = self.part
        if self.readable:
            flit = self.channels[self.at].flits[self.channels[self.at].sent]
            assert (read(part.o.data), read(part.o.last), read(part.o.bad)) == flit
            assert read(part.o.vc) == self.at
        assert read(part.drains) == sum(channel.drains << vc for vc, channel in enumerate(self.channels))
        assert read(part.wrong) == any(self._wrong(vc) for vc in range(2))
        self.found[0] += read(part.lost) & 1
        self.found[1] += read(part.lost) >> 1
        empties = read(part.link.empties)
        if self.link == "dead":
            self.emptying = self.emptying + 1 if empties else 0
            assert self.emptying < 4 * part.replay_flits + 8, "the buffer does not become empty"
        if not empties:
            assert self.found[0] == self.lost_kept
        if read(part.i.credit_valid):
            self._credit(self.channels[read(part.i.credit_vc)])
        for vc in range(2):
            self._channel(read, vc)
        assert self.found[1] == self.lost_come

    def _credit(self, channel: Channel) -> None:
        """A credit comes: never more than the other end has room for, nor than the ring has."""
        channel.credits, channel.given = channel.credits + 1, channel.given + 1
        assert channel.credits <= self.part.buffer_flits
        if not channel.drains and not channel.changed:
            spare = self.part.replay_flits - self.part.buffer_flits
            assert channel.given <= min(channel.freed, channel.oldest + spare)
            self.counts["held back"] += channel.freed > channel.oldest + spare

    def _wrong(self, vc: int) -> bool:
        """True if flits of this channel are acknowledged that it does not have."""
        channel = self.channels[vc]
        about, is_credit, _, value = self.notice or (2, 0, 0, 0)
        return about == vc and not is_credit and not channel.drains and value > channel.put

    def _channel(self, read: Any, vc: int) -> None:
        """Compares one channel with its model, and moves that on."""
        part, channel = self.part, self.channels[vc]
        position = read(part.position[vc])
        if not channel.drains:
            assert position == channel.sent % self.modulus
            assert read(part.waits) >> vc & 1 == (channel.lasts(channel.oldest, channel.sent) > 0)
        assert read(part.available) >> vc & 1 == (not channel.drains and channel.sent != channel.put)
        about, is_credit, replay, value = self.notice or (2, 0, 0, 0)
        acknowledged = value if about == vc and not is_credit and not self._wrong(vc) else None
        self.counts["wrong"] += self._wrong(vc)
        leaves = channel.changed = False
        before, goes, put = channel.sent, self.sends and self.at == vc, channel.put
        if goes:
            self._arrive(channel)
            channel.sent += 1
        if channel.drains:
            ended = self.flit[1][1] if self.flit and self.flit[0] == vc else not channel.inside
            leaves = (acknowledged is not None and acknowledged == channel.freed and bool(ended)
                      and self.link == "up")
        else:
            progress = acknowledged is not None and acknowledged > channel.oldest
            assert read(part.progress) >> vc & 1 == progress
            jumps = self.back >> vc & 1
            if acknowledged is not None:
                jumps |= replay | (before < acknowledged)
                self.counts["behind"] += before < acknowledged
                self.counts["replay"] += replay
                channel.oldest = acknowledged
            channel.sent = channel.oldest if jumps else channel.sent
            channel.stale = bool(jumps)
            assert read(part.jumps) >> vc & 1 == jumps
            self.counts["progress"] += progress
        if self.flit and self.flit[0] == vc:
            self._come(channel, self.flit[1])
        if about == vc and is_credit:
            channel.freed = value
        if leaves:
            # Flits that were kept, or had been sent, are no more: numbers go on where the other end stands.
            assert read(part.jumps) >> vc & 1
            channel.given += acknowledged - put
            channel.put = channel.sent = channel.oldest = acknowledged
            channel.drains, channel.stale, channel.changed = False, True, True
            self.counts["leaves"] += 1
        if self.link == "dead" and not channel.drains:
            self.lost_kept += channel.lasts(channel.sent, channel.put)
            self.counts["kept and lost"] += channel.lasts(channel.sent, channel.put)
            channel.drains = True

    def _come(self, channel: Channel, flit: tuple[int, int, int]) -> None:
        channel.credits -= 1
        channel.inside = 0 if flit[1] else channel.inside + 1
        if channel.drains:
            channel.given -= 1
            self.lost_come += flit[1]
            return
        channel.flits[channel.put] = flit
        channel.put += 1
        assert channel.put - channel.oldest <= self.part.replay_flits
        self.counts["full"] += channel.put - channel.oldest == self.part.replay_flits

    def _arrive(self, channel: Channel) -> None:
        """The flit that is sent reaches the other end, which takes those that follow the ones that it has."""
        if channel.sent == channel.expected and (self.rng.random() > 0.05 or self.cycles_left < QUIET):
            channel.gap = False
            channel.expected += 1
            if channel.flits[channel.sent][1]:
                channel.whole = channel.expected
        elif channel.sent >= channel.expected:
            channel.gap = True


@pytest.mark.parametrize(("buffer_flits", "replay_flits", "marked"), [(8, 8, True), (9, 16, False)])
@pytest.mark.parametrize("seed", range(2))
def test_replay(buffer_flits: int, replay_flits: int, marked: bool, seed: int) -> None:
    """Each flit comes out where its number says, again if asked for, until it is acknowledged or the link is dead."""
    rng = random.Random(seed)
    part = ReplayBuffer(data_width=WIDTH, buffer_flits=buffer_flits, replay_flits=replay_flits, marked=marked)
    ends = Ends(part, rng, cycles=1400)
    run(part, [ends], cycles=1400, rng=rng)
    for channel in ends.channels:
        assert (channel.sent, channel.oldest, channel.credits) == (channel.put, channel.put, buffer_flits)
    counts = ends.counts
    assert min(counts[case] for case in ("progress", "replay", "down", "dead", "leaves", "kept and lost")) > 0, counts
    assert min(counts[case] for case in ("behind", "wrong")) > 0, counts
    assert counts["held back"] or replay_flits > buffer_flits, counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("Mux(passes_by, fresh.as_value(), store.read_data)", "store.read_data", id="flit-that-has-just-come"),
    pytest.param("(ring.oldest + spare)", "(ring.put + spare)", id="credits-beyond-the-ring"),
    pytest.param("taken & (notice.replay | behind)", "taken & notice.replay", id="acknowledged-flits-sent-again"),
    pytest.param("moved.eq(Mux(leaves, acknowledged, 0))", "moved.eq(0)", id="credits-after-a-dead-link"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ReplayBuffer", changed(ReplayBuffer, old, new))
    with pytest.raises(AssertionError):
        test_replay(9, 16, False, 1)
