"""How far ahead the operand loader reads, before a memory that answers after so many cycles, a beat in each."""

from collections import deque

import cocotb
from cocotb.handle import SimHandleBase

from firmware_models.config import Config
from rtl.interface import ReadSignature
from testbench import clock
from testbench.codec import encode
from testbench.edge import every_cycle, level
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource
from testbench.unit_config import UNIT

WIDTH, MTU, CONTEXTS, MOST = 64, 256, 8, 128
BEATS = 8 * MTU // WIDTH
"""Of each load: more contexts are free than are read ahead."""
SLACK, LEAST = 32, 64
"""Beats that are asked for beyond those that come while memory answers, and the least of both."""
_PATH = 4
"""Most cycles that a request and its data take beside those of the memory."""


def config() -> Config:
    """Of the component: with more contexts than loads that keep their order."""
    return UNIT.changed(
        datapath={"data_width": WIDTH, "mtu": MTU}, nic={"read_ahead_beats": MOST},
        cou={"n_jobs": 4, "n_contexts": CONTEXTS, "sequence_depth": 8, "n_blocks": 4, "intermediate_bytes": MTU},
    )


class Memory:
    """Answers `latency` cycles after a request, one beat a cycle, in order; counts what is asked for and not there."""

    def __init__(self, dut: SimHandleBase):
        members = ReadSignature(WIDTH).members
        self.dut, self.latency, self.cycle, self.outstanding, self.most = dut, 1, 0, 0, 0
        self._due: deque[tuple[int, int]] = deque()
        self._shape = members["data"].signature.members["payload"].shape
        StreamSink(
            dut, "read__request", members["request"].signature.members["payload"].shape, stall=0.0, callback=self._ask,
        )
        self._taken = level(dut.read__data__ready)
        self._valid = False
        dut.read__data__valid.value = 0

    def _ask(self, request: dict[str, int]) -> None:
        beats = request["bytes"] * 8 // WIDTH
        begin = max(self.cycle + self.latency, self._due[-1][0] + 1 if self._due else 0)
        self._due.extend((begin + number, number == beats - 1) for number in range(beats))
        self.outstanding += beats
        self.most = max(self.most, self.outstanding)

    def advance(self) -> None:
        """Carries out one cycle."""
        self.cycle += 1
        if self._valid and self._taken():
            self._due.popleft()
            self.outstanding -= 1
            self._valid = False
        if not self._valid and self._due and self._due[0][0] <= self.cycle:
            self._valid = True
            self.dut.read__data__payload.value = encode(
                self._shape, {"data": self.cycle, "error": 0, "last": int(self._due[0][1])}
            )
        self.dut.read__data__valid.value = int(self._valid)


@cocotb.test()
async def reads_as_far_ahead_as_memory_takes(dut: SimHandleBase) -> None:
    """Loads come at full rate whatever the latency, up to what may be outstanding, and no more than that is."""
    from rtl.cou.operand_loader import OperandLoader

    members = OperandLoader(config()).signature.members
    shapes = {name: members[name].signature.members["payload"].shape for name in ("i", "o", "o_fault")}
    numbers, memory = rng("latencies"), Memory(dut)
    loads = StreamSource(dut, "i", shapes["i"], idle=0.0)
    free = list(range(CONTEXTS))
    done: list[int] = []
    left = 0

    def load() -> None:
        nonlocal left
        left -= 1
        loads.append({
            "context": free.pop(0), "job": 0, "position": 0, "from_payload": 0, "beside": 0, "addr": 0,
            "pieces": {"count": 1, "bytes": MTU, "last_bytes": 0, "stride": MTU},
        })

    def ended(loaded: dict[str, int]) -> None:
        done.append(memory.cycle)
        free.append(loaded["context"])
        if left:
            load()

    StreamSink(dut, "o", shapes["o"], stall=0.0, callback=ended)
    StreamSink(dut, "o_fault", shapes["o_fault"], stall=0.0, callback=lambda fault: done.append(-1))
    dut.words__word.value = 0
    for port in range(2):
        getattr(dut, f"operands__{port}__enable").value = 0
    await clock.start(dut, max_cycles=200_000)
    every_cycle(dut.clk, memory.advance)
    found = {}
    edges = [LEAST - SLACK - _PATH + step for step in range(_PATH + 2)]
    latencies = [1, *edges, MOST - SLACK - _PATH, MOST - SLACK, 2 * MOST, 4 * MOST]
    for latency in [*numbers.sample(latencies, len(latencies)), 1]:
        memory.latency = latency
        # One load alone: nothing is outstanding, so it tells how long memory takes now.
        for count in (1, parameters()["loads"]):
            done.clear()
            memory.most, left = 0, count
            for _ in range(min(count, CONTEXTS)):
                load()
            while len(done) < count:
                await clock.cycles(dut, 1)
            await clock.cycles(dut, 20)
        ahead = min(MOST, max(LEAST, latency + _PATH + SLACK))
        assert memory.most <= ahead + BEATS, f"{memory.most} beats outstanding, latency {latency}"
        assert -1 not in done
        # A load takes a cycle more than its beats; beyond what may be outstanding it is the latency that counts.
        each = max(BEATS + 1, BEATS * (latency + _PATH) / ahead)
        taken = (done[-1] - done[CONTEXTS]) / (count - 1 - CONTEXTS)
        assert taken <= 1.03 * each, f"{taken:.1f} cycles a load where {each:.1f} were due, latency {latency}"
        found[latency] = {"cycles": round(taken, 1), "outstanding": memory.most}
    report(found=found)
