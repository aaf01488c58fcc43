"""Memory windows, beside the windows as lists, while records and windows change under the queries."""

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from firmware_models.abi.encoding import Right
from rtl.interface import WindowQuery
from rtl.queue.records import VpCommit, VpRecord, WindowCommit
from rtl.queue.window_check import WindowCheck
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run

Window = tuple[int, int, int]
"""Base, limit, rights."""


@dataclass
class Port:
    """Windows of a VP; none holds anything while it is closed."""

    enabled: bool = False
    windows: dict[int, Window] = field(default_factory=dict)

    def copy(self) -> "Port":
        """The same, for later."""
        return Port(self.enabled, dict(self.windows))


class Software:
    """Records and windows as they are loaded, with every state that a VP has gone through."""

    def __init__(self, part: WindowCheck, rng: random.Random):
        self.part, self.rng = part, rng
        self.flit, self.space = part.data_width // 8, 1 << part.address_bits
        self.ports = [Port() for _ in range(part.n_vps)]
        self.history: list[list[tuple[int, Port]]] = [[(-1, port.copy())] for port in self.ports]

    def bounds(self) -> tuple[int, int]:
        """A window of some flits near few places, an empty one, one with odd bounds, or one up to the last address."""
        rng = self.rng
        base = rng.choice((0, 1 << 12, self.space - 16 * self.flit)) + self.flit * rng.randrange(8)
        limit = rng.choice((base + self.flit * rng.randrange(9), base, base - 1, self.space - 1))
        if rng.random() < 0.2:
            base, limit = base + rng.choice((-1, 1)), limit + rng.choice((-1, 1))
        return max(0, base), max(0, limit)

    def foreign(self) -> int:
        """Bits that an address of this build has not, in some of the windows."""
        beyond = 64 - self.part.address_bits
        return self.rng.getrandbits(beyond) << self.part.address_bits if beyond and self.rng.random() < 0.3 else 0

    def rights(self) -> int:
        """Rights of a window, or none."""
        return self.rng.choice((0, 15, self.rng.getrandbits(len(Right))))

    def kept(self, base: int, limit: int, rights: int) -> Window:
        """A window as it is kept."""
        return base % self.space, limit % self.space, rights

    def draw_commit(self) -> int:
        """A record of a VP."""
        rng = self.rng
        base, limit = self.bounds()
        record = fields(VpRecord, rng.getrandbits(VpRecord.size)) | {
            "enable": rng.random() < 0.8, "window_base": (base | self.foreign()) % (1 << 64),
            "window_limit": (limit % self.space | self.foreign()) % (1 << 64), "window_rights": self.rights(),
        }
        commit = {"vp": rng.randrange(self.part.n_vps), "wipe": 0, "keep": rng.random() < 0.3, "record": record}
        return int(VpCommit.const(commit).as_bits())

    def draw_window(self) -> int:
        """A window of a VP."""
        base, limit = self.bounds()
        window = {"base": base | self.foreign(), "limit": limit % self.space | self.foreign(), "rights": self.rights()}
        return int(WindowCommit.const({
            "vp": self.rng.randrange(self.part.n_vps), "index": self.rng.randrange(self.part.n_windows),
            "window": window,
        }).as_bits())

    def note(self, vp: int, cycle: int) -> None:
        """Notes a change that queries see whose turn comes later."""
        self.history[vp].append((cycle, self.ports[vp].copy()))

    def close(self, item: int, cycle: int) -> None:
        """A commit begins."""
        vp = fields(VpCommit, item)["vp"]
        self.ports[vp].enabled = False
        self.note(vp, cycle)

    def load(self, item: int, cycle: int) -> None:
        """A commit ends."""
        commit = fields(VpCommit, item)
        record, port = fields(VpRecord, commit["record"]), self.ports[commit["vp"]]
        if not commit["keep"]:
            names = ("window_base", "window_limit", "window_rights")
            port.windows = {0: self.kept(*(record[name] for name in names))}
        port.enabled = bool(record["enable"])
        self.note(commit["vp"], cycle)

    def register(self, item: int, cycle: int) -> None:
        """A window is registered, or withdrawn."""
        shown = fields(WindowCommit, item)
        window = fields(WindowCommit["window"].shape, shown["window"])
        self.ports[shown["vp"]].windows[shown["index"]] = self.kept(
            window["base"], window["limit"], window["rights"])
        self.note(shown["vp"], cycle)

    def finds(self, query: dict[str, int], port: Port) -> int | None:
        """Index of the first window that holds the memory of a query, if any does."""
        if not port.enabled or query["addr"] % self.flit:
            return None
        end = query["addr"] + query["bytes"]
        return next((
            index for index, (base, limit, rights) in sorted(port.windows.items())
            if base <= query["addr"] < self.space and end <= limit and rights >> query["right"] & 1
        ), None)

    def states(self, query: dict[str, int], since: int, until: int) -> list[Port]:
        """The states that a VP had from one cycle to another; none if this build has no such VP."""
        if query["vp"] >= self.part.n_vps:
            return [Port()]
        past = self.history[query["vp"]]
        later = [cycle for cycle, _ in past[1:]] + [until]
        return [port for (_, port), end in zip(past, later, strict=True) if end >= since]

    def draw_query(self) -> int:
        """A question about memory at a bound of a window, or anywhere."""
        rng, part = self.rng, self.part
        vp = rng.randrange(part.n_vps)
        windows = list(self.ports[vp].windows.values()) or [(0, 0, 0)]
        base, limit, rights = rng.choice(windows)
        addr = rng.choice((base, base, base, limit)) + self.flit * rng.choice((-1, 0, 0, 0, 1))
        if rng.random() < 0.8:
            addr -= addr % self.flit
        room = limit - addr
        n_bytes = rng.choice((0, 0, 1, self.flit, room - 1, room, room, room + 1, self.space - addr))
        if rng.random() < 0.2:
            addr |= 1 << rng.randrange(part.address_bits - 1, 64)
        if rng.random() < 0.1 and part.n_vps < 1 << 11:
            vp += part.n_vps
        right = rng.choice([right for right in range(4) if rights >> right & 1] * 3 + [rng.randrange(4)])
        return int(WindowQuery.const({
            "vp": vp, "addr": max(0, addr) % (1 << 64), "bytes": max(0, n_bytes) % (1 << 32), "right": right,
        }).as_bits())


@pytest.mark.parametrize(("seed", "n_vps", "n_windows", "n", "data_width", "address_bits"), [
    (0, 2, 1, 1, 64, 64), (0, 4, 4, 3, 128, 40), (1, 4, 4, 3, 128, 40), (1, 2048, 16, 2, 512, 32),
])
def test_window_check(seed: int, n_vps: int, n_windows: int, n: int, data_width: int, address_bits: int) -> None:
    """Each answer is one that a state of the VP during its turn gives, in the promised cycle; turns go round."""
    rng = random.Random(seed)
    part = WindowCheck(n_vps=n_vps, n_windows=n_windows, n=n, data_width=data_width, address_bits=address_bits)
    software = Software(part, rng)
    if n_vps > 4:
        # Few VPs are of interest, with their numbers at both ends.
        software.rng = few = random.Random(seed)
        few.randrange = lambda *bounds: (  # type: ignore[method-assign]
            rng.choice((0, n_vps - 1)) if bounds == (n_vps,) else rng.randrange(*bounds))
    commits, windows = Offers(part.commit, rng, software.draw_commit), Offers(part.window, rng, software.draw_window)
    queries = [Offers(port.query, rng, software.draw_query) for port in part.i]
    answers = [Takes(port.answer, rng) for port in part.i]
    turn: dict[str, int | None] = {"client": None, "since": 0, "commit": None}
    waited, served = [0] * n, [0] * n
    counts: Counter[str] = Counter()

    def step(read) -> None:
        cycle = counts["cycles"]
        counts["cycles"] += 1
        follow_changes(read, cycle)
        # An answer comes for the client whose turn it is.
        for number, port in enumerate(part.i):
            shown = read(port.answer.valid)
            if turn["client"] == number and shown:
                judge(read(port.answer.payload.ok), cycle)
                turn["client"] = None
                served[number] += 1
            if queries[number].offered is not None and not shown and not read(port.query.ready):
                waited[number] += turn["client"] is None
        taken = [k for k in range(n) if queries[k].offered is not None and read(part.i[k].query.ready)]
        assert len(taken) <= (turn["client"] is None), "two turns at once"
        for number in taken:
            turn.update(client=number, since=cycle, query=queries[number].offered)

    def follow_changes(read, cycle: int) -> None:
        item = commits.offered
        if item is not None:
            if turn["commit"] is None:
                turn["commit"] = cycle
                software.close(item, cycle)
            n_cycles = 1 if fields(VpCommit, item)["keep"] else n_windows + 1
            assert read(part.commit.ready) == (cycle == turn["commit"] + n_cycles)
            assert not read(part.window.ready)
            if read(part.commit.ready):
                software.load(item, cycle)
                turn["commit"] = None
                counts["commits"] += 1
        elif windows.offered is not None:
            assert read(part.window.ready)
            software.register(windows.offered, cycle)

    def judge(ok: int, cycle: int) -> None:
        query = fields(WindowQuery, turn["query"])
        states = software.states(query, turn["since"], cycle)
        found = [software.finds(query, port) for port in states]
        if len(states) > 1:
            # A window that has moved may be found, or missed; what no state has is not found.
            counts["changed"] += 1
            assert not ok or any(index is not None for index in found)
            return
        assert ok == (found[0] is not None), query
        counts["ok" if ok else "refused"] += 1
        looks = n_windows - 1 if found[0] is None else found[0]
        assert cycle - turn["since"] == 4 + looks, "not in time"
        counts["later" if looks and ok else "first"] += 1
        counts["empty"] += bool(ok and query["bytes"] == 0)
        counts["unknown"] += query["vp"] >= n_vps
        counts["beyond"] += query["addr"] >= software.space

    pace = Pace(*queries, *answers, rng=rng, cycles=60)
    windows.rate, commits.rate = 0.1, 0.02
    run(part, [pace, commits, windows, *queries, *answers], step=step, cycles=2500, rng=rng)
    assert all(count > 20 for count in served)
    conditions = {"later": n_windows > 1, "unknown": n_vps < 2048, "beyond": address_bits < 64, "changed": True,
                  "ok": True, "refused": True, "empty": True, "commits": True}
    assert {name: counts[name] for name, holds in conditions.items() if holds and counts[name] < 4} == {}


def test_turns() -> None:
    """Clients that always ask are served in turn, and one that takes no answer holds up nobody."""
    rng = random.Random(1)
    part = WindowCheck(n_vps=2, n_windows=1, n=3, data_width=64)
    queries, answers = [Offers(port.query, rng) for port in part.i], [Takes(port.answer, rng) for port in part.i]
    for end in (*queries, *answers):
        end.rate = 1
    order: list[int] = []

    def step(read) -> None:
        order.extend(k for k, query in enumerate(queries) if query.offered is not None and read(query.port.ready))
        if len(order) == 60:
            answers[1].rate = 0

    run(part, [*queries, *answers], step=step, cycles=1000, rng=rng)
    assert order[:60] == [*range(3)] * 20
    # One answer of its own may be waiting by then.
    assert [k for k in order[63:] if k == 1] == []
    assert order[64:] == [order[64], order[65]] * ((len(order) - 64) // 2) + [order[64]] * (len(order) % 2)
    assert len(order) > 150


@pytest.mark.parametrize(("old", "new"), [
    ("end.eq(addr + query.bytes)", "end.eq((addr + query.bytes)[:self.address_bits])"),
    ("end <= look.data.limit", "end < look.data.limit"),
    ("~(beyond | query.addr[: ", "~(query.addr[: "),
    ("above.eq(addr >= look.data.base)", "above.eq(addr > look.data.base)"),
    ("look.data.rights.bit_select(query.right, 1)", "look.data.rights.any()"),
    ("query.vp < self.n_vps if self.n_vps < 1 << formats.VP_BITS else 1", "1"),
    ("last.eq(index == self.n_windows)", "last.eq(index == self.n_windows - 1)"),
    ("with m.If(swept == 0):", "with m.If(1):"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds off by one, bits and rights that are not looked at, and windows that nobody registered are found."""
    monkeypatch.setitem(globals(), "WindowCheck", changed(WindowCheck, old, new))
    with pytest.raises(AssertionError):
        test_window_check(0, 4, 4, 3, 128, 40)


def test_a_commit_closes_first() -> None:
    """A query in the midst of a commit finds neither the window that it withdraws nor the one that it brings."""
    rng, n_windows, period = random.Random(1), 16, 72
    part = WindowCheck(n_vps=2, n_windows=n_windows, n=1, data_width=64)
    found: dict[int, int] = {}
    # The query of a period has its turn in cycle 6 + its number; the commit begins in cycle 30, and takes 18 cycles.
    before, amidst, behind = (1, 4), (25, 26, 29, 33, 36, 37), (43, 46)
    numbers = (0, *before, *amidst, *behind)

    class Script:
        """In each period: the last window alone holds the memory, a commit makes it the first, a query comes then."""

        cycle, asked, committed = -1, False, False

        def drive(self, context) -> None:
            self.cycle += 1
            period_number, at = divmod(self.cycle, period)
            self.number = numbers[period_number]
            if at == 0:
                self.asked = self.committed = False
            is_first = period_number == 0
            window = {"base": 0, "limit": 64, "rights": 0 if at == 4 else 15}
            record = {f"window_{name}": value for name, value in window.items()} | {"enable": 1}
            context.set(part.commit.payload, {"vp": 1, "wipe": 0, "keep": is_first, "record": record})
            context.set(part.commit.valid, at >= 30 and not self.committed)
            context.set(part.window.payload, {"vp": 1, "index": 0 if at == 4 else n_windows - 1, "window": window})
            context.set(part.window.valid, at in (4, 5))
            context.set(part.i[0].query.payload, {"vp": 1, "addr": 8, "bytes": 8, "right": 1})
            context.set(part.i[0].query.valid, at >= 6 + self.number and not self.asked)
            context.set(part.i[0].answer.ready, 1)

        def settle(self, read) -> None:
            self.asked |= bool(read(part.i[0].query.valid) and read(part.i[0].query.ready))
            self.committed |= bool(read(part.commit.valid) and read(part.commit.ready))
            if read(part.i[0].answer.valid):
                found[self.number] = read(part.i[0].answer.payload.ok)

    run(part, [Script()], cycles=len(numbers) * period, rng=rng)
    assert [found[number] for number in before] == [1] * len(before)
    assert [found[number] for number in amidst] == [0] * len(amidst)
    assert [found[number] for number in behind] == [1] * len(behind)


def test_a_commit_that_does_not_close_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "WindowCheck", changed(
        WindowCheck, "load_enable.en.eq(~closed | commit.ready)", "load_enable.en.eq(commit.ready)"))
    with pytest.raises(AssertionError):
        test_a_commit_closes_first()
