"""Bench of the VP table as its clients see it: memory windows and receive rings."""

import random
from dataclasses import dataclass, field

import cocotb
from cocotb.handle import SimHandleBase

from firmware_models.abi.encoding import Right
from firmware_models.abi.registers import CONTROL_PAGE
from rtl.interface import ReceiveSlotSignature, WindowSignature
from testbench import clock
from testbench.queue.host import ADDRESS_BITS, ALL_RIGHTS, Host
from testbench.queue.parts import CONFIG, FIRST_INDEX, N_CLIENTS, N_COUS, N_VPS
from testbench.queue.units import FLIT
from testbench.runner import rng
from testbench.stream import StreamSink, StreamSource

_window_query, _window_answer, _slot_query, _slot_answer = (
    signature.members[name].signature.members["payload"].shape
    for signature in (WindowSignature(), ReceiveSlotSignature())
    for name in ("query", "answer")
)
TOP = 1 << ADDRESS_BITS
"""One more than the highest address."""
WINDOWS = {
    0: (0, 0x1000),
    1: (0x1000, 0x2000),
    3: (0x1000 + 1, 0x2000 - 1),
    6: (TOP - 0x800, TOP - 1),
    9: (0x5000, 0x5000),
    10: (0x9000, 0x8000),
    N_VPS - 1: (0, TOP - 1),
}
if ADDRESS_BITS < 64:
    # Bits that an address has not are forgotten: an ordinary window, and one that is empty.
    WINDOWS |= {7: (TOP | 0x7000, TOP << 1 | 0x7800), 8: (TOP - 0x800, TOP)}


def held(window: tuple[int, int]) -> tuple[int, int]:
    """Bounds of a window as the NIC keeps them."""
    return window[0] % TOP, window[1] % TOP


def beyond(numbers: random.Random) -> int:
    """Bits that an address here has not: the lowest, the highest, or any. None if it has all."""
    n_bits = 64 - ADDRESS_BITS
    return numbers.choice((1, 1 << n_bits - 1, numbers.randrange(1, 1 << n_bits))) << ADDRESS_BITS if n_bits else 0


async def start(dut: SimHandleBase) -> Host:
    """Resets, with nothing to do for the other blocks."""
    for k in range(N_COUS):
        getattr(dut, f"cou__{k}__probe__ready").value = 0
        getattr(dut, f"cou__{k}__answer__valid").value = 0
        getattr(dut, f"cou__{k}__descriptor__ready").value = 0
    for k in range(N_COUS + 1):
        getattr(dut, f"i_event__{k}__valid").value = 0
    dut.p2p__descriptor__ready.value = dut.p2p__room.value = dut.p2p__get_room.value = 0
    dut.placement__query__ready.value = dut.placement__answer__valid.value = 0
    return Host(dut)


@cocotb.test()
async def windows_end_where_they_end(dut: SimHandleBase) -> None:
    """Every edge of every window, one byte and one flit to either side, by all clients at once."""
    host = await start(dut)
    numbers = rng("windows")
    queries = [StreamSource(dut, f"windows__{k}__query", _window_query) for k in range(N_CLIENTS)]
    answers = [StreamSink(dut, f"windows__{k}__answer", _window_answer) for k in range(N_CLIENTS)]
    dut.receive__query__valid.value = dut.receive__answer__ready.value = 0
    await clock.start(dut)
    for vp, window in WINDOWS.items():
        await host.open(vp, dq_log2=0, cq_log2=0, window=window)

    cases = []
    for vp, (low, high) in WINDOWS.items():
        steps = (-FLIT, -1, 0, 1, FLIT)
        cases += [(vp, low + step, size) for step in steps for size in (0, 1, FLIT, 2 * FLIT)]
        cases += [(vp, high + step - size, size) for step in steps for size in (0, 1, 7, FLIT, 0x7F8, 0x1000)]
        cases += [(vp, (high + step - size) // FLIT * FLIT, size) for step in steps for size in (1, FLIT - 1, 2 * FLIT)]
    cases += [(2, 0x1000, 8), (N_VPS, 0, 8), (N_VPS + 1, 0x1000, 8), (6, TOP - 8, 16), (6, TOP - 8, 7)]
    cases = [case for case in cases if 0 <= case[1] < TOP]
    cases += [(vp, addr | beyond(numbers), size) for vp, addr, size in cases if ADDRESS_BITS < 64]

    def inside(case: tuple[int, int, int]) -> int:
        vp, addr, size = case
        low, high = held(WINDOWS.get(vp, (1, 0)))
        return int(addr % FLIT == 0 and low <= addr and addr + size <= high)

    asked = [numbers.sample(cases, len(cases)) for _ in range(N_CLIENTS)]
    for source, mine in zip(queries, asked, strict=True):
        source.extend(
            {"vp": vp, "addr": addr, "bytes": size, "right": numbers.choice(list(Right))} for vp, addr, size in mine
        )
    for sink, mine in zip(answers, asked, strict=True):
        for case in mine:
            assert (await sink.receive())["ok"] == inside(case), f"vp {case[0]}: {case[1]:#x}, {case[2]} bytes"
    accepted = sum(map(inside, cases))
    assert 20 < accepted < len(cases) - 20, "the cases are all of one kind"
    assert not any(map(inside, (case for case in cases if case[1] >= TOP)))
    await clock.cycles(dut, 20)
    assert [len(sink.received) for sink in answers] == [len(cases)] * N_CLIENTS


@dataclass
class Registered:
    """Windows of a VP, as the bench has registered them: index to (base, limit, rights)."""

    enable: bool = True
    windows: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def allows(self, addr: int, size: int, right: Right) -> int:
        """True if one window alone holds it all and has the right."""
        return int(self.enable and addr % FLIT == 0 and any(
            low <= addr and addr + size <= high and rights >> right & 1 for low, high, rights in self.windows.values()
        ))


class Checks:
    """One client of the window check, asking questions whose answers the bench knows."""

    def __init__(self, dut: SimHandleBase, client: int = 0):
        for k in range(N_CLIENTS):
            getattr(dut, f"windows__{k}__query__valid").value = 0
            getattr(dut, f"windows__{k}__answer__ready").value = 0
        dut.receive__query__valid.value = dut.receive__answer__ready.value = 0
        self.query = StreamSource(dut, f"windows__{client}__query", _window_query)
        self.answer = StreamSink(dut, f"windows__{client}__answer", _window_answer)
        self.accepted = self.refused = 0

    async def ask(self, vp: int, registered: Registered, cases: list[tuple[int, int, Right]]) -> None:
        """Asks for (address, bytes, right) and checks every answer."""
        self.query.extend({"vp": vp, "addr": addr, "bytes": size, "right": right} for addr, size, right in cases)
        for addr, size, right in cases:
            ok = (await self.answer.receive())["ok"]
            windows = {k: tuple(map(hex, window)) for k, window in registered.windows.items()}
            assert ok == registered.allows(addr, size, right), f"vp {vp}: {addr:#x}, {size}, {right!r}; {windows}"
            self.accepted, self.refused = self.accepted + ok, self.refused + 1 - ok


def edges(registered: Registered, numbers: random.Random, count: int) -> list[tuple[int, int, Right]]:
    """Accesses at the edges of the windows, a byte and a flit to either side, for every right."""
    cases = []
    for low, high, _ in registered.windows.values():
        for step in (-FLIT, -1, 0, 1, FLIT):
            for size in (0, 1, FLIT, 3 * FLIT, high - low):
                cases += [(low + step, size), (high + step - size, size), ((high + step - size) // FLIT * FLIT, size)]
    cases = [(addr, size) for addr, size in cases if 0 <= addr < TOP and 0 <= size < 1 << 32]
    cases += [(addr | beyond(numbers), size) for addr, size in cases if ADDRESS_BITS < 64]
    return [(*case, right) for case in numbers.sample(cases, min(count, len(cases))) for right in Right]


@cocotb.test()
async def every_window_has_its_rights(dut: SimHandleBase) -> None:
    """Several windows a VP, with every set of rights: alone, overlapping, adjacent, at the top, empty, inverted."""
    host = await start(dut)
    numbers = rng("rights")
    checks = Checks(dut)
    await clock.start(dut, max_cycles=150_000)
    n = CONFIG.nic.n_windows
    for vp in (2, N_VPS - 1):
        await host.open(vp, dq_log2=0, cq_log2=0, window=(0x1000, 0x2000))
        registered = Registered(windows={0: (0x1000, 0x2000, ALL_RIGHTS)})
        for rights in range(ALL_RIGHTS + 1):
            low = FLIT * numbers.randrange(0x400, 0x4000)
            shapes = [
                (low, low + FLIT * numbers.randrange(1, 99)), (low, low), (low + FLIT, low), (0x2000, 0x3000),
                (0x1800, 0x2800), (TOP - 0x800, TOP - 1), (0, 0x1000), (low + 1, low + 0x101),
            ]
            index = numbers.randrange(1, n)
            registered.windows[index] = (*numbers.choice(shapes), rights)
            await host.register(vp, index, registered.windows[index][:2], rights)
            await checks.ask(vp, registered, edges(registered, numbers, 12))
    assert checks.accepted > 100
    assert checks.refused > 100


@cocotb.test()
async def adjacent_windows_do_not_add_up(dut: SimHandleBase) -> None:
    """An access over the border of two windows is refused, in whatever order they stand; so is one that wraps."""
    host = await start(dut)
    checks = Checks(dut)
    await clock.start(dut)
    await host.open(4, dq_log2=0, cq_log2=0, window=(0x2000, 0x3000))
    await host.register(4, 3, (0x1000, 0x2000), ALL_RIGHTS)
    await host.register(4, 1, (0x3000, 0x4000), ALL_RIGHTS)
    registered = Registered(windows={
        0: (0x2000, 0x3000, ALL_RIGHTS), 3: (0x1000, 0x2000, ALL_RIGHTS), 1: (0x3000, 0x4000, ALL_RIGHTS),
    })
    border = [(border - FLIT, size) for border in (0x2000, 0x3000) for size in (FLIT, FLIT + 1, 2 * FLIT)]
    spans = [*border, (0x1000, 0x1000), (0x1000, 0x1001), (0x1000, 0x2000), (0x1000, 0x3000), (0x2000, 0x1000)]
    await checks.ask(4, registered, [(*span, right) for span in spans for right in Right])
    # Both ends of the address space are windows: what begins in one and wraps into the other is in neither.
    top = TOP - FLIT
    await host.register(4, 1, (0, 0x1000), ALL_RIGHTS)
    await host.register(4, 2, (top - 0x1000, TOP - 1), ALL_RIGHTS)
    registered.windows |= {1: (0, 0x1000, ALL_RIGHTS), 2: (top - 0x1000, TOP - 1, ALL_RIGHTS)}
    spans = [(top, FLIT - 1), (top, FLIT), (top, FLIT + 1), (top, 2 * FLIT), (top - FLIT, 2 * FLIT + 8), (0, FLIT)]
    await checks.ask(4, registered, [(*span, right) for span in spans for right in Right])
    assert checks.accepted > 20
    assert checks.refused > 20


@cocotb.test()
async def withdrawn_windows_are_gone(dut: SimHandleBase) -> None:
    """Withdrawn while the VP runs or is disabled, or by a new record; a record that keeps them keeps them."""
    host = await start(dut)
    numbers = rng("withdrawn")
    checks = Checks(dut, client=1)
    await clock.start(dut, max_cycles=200_000)
    n = CONFIG.nic.n_windows
    vps = (1, 2, N_VPS - 2)
    state = {}
    for vp in vps:
        port = await host.open(vp, dq_log2=0, cq_log2=0, window=(0x1000 * vp, 0x1000 * vp + 0x800))
        state[vp] = Registered(windows={0: (*port.window, ALL_RIGHTS)})

    async def commit(vp: int, *, enable: int, keep: int) -> None:
        await host.write("vp_select", vp)
        await host.write("vp_commit", CONTROL_PAGE.pack("vp_commit", enable=enable, keep_windows=keep))
        state[vp].enable = bool(enable)

    for vp in vps * 3:
        registered = state[vp]
        for index in range(1, n):
            low = 0x10_0000 * (index + 1) + 0x1000 * vp
            registered.windows[index] = (low, low + FLIT * numbers.randrange(1, 64), numbers.randrange(1, 16))
            await host.register(vp, index, registered.windows[index][:2], registered.windows[index][2])
        everything = edges(registered, numbers, 8)
        await checks.ask(vp, registered, everything)
        # While it runs.
        gone = numbers.randrange(n)
        await host.withdraw(vp, gone)
        del registered.windows[gone]
        await checks.ask(vp, registered, everything)
        # While it is disabled: nothing is allowed then, and the window does not come back with the VP.
        await commit(vp, enable=0, keep=1)
        await checks.ask(vp, registered, everything)
        gone = numbers.choice(list(registered.windows))
        await host.withdraw(vp, gone)
        del registered.windows[gone]
        await checks.ask(vp, registered, everything)
        await commit(vp, enable=1, keep=1)
        await checks.ask(vp, registered, everything)
        # Windows of other VPs are theirs.
        other = vps[vps.index(vp) - 1]
        await checks.ask(other, state[other], edges(state[other], numbers, 4) + everything[:40])
        # A new record, without any window but its own.
        port = await host.open(vp, dq_log2=0, cq_log2=0, window=(0x8000 * vp, 0x8000 * vp + 0x100))
        await checks.ask(vp, Registered(windows={0: (*port.window, ALL_RIGHTS)}), everything)
        registered.windows = {0: (*port.window, ALL_RIGHTS)}
        await checks.ask(vp, registered, edges(registered, numbers, 8))
    assert checks.accepted > 100
    assert checks.refused > 100


@cocotb.test()
async def receive_rings_fill_and_empty(dut: SimHandleBase) -> None:
    """Slots are given out in order with their lap's phase while there is room, and refused without effect else."""
    host = await start(dut)
    numbers = rng("receive rings")
    for k in range(N_CLIENTS):
        getattr(dut, f"windows__{k}__query__valid").value = 0
        getattr(dut, f"windows__{k}__answer__ready").value = 0
    query = StreamSource(dut, "receive__query", _slot_query)
    answer = StreamSink(dut, "receive__answer", _slot_answer)
    await clock.start(dut)
    ports = {vp: await host.open(vp, dq_log2=0, cq_log2=0, rq_log2=log2) for vp, log2 in ((0, 0), (5, 2), (12, 3))}
    prod, cons = dict.fromkeys(ports, FIRST_INDEX), dict.fromkeys(ports, FIRST_INDEX)
    refused = 0
    for _ in range(250):
        vp = numbers.choice((*ports, 7, N_VPS + 5))
        query.append({"vp": vp})
        answered = await answer.receive()
        if vp not in ports:
            assert not answered["ok"]
            continue
        port = ports[vp]
        size = port.received.size
        room = prod[vp] - cons[vp] < size
        assert answered["ok"] == room, vp
        if room:
            assert answered["addr"] == port.received.base + prod[vp] % size * 128
            assert answered["phase"] == (~prod[vp] >> port.received.log2 & 1)
            prod[vp] += 1
        else:
            refused += 1
            cons[vp] = numbers.randrange(cons[vp], prod[vp] + 1)
            await host.doorbell(vp, "rq_cons", cons[vp] & 0xFFFF)
    assert refused > 20, "the rings were hardly ever full"
    assert max(prod.values()) > 1 << 16, "the indexes never wrapped"
