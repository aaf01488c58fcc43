"""Stand-ins for the blocks that take units of work."""

from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import CplKind, P2pOp
from rtl.interface import CompletionEvent, PlacementSignature, SequenceSignature
from testbench.inline import InlineMonitor
from testbench.queue.parts import DATA_WIDTH, N_COUS, P2pDescriptor
from testbench.runner import rng
from testbench.stream import StreamSink, StreamSource

_members = SequenceSignature().members
_probe, _answer, _descriptor = (
    _members[name].signature.members["payload"].shape for name in ("probe", "answer", "descriptor")
)
_query, _placed = (
    PlacementSignature().members[name].signature.members["payload"].shape for name in ("query", "answer")
)
_kinds = {P2pOp.SEND: CplKind.SEND, P2pOp.PUT: CplKind.PUT, P2pOp.GET: CplKind.GET}


def event_of(first: dict[str, int], kind: CplKind) -> dict[str, int]:
    """The event that ends a unit well."""
    return {"vp": first["source_vp"], "status": 0, "kind": kind, "job_id": first["job_id"], "bytes": first["length"],
            "tag": first["tag"], "detail": 0}


def unit_of(job: int) -> int:
    """Where the stand-in of the job table has put a job."""
    return job * 3 // 2 % N_COUS


class PlacementStandIn:
    """Answers where jobs are, or that one has an operation in progress; each operation gets a number of its own."""

    def __init__(self, dut: SimHandleBase):
        self.base_pulse: dict[int, int] = {}
        """The last answer for each job that was let in."""
        self.refused = self._asked = 0
        self.busy = 0.2
        """How often a job has an operation in progress."""
        self._rng = rng("job table")
        self._answers = StreamSource(dut, "placement__answer", _placed)
        StreamSink(dut, "placement__query", _query, callback=self._ask)

    def _ask(self, query: dict[str, int]) -> None:
        # If it may happen at all it happens to the second question, so that short runs see it too.
        self._asked += 1
        ok = self._rng.random() >= (1 if self._asked == 2 and self.busy else self.busy)
        base_pulse = self._rng.getrandbits(16)
        if ok:
            self.base_pulse[query["job_id"]] = base_pulse
        self.refused += not ok
        unit = unit_of(query["job_id"]) if ok else self._rng.getrandbits(4)
        self._answers.append({"ok": int(ok), "unit": unit, "base_pulse": base_pulse})


class OffloadStandIn:
    """Takes sequences of up to `places` jobs at once, one of a job, and completes each after a random while.

    Parameters
    ----------
    dut : SimHandleBase
        A ``QueueSystem``.
    unit : int
        Number of the port.
    placement : PlacementStandIn
        Which job may come, with which number.
    places : int
        Sequences in progress at once.
    """

    def __init__(self, dut: SimHandleBase, unit: int, placement: PlacementStandIn, *, places: int = 2):
        self.dut, self.unit, self.placement, self.places = dut, unit, placement, places
        self.held = False
        """Answers every probe with no."""
        self.accepted: list[list[dict[str, int]]] = []
        self.aborted = 0
        self._jobs: set[int] = set()
        self._reserved: int | None = None
        self._sequence: list[dict[str, int]] = []
        self._rng = rng(f"offload unit {unit}")
        self._inline = InlineMonitor(dut, "inline_data", DATA_WIDTH)
        self._answers = StreamSource(dut, f"cou__{unit}__answer", _answer)
        self.events = StreamSource(dut, f"i_event__{unit}", CompletionEvent)
        StreamSink(dut, f"cou__{unit}__probe", _probe, callback=self._probe)
        StreamSink(dut, f"cou__{unit}__descriptor", _descriptor, callback=self._take)

    def _probe(self, probe: dict[str, int]) -> None:
        job = probe["job_id"]
        assert self._reserved is None, "a probe while a place is reserved"
        assert unit_of(job) == self.unit, f"job {job} at unit {self.unit}"
        assert self.placement.base_pulse.pop(job) == probe["base_pulse"], "a probe with a stale number"
        ok = not self.held and job not in self._jobs and len(self._jobs) < self.places
        if ok:
            self._reserved = job
            self._jobs.add(job)
        self._answers.append({"ok": int(ok)})

    def _take(self, item: dict[str, Any]) -> None:
        assert self._reserved is not None, "a descriptor without a place"
        job = self._reserved
        if not item["abort"]:
            desc = item["desc"]
            self._sequence.append(desc)
            self._inline.follow(lambda payload: desc.update(payload=payload))
        if not item["last"]:
            return
        sequence, self._sequence, self._reserved = self._sequence, [], None
        if item["abort"]:
            self.aborted += 1
            self._jobs.remove(job)
        else:
            self.accepted.append(sequence)
            cocotb.start_soon(self._finish(job, sequence[0]))

    async def _finish(self, job: int, first: dict[str, int]) -> None:
        for _ in range(self._rng.choice((0, 10, 300))):
            await RisingEdge(self.dut.clk)
        self._jobs.remove(job)
        self.events.append(event_of(first, CplKind.COLLECTIVE))


class P2pStandIn:
    """Takes point-to-point descriptors while it has room, and completes each after a random while."""

    def __init__(self, dut: SimHandleBase, *, places: int = 2):
        self.dut, self.places = dut, places
        self.held = self.get_held = False
        """Takes no SEND and PUT, no GET."""
        self.accepted: list[dict[str, int]] = []
        self._used = 0
        self._rng = rng("p2p")
        self._inline = InlineMonitor(dut, "inline_data", DATA_WIDTH)
        self.events = StreamSource(dut, f"i_event__{N_COUS}", CompletionEvent)
        self.sink = StreamSink(dut, "p2p__descriptor", P2pDescriptor, callback=self._take)
        self._rooms = {dut.p2p__room: lambda: not self.held, dut.p2p__get_room: lambda: not self.get_held}
        for port in self._rooms:
            port.value = 0
        cocotb.start_soon(self._show_room())

    async def _show_room(self) -> None:
        # Room does not vanish by itself: `held` is only obeyed while there is none or after the next descriptor.
        rooms, seen = dict.fromkeys(self._rooms, 0), 0
        while True:
            await RisingEdge(self.dut.clk)
            free = self._used < self.places
            for port, wanted in self._rooms.items():
                if not rooms[port] or len(self.accepted) != seen:
                    rooms[port] = int(free and wanted())
                port.value = rooms[port]
            seen = len(self.accepted)

    def _take(self, item: dict[str, Any]) -> None:
        assert self._used < self.places, "a descriptor without room"
        self._used += 1
        desc = item["desc"]
        self.accepted.append(desc)
        self._inline.follow(lambda payload: desc.update(payload=payload))
        cocotb.start_soon(self._finish(desc))

    async def _finish(self, desc: dict[str, int]) -> None:
        for _ in range(self._rng.choice((0, 10, 300))):
            await RisingEdge(self.dut.clk)
        self._used -= 1
        self.events.append(event_of(desc, _kinds[P2pOp(desc["p2p_op"])]))
