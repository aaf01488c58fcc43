"""Records what passes the boundary of a component with ``OffloadUnitSignature``, whatever is inside of it."""

from collections import deque
from collections.abc import Callable
from typing import Any

from firmware_models.config import Config
from rtl.interface import inline_words
from testbench.codec import decoder
from testbench.offload_unit.record import Recording
from testbench.offload_unit.streams import whole
from testbench.parts.inputs import Read


class _Stream:
    """A stream that is looked at."""

    def __init__(self, port: Any, then: Callable[[Any], None]):
        self.valid, self.ready, self.payload = port.valid, port.ready, port.payload.as_value()
        self.decode, self.then = decoder(port.payload.shape()), then

    def look(self, read: Read) -> None:
        """Hands an item on that is being transferred."""
        if read(self.valid) and read(self.ready):
            self.then(self.decode(read(self.payload)))


class _PacketStream:
    """Packets of one channel: each is recorded where its header stands."""

    def __init__(self, port: Any, member: str, recording: Recording, flit_bytes: int):
        self.member, self.recording, self.flit_bytes = member, recording, flit_bytes
        self.header, self.payload = _Stream(port.header, self._begin), _Stream(port.payload, self._go_on)
        self.data: list[int] = []

    def _begin(self, header: dict[str, int]) -> None:
        self.complete, self.fields, self.data = self.recording.begin(self.member), header, []
        if not header["length"]:
            self.complete(whole(header, [], self.flit_bytes))

    def _go_on(self, item: dict[str, int]) -> None:
        self.data.append(item["data"])
        if item["last"]:
            assert len(self.data) == -(-self.fields["length"] // self.flit_bytes), f"{self.member}: another length"
            self.complete(whole(self.fields, self.data, self.flit_bytes))

    def look(self, read: Read) -> None:
        """Looks at a header, or a beat."""
        self.payload.look(read)
        self.header.look(read)


class UnitMonitor:
    """Looks at all members in each cycle, and drives none.

    Parameters
    ----------
    unit : component or interface with ``OffloadUnitSignature(config)``
        As seen from itself.
    config : Config
        Of the signature.
    """

    def __init__(self, unit: Any, config: Config):
        self.unit, self.flit_bytes = unit, config.datapath.flit_bytes
        self.recording = recording = Recording()
        self.words, self.n_words, self.width = 0, inline_words(config.datapath.data_width), config.datapath.data_width
        self.descriptor: tuple[dict[str, Any], Callable[[Any], None]] | None = None
        self.writes: deque[dict[str, int]] = deque()
        self.written: list[int] = []
        self.settings: dict[str, int] | None = None
        sequence, memory = unit.commands.sequence, unit.memory

        def noted(port: Any, member: str) -> _Stream:
            return _Stream(port, lambda item: recording.note(member, item))

        packets = [
            _PacketStream(port, f"{name}[{vc}]", recording, self.flit_bytes)
            for name in ("rx", "tx") for vc, port in enumerate(getattr(unit, name))
        ]
        self.inputs = [
            noted(unit.jobs.closing, "jobs.closing"), noted(unit.jobs.write_off, "jobs.write_off"),
            noted(sequence.probe, "commands.sequence.probe"), _Stream(sequence.descriptor, self._begin_descriptor),
            noted(memory.write.done, "memory.write.done"), *packets[:2],
        ]
        self.outputs = [
            noted(sequence.answer, "commands.sequence.answer"), noted(memory.read.request, "memory.read.request"),
            _Stream(memory.write.request, self.writes.append), _Stream(memory.write.data, self._write),
            noted(memory.window.query, "memory.window.query"), *packets[2:], noted(unit.o_report, "o_report"),
            noted(unit.o_event, "o_event"),
        ]
        self.counts, self.decode_counts = unit.status.counts.as_value(), decoder(unit.status.counts.shape())
        self.levels = {name: getattr(unit.settings, name) for name in ("node_id", "watchdog", "arm")}
        self.unused_known, self.word = unit.jobs.unused_known, unit.commands.inline_data.as_value()
        self.decode_word = decoder(unit.commands.inline_data.shape())

    def drive(self, context: Any) -> None:
        """Drives nothing."""

    def settle(self, read: Read) -> None:
        """Looks at a cycle."""
        recording = self.recording
        settings = {name: read(level) for name, level in self.levels.items()}
        if settings != self.settings:
            self.settings = settings
            recording.note("settings", settings)
        self._inline(read)
        for stream in self.inputs:
            stream.look(read)
        if read(self.unused_known):
            recording.note("jobs.unused_known", None)
        for stream in self.outputs:
            stream.look(read)
        if counts := read(self.counts):
            recording.note("status.counts", self.decode_counts(counts))
        recording.cycle += 1

    def end(self, read: Read) -> None:
        """Records how the unit stands in the end."""
        status = self.unit.status
        self.recording.note("status.end", {
            "busy": read(status.busy), "level": read(status.statistics.level), "unlent": read(status.statistics.unlent),
        })

    def _begin_descriptor(self, item: dict[str, Any]) -> None:
        desc = {name: value for name, value in item["desc"].items() if not name.startswith("reserved")}
        complete = self.recording.begin("commands.sequence.descriptor")
        item = {"desc": desc | {"payload": 0}, "last": item["last"], "abort": item["abort"]}
        self.descriptor, self.words = (item, complete), 0
        complete(item)

    def _inline(self, read: Read) -> None:
        if self.descriptor is None:
            return
        word = self.decode_word(read(self.word))
        if not word["valid"]:
            return
        assert word["index"] == self.words, "commands.inline_data: another word is due"
        item, complete = self.descriptor
        item["desc"]["payload"] |= word["data"] << self.words * self.width
        self.words += 1
        if self.words == self.n_words:
            complete(item)
            self.descriptor = None

    def _write(self, item: dict[str, int]) -> None:
        assert self.writes, "memory.write.data: a beat without a request"
        self.written.append(item["data"])
        request, head = self.writes[0], self.writes[0]["addr"] % self.flit_bytes
        n_beats = -(-(head + request["bytes"]) // self.flit_bytes)
        assert bool(item["last"]) == (len(self.written) == n_beats), (
            f"memory.write.data: last is {item['last']} at beat {len(self.written)} of {n_beats}")
        if item["last"]:
            content = b"".join(word.to_bytes(self.flit_bytes, "little") for word in self.written)
            self.recording.note("memory.write.request", {
                "addr": request["addr"], "content": content[head:head + request["bytes"]],
            })
            self.writes.popleft()
            self.written = []
