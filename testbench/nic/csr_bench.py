"""Bench of the register file and its AXI4-Lite front."""

from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteMaster

from firmware_models.abi import registers
from firmware_models.abi.encoding import FaultMemory
from firmware_models.abi.register import REGISTER_BITS
from firmware_models.abi.registers import Access
from firmware_models.config.load import load_preset
from rtl.buffer.buffer_statistics import BUFFER_SUMS, statistics_layout
from rtl.buffer.packet_buffer import FaultOrder
from rtl.interface import LinkState
from rtl.kit.index import index_bits
from rtl.nic.event_counters import Events
from rtl.nic.group_filter import GroupEntry
from rtl.nic.register_signatures import NicSettings
from rtl.queue.records import Doorbell, VpCommit, WindowCommit
from testbench import clock
from testbench.codec import decode, encode
from testbench.queue.axil import axi_lite_master
from testbench.runner import parameters, rng
from testbench.stream import StreamSink

OKAY, SLVERR = 0, 2
CONFIG = load_preset("small")
PAGE = registers.CONTROL_PAGE
AT = {register.name: register.offset for register in PAGE}
ADDRESS_BITS = parameters().get("address_bits", 64)
"""Bits of an address of the register file under test."""
BUS_INPUTS = (
    "awaddr", "awprot", "awvalid", "wdata", "wstrb", "wvalid", "bready", "araddr", "arprot", "arvalid", "rready"
)


def kept_bits(register: registers.Register) -> int:
    """Mask of the bits that a register keeps of a value: of the upper half of an address only the bits that an address
    has."""
    is_upper_half = register.name.startswith("vp_") and register.name.endswith("_hi")
    return (1 << (ADDRESS_BITS - REGISTER_BITS if is_upper_half else register.width)) - 1


async def start(dut: SimHandleBase) -> tuple[AxiLiteMaster, StreamSink, StreamSink]:
    """Resets; returns the bus manager and what the VP table would get."""
    axil = axi_lite_master(dut)
    commits, doorbells = StreamSink(dut, "vps__commit", VpCommit), StreamSink(dut, "vps__doorbell", Doorbell)
    dut.vps__window__ready.value = 1
    dut.events.value = dut.notify.value = dut.busy.value = dut.unit__statistics.value = dut.groups__entry.value = 0
    dut.link.value = 0
    await clock.start(dut)
    return axil, commits, doorbells


async def resp_of_read(axil: AxiLiteMaster, address: int) -> tuple[int, int]:
    """Response and data of a read."""
    answer = await axil.read(address, 4)
    return int(answer.resp), int.from_bytes(answer.data, "little")


@cocotb.test()
async def registers_hold_what_was_written(dut: SimHandleBase) -> None:
    """Reset values, then random values in every register that can be written, each masked to its width."""
    axil, *_ = await start(dut)
    numbers = rng("values")
    fixed = {
        "n_vps": CONFIG.nic.n_vps, "n_cous": CONFIG.nic.n_cous, "data_width": CONFIG.datapath.data_width,
        "mtu": CONFIG.datapath.mtu, "buffer_slots": CONFIG.buffer_slots, "buffer_packets": CONFIG.buffer_packets,
        "n_groups": CONFIG.nic.n_groups, "n_windows": CONFIG.nic.n_windows,
    }
    for register in PAGE:
        if register.access is not Access.WO and not register.name.startswith("cycles"):
            expected = OKAY, fixed.get(register.name, register.reset)
            assert await resp_of_read(axil, register.offset) == expected, register
    written: dict[int, int] = {}
    writable = [
        register for register in PAGE
        if register.access is Access.RW and register.name != "group_entry"
    ]
    read_only = [register for register in PAGE if register.access is Access.RO]
    for register in writable * 3:
        value = numbers.getrandbits(32)
        await axil.write_dword(register.offset, value)
        written[register.offset] = value & kept_bits(register)
        await axil.write_dword(numbers.choice(read_only).offset, numbers.getrandbits(32))
        for offset, expected in written.items():
            if numbers.random() < 0.3:
                assert await axil.read_dword(offset) == expected, hex(offset)
    for name, expected in fixed.items():
        assert await axil.read_dword(AT[name]) == expected
    settings = decode(NicSettings, int(dut.settings.value))
    for name, field in (("control", "enable"), ("node_id", "node_id"), ("watchdog", "watchdog"),
                        ("retry_limit", "retry_limit")):
        assert settings[field] == written[AT[name]]


@cocotb.test()
async def buffer_figures_are_shown(dut: SimHandleBase) -> None:
    """Every figure of a packet buffer; the high half is the one that belongs to the low half read last."""
    axil, *_ = await start(dut)
    numbers = rng("figures")
    layout = statistics_layout(index_bits(CONFIG.buffer_slots) + 1)
    for _ in range(5):
        figures = {name: numbers.getrandbits(layout[name].shape) for name in layout.members}
        dut.unit__statistics.value = layout.const(figures).as_bits()
        for name in layout.members:
            if name in BUFFER_SUMS:
                low = await axil.read_dword(AT[f"buffer_{name}_lo"])
                dut.unit__statistics.value = 0
                assert low | await axil.read_dword(AT[f"buffer_{name}_hi"]) << 32 == figures[name], name
                dut.unit__statistics.value = layout.const(figures).as_bits()
            else:
                assert await axil.read_dword(AT[f"buffer_{name}"]) == figures[name], name


@cocotb.test()
async def states_are_shown(dut: SimHandleBase) -> None:
    """Cycles by state; the high half is the one that belonged to the low half, whatever has been added since."""
    axil, *_ = await start(dut)
    numbers = rng("states")
    counts: list[int] = []

    async def look_up() -> None:
        """Answers in the cycle after the index, as the counters do."""
        while True:
            await RisingEdge(dut.clk)
            index = int(dut.unit__state_index.value)
            dut.unit__state_cycles.value = counts[index] if index < len(counts) else numbers.getrandbits(64)

    counts[:] = [numbers.getrandbits(64) for _ in registers.STATE_COUNTERS]
    cocotb.start_soon(look_up())
    for _ in range(3):
        for number in numbers.sample(range(len(counts)), len(counts)):
            at, before = registers.STATE_COUNTERS_AT + 8 * number, list(counts)
            low = await axil.read_dword(at)
            counts[:] = [numbers.getrandbits(64) for _ in counts]
            assert low | await axil.read_dword(at + 4) << 32 == before[number]


@cocotb.test()
async def group_entries_pass_through(dut: SimHandleBase) -> None:
    """Writes to an entry of the membership table, and its answers, pass through."""
    axil, *_ = await start(dut)
    numbers = rng("groups")
    writes = StreamSink(dut, "groups__write", GroupEntry)
    for _ in range(20):
        entry, mgid, joined = numbers.randrange(CONFIG.nic.n_groups), numbers.getrandbits(24), numbers.getrandbits(1)
        await axil.write_dword(AT["group_select"], entry)
        await axil.write_dword(AT["group_entry"], PAGE.pack("group_entry", mgid=mgid, joined=joined))
        got = await writes.receive()
        assert (got["mgid"], got["joined"]) == (mgid, joined)
        assert int(dut.groups__select.value) == entry
        # Reserved bits read 0, whatever stands there.
        shown = {name: numbers.getrandbits(shape.width) for name, shape in GroupEntry.members.items()}
        dut.groups__entry.value = GroupEntry.const(shown).as_bits()
        fields = {field.name: shown[field.name] for field in PAGE["group_entry"].fields}
        assert await axil.read_dword(AT["group_entry"]) == PAGE.pack("group_entry", **fields)


@cocotb.test()
async def buffer_fault_is_ordered(dut: SimHandleBase) -> None:
    """A write arms one fault, with the fields written."""
    axil, *_ = await start(dut)
    armed = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            if int(dut.unit__arm.value):
                armed.append(int(dut.unit__fault.value))

    cocotb.start_soon(watch())
    order = {"memory": FaultMemory.PAYLOAD, "errors": 1, "first_bit": 0x5A}
    await axil.write_dword(AT["buffer_fault"], PAGE.pack("buffer_fault", **order))
    await axil.write_dword(AT["node_id"], 0x123)
    assert armed == [FaultOrder.const(order).as_bits()]


@cocotb.test()
async def state_of_the_link(dut: SimHandleBase) -> None:
    """Each of its bits, as it comes and goes."""
    axil, *_ = await start(dut)
    for name in ("up", "refused", "dead", "up"):
        state = {name: 1}
        dut.link.value = LinkState.const(state).as_bits()
        assert await resp_of_read(axil, AT["link_state"]) == (OKAY, PAGE.pack("link_state", **state))


@cocotb.test()
async def unmapped_reads_are_refused(dut: SimHandleBase) -> None:
    """SLVERR and no data where there is no readable register."""
    axil, *_ = await start(dut)
    for address in (AT["retry_limit"] + 4, 0x0FC, AT["vp_commit"], AT["window_commit"], 0x19C, 0x1FC,
                    registers.STATE_COUNTERS.end, 0x1000, registers.VP_PAGES,
                    registers.VP_PAGES + registers.VP_PAGE_BYTES,
                    (1 << registers.ADDRESS_BITS) - 4):
        assert await resp_of_read(axil, address) == (SLVERR, 0), hex(address)


@cocotb.test()
async def commits_and_doorbells(dut: SimHandleBase) -> None:
    """Records and indexes arrive as written, in order; those for a VP that does not exist do not."""
    axil, commits, doorbells = await start(dut)
    numbers = rng("records")
    expected_commits: list[dict[str, Any]] = []
    expected_bells: list[dict[str, int]] = []
    for _ in range(20):
        vp = numbers.randrange(CONFIG.nic.n_vps + 4)
        record = {"enable": numbers.getrandbits(1)}
        for register in PAGE:
            if register.name.startswith("vp_") and register.access is Access.RW and register.name != "vp_select":
                value = numbers.getrandbits(register.width)
                await axil.write_dword(register.offset, value)
                name, _, half = register.name.removeprefix("vp_").rpartition("_")
                name, shift = {"lo": (name, 0), "hi": (name, 32)}.get(half, (register.name.removeprefix("vp_"), 0))
                record[name] = record.get(name, 0) | (value & kept_bits(register)) << shift
        await axil.write_dword(AT["vp_select"], vp)
        keep = numbers.getrandbits(1)
        await axil.write_dword(AT["vp_commit"], PAGE.pack("vp_commit", enable=record["enable"], keep_windows=keep))
        if vp < CONFIG.nic.n_vps:
            expected_commits.append({"vp": vp, "wipe": 0, "keep": keep, "record": record})
        for _ in range(5):
            vp, register = numbers.randrange(CONFIG.nic.n_vps + 4), numbers.choice(registers.VP_PAGE.registers)
            index = numbers.getrandbits(register.width)
            await axil.write_dword(registers.vp_address(vp, register.name), index)
            if vp < CONFIG.nic.n_vps:
                kind = [entry.name for entry in registers.VP_PAGE].index(register.name)
                expected_bells.append({"vp": vp, "kind": kind, "index": index})
        await axil.write_dword(registers.VP_PAGES + 0xFFC, 1)
    assert commits.received == expected_commits
    assert doorbells.received == expected_bells


@cocotb.test()
async def windows_pass_through(dut: SimHandleBase) -> None:
    """Windows arrive as written, without a right if withdrawn; of a VP or window that does not exist, not at all."""
    axil, *_ = await start(dut)
    numbers = rng("windows")
    windows = StreamSink(dut, "vps__window", WindowCommit)
    expected: list[dict[str, Any]] = []
    for _ in range(40):
        vp, index = numbers.randrange(CONFIG.nic.n_vps + 4), numbers.randrange(2 * CONFIG.nic.n_windows)
        base, limit = numbers.getrandbits(64), numbers.getrandbits(64)
        rights = numbers.getrandbits(PAGE["vp_window_rights"].width)
        enable = numbers.getrandbits(1)
        for name, value in (
            ("vp_select", vp), ("window_select", index), ("vp_window_rights", rights), ("vp_window_base_lo", base),
            ("vp_window_base_hi", base >> 32), ("vp_window_limit_lo", limit), ("vp_window_limit_hi", limit >> 32),
            ("window_commit", PAGE.pack("window_commit", enable=enable)),
        ):
            await axil.write_dword(AT[name], value & 0xFFFF_FFFF)
        if vp < CONFIG.nic.n_vps and index < CONFIG.nic.n_windows:
            top = 1 << ADDRESS_BITS
            window = {"base": base % top, "limit": limit % top, "rights": rights if enable else 0}
            expected.append({"vp": vp, "index": index, "window": window})
    assert windows.received == expected
    assert 5 < len(expected) < 35


@cocotb.test()
async def partial_and_unaligned_accesses(dut: SimHandleBase) -> None:
    """Every combination of strobes and address remainder: an effect only for whole, aligned words; no data leaks."""
    for name in BUS_INPUTS:
        getattr(dut, f"bus__{name}").value = 0
    dut.vps__commit__ready.value = dut.vps__doorbell__ready.value = dut.vps__window__ready.value = 1
    dut.events.value = dut.notify.value = dut.busy.value = 0
    await clock.start(dut)
    numbers = rng("raw accesses")

    async def send(channel: str, **values: int) -> None:
        for _ in range(numbers.choice((0, 0, 1, 4))):
            await RisingEdge(dut.clk)
        for name, value in values.items():
            getattr(dut, f"bus__{name}").value = value
        valid, ready = getattr(dut, f"bus__{channel}valid"), getattr(dut, f"bus__{channel}ready")
        valid.value = 1
        await RisingEdge(dut.clk)
        while not int(ready.value):
            await RisingEdge(dut.clk)
        valid.value = 0

    async def receive(channel: str, *names: str) -> list[int]:
        ready, valid = getattr(dut, f"bus__{channel}ready"), getattr(dut, f"bus__{channel}valid")
        while not int(valid.value):
            await RisingEdge(dut.clk)
        shown = [int(getattr(dut, f"bus__{name}").value) for name in names]
        for _ in range(numbers.choice((0, 3))):
            await RisingEdge(dut.clk)
            assert int(valid.value)
            assert shown == [int(getattr(dut, f"bus__{name}").value) for name in names]
        ready.value = 1
        await RisingEdge(dut.clk)
        ready.value = 0
        await RisingEdge(dut.clk)
        return shown

    held = 0
    for strobes in numbers.sample(range(16), 16) + [15] * 4:
        for remainder in (0, 1, 2, 3):
            value = numbers.getrandbits(32)
            channels = [
                cocotb.start_soon(send("aw", awaddr=AT["watchdog"] + remainder)),
                cocotb.start_soon(send("w", wdata=value, wstrb=strobes)),
            ]
            response = await receive("b", "bresp")
            for channel in channels:
                await channel
            whole = strobes == 15 and remainder == 0
            assert response == [OKAY if whole else SLVERR], (strobes, remainder)
            held = value if whole else held
            assert decode(NicSettings, int(dut.settings.value))["watchdog"] == held
            cocotb.start_soon(send("ar", araddr=AT["watchdog"] + remainder))
            assert await receive("r", "rresp", "rdata") == ([SLVERR, 0] if remainder else [OKAY, held])


@cocotb.test()
@cocotb.parametrize(run=(1, 2))
async def counters_count(dut: SimHandleBase, run: int) -> None:
    """Several events a cycle add up; the halves of a cycle counter fit together; interrupts come and go.

    The second run finds in the memory what the first one has counted.
    """
    axil, *_ = await start(dut)
    numbers = rng(f"events {run}")
    totals = dict.fromkeys(Events.members, 0)
    assert await axil.read_dword(registers.COUNTERS) == 0
    most = CONFIG.nic.n_cous + 3
    for _ in range(300):
        now = {name: numbers.choice((0, 0, 1, most, numbers.randrange(most + 1))) for name in totals}
        for name, count in now.items():
            totals[name] += count
        dut.events.value = encode(Events, now)
        await RisingEdge(dut.clk)
    dut.events.value = 0
    await clock.cycles(dut, 4)
    for index, name in enumerate(totals):
        assert await axil.read_dword(registers.COUNTERS + 8 * index) == totals[name], name
        assert await axil.read_dword(registers.COUNTERS + 8 * index + 4) == 0

    # Read while they count, none is lost: what is read lies between the sums at the beginning and the end of the read.
    begun, number = int(dut.cycles.value), len(totals) // 2
    dut.events.value = encode(Events, {name: most if k == number else 1 for k, name in enumerate(totals)})
    for _ in range(20):
        before = int(dut.cycles.value)
        counted = await axil.read_dword(registers.COUNTERS + 8 * number) - list(totals.values())[number]
        assert most * (before - begun - 3) <= counted <= most * (int(dut.cycles.value) - begun)
    dut.events.value = 0
    span = int(dut.cycles.value) - begun
    await clock.cycles(dut, 4)
    counted = [
        await axil.read_dword(registers.COUNTERS + 8 * k) - total for k, total in enumerate(totals.values())
    ]
    assert abs(counted[0] - span) <= 1
    assert counted == [counted[0] * (most if k == number else 1) for k in range(len(totals))]

    before = int(dut.cycles.value)
    low = await axil.read_dword(AT["cycles_lo"])
    assert before < low <= int(dut.cycles.value)
    assert await axil.read_dword(AT["cycles_hi"]) == 0

    for block in range(len(dut.busy)):
        dut.busy.value = 1 << block
        assert await axil.read_dword(AT["status"]) == PAGE.pack("status", busy=1)
    dut.busy.value = 0
    assert await axil.read_dword(AT["status"]) == PAGE.pack("status", busy=0)
    dut.notify.value = 1 << len(dut.notify) - 1
    await RisingEdge(dut.clk)
    dut.notify.value = 0
    await clock.cycles(dut, 3)
    assert int(dut.irq.value) == 0
    assert await axil.read_dword(AT["irq_status"]) == PAGE.pack("irq_status", written=1)
    await axil.write_dword(AT["irq_enable"], PAGE.pack("irq_enable", written=1))
    await clock.cycles(dut, 2)
    assert int(dut.irq.value) == 1
    await axil.write_dword(AT["irq_status"], 0)
    assert await axil.read_dword(AT["irq_status"]) == PAGE.pack("irq_status", written=1)
    await axil.write_dword(AT["irq_status"], PAGE.pack("irq_status", written=1))
    await clock.cycles(dut, 2)
    assert int(dut.irq.value) == 0
    assert await axil.read_dword(AT["irq_status"]) == 0
