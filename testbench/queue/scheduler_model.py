"""Model of a turn of the scheduler: a naive walk over the ring, unit by unit."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from firmware_models.abi.encoding import CplKind, P2pOp, Status

Fields = dict[str, int]
INDEXES = 1 << 16
_kinds = {P2pOp.SEND: CplKind.SEND, P2pOp.PUT: CplKind.PUT}


@dataclass
class Entry:
    """A descriptor in a ring.

    Parameters
    ----------
    desc : dict
        Its fields, as monitors see them.
    status : Status
        What the descriptor check says of it by itself.
    error : bool
        The memory refuses to read it: nothing of `desc` may be believed, which is known with its payload.
    low : list of bool
        True if the rooms for SEND and PUT, and for GET, were low at any time while it was shown last.
    """

    desc: Fields
    status: Status = Status.OK
    error: bool = False
    low: list[bool] = field(default_factory=lambda: [False, False])


class Transfer(NamedTuple):
    """An item on a stream between the scheduler and the others."""

    stream: str
    item: Any


Steps = Generator[None, Transfer, None]
Blocked = Generator[None, Transfer, tuple[bool, bool]]
"""Two flags: the unit blocks the turn; it does so because its target has no room."""


class TurnModel:
    """Follows the turns: every transfer is handed to :meth:`saw`, and has to be the one that comes next.

    Parameters
    ----------
    ring : callable
        Entry of a VP at an index.
    sequence_depth, batch : int
        Of the scheduler.
    ended : callable
        Called for every unit: its end, number of the descriptor that decided, and the descriptors that it took
        from the ring.
    """

    def __init__(
        self, *, ring: Callable[[int, int], Entry], sequence_depth: int, batch: int,
        ended: Callable[[str, int, list[Fields]], None],
    ):
        self.ring, self.depth, self.batch, self.ended = ring, sequence_depth, batch, ended
        self._steps: Steps | None = None
        self._kept: Transfer | None = None
        self.stop = self.fetched = 0
        self._ahead: dict[str, int] | None = None
        self._dropped = False

    @property
    def idle(self) -> bool:
        """True if no turn is in progress."""
        return self._steps is None

    def saw(self, stream: str, item: Any) -> None:
        """A transfer."""
        if stream == "fetch" and self._dropped and item["base"] == self.turn["base"]:
            self._dropped = False
            return
        self._dropped = False
        if stream == "turn":
            assert self._steps is None, "a turn within a turn"
            self._steps = self._serve(item)
            next(self._steps)
            return
        # The first fetch of the next turn comes once this turn fetches nothing more.
        if stream == "fetch" and (self._steps is None or self.fetched == self.stop):
            assert self._ahead is None, f"two fetches for the next turn: {self._ahead}, {item}"
            self._ahead = item
            return
        assert self._steps is not None, f"{stream} without a turn: {item}"
        try:
            self._steps.send(Transfer(stream, item))
        except StopIteration:
            self._steps = None

    def _next(self) -> Generator[None, Transfer, Transfer]:
        kept, self._kept = self._kept, None
        return kept or (yield)

    def _expect(self, stream: str, item: Any) -> Steps:
        transfer = yield from self._next()
        assert transfer == (stream, item), f"{transfer} where {Transfer(stream, item)} was due"

    def _answer(self, stream: str) -> Generator[None, Transfer, Any]:
        transfer = yield from self._next()
        assert transfer.stream == stream, f"{transfer} before the answer of {stream}"
        return transfer.item

    def _serve(self, turn: dict[str, int]) -> Steps:
        self.turn, self.stop = turn, turn["count"] if turn["enable"] and not turn["stale"] else 0
        self.pos = self.fetched = 0
        if turn["stale"]:
            # It has been fetched for already, or is in this very cycle, or never.
            self._dropped, self._ahead = self._ahead is None, None
        taken, blocked, crowded = 0, self.stop > 0 and turn["room"] == 0, False
        if not self.stop or blocked:
            # It is over before it begins; what is fetched meanwhile is the next one's.
            self.fetched = self.stop
        else:
            # The units that begin in the first fetch, as far as their completions have room.
            first = 1 if turn["blocked"] else min(self.stop, self.batch)
            yield from self._fetch(first)
            while self.pos < first and taken < turn["room"] and not blocked:
                blocked, crowded = yield from self._unit()
                taken += not blocked
        yield from self._expect("end", {
            "vp": turn["vp"], "cons": (turn["cons"] + self.pos) % INDEXES, "taken": taken, "blocked": int(blocked),
            "crowded": int(crowded),
        })

    def _fetch(self, count: int) -> Steps:
        index = (self.turn["cons"] + self.fetched) % INDEXES
        command = {"base": self.turn["base"], "mask": self.turn["mask"], "index": index, "count": count}
        if self._ahead is None:
            yield from self._expect("fetch", command)
        else:
            assert self._ahead == command, f"{self._ahead} ahead where {command} was due"
            self._ahead = None
        self.fetched += count

    def _look(self) -> Generator[None, Transfer, Entry]:
        """The entry at hand, fetched if it has not been."""
        if self.pos == self.fetched:
            yield from self._fetch(min(self.stop - self.pos, self.batch))
        return self.ring(self.turn["vp"], (self.turn["cons"] + self.pos) % INDEXES)

    def _unit(self) -> Blocked:
        entry = yield from self._look()
        desc = entry.desc
        if desc["c"] and not desc["ch"]:
            yield from self._refuse([entry], Status.BAD_SEQUENCE)
        elif entry.status is not Status.OK:
            yield from self._refuse([entry], entry.status)
        elif desc["c"]:
            return (yield from self._sequence(entry))
        elif entry.error:
            yield from self._refuse([entry], Status.MEMORY_ERROR)
        else:
            # Without room it may be taken all the same, if that has come meanwhile.
            transfer = yield from self._next()
            if transfer.stream != "p2p":
                assert entry.low[desc["p2p_op"] == P2pOp.GET], f"{transfer} though the point-to-point block has room"
                self._kept = transfer
                return (yield from self._crowd(entry))
            assert transfer.item == {"desc": desc}
            self.pos += 1
            self.ended("p2p", 0, [desc])
        return False, False

    def _crowd(self, entry: Entry) -> Blocked:
        """The target has no room for the unit that begins with `entry`."""
        if entry.error or self.turn["expired"]:
            yield from self._refuse([entry], Status.NO_PLACE)
            return False, False
        self.ended("crowded", 0, [])
        return True, True

    def _sequence(self, entry: Entry) -> Blocked:
        job = entry.desc["job_id"]
        yield from self._expect("query", {"job_id": job, "shared": 0})
        placed = yield from self._answer("placed")
        if not placed["ok"]:
            if entry.error:
                yield from self._refuse([entry], Status.OK)
                return False, False
            self.ended("busy", 0, [])
            return True, False
        port = placed["unit"]
        yield from self._expect(f"probe {port}", {"job_id": job, "base_pulse": placed["base_pulse"]})
        if not (yield from self._answer(f"answer {port}"))["ok"]:
            return (yield from self._crowd(entry))
        yield from self._members(entry, port)
        return False, False

    def _members(self, entry: Entry, port: int) -> Steps:
        """A sequence that has an entry at offload unit `port`, descriptor by descriptor."""
        members = [entry]
        while True:
            if entry.error:
                return (yield from self._refuse(members, Status.MEMORY_ERROR, port))
            last = entry.desc["ct"]
            yield from self._expect(f"descriptor {port}", {"desc": entry.desc, "last": last, "abort": 0})
            self.pos += 1
            if last:
                self.ended("sequence", len(members), [member.desc for member in members])
                return None
            if self.pos == self.stop:
                return (yield from self._refuse(members, Status.BAD_SEQUENCE, port, dry=True))
            entry = yield from self._look()
            broken = self._broken(members, entry.desc)
            members.append(entry)
            if broken or entry.status is not Status.OK:
                return (yield from self._refuse(members, Status.BAD_SEQUENCE if broken else entry.status, port))

    def _broken(self, members: list[Entry], desc: Fields) -> bool:
        """True if a descriptor must not follow the others."""
        first, before = members[0].desc, members[-1].desc
        return (
            len(members) == self.depth or not desc["c"] or bool(desc["ch"]) or desc["cp_count"] < before["cp_count"]
            or any(desc[name] != first[name] for name in ("job_id", "length", "pulse_bytes"))
            or max(1, desc["block_count"]) != max(1, first["block_count"])
        )

    def _refuse(self, members: list[Entry], status: Status, port: int | None = None, *, dry: bool = False) -> Steps:
        """The unit ends with an error; `port`: it has an entry there. Its last member is at fault, or (`dry`) the next
        one, which is not there."""
        first, at_fault, desc = members[0].desc, members[-1], members[-1].desc
        number = len(members) - (not dry)
        if at_fault.error and not dry:
            status = Status.MEMORY_ERROR
        begins = not dry and number > 0 and (desc["ch"] or not desc["c"])
        own = not dry and not (begins and status is Status.BAD_SEQUENCE)
        follow = own and (status is Status.MEMORY_ERROR or (desc["c"] and not desc["ct"]))
        if port is not None:
            yield from self._expect(f"descriptor {port}", "abort")
        passed = [member.desc for member in members[:number]]
        if own:
            self.pos += 1
            passed.append(desc)
        if follow:
            yield from self._pass_over(passed)
        event = {"vp": self.turn["vp"], "status": int(status), "kind": int(
            CplKind.COLLECTIVE if first["c"] else _kinds.get(first["p2p_op"], CplKind.GET)
        ), "job_id": first["job_id"], "bytes": first["length"], "tag": first["tag"], "detail": number}
        if number == 0 and status in (Status.BAD_DESCRIPTOR, Status.MEMORY_ERROR):
            event["kind"] = int(CplKind.DESCRIPTOR)
            if status is Status.MEMORY_ERROR:
                event |= {"job_id": 0, "bytes": 0, "tag": 0}
        yield from self._expect("o_event", event)
        self.ended(status.name, number, passed)

    def _pass_over(self, passed: list[Fields]) -> Steps:
        """Members of a refused sequence: up to CT, what begins a unit or cannot be read, or as many as the longest."""
        count = 0
        while self.pos < self.stop:
            entry = yield from self._look()
            if entry.error or not entry.desc["c"] or entry.desc["ch"] or count == self.depth:
                return
            self.pos, count = self.pos + 1, count + 1
            passed.append(entry.desc)
            if entry.desc["ct"]:
                return
