"""Bench of the VP table as its clients see it: memory windows and receive rings."""

import cocotb
from cocotb.handle import SimHandleBase

from rtl.interface import ReceiveSlotSignature, WindowSignature
from testbench import clock
from testbench.queue.host import Host
from testbench.queue.parts import FIRST_INDEX, N_CLIENTS, N_COUS, N_VPS
from testbench.queue.units import FLIT
from testbench.runner import rng
from testbench.stream import StreamSink, StreamSource

_window_query, _window_answer, _slot_query, _slot_answer = (
    signature.members[name].signature.members["payload"].shape
    for signature in (WindowSignature(), ReceiveSlotSignature())
    for name in ("query", "answer")
)
WINDOWS = {
    0: (0, 0x1000),
    1: (0x1000, 0x2000),
    3: (0x1000 + 1, 0x2000 - 1),
    6: ((1 << 64) - 0x800, (1 << 64) - 1),
    9: (0x5000, 0x5000),
    10: (0x9000, 0x8000),
    N_VPS - 1: (0, (1 << 64) - 1),
}


async def start(dut: SimHandleBase) -> Host:
    """Resets, with nothing to do for the other blocks."""
    for k in range(N_COUS):
        getattr(dut, f"cou__{k}__probe__ready").value = 0
        getattr(dut, f"cou__{k}__answer__valid").value = 0
        getattr(dut, f"cou__{k}__descriptor__ready").value = 0
    for k in range(N_COUS + 1):
        getattr(dut, f"i_event__{k}__valid").value = 0
    dut.o_p2p__ready.value = dut.p2p_room.value = 0
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
    cases += [(2, 0x1000, 8), (N_VPS, 0, 8), (N_VPS + 1, 0x1000, 8), (6, (1 << 64) - 8, 16), (6, (1 << 64) - 8, 7)]
    cases = [case for case in cases if 0 <= case[1] < 1 << 64]

    def inside(case: tuple[int, int, int]) -> int:
        vp, addr, size = case
        low, high = WINDOWS.get(vp, (1, 0))
        return int(addr % FLIT == 0 and low <= addr and addr + size <= high)

    asked = [numbers.sample(cases, len(cases)) for _ in range(N_CLIENTS)]
    for source, mine in zip(queries, asked, strict=True):
        source.extend({"vp": vp, "addr": addr, "bytes": size} for vp, addr, size in mine)
    for sink, mine in zip(answers, asked, strict=True):
        for case in mine:
            assert (await sink.receive())["ok"] == inside(case), f"vp {case[0]}: {case[1]:#x}, {case[2]} bytes"
    accepted = sum(map(inside, cases))
    assert 20 < accepted < len(cases) - 20, "the cases are all of one kind"
    await clock.cycles(dut, 20)
    assert [len(sink.received) for sink in answers] == [len(cases)] * N_CLIENTS


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
        said = await answer.receive()
        if vp not in ports:
            assert not said["ok"]
            continue
        port = ports[vp]
        size = 1 << port.rq_log2
        room = prod[vp] - cons[vp] < size
        assert said["ok"] == room, vp
        if room:
            assert said["addr"] == port.rq_base + prod[vp] % size * 128
            assert said["phase"] == (~prod[vp] >> port.rq_log2 & 1)
            prod[vp] += 1
        else:
            refused += 1
            cons[vp] = numbers.randrange(cons[vp], prod[vp] + 1)
            await host.doorbell(vp, "rq_cons", cons[vp] & 0xFFFF)
    assert refused > 20, "the rings were hardly ever full"
    assert max(prod.values()) > 1 << 16, "the indexes never wrapped"
