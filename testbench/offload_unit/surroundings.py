"""Everything around one offload unit: scheduler, job table, host memory, registers."""

import random
from collections import Counter, deque
from typing import Any

from firmware_models.abi.formats import DESCRIPTOR, PULSE_BITS
from firmware_models.config import Config
from rtl.interface import JobReportKind, inline_layout, inline_words
from testbench.codec import encode
from testbench.offload_unit.memory import HostMemory
from testbench.offload_unit.record import Packet
from testbench.offload_unit.streams import Call, Drain, Feed, PacketDrain, PacketFeed, beats
from testbench.parts.inputs import Read
from testbench.parts.pace import Pace

_CONTROL = (1 << DESCRIPTOR.offset("payload")) - 1
Sequence = list[dict[str, int]]


class Surroundings:
    """Drives the nine members of a unit from outside, with pauses on every stream.

    Parameters
    ----------
    unit : component with ``OffloadUnitSignature(config)``
        As seen from itself.
    config : Config
        Of the unit.
    memory : HostMemory
        Host memory.
    node_id : int
        NodeID.
    rng : Random
        For pauses.

    Members
    -------
    sequences : dict of int to deque
        Sequences to be executed, by job, one after the other.
    arrivals : list of two deques
        Packets that are to go into the unit, by channel.
    sent : list of two callables
        Called with each packet that leaves it.
    events : list
        Completions.
    orders : deque
        Jobs to be closed or opened.
    """

    def __init__(self, unit: Any, config: Config, *, memory: HostMemory, node_id: int, rng: random.Random):
        self.unit, self.memory, self.node_id, self.rng = unit, memory, node_id, rng
        self.flit_bytes, width = config.datapath.flit_bytes, config.datapath.data_width
        self.inline, self.n_words, self.width = inline_layout(width), inline_words(width), width
        self.sequences: dict[int, deque[Sequence]] = {}
        self.arrivals: list[deque[Packet]] = [deque(), deque()]
        self.sent: list[Call] = [lambda packet: None, lambda packet: None]
        self.arrive = [self._arrives, self.arrivals[1].append]
        self.n_here = 0
        """Packets on their way in, or in the buffer."""
        self.events: list[dict[str, int]] = []
        self.base: Counter[int] = Counter()
        self.busy: set[int] = set()
        self.owing: set[int] = set()
        self.job: int | None = None
        self.current: deque[dict[str, Any]] = deque()
        self.payloads: deque[int] = deque()
        self.payload, self.since = 0, 1000
        self.unused = 0
        self.reads: deque[tuple[int, dict[str, int]]] = deque()
        self.writes: deque[dict[str, int]] = deque()
        self.written: list[int] = []
        sequence, memory_port = unit.commands.sequence, unit.memory
        self.probe, self.descriptor = Feed(sequence.probe, rng), Feed(sequence.descriptor, rng, None, self._handed)
        self.read_data, self.done = Feed(memory_port.read.data, rng), Feed(memory_port.write.done, rng)
        self.answers, self.orders = Feed(memory_port.window.answer, rng), Feed(unit.jobs.closing, rng)
        self.write_offs = Feed(unit.jobs.write_off, rng)
        self.rx = [PacketFeed(port, rng, self.arrivals[vc], self.flit_bytes) for vc, port in enumerate(unit.rx)]
        paced = [
            self.probe, Drain(sequence.answer, rng, self._answered), self.descriptor,
            Drain(memory_port.read.request, rng, self._read), self.read_data,
            Drain(memory_port.write.request, rng, self.writes.append), Drain(memory_port.write.data, rng, self._write),
            self.done, Drain(memory_port.window.query, rng, self._check), self.answers, self.orders, self.write_offs,
            Drain(unit.o_event, rng, self.events.append), Drain(unit.o_report, rng, self._reported),
            *(PacketDrain(port, rng, lambda packet, vc=vc: self._sent(vc, packet), self.flit_bytes)
              for vc, port in enumerate(unit.tx)),
        ]
        self.levels = [unit.settings.node_id, unit.commands.inline_data.as_value(), unit.jobs.unused_known,
                       memory_port.write.data.ready]
        self.ends = [
            Pace(*paced, *(end for packets in self.rx for end in packets.ends), rng=rng), *paced, *self.rx,
        ]

    @property
    def is_idle(self) -> bool:
        """True if all sequences have ended, and nothing is on its way in."""
        return not any(self.sequences.values()) and not self.busy and not self.owing and self.job is None and all(
            packets.is_idle for packets in self.rx) and not self.unused and not self.n_here

    def order(self, job: int, *, closed: bool) -> None:
        """Closes a job, whose sequences are not handed over any more, or opens it, to begin with pulse 0."""
        self.orders.queue.append({"job_id": job, "closed": int(closed)})
        if closed:
            self.sequences.pop(job, None)
        else:
            self.base[job] = 0

    def write_off(self, job: int, *, lost: int) -> None:
        """Credits of a closed job are lost."""
        self.write_offs.queue.append({"job_id": job, "lost": lost})
        self.owing.discard(job)

    def _arrives(self, packet: Packet) -> None:
        self.n_here += 1
        self.arrivals[0].append(packet)

    def _sent(self, channel: int, packet: Packet) -> None:
        self.n_here -= channel and packet.header["credits"]
        self.sent[channel](packet)

    def drive(self, context: Any) -> None:
        """Drives all inputs of the unit in a cycle."""
        self._go_on()
        context.set(self.levels[0], self.node_id)
        self.since += 1
        index = self.since - 2
        word = {"valid": 0, "index": self.rng.getrandbits(1), "data": self.rng.getrandbits(self.width)}
        if 0 <= index < self.n_words:
            data = self.payload >> index * self.width & (1 << self.width) - 1
            word = {"valid": 1, "index": index, "data": data}
        context.set(self.levels[1], encode(self.inline, word))
        known = int(self.unused > 0 and self.rng.random() < 0.3)
        self.unused -= known
        context.set(self.levels[2], known)
        for end in self.ends:
            end.drive(context)
        if not self.writes:  # data follow their request
            context.set(self.levels[3], 0)

    def settle(self, read: Read) -> None:
        """Looks at a cycle."""
        for end in self.ends:
            end.settle(read)

    # Scheduler and job table.

    def _go_on(self) -> None:
        """The next question of the scheduler, or the next descriptor."""
        if self.job is None:
            ready = [job for job, queue in self.sequences.items() if queue and job not in self.busy]
            if ready:
                self.job = self.rng.choice(ready)
                self.next_sequence = self.sequences[self.job].popleft()
                self.busy.add(self.job)
                base = self.base[self.job] % (1 << PULSE_BITS)
                self.probe.queue.append({"job_id": self.job, "base_pulse": base})
        elif self.current and self.since > 2 * self.n_words and not self.descriptor.queue and (
                self.descriptor.offered is None):
            self.descriptor.queue.append(self.current.popleft())

    def _answered(self, item: dict[str, int]) -> None:
        if not item["ok"]:
            self.sequences.setdefault(self.job, deque()).appendleft(self.next_sequence)
            self.job = None
            return
        sequence = self.next_sequence
        for place, desc in enumerate(sequence):
            bits, is_last = DESCRIPTOR.to_int(desc), place == len(sequence) - 1
            self.current.append({"desc": bits & _CONTROL, "last": int(is_last), "abort": 0})
            self.payloads.append(desc["payload"])

    def _handed(self, item: dict[str, Any]) -> None:
        self.payload, self.since = self.payloads.popleft(), 0
        if item["last"]:
            self.job = None

    def _reported(self, item: dict[str, int]) -> None:
        job, kind = item["job_id"], JobReportKind(item["kind"])
        if kind is JobReportKind.ENDED:
            assert job in self.busy, f"o_report: the end of job {job}, which has no operation"
            self.busy.discard(job)
            self.base[job] += item["pulses"]
            (self.owing.add if item["owing"] else self.owing.discard)(job)
        elif kind is JobReportKind.SETTLED:
            self.owing.discard(job)
        elif kind is JobReportKind.RETURNED:
            self.unused += 1
        elif kind is not JobReportKind.PACKET_LEFT:
            self.n_here -= 1  # a duplicate

    # Host memory.

    def _read(self, request: dict[str, int]) -> None:
        content = self.memory.read(request["addr"], request["bytes"])
        items = beats(content or bytes(request["bytes"]), self.flit_bytes, head=request["addr"] % self.flit_bytes)
        self.read_data.queue.extend(item | {"error": int(content is None)} for item in items)

    def _write(self, item: dict[str, int]) -> None:
        self.written.append(item["data"])
        if item["last"]:
            request = self.writes.popleft()
            head = request["addr"] % self.flit_bytes
            data = b"".join(word.to_bytes(self.flit_bytes, "little") for word in self.written)
            self.written = []
            ok = self.memory.write(request["addr"], data[head:head + request["bytes"]])
            self.done.queue.append({"error": int(not ok)})

    def _check(self, query: dict[str, int]) -> None:
        self.answers.queue.append({"ok": int(self.memory.allows(query))})
