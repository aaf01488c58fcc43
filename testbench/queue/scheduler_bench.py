"""The scheduler among neighbours that refuse, pause and fail as they like, against a naive walk over each ring."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import cocotb
from amaranth.hdl import Shape
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import P2pOp
from rtl.interface import CompletionEvent, PlacementSignature, SequenceSignature
from rtl.queue.descriptor_fetch import FetchedDescriptor, fetch_command
from rtl.queue.records import TurnEnd, turn_layout
from testbench import clock
from testbench.codec import encode
from testbench.coverage import cover, dealt
from testbench.edge import bits, every_cycle, level
from testbench.pause import pauses
from testbench.queue.parts import P2pDescriptor
from testbench.queue.scheduler_model import INDEXES, Entry, Fields, TurnModel
from testbench.queue.scheduler_units import UnitDealer
from testbench.runner import parameters, report, rng
from testbench.stream import StreamMonitor, StreamSink, StreamSource

VPS = (0, 1, 5, 2047)
FIRST_INDEX = INDEXES - 9
"""Not 0: the indexes of every ring pass their wrap."""
_sequence, _placement = SequenceSignature().members, PlacementSignature().members
_WIDTH, _PAYLOAD = Shape.cast(FetchedDescriptor).width, formats.DESCRIPTOR.offset("payload")


def payload(members: Any, name: str) -> Any:
    """Shape of what a member of a signature carries."""
    return members[name].signature.members["payload"].shape


noted_unit = cover("unit", became=(
    "p2p", "sequence", "crowded", "busy", "BAD_SEQUENCE", "MEMORY_ERROR", "BAD_DESCRIPTOR", "UNSUPPORTED",
    "BAD_LENGTH", "BAD_ADDRESS", "NO_PLACE",
))
noted_fault = cover("descriptor at fault", why=("BAD_SEQUENCE", "MEMORY_ERROR", "by itself"), number=(0, 1))
noted_turn = cover("turn", count=(-1, 0, 1), room=(0, 1, 2))
noted_retry = cover("turn after a blocked one", room=(0, 1, 2), expired=(0, 1))
noted_ahead = cover("end of a turn, the next one's descriptors", fetched=(0, 1))
noted_stale = cover("turn that may not be served", fetched=(0, 1))
noted_length = cover("length of a sequence", beyond=(-1, 0))


class FetchStandIn:
    """Descriptor fetch and check: shows one descriptor at a time, its fields first, then whole."""

    def __init__(self, dut: SimHandleBase):
        self.dut, self._rng, self._pause = dut, rng("fetch"), pauses(rng("pauses"), None)
        self.queue = deque[tuple[int, Entry]]()
        """Descriptors that have been asked for: VP and entry."""
        self._taken, self._rooms = level(dut.i__ready), (level(dut.p2p__room), level(dut.p2p__get_room))
        self._at_hand = level(dut.at_hand)
        self._stage, self._wait = "none", 0

    def cycle(self) -> None:
        """Carries out one cycle."""
        if self._stage == "whole" and self._taken():
            self.queue.popleft()
            self.dut.i__valid.value = self.dut.judged.value = 0
            # The next entry is compared with this turn in the next cycle.
            self._stage, self._wait = "none", 1
        elif self._stage in ("fields", "judged", "whole"):
            entry = self.queue[0][1]
            entry.low = [low or not room() for low, room in zip(entry.low, self._rooms, strict=True)]
        if self._wait:
            self._wait -= 1
        elif self.queue and not next(self._pause) and (self._at_hand() or self._stage != "none"):
            self._advance(self.queue[0][1])

    def _advance(self, entry: Entry) -> None:
        shown = encode(FetchedDescriptor, {"desc": entry.desc, "error": int(entry.error)})
        match self._stage:
            case "none":
                self.dut.i__payload.value = self._rng.getrandbits(_WIDTH)
                self._stage = "coming"
            case "coming":
                # The fields have come; the error, which is known with the payload, means nothing yet.
                self.dut.i__payload.value = shown ^ self._rng.getrandbits(_WIDTH) >> _PAYLOAD << _PAYLOAD
                entry.low, self._stage, self._wait = [False, False], "fields", 1
            case "fields":
                self.dut.judged.value, self.dut.status.value = 1, int(entry.status)
                self._stage = "judged"
                if self._rng.random() < 0.5:
                    self._advance(entry)
            case "judged":
                self.dut.i__payload.value, self.dut.i__valid.value = shown, 1
                self._stage = "whole"


class Bench:
    """Everything around the scheduler: rings and turns of some VPs, fetch, job table, offload units, rooms."""

    def __init__(self, dut: SimHandleBase):
        self.dut, self.rng = dut, rng("bench")
        self.depth, self.batch, self.n_cous = (parameters()[name] for name in ("depth", "batch", "n_cous"))
        self.fetch = FetchStandIn(dut)
        self.model = TurnModel(
            ring=lambda vp, index: self.rings[vp][self._number(vp, index)], sequence_depth=self.depth,
            batch=self.batch, ended=self._ended,
        )
        self.dealers = {vp: UnitDealer(vp, self.depth, rng(f"units of VP {vp}")) for vp in VPS}
        self.rings: dict[int, list[Entry]] = {vp: [] for vp in VPS}
        self.where = {
            vp: {"base": self.rng.getrandbits(64), "mask": (1 << self.rng.randrange(1, 16)) - 1} for vp in VPS
        }
        self.cons, self.tries = dict.fromkeys(VPS, 0), dict.fromkeys(VPS, 0)
        self.state = {vp: {"blocked": 0, "expired": 0} for vp in VPS}
        self.waiting = deque(VPS)
        self.taken_tags: list[int] = []
        self.units = self.turns = self.consumed = 0
        self.offered: dict[str, int] | None = None
        self.serving: dict[str, int] | None = None
        self.rooms, self._until = [dut.p2p__room, dut.p2p__get_room], [0, 0]
        self._counts = dealt(self.rng, [
            (count, room, exactly) for count in (-1, 0, 1, 3 * self.depth) for room in (0, 1, 2, 40)
            for exactly in (0, 1)
        ])
        self._connect()

    def _connect(self) -> None:
        dut = self.dut
        self.turn = StreamSource(dut, "turn__offer", turn_layout())
        self.placed = StreamSource(dut, "placement__answer", payload(_placement, "answer"))
        self.answers = [
            StreamSource(dut, f"cou__{k}__answer", payload(_sequence, "answer")) for k in range(self.n_cous)
        ]
        sinks: list[tuple[str, Any, str, Callable[[Any], None]]] = [
            ("fetch", fetch_command(), "fetch", self._fetch), ("turn__end", TurnEnd, "end", self._end),
            ("p2p__descriptor", P2pDescriptor, "p2p", self._take),
            ("o_event", CompletionEvent, "o_event", lambda _: None),
            ("placement__query", payload(_placement, "query"), "query", self._place),
        ]
        monitors = [("placement__answer", payload(_placement, "answer"), "placed")]
        StreamMonitor(dut, "turn__offer", turn_layout(), callback=self._begin)
        for k in range(self.n_cous):
            sinks.append((f"cou__{k}__probe", payload(_sequence, "probe"), f"probe {k}", partial(self._probe, k)))
            sinks.append((
                f"cou__{k}__descriptor", payload(_sequence, "descriptor"), f"descriptor {k}", lambda _: None,
            ))
            monitors.append((f"cou__{k}__answer", payload(_sequence, "answer"), f"answer {k}"))
        for name, shape, stream, call in sinks:
            StreamSink(dut, name, shape, callback=self._watch(stream, call))
        for name, shape, stream in monitors:
            StreamMonitor(dut, name, shape, callback=self._watch(stream, lambda _: None))

    def _watch(self, stream: str, call: Callable[[Any], None]) -> Callable[[Any], None]:
        def seen(item: Any) -> None:
            # The descriptor beside an abort is not compared, because its content is arbitrary.
            aborts = stream.startswith("descriptor") and item["abort"] and item["last"]
            self.model.saw(stream, "abort" if aborts else item)
            call(item)

        return seen

    async def begin(self) -> None:
        """Clock and reset."""
        self.dut.turn__stale.value = 0
        await clock.start(self.dut, max_cycles=60_000)
        self._is_consumed, self._vp = level(self.dut.consumed), bits(self.dut.vp)
        self._at_hand, self._stale = level(self.dut.at_hand), level(self.dut.turn__stale)
        every_cycle(self.dut.clk, self._cycle)
        self._offer()

    def _cycle(self) -> None:
        self.consumed += self._is_consumed()
        if self.fetch.queue and self._at_hand():
            assert self._vp() == self.fetch.queue[0][0], "a descriptor is checked for another VP"
        self.fetch.cycle()
        if self.offered is not None and self.turn.pending and self.rng.random() < 0.003:
            self.dut.turn__stale.value = 1
        for k, room in enumerate(self.rooms):
            if self._until[k]:
                self._until[k] -= 1
            else:
                room.value = 1

    # The host's side: units are written, turns are dealt in order to those that have some.

    def _number(self, vp: int, index: int) -> int:
        """Position since the beginning of what stands at an index of a VP's ring now."""
        return self.cons[vp] + (index - FIRST_INDEX - self.cons[vp]) % INDEXES

    def _offer(self) -> None:
        vp = self.waiting.popleft()
        beyond, room, exactly = next(self._counts)
        state, ring = self.state[vp], self.rings[vp]
        while len(ring) - self.cons[vp] < self.batch + beyond and self.units < parameters()["units"]:
            ring.extend(self.dealers[vp].deal())
            self.units += 1
        count = len(ring) - self.cons[vp]
        # Some indexes cut a unit in two: the rest comes too late.
        if exactly and count:
            count = max(1, min(count, self.batch + beyond))
        noted_turn(count=count - self.batch, room=room)
        if count and state["blocked"]:
            noted_retry(room=room, expired=state["expired"])
        self.offered = self.where[vp] | state | {
            "vp": vp, "enable": int(self.rng.random() < 0.95), "cons": (FIRST_INDEX + self.cons[vp]) % INDEXES,
            "count": count, "room": room,
        }
        enabled, first = self.offered["enable"], 1 if state["blocked"] else min(count, self.batch)
        self.offered |= {"serves": int(bool(enabled and count and room)), "first": first, "whole": int(count <= first)}
        self.turns += 1
        self.turn.append(self.offered)

    def _begin(self, turn: dict[str, int]) -> None:
        assert turn == self.offered
        self.serving, self.offered = turn | {"stale": int(self._stale())}, None
        self.dut.turn__stale.value = 0
        if self.serving["stale"]:
            noted_stale(fetched=int(turn["vp"] in (vp for vp, _ in self.fetch.queue)))
        self.model.saw("turn", self.serving)
        self.before, self.consumed = self.cons[turn["vp"]], 0
        # The next one is offered at once, or late: when this one has ended.
        if self.waiting and self.rng.random() < 0.7:
            self._offer()

    def _fetch(self, command: dict[str, int]) -> None:
        vp = next(vp for vp, where in self.where.items() if where["base"] == command["base"])
        ring, first = self.rings[vp], self._number(vp, command["index"])
        assert first + command["count"] <= len(ring), "fetched beyond what has been written"
        self.fetch.queue.extend((vp, entry) for entry in ring[first:first + command["count"]])

    def _end(self, end: dict[str, int]) -> None:
        assert self.serving is not None
        vp, offered, self.serving = end["vp"], self.serving, None
        assert vp not in (asked for asked, _ in self.fetch.queue), "a descriptor of a turn is left for the next one"
        noted_ahead(fetched=int(bool(self.fetch.queue)))
        self.cons[vp] += (end["cons"] - offered["cons"]) % INDEXES
        assert self.cons[vp] - self.before == self.consumed, "the pulses of `consumed`"
        # A turn is short: units of the first fetch, of which the last may be as long as any, with what is passed over.
        assert end["taken"] <= self.batch
        assert self.consumed <= self.batch - 1 + 2 * self.depth + 1
        idle = not offered["enable"] or not offered["room"] or not offered["count"] or offered["stale"]
        assert idle or end["taken"] or end["blocked"]
        self.tries[vp] = self.tries[vp] + 1 if end["crowded"] else 0
        self.state[vp] = {"blocked": end["blocked"], "expired": int(end["crowded"] and self.tries[vp] > 1)}
        if self.cons[vp] < len(self.rings[vp]) or self.units < parameters()["units"]:
            self.waiting.append(vp)
        if self.waiting and self.offered is None:
            self._offer()

    def _ended(self, became: str, number: int, descs: list[Fields]) -> None:
        noted_unit(became=became)
        if became == "sequence":
            noted_length(beyond=number - self.depth)
        else:
            why = became if became in ("BAD_SEQUENCE", "MEMORY_ERROR", "crowded", "busy", "NO_PLACE") else "by itself"
            noted_fault(why=why, number=min(number, 1))
        self.taken_tags += [desc["tag"] for desc in descs]

    # Neighbours.

    def _place(self, query: dict[str, int]) -> None:
        ok = self.rng.random() < 0.8
        self.placed.append({
            "ok": int(ok), "unit": self.rng.randrange(self.n_cous) if ok else self.rng.getrandbits(4),
            "base_pulse": self.rng.getrandbits(16),
        })

    def _probe(self, port: int, probe: dict[str, int]) -> None:
        self.answers[port].append({"ok": int(self.rng.random() < 0.6)})

    def _take(self, item: dict[str, Any]) -> None:
        assert level(self.rooms[item["desc"]["p2p_op"] == P2pOp.GET])(), "a descriptor without room"
        for k in range(2):
            if self.rng.random() < 0.5:
                self._until[k] = self.rng.choice((1, 5, 100, 400))
                self.rooms[k].value = 0


@cocotb.test()
async def serves_turns(dut: SimHandleBase) -> None:
    """Every unit is handed on whole or refused, once and in order of its VP; no turn is longer than due."""
    bench = Bench(dut)
    await bench.begin()
    while bench.offered is not None or bench.serving is not None or bench.waiting:
        await RisingEdge(dut.clk)
    await clock.cycles(dut, 20)
    assert bench.model.idle
    for vp, ring in bench.rings.items():
        assert bench.cons[vp] == len(ring), f"VP {vp} has been left"
        mine = [tag for tag in bench.taken_tags if tag >> 20 == vp]
        assert mine == [entry.desc["tag"] for entry in ring], f"descriptors of VP {vp} out of order, lost or doubled"
    report(units=bench.units, turns=bench.turns)
