"""Bench of the job closer among a trigger, a packet buffer and operations that are played, slot by slot."""

from typing import Any

import cocotb
from amaranth.lib import data
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import PacketType, Status
from firmware_models.config import Config
from rtl.abi import HashKey, PacketHeader
from rtl.buffer.layouts import Arrival, arrival_layout
from rtl.buffer.tag_table import answer_layout
from rtl.cou.shapes import CouShapes
from rtl.credit.layouts import credit_notice
from rtl.credit.pool_signature import Consumed
from rtl.interface import JobClosing
from testbench import clock
from testbench.codec import decoder, encode
from testbench.cou.trigger_model import TERMS
from testbench.coverage import cover
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource
from testbench.unit_config import UNIT

JOBS = 9
"""JobIDs of the test."""

noted_drop = cover("a packet is dropped", loan=(0, 1), multicast=(0, 1), want=(0, 1))
noted_left = cover("a slot is left alone", why=("open", "operation", "nothing there"))
noted_end = cover("an operation is ended", begun=("before its job was closed", "after"))
noted_foreign = cover("a packet of another operation", came=("before the wait", "after"))
noted_kin = cover(
    "a packet that may be there", why=("same terms", "no terms", "none here", "an address", "a later pulse")
)

LATE = 64
"""Cycles for which a report may wait for who takes it, while its packet leaves."""
PATIENCE = 3_000
"""Cycles after which an operation that waits has heard of a packet that is not its own."""


def config() -> Config:
    """Of the component."""
    return UNIT.changed(
        datapath={"data_width": 64, "mtu": 64},
        cou={"n_jobs": 4, "n_peers": 2, "peer_credits": 2, "buffer_bytes": 32 * 64, "lending": True},
    )


class Packet:
    """A packet in a slot."""

    def __init__(self, header: dict[str, int]):
        self.header = header
        self.key = {
            "job_id": header["job_id"], "node_id": header["dest_id"], "vp": header["dest_vp"],
            "seq_id": header["seq_id"], "pulse": header["pulse"], "fragment": header["fragment"],
        }
        self.since = 0
        """Cycle in which it came."""
        self.leaving = False
        """It has been consumed, or dropped, and its slot is on the way to be freed."""

    def notice(self) -> dict[str, int]:
        """The credit that returns for it."""
        h = self.header
        return {
            "job_id": h["job_id"], "peer": h["peer"], "dest_id": h["source_id"], "dest_vp": h["source_vp"],
            "source_vp": h["dest_vp"], "window_slot": h["tag"] % 4, "credits": 1, "loan": 0,
            "want": h["want"] & ~h["multicast"] & 1, "shared": h["loan"] & ~h["multicast"] & 1,
        }

    def excuses(self, operation: dict[str, int]) -> list[str]:
        """Why it need not be of another operation than this one, which is its job's."""
        h, theirs = self.header, self.header["addr"] & 0xFFFF
        reasons = {
            "same terms": theirs == operation["terms"], "no terms": theirs == 0, "none here": operation["terms"] == 0,
            "an address": h["swap_addr"] == 1,
            "a later pulse": (h["pulse"] - operation["next_pulse"]) % (1 << 16) < 1 << 15,
        }
        return [name for name, holds in reasons.items() if holds]


class Unit:
    """Environment of the closer: the books of slots and operations, and models of the blocks that use them."""

    def __init__(self, dut: SimHandleBase):
        self.dut, self.rng, self.config = dut, rng("unit"), config()
        shapes = CouShapes(self.config)
        self.n_slots = self.config.buffer_slots
        self.arrival = arrival_layout(shapes.packet)
        self.slots: list[Packet | None] = [None] * self.n_slots
        self.headers = [self._header(0)] * self.n_slots
        self.operations: list[dict[str, int] | None] = [None] * self.config.cou.n_jobs
        self.closed: set[int] = set()
        self.leaving: list[int] = []
        self.left: list[tuple[int, Packet]] = []
        """Packets that have left within :data:`LATE` cycles, each with the cycle."""
        self.gone: list[int] = []
        self.credits: list[dict[str, int]] = []
        self.to_credit: Packet | None = None
        self.n_dropped = self.n_ended = self.n_reported = self.now = 0
        self.dropping: int | None = None
        self.busy = True
        self.pace, self.traffic = 0.5, 0.06
        self.late: dict[int, int] = {}
        """Jobs of which an operation was let in before they were closed, and has not begun."""
        StreamSink(dut, "packets__lookup__request", HashKey, callback=self._look_up)
        self.answers = StreamSource(dut, "packets__lookup__answer", answer_layout(shapes.packet))
        StreamSink(dut, "drops__free", shapes.free, callback=self._free)
        StreamSink(dut, "drops__credit", credit_notice(), callback=self._credit)
        StreamSink(dut, "o_fault", shapes.fault, callback=self._fault)
        self.holds = data.ArrayLayout(shapes.holds, self.config.cou.n_jobs)
        self.read_consumed = decoder(Consumed)

    def _header(self, job: int) -> dict[str, int]:
        numbers = self.rng
        header = {name: numbers.getrandbits(20) for name in ("dest_id", "source_id")}
        return dict.fromkeys(PacketHeader.members, 0) | header | {
            "type": int(PacketType.COLLECTIVE), "job_id": job, "dest_vp": numbers.randrange(8),
            "source_vp": numbers.randrange(8), "seq_id": numbers.randrange(32), "pulse": numbers.getrandbits(16),
            "peer": numbers.randrange(64), "tag": numbers.randrange(4), "loan": numbers.getrandbits(1),
            "want": numbers.getrandbits(1), "multicast": int(numbers.random() < 0.3),
            # Above the terms may be anything: an address has more bits.
            "addr": numbers.choice(TERMS) | numbers.getrandbits(8) << 16, "swap_addr": int(numbers.random() < 0.2),
        }

    def owned(self, job: int) -> bool:
        """An operation of the job is in progress."""
        return any(operation and operation["job"] == job for operation in self.operations)

    def rests(self, job: int) -> bool:
        """Nothing of the job is here."""
        return not self.owned(job) and not any(p and p.header["job_id"] == job for p in self.slots)

    # Requests of the closer.

    def _look_up(self, key: dict[str, int]) -> None:
        assert int(self.dut.standstill__held.value), "a look-up beside the trigger's"
        at = next((k for k, p in enumerate(self.slots) if p and p.key == key), None)
        slot = self.rng.randrange(self.n_slots) if at is None else at
        if at is None:
            noted_left(why="nothing there")
        self.answers.append({"hit": int(at is not None), "slot": slot, "error": 0})

    def _free(self, item: dict[str, Any]) -> None:
        packet = self.slots[item["slot"]]
        assert packet is not None, "a slot that holds nothing"
        assert not packet.leaving, "a slot that is being freed"
        job = packet.header["job_id"]
        assert item["key"] == packet.key
        assert job in self.closed, "a packet of an open job"
        assert not self.owned(job), "a packet of an operation in progress"
        assert item["n_left"] == self.gone.pop(0)
        noted_drop(**{name: packet.header[name] for name in ("loan", "multicast", "want")})
        packet.leaving, self.to_credit, self.dropping = True, packet, item["slot"]
        self.leaving.append(item["slot"])

    def _credit(self, notice: dict[str, int]) -> None:
        assert self.to_credit is not None, "a second credit for one packet"
        assert self.dropping is None, "a credit before its slot was free"
        assert notice == self.to_credit.notice()
        self.to_credit = None

    def _fault(self, item: dict[str, int]) -> None:
        operation = self.operations[item["job"]]
        assert operation is not None, "a report of an operation that is over"
        assert item["status"] == Status.BAD_TERMS
        assert item["detail"] >> 40 & 0xFF == 1, "an operation that waits"
        lately = [packet for since, packet in self.left if self.now - since < LATE]
        found = [
            packet for packet in (*self.slots, *lately) if packet and packet.header["job_id"] == operation["job"]
            and not packet.excuses(operation) and (
                packet.header["source_id"] | (packet.header["addr"] & 0xFFFF) << 24 | packet.header["pulse"] << 48
            ) == item["detail"] & ~(0xFF << 40)
        ]
        assert found, "a packet that is none of these"
        assert operation["waited"], "an operation that does not wait"
        noted_foreign(came="after" if found[0].since > operation["waited"] else "before the wait")
        operation["reported"] = operation["ended"] = 1
        self.n_reported += 1

    def _hear(self) -> None:
        """An operation that waits hears of a packet that is not its own within some time."""
        for operation in self.operations:
            if operation is None or not operation["waits"] or operation["reported"]:
                continue
            for packet in self.slots:
                if packet and not packet.leaving and packet.header["job_id"] == operation["job"]:
                    waited, excuses = self.now - max(packet.since, operation["waited"]), packet.excuses(operation)
                    assert waited < PATIENCE or excuses, "waits in vain"
                    if waited > PATIENCE // 4 and len(excuses) == 1:
                        noted_kin(why=excuses[0])

    # Events of one cycle.

    def step(self) -> None:
        """After each edge: sees what the closer did in the cycle before, and plays the next one."""
        dut, numbers = self.dut, self.rng
        self.now += 1
        if self.now % 64 == 0:
            self._hear()
        if numbers.random() < 0.01:
            self.pace, self.traffic = numbers.choice((0.02, 0.1, 0.5)), numbers.choice((0.0, 0.02, 0.2))
        hold, held = int(dut.standstill__hold.value), int(dut.standstill__held.value)
        if int(dut.packets__header__enable.value):
            assert held, "a header beside the trigger's"
            slot = int(dut.packets__header__slot.value)
            job = self.headers[slot]["job_id"]
            dut.packets__header__header.value = encode(PacketHeader, self.headers[slot])
            if job not in self.closed:
                noted_left(why="open")
            elif self.owned(job):
                noted_left(why="operation")
        assert int(dut.drops__bars.value) or not int(dut.drops__pool__taken.value), "a packet beside the lane's"
        if int(dut.drops__pool__taken.value):
            self.gone.append(int(dut.drops__pool__n_left.value))
            consumed = self.read_consumed(int(dut.drops__pool__consumed.value))
            header = self.headers[int(dut.packets__header__slot.value)]
            assert consumed == {"loan": header["loan"] & ~header["multicast"] & 1, "want": 0}
        self.n_dropped += int(dut.dropped.value)
        self._end(int(dut.ends.value))
        dut.standstill__held.value = int(hold and (held or numbers.random() < 0.3))
        dut.drops__pool__n_left.value = numbers.randrange(3)
        freed = bool(self.leaving) and numbers.random() < self.pace
        dut.drops__freed__valid.value, dut.drops__freeing.value = int(freed), int(bool(self.leaving))
        if freed:
            slot = self.leaving.pop(0)
            packet, self.slots[slot] = self.slots[slot], None
            assert packet is not None
            self.left = [each for each in self.left if self.now - each[0] < LATE] + [(self.now, packet)]
            self.dropping = None if slot == self.dropping else self.dropping
            dut.drops__freed__payload.value = slot
        self._arrive()
        if not hold:
            self._operate()
        nothing = dict.fromkeys(("live", "job_id", "waits", "terms", "next_pulse"), 0)
        dut.holds.value = encode(self.holds, [
            nothing if o is None else {
                "live": 1, "job_id": o["job"], **{name: o[name] for name in ("waits", "terms", "next_pulse")},
            }
            for o in self.operations
        ])

    def _arrive(self) -> None:
        numbers, free = self.rng, [k for k, p in enumerate(self.slots) if p is None]
        arrives = self.busy and bool(free) and numbers.random() < self.traffic
        event = {"key": dict.fromkeys(HashKey.members, 0), "slot": 0, "what": Arrival.COMING.value}
        if arrives:
            slot = numbers.choice(free)
            # Few of closed jobs, which would never come to rest else.
            jobs = [job for job in range(JOBS) if job not in self.closed or numbers.random() < 0.1] or [0]
            jobs += 2 * [o["job"] for o in self.operations if o and o["waits"] and not o["ended"]]
            packet = Packet(self._header(numbers.choice(jobs)))
            for operation in self.operations:
                if operation and operation["job"] == packet.header["job_id"] and numbers.random() < 0.5:
                    near = (operation["next_pulse"] + numbers.choice((-300, -2, -1, -1, 0, 1))) % (1 << 16)
                    packet = Packet(packet.header | {"pulse": near})
            # One that looks like what another slot shows still.
            old = Packet(self.headers[numbers.choice(free)])
            if numbers.random() < 0.2 and not any(p and p.key == old.key for p in self.slots):
                packet = old
            self.slots[slot], packet.since = packet, self.now
            self.headers[slot] = packet.header
            event = {"key": packet.key, "slot": slot, "what": Arrival.THERE.value}
        self.dut.packets__arrival__valid.value = int(arrives or numbers.random() < 0.05)
        self.dut.packets__arrival__payload.value = encode(self.arrival, event)

    def _operate(self) -> None:
        """Operations begin, consume, and end: a closed one begins only if it was let in before."""
        numbers = self.rng
        for k, operation in enumerate(self.operations):
            if operation is None:
                job = numbers.randrange(JOBS)
                chance = 0.05 * self.late.get(job, 0) if job in self.closed else 0.02
                if self.busy and not self.owned(job) and numbers.random() < chance:
                    self.operations[k] = {
                        "job": job, "ended": 0, "late": self.late.pop(job, 0), "waits": 0, "waited": 0, "reported": 0,
                        "terms": numbers.choice(TERMS), "next_pulse": numbers.getrandbits(16),
                    }
                continue
            job = operation["job"]
            if operation["waits"] and numbers.random() < 0.0003:
                operation["waits"] = 0
            elif not operation["waits"] and numbers.random() < 0.01:
                operation["waits"], operation["waited"] = 1, self.now
            mine = [s for s, p in enumerate(self.slots) if p and p.header["job_id"] == job and not p.leaving]
            if mine and numbers.random() < (0.004 if operation["waits"] else 0.2):
                slot = numbers.choice(mine)
                self.slots[slot].leaving = True  # type: ignore[union-attr]
                self.leaving.append(slot)
            elif numbers.random() < (0.1 if operation["ended"] else 0.0003 if operation["waits"] else 0.002):
                self.operations[k] = None

    def _end(self, ends: int) -> None:
        for k, operation in enumerate(self.operations):
            if ends >> k & 1 and operation and not operation["ended"]:
                assert operation["job"] in self.closed, "an operation of an open job"
                noted_end(begun="after" if operation["late"] else "before its job was closed")
                operation["ended"] = 1
                self.n_ended += 1

    async def order(self, job: int, *, closed: bool) -> None:
        """A job is closed or opened."""
        if closed:
            self.closed.add(job)
            self.late = {**self.late, job: self.rng.getrandbits(1)}
        else:
            self.closed.remove(job)
        self.dut.order__payload.value = encode(JobClosing, {"job_id": job, "closed": int(closed)})
        self.dut.order__valid.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.order__valid.value = 0
        self.step()


@cocotb.test()
async def closed_jobs_leave_nothing(dut: SimHandleBase) -> None:
    """Packets and operations of a closed job are dropped once, except while an operation of it is still there; nothing
    else is touched."""
    unit = Unit(dut)
    dut.standstill__held.value = dut.order__valid.value = dut.holds.value = dut.packets__arrival__valid.value = 0
    await clock.start(dut, max_cycles=400_000)
    await clock.cycles(dut, 300)
    for _ in range(parameters()["orders"]):
        for _ in range(unit.rng.choice((1, 100, 400, 1000))):
            await RisingEdge(dut.clk)
            unit.step()
        busy = [operation["job"] for operation in unit.operations if operation]
        job = unit.rng.choice(busy) if busy and unit.rng.random() < 0.6 else unit.rng.randrange(JOBS)
        if job not in unit.closed:
            await unit.order(job, closed=True)
        for job in sorted(unit.closed):
            if unit.rng.random() < 0.5 and unit.rests(job) and not unit.late.get(job):
                await unit.order(job, closed=False)
    unit.busy = False
    for _ in range(12_000):
        await RisingEdge(dut.clk)
        unit.step()
    assert all(unit.rests(job) for job in unit.closed), "something of a closed job is left"
    assert unit.to_credit is None
    assert not unit.gone
    report(dropped=unit.n_dropped, ended=unit.n_ended, closed=len(unit.closed), reported=unit.n_reported)
