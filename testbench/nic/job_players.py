"""Everybody around the job table: units that keep books, their peers, the scheduler and software."""

from collections import Counter, defaultdict

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import Event, RisingEdge

from firmware_models.abi.encoding import JobOrderKind
from rtl.interface import CreditGiven, JobOrder, JobReport, JobReportKind, JobStanding, PlacementSignature
from testbench.clock import cycles, start
from testbench.runner import parameters, rng
from testbench.stream import StreamSink, StreamSource

_query, _answer = (
    PlacementSignature().members[name].signature.members["payload"].shape for name in ("query", "answer")
)


class Asker:
    """A port of the table; `answered` is called with the job and the answer of each query, in order."""

    def __init__(self, dut: SimHandleBase, name: str, answered):
        self.queries = StreamSource(dut, f"{name}__query", _query)
        self.answers = StreamSink(dut, f"{name}__answer", _answer, callback=self._answered)
        self.answered = answered
        self.waiting: list[int] = []

    def ask(self, job: int, *, shared: int = 0) -> None:
        """Queues a question."""
        self.waiting.append(job)
        self.queries.append({"job_id": job, "shared": shared})

    def _answered(self, answer: dict[str, int]) -> None:
        self.answered(self.waiting.pop(0), answer)


class Software:
    """Orders to the table, and its answers. No order about a job stands beside a question of the scheduler about it:
    which of them comes first would be open."""

    def __init__(self, dut: SimHandleBase, table: "Table"):
        self.orders = StreamSource(dut, "order", JobOrder)
        StreamSink(dut, "standing", JobStanding, callback=self._answered)
        self.table = table
        self.waiting: list[tuple[int, JobOrderKind]] = []
        self.closed: set[int] = set()
        self.barred: set[int] = set()
        self.n_barred = 0
        self.versions: Counter[int] = Counter()
        """How often a job's packets were let in or not from then on."""
        self.n_closed = self.n_opened = self.n_refused = self.n_written_off = 0
        self.last: dict[str, int] = {}

    def order(self, job: int, kind: JobOrderKind) -> None:
        """Queues an order."""
        self.waiting.append((job, kind))
        self.orders.append({"job_id": job, "kind": int(kind)})

    def waits(self, job: int) -> bool:
        """An order about the job has no answer yet."""
        return any(job == other for other, _ in self.waiting)

    def _answered(self, standing: dict[str, int]) -> None:
        job, kind = self.waiting.pop(0)
        was, table, self.last = job in self.closed, self.table, standing
        assert standing["job_id"] == job
        assert standing["closed"] or kind is not JobOrderKind.CLOSE, "an order without effect"
        assert standing["closed"] or not standing["refused"], "refused, and not closed"
        if kind in (JobOrderKind.LOOK, JobOrderKind.CLOSE):
            assert standing["refused"] == (job in self.barred)
        self.n_barred += standing["refused"] and job not in self.barred
        self.versions[job] += standing["refused"] != (job in self.barred)
        (self.barred.add if standing["refused"] else self.barred.discard)(job)
        assert standing["changed"] == (standing["closed"] != was)
        if kind is JobOrderKind.LOOK:
            assert not standing["changed"], "a look that changes something"
        if kind is JobOrderKind.OPEN and was:
            self.n_refused += standing["closed"]
            if not standing["closed"]:
                assert job not in table.busy, "opened during an operation"
                assert job not in table.owing, "opened with credits out"
                assert (standing["busy"], standing["owing"], standing["kept"]) == (0, 0, 0)
                table.pulses[job] = 0
                self.n_opened += 1
        if standing["written_off"]:
            assert kind is JobOrderKind.WRITE_OFF
            assert was
            assert job not in table.busy
            self.n_written_off += 1
            table.forget(job, standing)
        self.n_closed += standing["closed"] and not was
        (self.closed.add if standing["closed"] else self.closed.discard)(job)


class Table:
    """The table among units that keep books: what is where, and what each operation has left behind."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        self.n_units = parameters()["n_units"]
        self.rng = rng("units")
        self.packet = Asker(dut, "packet", self._packet_placed)
        self.sequence = Asker(dut, "sequence", self._sequence_placed)
        self.credit = Asker(dut, "credit", self._credit_found)
        self.software = Software(dut, self)
        self.reports = [StreamSource(dut, f"reports__{k}", JobReport) for k in range(self.n_units)]
        self.packets: Counter[tuple[int, int]] = Counter()
        """Packets at units, and shared credits at peers."""
        self.peers = Peers(self)
        self.busy: dict[int, int] = {}
        self.owing: dict[int, int] = {}
        self.pulses: Counter[int] = Counter()
        self.let_in = self.refused = self.moved = self.found = 0
        self.debts: dict[int, int] = {}
        """A new number for each time that credits of a job are out after its operation."""
        self.hoards: set[int] = set()
        """Jobs whose packets are lost: nobody reports that they are gone."""
        self.asked_of: list[int | None] = []
        self._last: dict[int, int] = {}

    async def start(self, **limits) -> None:
        """Clock and reset, with empty buffers."""
        self.dut.given_valid.value = 0
        await start(self.dut, **limits)
        for k in range(self.n_units):
            getattr(self.dut, f"levels__{k}").value = 0

    def units_of(self, job: int) -> set[int]:
        """Units that have something of the job."""
        units = {unit for (of, unit), count in self.packets.items() if of == job and count}
        return units | {where[job] for where in (self.busy, self.owing) if job in where}

    def _place(self, job: int, unit: int) -> None:
        assert self.units_of(job) <= {unit}, f"job {job} is at {self.units_of(job)}, and now at {unit}"
        self.moved += self._last.get(job, unit) != unit
        self._last[job] = unit

    def _packet_placed(self, job: int, answer: dict[str, int]) -> None:
        if not self.peers.judged(job, answer["ok"]):
            return
        self._place(job, answer["unit"])
        self.packets[job, answer["unit"]] += 1
        if job not in self.hoards:
            cocotb.start_soon(self._consume(job, answer["unit"]))

    def _sequence_placed(self, job: int, answer: dict[str, int]) -> None:
        assert answer["closed"] == (job in self.software.closed)
        if not answer["ok"]:
            self.refused += 1
            return
        assert job not in self.software.closed, "an operation of a closed job"
        assert job not in self.busy, "two operations of one job at once"
        assert answer["base_pulse"] == self.pulses[job] % (1 << 16)
        self._place(job, answer["unit"])
        self.busy[job] = answer["unit"]
        self.let_in += 1
        cocotb.start_soon(self._operate(job, answer["unit"]))

    def forget(self, job: int, standing: dict[str, int]) -> None:
        """Writes off everything that a job has here."""
        unit = standing["unit"]
        assert self.units_of(job) <= {unit}
        assert standing["lost"] == self.packets[job, unit]
        assert (standing["owing"], standing["kept"]) == (0, 0)
        self.packets[job, unit] = 0
        self.peers.forget(job)
        self.owing.pop(job, None)
        self.debts.pop(job, None)

    def _credit_found(self, job: int, answer: dict[str, int]) -> None:
        # A change during the question permits either answer.
        debt = self.asked_of.pop(0)
        if debt is not None and self.debts.get(job) == debt:
            assert answer["ok"], f"job {job} was not found"
            assert {answer["unit"]} == self.units_of(job)
            self.found += 1

    def look(self, job: int) -> None:
        """Looks for a job; if its credits are out from now until the answer, it has to be found."""
        self.asked_of.append(self.debts.get(job))
        self.credit.ask(job)

    async def _pause(self) -> None:
        await cycles(self.dut, self.rng.choice((1, 3, 20, 200)))

    async def report(self, unit: int, kind: JobReportKind, job: int, **fields: int) -> None:
        """Tells the table, and waits until it has taken the report."""
        taken = Event()
        item = {"kind": kind.value, "job_id": job, "owing": 0, "pulses": 0, **fields}
        self.reports[unit].append(item, event=taken)
        await taken.wait()

    async def _consume(self, job: int, unit: int) -> None:
        shared = self.peers.came[job].pop(0)
        await self._pause()
        if self.rng.random() < 0.1:
            self.peers.twice(job, shared=shared)
            reports = [JobReportKind.SHARED_DUPLICATE if shared else JobReportKind.DUPLICATE]
        else:
            granted = await self.peers.credit(job, shared=shared)
            reports = [JobReportKind.PACKET_LEFT] * (1 + shared - granted)
        for kind in reports:
            # The books are changed first: a question may be answered in the very cycle of the report.
            self.packets[job, unit] -= 1
            await self.report(unit, kind, job)

    async def give_back(self, job: int) -> None:
        """A peer of the job returns a shared credit."""
        unit, = self.units_of(job)
        self.packets[job, unit] -= 1
        await self.report(unit, JobReportKind.RETURNED, job)

    async def _operate(self, job: int, unit: int) -> None:
        await self._pause()
        pulses, owing = self.rng.choice((0, 1, 7, 60_000)), self.rng.getrandbits(1)
        self.pulses[job] += pulses
        self.busy.pop(job)
        if owing:
            self.owing[job] = unit
            self.debts[job] = self.let_in
        else:
            self._settled(job)
        await self.report(unit, JobReportKind.ENDED, job, pulses=pulses, owing=owing)
        if not owing:
            return
        await self._pause()
        # With another operation in progress the next end says how things stand.
        if job not in self.busy and self.owing.get(job) == unit:
            self._settled(job)
            await self.report(unit, JobReportKind.SETTLED, job)

    def _settled(self, job: int) -> None:
        self.owing.pop(job, None)
        self.debts.pop(job, None)

    async def settle(self) -> None:
        """Waits until nobody has anything to ask or to report any more; shared credits return."""
        while True:
            await cycles(self.dut, 400)
            for job in self.peers.idle.elements():
                cocotb.start_soon(self.give_back(job))
            self.peers.returned += self.peers.idle.total()
            self.peers.free += self.peers.idle.total()
            self.peers.idle.clear()
            if not (any(self.packets.values()) or self.busy or self.owing or self.packet.waiting
                    or self.sequence.waiting or any(source.pending for source in self.reports)):
                await cycles(self.dut, 10)
                return

    def jobs(self) -> list[int]:
        """Jobs at each unit, as the table counts them."""
        return [int(getattr(self.dut, f"jobs__{k}").value) for k in range(self.n_units)]


class Peers:
    """Peers of all jobs: those that keep to their credits, and others that do not. And the units' CREDIT packets.

    The honest know what they have: a packet that they send is let in. The others send when there is nothing left.
    """

    def __init__(self, table: Table):
        self.table, self.dut = table, table.dut
        self.rng = rng("peers")
        self.share, self.free = parameters()["n_credits"], parameters()["pool"]
        self.out: Counter[int] = Counter()
        """Packets on guaranteed credits, on their way and here."""
        self.here: Counter[tuple[int, int]] = Counter()
        """Packets that have been let in and have no CREDIT packet, on guaranteed credits and on shared ones."""
        self.rights: Counter[int] = Counter()
        """Shared credits that no packet has come on, and that have not returned; `idle`: not even on their way."""
        self.idle: Counter[int] = Counter()
        self.asked: list[tuple[int, bool, int]] = []
        self.came: dict[int, list[int]] = defaultdict(list)
        self.uncovered = self.covered = self.shared = self.duplicates = self.returned = self.nobodys = 0
        self.busy = False

    def ask(self, job: int) -> None:
        """A packet of the job: one that a credit covers, or not."""
        software = self.table.software
        shared = int(self.idle[job] > 0 and self.rng.random() < 0.7)
        # One that no credit covered when it was sent may take the next one that is free before this one.
        greedy = any(
            of == job and not asked[1] for of, asked in zip(self.table.packet.waiting, self.asked, strict=True)
        )
        honest = bool(shared) or (self.out[job] < self.share and not greedy)
        if shared:
            self.idle[job] -= 1
        elif honest:
            self.out[job] += 1
        self.asked.append((shared, honest, software.versions[job]))
        self.table.packet.ask(job, shared=shared)

    def claim(self, job: int) -> None:
        """A packet on a shared credit, of a job that is never granted one."""
        self.asked.append((1, False, -1))
        self.table.packet.ask(job, shared=1)

    def judged(self, job: int, ok: int) -> bool:
        """True if a packet has been let in; called with the answers, in their order."""
        software = self.table.software
        shared, honest, version = self.asked.pop(0)
        assert not ok or version >= 0, "a packet on a shared credit of nobody"
        settled = software.versions[job] == version and not software.waits(job)
        if settled and (honest or job in software.barred):
            assert bool(ok) == (job not in software.barred), f"a packet of job {job} on a credit: ok is {ok}"
        if not ok:
            self.uncovered += 1
            if honest and shared:
                self.idle[job] += 1
            elif honest:
                self.out[job] -= 1
            return False
        self.covered += honest
        self.shared += shared
        self.out[job] += not honest and not shared
        self.here[job, shared] += 1
        self.rights[job] -= shared
        self.came[job].append(shared)
        assert self.here[job, 0] <= self.share, "more packets than credits"
        assert self.rights[job] >= 0, "a packet on a shared credit that was not granted"
        return True

    async def credit(self, job: int, *, shared: int) -> int:
        """A CREDIT packet leaves: one at a time; whether a shared credit is granted with it."""
        while self.busy:
            await RisingEdge(self.dut.clk)
        self.busy = True
        self.free += shared
        granted = int(self.free > 0 and self.rng.random() < 0.5)
        self.free -= granted
        self.dut.given_valid.value = 1
        self.dut.given.value = CreditGiven.const({"job_id": job, "shared": shared, "granted": granted}).as_bits()
        self.here[job, shared] -= 1
        self.rights[job] += granted
        await RisingEdge(self.dut.clk)
        self.dut.given_valid.value = 0
        self.busy = False
        self.out[job] -= 1 - shared
        self.idle[job] += granted
        return granted

    def forget(self, job: int) -> None:
        """All of a job is written off: its peers have their guaranteed credits, and no shared one."""
        self.free += self.rights[job] + self.here[job, 1]
        for books in (self.out, self.rights, self.idle):
            books.pop(job, None)
        self.here = Counter({key: count for key, count in self.here.items() if key[0] != job})

    def twice(self, job: int, *, shared: int) -> None:
        """A packet was dropped as a duplicate: what it travelled on is free again, once that is known."""
        self.duplicates += 1
        self.here[job, shared] -= 1
        self.rights[job] += shared
        cocotb.start_soon(self._forgive(job, shared))

    async def _forgive(self, job: int, shared: int) -> None:
        await cycles(self.dut, 400)
        self.out[job] -= 1 - shared
        self.idle[job] += shared

    async def count(self) -> None:
        """Counts the shared credits that the table reports as returned."""
        while True:
            await RisingEdge(self.dut.clk)
            self.returned -= sum(int(getattr(self.dut, f"returned__{k}").value) for k in range(self.table.n_units))
            self.nobodys -= int(self.dut.unknown.value)
