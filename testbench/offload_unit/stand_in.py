"""A component with the boundary of an offload unit and its model inside, for benches in Amaranth's simulator."""

import random
from collections import deque
from typing import Any

from amaranth import Module
from amaranth.lib import wiring

from firmware_models.config import Config
from rtl.cou.unit_signature import OffloadUnitSignature, UnitCounts
from rtl.interface import inline_words
from rtl.kit.index import index_bits
from testbench.codec import decoder, encode
from testbench.offload_unit.record import Packet
from testbench.offload_unit.streams import Drain, Feed, PacketDrain, PacketFeed, beats
from testbench.offload_unit.unit_model import UnitModel
from testbench.parts.inputs import Read
from testbench.parts.pace import Pace


def unit_signature(config: Config) -> OffloadUnitSignature:
    """The boundary of a unit of this configuration."""
    return OffloadUnitSignature(
        data_width=config.datapath.data_width, level_bits=index_bits(config.buffer_slots) + 1,
    )


class UnitStandIn(wiring.Component):
    """Stands where an offload unit does: a NIC, a switch or a bench can hold it without its inside.

    It is no hardware: its outputs are driven by :class:`~testbench.offload_unit.unit_model.UnitModel`. Either add
    :meth:`play` to the simulator as a testbench in the background, or call :meth:`drive` after each clock edge and
    :meth:`settle` before the next one.

    Timing: any; each stream idles and stalls at random.

    Parameters
    ----------
    config : Config
        Of the unit that it stands for.
    rng : Random
        For pauses, and the order of what may happen.
    """

    def __init__(self, config: Config, rng: random.Random):
        super().__init__(unit_signature(config))
        self.config, self.rng, self.model = config, rng, UnitModel(config, rng)
        flit_bytes, out, model = config.datapath.flit_bytes, self.model.out, self.model
        sequence, memory, jobs = self.commands.sequence, self.memory, self.jobs
        self.n_words, self.width, self.flit_bytes = (
            inline_words(config.datapath.data_width), config.datapath.data_width, flit_bytes
        )
        self.words: list[int] = []
        self.descriptors: deque[dict[str, Any]] = deque()
        self.reads: deque[dict[str, int]] = deque()
        self.content: list[dict[str, int]] = []
        self.requests: deque[dict[str, int]] = deque()
        self.contents: deque[tuple[int, bytes]] = deque()
        self.write_data = Feed(memory.write.data, rng)
        self.packets = [PacketFeed(port, rng, out[f"tx[{vc}]"], flit_bytes) for vc, port in enumerate(self.tx)]
        at_once = [
            Drain(jobs.closing, rng, lambda item: model.closing(item["job_id"], closed=item["closed"])),
            PacketDrain(self.rx[1], rng, lambda packet: self._rx(1, packet), flit_bytes),
        ]
        for end in at_once:
            end.rate = 1.0
        paced = [
            Drain(sequence.probe, rng, lambda item: model.probe(item["job_id"], item["base_pulse"])),
            Feed(sequence.answer, rng, out["commands.sequence.answer"]),
            Drain(sequence.descriptor, rng, self._descriptor),
            PacketDrain(self.rx[0], rng, lambda packet: self._rx(0, packet), flit_bytes),
            Drain(jobs.write_off, rng, lambda item: model.write_off(item["job_id"], lost=item["lost"])),
            Feed(memory.read.request, rng, out["memory.read.request"], self.reads.append),
            Drain(memory.read.data, rng, self._read),
            Feed(memory.write.request, rng, self.requests, self._requested), self.write_data,
            Drain(memory.write.done, rng, lambda item: model.write_done(error=item["error"])),
            Feed(memory.window.query, rng, out["memory.window.query"]),
            Drain(memory.window.answer, rng, lambda item: model.window_answer(ok=item["ok"])),
            Feed(self.o_event, rng, out["o_event"]), Feed(self.o_report, rng, out["o_report"]),
        ]
        feeds = [end for packets in self.packets for end in packets.ends]
        self.levels = {name: getattr(self.settings, name) for name in ("node_id", "watchdog", "arm")}
        self.word, self.decode_word = self.commands.inline_data.as_value(), decoder(self.commands.inline_data.shape())
        self.ends = [Pace(*paced, *feeds, rng=rng), *at_once, *paced, *self.packets]

    def elaborate(self, platform):
        return Module()

    def drive(self, context: Any) -> None:
        """Drives all outputs of a cycle."""
        model, status = self.model, self.status
        for address, content in self._taken("memory.write.request"):
            self.requests.append({"addr": address, "bytes": len(content)})
            self.contents.append((address, content))
        for end in self.ends:
            end.drive(context)
        if model.filling is not None:  # a probe does not overtake the sequence before it
            context.set(self.commands.sequence.probe.ready, 0)
        context.set(status.busy, bool(model.entries))
        now = {name: int(model.counts[name] > 0) for name in UnitCounts.members}
        model.counts.subtract(now)
        context.set(status.counts.as_value(), encode(UnitCounts, now))
        figures = {"level": len(model.buffer), "unlent": model.ledger.pool - model.ledger.granted}
        context.set(status.statistics.as_value(), encode(status.statistics.shape(), figures))

    def settle(self, read: Read) -> None:
        """Takes all inputs of a cycle, and some steps."""
        self.model.settings(**{name: read(level) for name, level in self.levels.items()})
        if read(self.jobs.unused_known):
            self.model.unused_known()
        if self.descriptors:
            word = self.decode_word(read(self.word))
            self.words += [word["data"]] * word["valid"]
            self._command()
        for end in self.ends:
            end.settle(read)
        for _ in range(self.rng.choice((0, 0, 1, 3))):
            self.model.step()

    async def play(self, context: Any) -> None:
        """A testbench that plays the unit for ever."""
        while True:
            self.drive(context)
            await context.delay(1e-7)
            self.settle(context.get)
            await context.tick()

    def _taken(self, member: str) -> list[Any]:
        queue = self.model.out[member]
        taken = list(queue)
        queue.clear()
        return taken

    def _descriptor(self, item: dict[str, Any]) -> None:
        self.descriptors.append(item)
        self.words = []

    def _command(self) -> None:
        """Hands a descriptor over when its inline data are there."""
        if len(self.words) < self.n_words:
            return
        item = self.descriptors.popleft()
        payload = sum(word << index * self.width for index, word in enumerate(self.words))
        self.model.descriptor(item["desc"] | {"payload": payload}, last=item["last"], abort=item["abort"])

    def _rx(self, channel: int, packet: Packet) -> None:
        self.model.rx(channel, packet)

    def _read(self, item: dict[str, int]) -> None:
        self.content.append(item)
        if not item["last"]:
            return
        request, content = self.reads.popleft(), self.content
        self.content = []
        head = request["addr"] % self.flit_bytes
        data = b"".join(beat["data"].to_bytes(self.flit_bytes, "little") for beat in content)
        self.model.read_data(None if item["error"] else data[head:head + request["bytes"]])

    def _requested(self, _: Any) -> None:
        address, content = self.contents.popleft()
        self.write_data.queue.extend(beats(content, self.flit_bytes, head=address % self.flit_bytes))
