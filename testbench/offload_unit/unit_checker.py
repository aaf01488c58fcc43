"""Checks what passed the boundary of an offload unit, whatever is behind it, member by member."""

from collections import Counter, deque
from typing import Any

from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from rtl.interface import JobReportKind
from testbench.offload_unit.expectation import Arrival, Expectation, Sending
from testbench.offload_unit.ledger import Ledger, credit_for
from testbench.offload_unit.memory import HostMemory
from testbench.offload_unit.pulse import Operation
from testbench.offload_unit.record import NotCoveredError, Packet, Recording

_FREE = ("tag", "loan", "want", "status")
"""Fields of a packet that depend on credits, and on errors of other pulses."""


class DifferenceError(AssertionError):
    """A unit did something else than its model; the message begins with the member and the cycle."""


class UnitChecker:
    """Follows a recording and raises :class:`DifferenceError` at the first transfer that no unit may make.

    - `o_event`: one completion for each sequence that was committed, with its status and detail, once all its packets
      have come and all its writes are acknowledged.
    - `tx[0]`: packets whose header, payload and cause are there, within credits. The order within a pulse is free.
    - `memory`: bytes that are written, each once, where they belong; reads within operands; checks of addresses.
    - `tx[1]`: one credit for each packet taken, to its sender; shared credits within the pool; those returned unused.
    - `jobs`: packets of a closed job are dropped, credited and counted; its operation ends in JOB_CLOSED.
    - `o_report`, `status`: reports and counts that agree with all this, in the end.

    Refuses with :class:`NotCoveredError` as :class:`~testbench.offload_unit.unit_model.UnitModel` does, and a packet
    that may or may not be a duplicate. Looks neither at `status.state` nor at `status.trace`.

    Parameters
    ----------
    config : Config
        Of the unit.
    memory : HostMemory
        As it was at the beginning; it is copied.
    """

    def __init__(self, config: Config, memory: HostMemory):
        self.config, self.memory, self.ledger = config, memory.copy(), Ledger(config)
        self.node_id = self.cycle = 0
        self.member = ""
        self.probes: deque[dict[str, int]] = deque()
        self.filling: tuple[dict[str, int], list[dict[str, int]]] | None = None
        self.entries: Counter[int] = Counter()
        """Sequences that were let in and whose end is not reported."""
        self.expected: dict[int, Expectation] = {}
        self.ended: dict[int, deque[Expectation]] = {}
        """Operations of which the completion has not been taken, and whose job has another one already."""
        self.late: list[Expectation] = []
        """Operations that are over, of which packets may still leave."""
        self.buffer: dict[tuple[int, ...], Arrival] = {}
        self.arrivals: list[Arrival] = []
        self.writes: deque[tuple[list[Expectation], dict[str, Any]]] = deque()
        self.closed: set[int] = set()
        self.owing: set[int] = set()
        self.due: Counter[tuple[str, int]] = Counter()
        """Reports that are due, by kind and job."""
        self.ends: dict[int, tuple[list[int | None], list[int]]] = {}
        """By job: pulses that ENDED is to name (None: any), and those that it has named, without those that agree."""
        self.totals: Counter[str] = Counter()
        self.most_dropped = 0
        """Packets of closed jobs of which only the unit knows if they were consumed or dropped."""
        self.exact = True
        """False once an operation was closed, of which nobody knows how far it went."""

    def check(self, recording: Recording) -> None:
        """Follows a whole recording, after which nothing is to be left."""
        for entry in recording.entries:
            self.follow(entry.cycle, entry.member, entry.item)
        self.finish()

    def follow(self, cycle: int, member: str, item: Any) -> None:
        """One transfer."""
        self.cycle, self.member = cycle, member
        name = member.replace(".", "_").replace("[", "_").rstrip("]")
        getattr(self, f"_on_{name}", lambda _: None)(item)

    def _differ(self, text: str) -> None:
        raise DifferenceError(f"{self.member} in cycle {self.cycle}: {text}")

    def _require(self, holds: Any, text: str) -> None:
        if not holds:
            self._differ(text)

    # Inputs.

    def _on_settings(self, item: dict[str, int]) -> None:
        if item["watchdog"] or item["arm"]:
            raise NotCoveredError("settings.watchdog and settings.arm are not covered by this checker")
        self.node_id = item["node_id"]

    def _on_commands_sequence_probe(self, item: dict[str, int]) -> None:
        self.probes.append(item)

    def _on_commands_sequence_answer(self, item: dict[str, int]) -> None:
        self._require(self.probes, "an answer to no question")
        probe = self.probes.popleft()
        job, n_jobs = probe["job_id"], self.config.cou.n_jobs
        waits = [one for one, op in self.expected.items() if not op.is_through and not op.is_closed]
        if item["ok"]:
            self._require(job not in waits and len(waits) < n_jobs, f"job {job} is let in beside {waits}")
            self.entries[job] += 1
            self.filling = probe, []
            return
        self._require(self.entries[job] or self.entries.total() >= n_jobs, f"job {job} is refused, and there is room")
        if not self.entries[job]:
            self._end(job, 0)

    def _on_commands_sequence_descriptor(self, item: dict[str, Any]) -> None:
        assert self.filling is not None, "a descriptor of no sequence that was let in"
        probe, descriptors = self.filling
        if not item["abort"]:
            descriptors.append(item["desc"])
        if not item["last"]:
            return
        job, self.filling = probe["job_id"], None
        if item["abort"]:
            self._end(job, 0)
            return
        if job in self.expected:  # its completion may wait for whoever takes it
            before = self.expected.pop(job)
            self._require(before.is_through or before.is_closed, "an operation beside another one of its job")
            self.ended.setdefault(job, deque()).append(before)
        operation = Operation(descriptors, base_pulse=probe["base_pulse"], node_id=self.node_id)
        expectation = self.expected[job] = Expectation(operation, self.memory)
        expectation.is_closed = job in self.closed
        expectation.advance(self.buffer)

    def _on_rx_0(self, packet: Packet) -> None:
        job, expectation = packet.header["job_id"], self.expected.get(packet.header["job_id"])
        if packet.header["multicast"]:
            raise NotCoveredError("multicasts are not covered by this checker")
        same = [one for one in self.arrivals if one.packet.key == packet.key]
        if any(one.taken for one in same) or (same and job in self.closed):
            raise NotCoveredError("a packet whose key may be there is not covered by this checker")
        if same:
            self.totals["duplicate"] += 1
            self.due["SHARED_DUPLICATE" if packet.header["loan"] else "DUPLICATE", job] += 1
            return
        self.totals["inserted"] += 1
        arrival = self.buffer[packet.key] = Arrival(packet)
        self.arrivals.append(arrival)
        if expectation is not None:
            expectation.advance(self.buffer)

    def _on_rx_1(self, packet: Packet) -> None:
        header = packet.header
        if header["loan"] and not header["credits"]:
            self.due["RETURNED", header["job_id"]] += bool(self.ledger.pool)
            return
        self.ledger.returned(header)

    def _on_jobs_closing(self, item: dict[str, int]) -> None:
        job = item["job_id"]
        (self.closed.add if item["closed"] else self.closed.discard)(job)
        if item["closed"] and job in self.expected:
            self.expected[job].is_closed = True
        if not item["closed"]:  # it was at rest
            self.late = [op for op in self.late if op.operation.job_id != job]

    def _on_jobs_write_off(self, item: dict[str, int]) -> None:
        self.ledger.write_off(item["job_id"], item["lost"])
        self.owing.discard(item["job_id"])

    def _on_jobs_unused_known(self, _: Any) -> None:
        self.ledger.granted -= 1
        self.totals["shared_unused"] += 1

    # Packets.

    def _on_tx_0(self, packet: Packet) -> None:
        header = packet.header
        pair = header["job_id"], header["peer"]
        running = [*self.expected.values(), *self.late, *(op for ops in self.ended.values() for op in ops)]
        candidates = [
            (op, one) for op in running for one in op.sends if one.packet.header["job_id"] == header["job_id"]
            and one.packet.header["pulse"] == header["pulse"]
        ]
        self._require(candidates, f"no sequence of job {pair[0]} sends a packet in pulse {header['pulse']} now")
        differences = [(self._differences(packet, one), op, one) for op, one in candidates]
        fields, operation, sending = min(differences, key=lambda each: len(each[0]))
        self._require(not fields, ", ".join(fields))
        operation.sends.remove(sending)
        statuses = {int(status) for status, _ in operation.faults}
        statuses |= {int(Status.JOB_CLOSED)} if operation.is_closed else set()
        self._require(header["status"] in statuses | {0}, f"status {header['status']}, not of {sorted(statuses)}")
        self._require(header["status"] or not sending.marked, "an error of the operation is not marked")
        self._require(header["tag"] == header["loan"], f"tag {header['tag']} with loan {header['loan']}")
        self._require(self.ledger.lending or not header["want"], "a shared credit is asked for where there is no pool")
        if header["loan"]:
            self._require(self.ledger.idle[pair], f"a shared credit of peer {pair[1]} that was not granted")
            self.ledger.idle[pair] -= 1
        self.ledger.out[*pair, header["loan"]] += 1
        n_out = self.ledger.out[*pair, 0]
        self._require(n_out <= self.ledger.share, f"{n_out} packets out at peer {pair[1]} of job {pair[0]}")

    def _differences(self, packet: Packet, sending: Sending) -> list[str]:
        """The differences of two packets in words."""
        expected = sending.packet
        fields = [
            f"{name} {packet.header[name]} instead of {value}" for name, value in expected.header.items()
            if name not in _FREE and packet.header[name] != value
        ]
        if not fields and sending.known and packet.payload != expected.payload:
            found, wanted = packet.payload, expected.payload
            at = next((n for n, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), 0)
            fields = [f"payload differs from byte {at} on: {found[at:].hex()}, not {wanted[at:].hex()}"]
        return fields

    def _on_tx_1(self, packet: Packet) -> None:
        header = packet.header
        pair = header["job_id"], header["peer"]
        if not header["credits"]:
            self._require(self.ledger.idle[pair], f"a shared credit of peer {pair[1]} returns that is not there")
            self._equal(packet, self.ledger.unused(pair, node_id=self.node_id))
            return
        wanted = {name: value for name, value in header.items() if name != "loan"}
        credits_ = [(one, credit_for(one.packet, node_id=self.node_id).header) for one in self.arrivals]
        same = [one for one, fields in credits_ if wanted.items() <= fields.items()]
        found = sorted(same, key=lambda one: not one.taken)
        if not found:
            self._differ(f"a credit for no packet: {header}, not one of {[fields for _, fields in credits_[:2]]}")
        arrival = found[0]
        job = arrival.packet.header["job_id"]
        self._require(arrival.taken or job in self.closed, "a credit for a packet that nobody has consumed")
        self.most_dropped += arrival.taken and job in self.closed
        if not arrival.taken:
            self.totals["dropped"] += 1
            del self.buffer[arrival.packet.key]
        self.arrivals.remove(arrival)
        self._require(arrival.packet.header["want"] or not header["loan"], "a shared credit that nobody asked for")
        self.due["PACKET_LEFT", job] += self.ledger.consume(arrival.packet.header, grant=bool(header["loan"]))
        self.totals["shared_granted"] += header["loan"]
        self._require(self.ledger.granted <= self.ledger.pool, "more shared credits than there are in the pool")

    def _equal(self, packet: Packet, expected: Packet) -> None:
        fields = self._differences(packet, Sending(expected, True, False))
        self._require(not fields, ", ".join(fields))

    # Memory.

    def _on_memory_read_request(self, item: dict[str, int]) -> None:
        begin, end = item["addr"], item["addr"] + item["bytes"]
        operands = [span for op in self.expected.values() for span in op.operands]
        inside = any(at <= begin and end <= at + size for at, size in operands)
        self._require(inside, f"a read of {item['bytes']} bytes at {begin:#x}, where no operand is")

    def _on_memory_window_query(self, item: dict[str, int]) -> None:
        for op in self.expected.values():
            if item in op.queries:
                op.queries.remove(item)
                return
        self._differ(f"a check of {item} that nothing asks for")

    def _on_memory_write_request(self, item: dict[str, Any]) -> None:
        owners: list[Expectation] = []
        for place, byte in enumerate(item["content"], item["addr"]):
            found = [op for op in self.expected.values() if op.written.get(place)]
            self._require(found, f"byte {place:#x} is written, and nothing goes there")
            wanted = found[0].written[place].popleft()
            self._require(wanted in (byte, None), f"byte {place:#x} is {byte:#x} instead of {wanted}")
            if found[0] not in owners:
                owners.append(found[0])
        for op in owners:
            op.n_unacknowledged += 1
        self.writes.append((owners, item))

    def _on_memory_write_done(self, item: dict[str, int]) -> None:
        owners, written = self.writes.popleft()
        for op in owners:
            op.n_unacknowledged -= 1
            op.faults += [(Status.MEMORY_ERROR, 0)] if item["error"] else []
        if not item["error"]:
            self.memory.content[written["addr"]:written["addr"] + len(written["content"])] = written["content"]

    # Completions and reports.

    def _on_o_event(self, item: dict[str, int]) -> None:
        job = item["job_id"]
        self._require(job in self.expected or self.ended.get(job), f"a completion of job {job}, which has no operation")
        op = self.ended[job].popleft() if self.ended.get(job) else self.expected.pop(job)
        fault = Status(item["status"]), item["detail"]
        wanted = op.operation.completion(fault)
        self._require(item == wanted, f"{item} instead of {wanted}")
        self._require(op.allows(fault), f"{fault} instead of {op.faults or 'OK'}")
        self._require(not op.n_unacknowledged, f"job {job} completes before {op.n_unacknowledged} writes are done")
        if op.is_closed and fault[0] != Status.OK:
            self._give_up(op)
        else:
            self._require(op.is_through, f"job {job} completes before all its packets have come")
            missing = [f"{place:#x}" for place, bytes_ in op.written.items() if bytes_]
            self._require(not missing, f"job {job} completes before bytes {missing[:4]} are written")
            self._require(not op.queries, f"job {job} completes without a check of {op.queries}")
        self.totals["fired"] += op.n_fired
        self.late = [one for one in [*self.late, op] if one.sends]
        self._end(job, None if op.is_closed else op.operation.n_pulses)

    def _give_up(self, op: Expectation) -> None:
        """An operation was closed: nobody knows how far it went."""
        self.exact = False
        op.written.clear()
        op.queries.clear()

    def _end(self, job: int, pulses: int | None, *, reported: bool = False) -> None:
        """An operation has ended, or its end is reported; either may be seen first."""
        wanted, named = self.ends.setdefault(job, ([], []))
        (named if reported else wanted).append(pulses)
        while wanted and named:
            one, other = wanted.pop(0), named.pop(0)
            self._require(one in (None, other), f"{other} pulses of job {job} instead of {one}")

    def _on_o_report(self, item: dict[str, int]) -> None:
        job, kind = item["job_id"], JobReportKind(item["kind"])
        if kind is JobReportKind.ENDED:
            op, (wanted, _) = self.expected.get(job), self.ends.get(job, ([], []))
            # The completion may wait for whoever takes it.
            self._require(wanted or (op and (op.is_through or op.is_closed)), f"job {job} ends, and has no end")
            self.entries[job] -= self.entries[job] > 0
            self._end(job, item["pulses"], reported=True)
            (self.owing.add if item["owing"] else self.owing.discard)(job)
        elif kind is JobReportKind.SETTLED:
            self._require(job in self.owing, f"job {job} is settled, and did not owe")
            self.owing.discard(job)
        else:
            self.due[kind.name, job] -= 1

    # The end.

    def _on_status_counts(self, item: dict[str, int]) -> None:
        for name, count in item.items():
            self.totals[name] -= count

    def _on_status_end(self, item: dict[str, int]) -> None:
        self._require(item["busy"] == bool(self.expected), f"busy is {item['busy']}")
        self._require(item["level"] == len(self.arrivals), f"level is {item['level']}, not {len(self.arrivals)}")
        unlent = self.ledger.pool - self.ledger.granted
        self._require(item["unlent"] == unlent, f"unlent is {item['unlent']}, not {unlent}")

    def finish(self) -> None:
        """Nothing is left: sequences, packets, credits, reports."""
        running = [*self.expected, *(job for job, ops in self.ended.items() if ops)]
        unsent = [one.packet.header for op in self.late if not op.is_closed for one in op.sends]
        unpaired = {job: ends for job, ends in self.ends.items() if any(ends)}
        for member, left in (
            ("o_event", [f"no completion of job {job}" for job in running]),
            ("tx[0]", [f"no packet of {header}" for header in unsent]),
            ("tx[1]", [f"no credit for {one.packet.header}" for one in self.arrivals if one.taken]),
            ("jobs.closing", [f"{key} was not dropped" for key in self.buffer if key[0] in self.closed]),
            ("memory.write.done", [f"no answer to {item}" for _, item in self.writes]),
            ("o_report", [f"ends of job {job}, and reports: {ends}" for job, ends in unpaired.items()]),
            ("o_report", [f"{count} reports {kind} of job {job}" for (kind, job), count in self.due.items() if count]),
            ("o_report", [f"job {job} owes, and has nothing out" for job in self.owing if not self.ledger.owes(job)]),
            ("status.counts", self._miscounts()),
        ):
            self.member = member
            self._require(not left, left[0] if left else "")

    def _miscounts(self) -> list[str]:
        found = []
        for name, left in self.totals.items():
            if name == "fired" and not self.exact:
                wrong = left < 0
            elif name == "dropped":
                wrong = left > 0 or -left > self.most_dropped
            else:
                wrong = left != 0
            found += [f"{name} is {left} short"] * wrong
        return found
