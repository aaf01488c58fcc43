"""Register page of a switch: every address read and written beside the page of the ABI and a table of values."""

import random
from collections import Counter

import pytest

from firmware_models.abi.registers import SWITCH_COUNTERS, SWITCH_PAGE, Access
from rtl.switch.control import SwitchControl
from testbench.parts.axi_lite import OKAY, SLVERR, AxiLiteManager, Write
from testbench.parts.faults import changed
from testbench.parts.simulation import Takes, fields, run

AT = {register.name: register.offset for register in SWITCH_PAGE}
MASKS = range(AT["mft_mask"], AT["mft_mask"] + 4 * SWITCH_PAGE["mft_mask"].count, 4)
ENTRIES, MFT_ENTRIES = 64, 128
FIGURES = ("port_credits", "port_depth", "port_depth_peak", "port_link", "port_source", "port_give_up")
SOURCE_BITS = 0x80FFFFFF
"""Bits of port_source that there are."""
WINDOW_BITS, GIVE_UP_BITS = 0x1F, 0xC000001F
"""Bits of port_give_up that are written, and that there are."""


def figure(name: str, *at: int) -> int:
    """Any value that differs from place to place, as the switch around the registers would show it."""
    bits = random.Random(f"{name}{at}").getrandbits(SWITCH_PAGE[name].width)
    return bits & {"port_source": SOURCE_BITS, "port_give_up": GIVE_UP_BITS}.get(name, -1)


class Registers:
    """The registers as software knows them, with the tables and figures around them."""

    def __init__(self, radix: int, rng: random.Random, cycles: int):
        self.rng, self.radix, self.cycles_left = rng, radix, cycles
        self.part = part = SwitchControl(radix=radix, entries=ENTRIES, mft_entries=MFT_ENTRIES)
        self.values = {"default_port": 0, "table_select": 0, "mft_block": 0, "port_select": 0}
        self.before = dict(self.values)
        self.entries, self.masks = Takes(part.o_entry, rng), Takes(part.o_mask, rng)
        self.expected_entries: list[dict[str, int]] = []
        self.expected_masks: list[dict[str, int]] = []
        self.sources: list[tuple[int, int]] = []
        self.expected_sources: list[tuple[int, int]] = []
        self.windows: list[tuple[int, int]] = []
        self.expected_windows: list[tuple[int, int]] = []
        self.bus = AxiLiteManager(part.s_axil, rng, draw_write=self._draw_write, draw_read=self._draw_read,
                                  on_write=self._written, on_read=self._read)
        self.ends = [self, self.bus, self.entries, self.masks]
        self.counts: Counter[str] = Counter()
        self.allowed: set[tuple[int, int]] = set()
        self.asked, self.address = 0, (0, 0)
        self.unread = [*AT.values()]
        self.high = self.counter_value = self.wait = 0

    def _draw_write(self) -> Write | None:
        if self.cycles_left < 60:
            return None
        rng = self.rng
        self.before = dict(self.values)
        names = ("default_port", "table_select", "table_port", "mft_block", "port_select", "mft_mask")
        name = rng.choice((*names, *AT))
        addr = rng.choice((AT[name],) * 12 + (AT[name] + 1, rng.randrange(0x400) & -4))
        if name == "mft_mask":
            addr = rng.choice(MASKS)
        port = rng.choice((0, self.radix - 1, self.radix, rng.randrange(self.radix), 64 + 1, 1 << 31))
        data = port if name in ("default_port", "table_port", "port_select") else rng.getrandbits(32)
        write = Write(addr=addr, data=data, strobe=0b1111 if rng.random() < 0.9 else rng.getrandbits(4))
        if write.strobe == 0b1111 and not addr % 4:
            self._apply(write)
        return write

    def _apply(self, write: Write) -> None:
        """Changes what the write changes, as soon as it is on its way."""
        data, values = write.data, self.values
        block = values["mft_block"]
        if write.addr in (AT["default_port"], AT["port_select"]) and data < self.radix:
            values["default_port" if write.addr == AT["default_port"] else "port_select"] = data
        elif write.addr == AT["table_select"]:
            values["table_select"] = data & 0xFFFF
        elif write.addr == AT["mft_block"]:
            values["mft_block"] = data & 0xF00001FF
        elif write.addr == AT["table_port"] and data < self.radix:
            self.expected_entries.append({"node_id": values["table_select"], "port": data})
        elif write.addr == AT["port_source"]:
            self.expected_sources.append((values["port_select"], data & SOURCE_BITS))
        elif write.addr == AT["port_give_up"]:
            self.expected_windows.append((values["port_select"], data & WINDOW_BITS))
        elif write.addr in MASKS:
            self.expected_masks.append({"colour": 32 * (block & 0x1FF) + (write.addr - MASKS[0]) // 4,
                                        "group": block >> 28, "mask": data & 0xFFFF})
        self.counts[f"write {'mft_mask' if write.addr in MASKS else write.addr}"] += 1

    def _written(self, write: Write, response: int) -> None:
        good = write.strobe == 0b1111 and not write.addr % 4
        assert response == (OKAY if good else SLVERR)
        self.counts["bad write"] += not good
        self.before = self.values

    def _draw_read(self) -> int | None:
        if self.cycles_left < 60:
            return None
        self.allowed = set()
        if self.unread:
            return self.unread.pop()
        counters = [SWITCH_COUNTERS.offset(counter.name) + half for counter in SWITCH_COUNTERS for half in (0, 4)]
        return self.rng.choice((
            *2 * [*AT.values()], *self.rng.sample(MASKS, 8), *self.rng.sample(counters, 10), SWITCH_COUNTERS.end,
            AT["port_link"] + 4, MASKS[-1] + 4, AT["mft_block"] + 2, self.rng.randrange(0x1000),
        ))

    def _shows(self, address: int, values: dict[str, int]) -> tuple[int, int]:
        """Response and data of a read. A counter's low half is known when it has been answered."""
        if address in MASKS:
            block = values["mft_block"]
            return OKAY, figure("mft_mask", 32 * (block & 0x1FF) + (address - MASKS[0]) // 4, block >> 28)
        if SWITCH_COUNTERS.address <= address < SWITCH_COUNTERS.end and not address % 4:
            return OKAY, self.high if address % 8 else self.counter_value & 0xFFFFFFFF
        for register in SWITCH_PAGE:
            if register.offset == address and register.access is not Access.WO:
                sizes = {"radix": self.radix, "table_entries": ENTRIES, "mft_entries": MFT_ENTRIES}
                at_port = {name: figure(name, values["port_select"]) for name in FIGURES}
                return OKAY, {**sizes, **values, **at_port}.get(register.name, register.reset)
        return SLVERR, 0

    def _read(self, address: int, response: int, data: int) -> None:
        if SWITCH_COUNTERS.address <= address < SWITCH_COUNTERS.end and not address % 8:
            assert (response, data) == self._shows(address, self.values)
            self.high = self.counter_value >> 32
        else:
            assert (response, data) in self.allowed, hex(address)
        name = next((name for name, offset in AT.items() if offset == address), None)
        kind = "mft_mask" if address in MASKS else "counter" if 0x80 <= address < 0x100 else name
        self.counts[f"read {kind}" if response == OKAY else "bad read"] += 1

    def drive(self, context) -> None:
        """Shows the figures of the port and the mask of the cycle before, and answers about counters."""
        part = self.part
        self.cycles_left -= 1
        figures = (part.credits, part.depth, part.depth_peak, part.link.as_value())
        for name, signal in zip(FIGURES, figures, strict=False):
            context.set(signal, figure(name, self.asked))
        settings, given_up = part.settings, SWITCH_PAGE["port_give_up"].unpack(figure("port_give_up", self.asked))
        context.set(settings.port_source, SWITCH_PAGE["port_source"].unpack(figure("port_source", self.asked)))
        context.set(settings.port_window, given_up["log2_cycles"])
        context.set(settings.given_up, given_up["given_up"])
        context.set(part.mft_mask, figure("mft_mask", *self.address))
        self.answers = self.wait > 0 and self.rng.random() < 0.3
        if self.answers:
            self.counter_value = self.rng.getrandbits(64)
        context.set(part.count.answered, self.answers)
        context.set(part.count.value, self.counter_value if self.answers else self.rng.getrandbits(64))

    def settle(self, read) -> None:
        """Looks at what is asked for."""
        part = self.part
        assert read(part.default_port) in (self.before["default_port"], self.values["default_port"])
        assert read(part.port) in (self.before["port_select"], self.values["port_select"])
        self.asked, self.address = read(part.port), (read(part.mft_address.colour), read(part.mft_address.group))
        if self.bus.read is not None:
            self.allowed |= {self._shows(self.bus.read, values) for values in (self.before, self.values)}
        settings = part.settings
        if read(settings.source_set):
            source = SWITCH_PAGE["port_source"].pack(
                node_id=read(settings.source.node_id), check=read(settings.source.check),
            )
            self.sources.append((read(part.port), source))
        if read(settings.window_set):
            self.windows.append((read(part.port), read(settings.log2_cycles)))
        asks = read(part.count.ask)
        if asks:
            assert self.bus.read is not None
            assert self.bus.read == SWITCH_COUNTERS.address + 8 * read(part.count.counter)
        assert asks or not self.answers, "a question taken back"
        self.wait = asks if not self.answers else 0


@pytest.mark.parametrize(("radix", "seed"), [(3, 0), (8, 1)])
def test_registers(radix: int, seed: int) -> None:
    """Reads beside a write may show what stood there before it, or what stands there then."""
    registers = Registers(radix, random.Random(seed), cycles=1600)
    run(registers.part, registers.ends, cycles=1600, rng=registers.rng)
    part, counts = registers.part, registers.counts
    assert registers.bus.write is registers.bus.read is None
    shapes = (part.o_entry.payload.shape(), part.o_mask.payload.shape())
    found = [[fields(shape, bits) for bits in taken.taken]
             for shape, taken in zip(shapes, (registers.entries, registers.masks), strict=True)]
    assert found == [registers.expected_entries, registers.expected_masks]
    assert all(found)
    assert registers.sources == registers.expected_sources
    assert registers.windows == registers.expected_windows
    assert min(len(registers.sources), len(registers.windows)) > 1
    assert min(counts["bad write"], counts["bad read"], counts["read mft_mask"], counts["read counter"]) > 0, counts
    assert all(counts[f"read {register.name}"] for register in SWITCH_PAGE if register.access is not Access.WO), counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("has_port = write.data < self.radix", "has_port = write.data <= self.radix", id="a-port-too-many"),
    pytest.param("high.eq(self.count.value[32:])", "high.eq(self.count.value[:32])", id="half-of-a-counter"),
    pytest.param("front.o_write.ready.eq(self.o_mask.ready)", "front.o_write.ready.eq(1)", id="a-mask-lost"),
    pytest.param('"port_depth_peak": self.depth_peak', '"port_depth_peak": self.depth', id="depth-for-its-peak"),
    pytest.param("(address < SWITCH_COUNTERS.end)", "(address < SWITCH_COUNTERS.address + 136)", id="no-such-counter"),
    pytest.param("check=self.settings.port_source.check", "check=0", id="a-check-not-shown"),
    pytest.param("settings.source.check.eq(source.check)", "settings.source.check.eq(1)", id="checks-always"),
    pytest.param(
        "log2_cycles=self.settings.port_window", "log2_cycles=self.settings.log2_cycles", id="a-window-not-shown",
    ),
    pytest.param("self.mft_address.group.eq(group)", "self.mft_address.group.eq(0)", id="group-of-a-mask"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SwitchControl", changed(SwitchControl, old, new))
    with pytest.raises(AssertionError):
        test_registers(3, 1)
