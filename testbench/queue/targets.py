"""Stand-ins for the blocks that take units of work."""

from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import CplKind, P2pOp
from rtl.interface import CompletionEvent, SequenceSignature
from testbench.queue.parts import N_COUS, P2pDescriptor
from testbench.runner import rng
from testbench.stream import StreamSink, StreamSource

_members = SequenceSignature().members
_probe, _answer, _descriptor = (
    _members[name].signature.members["payload"].shape for name in ("probe", "answer", "descriptor")
)
_kinds = {P2pOp.SEND: CplKind.SEND, P2pOp.PUT: CplKind.PUT, P2pOp.GET: CplKind.GET}


def event_of(first: dict[str, int], kind: CplKind) -> dict[str, int]:
    """The event that ends a unit well."""
    return {"vp": first["source_vp"], "status": 0, "kind": kind, "job_id": first["job_id"], "bytes": first["length"],
            "tag": first["tag"], "detail": 0}


class OffloadStandIn:
    """Takes sequences of up to `places` jobs at once, one of a job, and completes each after a random while.

    Parameters
    ----------
    dut : SimHandleBase
        A ``QueueSystem``.
    unit : int
        Number of the port.
    places : int
        Sequences in progress at once.
    """

    def __init__(self, dut: SimHandleBase, unit: int, *, places: int = 2):
        self.dut, self.unit, self.places = dut, unit, places
        self.held = False
        """Answers every probe with no."""
        self.accepted: list[list[dict[str, int]]] = []
        self.aborted = 0
        self._jobs: set[int] = set()
        self._reserved: int | None = None
        self._sequence: list[dict[str, int]] = []
        self._rng = rng(f"offload unit {unit}")
        self._answers = StreamSource(dut, f"cou__{unit}__answer", _answer)
        self.events = StreamSource(dut, f"i_event__{unit}", CompletionEvent)
        StreamSink(dut, f"cou__{unit}__probe", _probe, callback=self._probe)
        StreamSink(dut, f"cou__{unit}__descriptor", _descriptor, callback=self._take)

    def _probe(self, probe: dict[str, int]) -> None:
        job = probe["job_id"]
        assert self._reserved is None, "a probe while a place is reserved"
        assert job % N_COUS == self.unit, f"job {job} at unit {self.unit}"
        ok = not self.held and job not in self._jobs and len(self._jobs) < self.places
        if ok:
            self._reserved = job
            self._jobs.add(job)
        self._answers.append({"ok": int(ok)})

    def _take(self, item: dict[str, Any]) -> None:
        assert self._reserved is not None, "a descriptor without a place"
        job = self._reserved
        if not item["abort"]:
            self._sequence.append(item["desc"])
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
    """Takes point-to-point descriptors while it has places, and completes each after a random while."""

    def __init__(self, dut: SimHandleBase, *, places: int = 2):
        self.dut, self.places = dut, places
        self.held = self.get_held = False
        """Takes no SEND and PUT, no GET."""
        self.accepted: list[dict[str, int]] = []
        self._used = 0
        self._rng = rng("p2p")
        self.events = StreamSource(dut, f"i_event__{N_COUS}", CompletionEvent)
        StreamSink(dut, "o_p2p", P2pDescriptor, callback=self._take)
        self._rooms = {dut.p2p_room: lambda: not self.held, dut.get_room: lambda: not self.get_held}
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
        self.accepted.append(item["desc"])
        cocotb.start_soon(self._finish(item["desc"]))

    async def _finish(self, desc: dict[str, int]) -> None:
        for _ in range(self._rng.choice((0, 10, 300))):
            await RisingEdge(self.dut.clk)
        self._used -= 1
        self.events.append(event_of(desc, _kinds[P2pOp(desc["p2p_op"])]))
