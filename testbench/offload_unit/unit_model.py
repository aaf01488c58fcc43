"""A golden model of an offload unit: transactions in and out, named as members of its signature."""

import random
from collections import Counter, deque
from typing import Any

from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from rtl.interface import JobReportKind
from testbench.offload_unit.ledger import Ledger, credit_for
from testbench.offload_unit.pulse import Fault, Operation, Pulse
from testbench.offload_unit.record import NotCoveredError, Packet

MOST_KEPT = 3
"""Shared credits that it keeps for a peer."""


class _Context:
    """A pulse in progress."""

    def __init__(self, pulse: Pulse):
        self.pulse = pulse
        self.waits = False
        """For host memory, or the check of an address."""
        self.loads, self.content = 0, []
        self.allowed: bool | None = None
        self.credit: dict[str, int] | None = None


class _Entry:
    """A sequence that was let in, and its operation once that is committed."""

    def __init__(self, job_id: int, base_pulse: int):
        self.job_id, self.base_pulse = job_id, base_pulse
        self.descriptors: list[dict[str, int]] = []
        self.operation: Operation | None = None
        self.contexts: list[_Context] = []
        self.n_started = self.n_writes = 0
        self.is_expired = False
        self.fault: Fault = (Status.OK, 0)

    @property
    def is_through(self) -> bool:
        """True if nothing of the operation is under way, and nothing will begin."""
        all_begun = self.is_expired or (self.operation is not None and self.n_started == self.operation.n_pulses)
        return self.operation is not None and all_begun and not self.contexts and not self.n_writes

    def report(self, fault: Fault) -> None:
        """Of several errors the first one counts."""
        if self.fault[0] == Status.OK:
            self.fault = fault


class UnitModel:
    """Executes sequences as ``rtl.cou.offload_unit.OffloadUnit`` does, in any order that its contract leaves open.

    Shares with the RTL the ABI and the configuration. Inputs are methods, outputs wait in `out` by the names of
    :data:`~testbench.offload_unit.record.MEMBERS`; :meth:`step` takes one step that can be taken, drawn at random.

    Refuses with :class:`NotCoveredError`: multicasts, a watchdog (it knows no cycles), faults of the buffer's memories,
    descriptors that the scheduler refuses, and more packets than credits cover. Of `status` it has `busy`, `counts`,
    `level` and `unlent`; its `state`, the other statistics and `trace` stay 0.

    Parameters
    ----------
    config : Config
        Of the unit that it stands for.
    rng : Random
        For the order of what may happen.
    """

    def __init__(self, config: Config, rng: random.Random):
        self.config, self.rng, self.ledger = config, rng, Ledger(config)
        self.node_id = 0
        self.entries: list[_Entry] = []
        self.filling: _Entry | None = None
        self.buffer: dict[tuple[int, ...], Packet] = {}
        self.closed: set[int] = set()
        self.owing: set[int] = set()
        self.refused: set[tuple[int, int]] = set()
        self.reading: deque[_Context] = deque()
        self.checking: deque[_Context] = deque()
        self.writing: deque[_Entry] = deque()
        self.out: dict[str, deque[Any]] = {name: deque() for name in (
            "commands.sequence.answer", "tx[0]", "tx[1]", "memory.read.request", "memory.write.request",
            "memory.window.query", "o_event", "o_report",
        )}
        self.counts: Counter[str] = Counter()

    # Inputs.

    def settings(self, *, node_id: int, watchdog: int = 0, arm: int = 0) -> None:
        """Registers."""
        if watchdog:
            raise NotCoveredError("settings.watchdog is not covered by this model: it knows no cycles")
        if arm:
            raise NotCoveredError("settings.arm is not covered by this model: its buffer has no memories")
        self.node_id = node_id

    def probe(self, job_id: int, base_pulse: int) -> None:
        """Asks for an entry."""
        in_progress = any(entry.job_id == job_id for entry in self.entries)
        ok = not in_progress and len(self.entries) < self.config.cou.n_jobs
        if ok:
            self.filling = _Entry(job_id, base_pulse)
            self.entries.append(self.filling)
        elif not in_progress:
            self._ended(job_id, 0)
        self.out["commands.sequence.answer"].append({"ok": int(ok)})

    def descriptor(self, desc: dict[str, int], *, last: int, abort: int) -> None:
        """A descriptor with its inline data."""
        entry = self.filling
        assert entry is not None, "a descriptor of no sequence that was let in"
        if not abort:
            entry.descriptors.append(desc)
        if last:
            self.filling = None
        if last and abort:
            self.entries.remove(entry)
            self._ended(entry.job_id, 0)
        elif last:
            entry.operation = Operation(entry.descriptors, base_pulse=entry.base_pulse, node_id=self.node_id)
            self._close(entry)

    def rx(self, channel: int, packet: Packet) -> None:
        """A COLLECTIVE packet on channel 0, a CREDIT packet on channel 1."""
        header = packet.header
        job = header["job_id"]
        if channel:
            if header["loan"] and not header["credits"]:
                if self.ledger.pool:
                    self._report(JobReportKind.RETURNED, job)
                return
            self.ledger.returned(header)
            self._settle(job)
        elif header["multicast"]:
            raise NotCoveredError("multicasts are not covered by this model")
        elif packet.key in self.buffer:
            self.counts["duplicate"] += 1
            self._report(JobReportKind.SHARED_DUPLICATE if header["loan"] else JobReportKind.DUPLICATE, job)
        else:
            if len(self.buffer) == self.config.buffer_packets:
                raise NotCoveredError("more packets than credits cover are not covered by this model")
            self.buffer[packet.key] = packet
            self.counts["inserted"] += 1

    def read_data(self, content: bytes | None) -> None:
        """Answer to the oldest read; None: host memory refused it."""
        context = self.reading.popleft()
        context.content.append(content)
        context.loads -= 1
        if not context.loads:
            context.waits = False
            failed = None in context.content
            fault = context.pulse.load(None if failed else context.content)
            if fault:
                self._entry_of(context).report(fault)

    def write_done(self, *, error: int) -> None:
        """Answer to the oldest write."""
        entry = self.writing.popleft()
        entry.n_writes -= 1
        if error:
            entry.report((Status.MEMORY_ERROR, 0))

    def window_answer(self, *, ok: int) -> None:
        """Answer to the oldest check of an address."""
        context = self.checking.popleft()
        context.waits, context.allowed = False, bool(ok)

    def closing(self, job_id: int, *, closed: int) -> None:
        """A job is closed, or open again."""
        (self.closed.add if closed else self.closed.discard)(job_id)
        for entry in self.entries:
            self._close(entry)

    def write_off(self, job_id: int, *, lost: int) -> None:
        """Credits of a closed job are lost."""
        self.ledger.write_off(job_id, lost)
        self.owing.discard(job_id)

    def unused_known(self) -> None:
        """The job table knows a shared credit that returned."""
        self.ledger.granted -= 1
        self.counts["shared_unused"] += 1

    # Steps.

    def step(self) -> bool:
        """Takes one step; False if there is none."""
        actions = [(self._advance, entry, context) for entry in self.entries for context in entry.contexts]
        actions += [(self._begin, entry) for entry in self.entries if entry.operation is not None]
        actions += [(self._drop, packet) for packet in self.buffer.values()] if self.closed else []
        self.rng.shuffle(actions)
        return any(action(*arguments) for action, *arguments in actions)

    def _begin(self, entry: _Entry) -> bool:
        """Gives the next pulse a context, or ends the operation."""
        if entry.is_through:
            self.entries.remove(entry)
            self.out["o_event"].append(entry.operation.completion(entry.fault))
            self._ended(entry.job_id, entry.n_started)
            return True
        n_free = self.config.cou.n_contexts - sum(len(one.contexts) for one in self.entries)
        n_without = sum(not one.contexts for one in self.entries)
        may = not entry.is_expired and entry.n_started < entry.operation.n_pulses
        if not may or not n_free or (entry.contexts and n_free <= n_without):
            return False
        entry.contexts.append(_Context(entry.operation.pulse(entry.n_started)))
        entry.n_started += 1
        return True

    def _advance(self, entry: _Entry, context: _Context) -> bool:
        """The next thing that a pulse does."""
        pulse = context.pulse
        if context.waits:
            return False
        if entry.is_expired:
            entry.contexts.remove(context)
            return True
        if operand := pulse.operand():
            context.waits, context.loads, context.content = True, len(operand), []
            self.reading.extend([context] * len(operand))
            self.out["memory.read.request"].extend({"addr": addr, "bytes": size} for addr, size in operand)
            return True
        key = pulse.wanted()
        if key is not None and key not in self.buffer:
            return False
        step = pulse.next_pass(self.buffer[key] if key is not None else None)
        if step.sends and context.credit is None:
            context.credit = self._credit(entry, context)
            if context.credit is None:
                return False
        if step.query and context.allowed is None:
            context.waits = True
            self.checking.append(context)
            self.out["memory.window.query"].append(step.query)
            return True
        effect = pulse.carry_out(step, allowed=context.allowed is not False)
        for fault in effect.faults:
            entry.report(fault)
        if effect.sent is not None:
            self.out["tx[0]"].append(effect.sent.changed(status=int(entry.fault[0]), **context.credit))
        for write in effect.writes:
            entry.n_writes += 1
            self.writing.append(entry)
            self.out["memory.write.request"].append(write)
        if key is not None:
            self._leave(self.buffer.pop(key), grants=True)
        context.allowed, context.credit = None, context.credit if effect.sent is None else None
        self.counts["fired"] += step.final
        if pulse.over:
            entry.contexts.remove(context)
        return True

    def _credit(self, entry: _Entry, context: _Context) -> dict[str, int] | None:
        """Header fields of a packet that may leave; None if it may not."""
        ledger, pair = self.ledger, (entry.job_id, context.pulse.descriptor["peer"])
        is_oldest = entry.contexts[0] is context
        loan = int(ledger.idle[pair] > 0)
        if not loan and ledger.out[*pair, 0] >= ledger.share - (not is_oldest):
            self.refused.add(pair)
            return None
        want = ledger.lending and pair in self.refused and ledger.idle[pair] < MOST_KEPT
        self.refused.discard(pair)
        ledger.idle[pair] -= loan
        ledger.out[*pair, loan] += 1
        return {"tag": loan, "loan": loan, "want": int(want)}

    def _drop(self, packet: Packet) -> bool:
        """Drops a packet of a closed job that has no operation here."""
        job = packet.header["job_id"]
        if job not in self.closed or any(entry.job_id == job for entry in self.entries):
            return False
        self.counts["dropped"] += 1
        self._leave(self.buffer.pop(packet.key), grants=False)
        return True

    def _leave(self, packet: Packet, *, grants: bool) -> None:
        """A packet leaves the buffer, and its credit returns."""
        ledger, header = self.ledger, packet.header
        free = ledger.pool - ledger.granted + (header["loan"] and ledger.granted > 0)
        grant = bool(grants and header["want"] and free > 0 and self.rng.random() < 0.8)
        self.counts["shared_granted"] += grant
        credit = credit_for(packet, node_id=self.node_id)
        self.out["tx[1]"].append(credit.changed(loan=int(grant)))
        for _ in range(ledger.consume(header, grant=grant)):
            self._report(JobReportKind.PACKET_LEFT, header["job_id"])

    def _close(self, entry: _Entry) -> None:
        if entry.job_id in self.closed and entry.operation is not None and not entry.is_expired:
            entry.is_expired = True
            entry.report((Status.JOB_CLOSED, 0))

    def _ended(self, job_id: int, pulses: int) -> None:
        self.owing.discard(job_id)
        owing = self.ledger.owes(job_id)
        if owing:
            self.owing.add(job_id)
        self._report(JobReportKind.ENDED, job_id, owing=int(owing), pulses=pulses)
        self._settle(job_id)

    def _settle(self, job_id: int) -> None:
        """Returns shared credits that no operation needs; reports the last credit of a job without one."""
        if any(entry.job_id == job_id for entry in self.entries):
            return
        for pair in [pair for pair, count in self.ledger.idle.items() if pair[0] == job_id for _ in range(count)]:
            self.out["tx[1]"].append(self.ledger.unused(pair, node_id=self.node_id))
        if job_id in self.owing and not self.ledger.owes(job_id):
            self.owing.discard(job_id)
            self._report(JobReportKind.SETTLED, job_id)

    def _report(self, kind: JobReportKind, job_id: int, **fields: int) -> None:
        self.out["o_report"].append({"kind": kind.value, "job_id": job_id, "owing": 0, "pulses": 0, **fields})

    def _entry_of(self, context: _Context) -> _Entry:
        return next(entry for entry in self.entries if context in entry.contexts)
