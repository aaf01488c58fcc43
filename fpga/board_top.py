"""The self-test design on a board: clock, reset, pins. The only place with primitives of the device."""

from amaranth import ClockDomain, ClockSignal, Elaboratable, Module, Signal
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer

from firmware_models.config import load_preset
from fpga.board import Board, Light
from fpga.mmcm import plan_mmcm
from fpga.pll import plan_pll
from fpga.selftest.design import SelfTest


class BoardTop(Elaboratable):
    """What :class:`fpga.selftest.design.SelfTest` needs around it on a board.

    One clock drives everything: the PLL's. Reset begins at once when the PLL has lost its lock or the button is
    pressed, and ends synchronously. The serial line and the button are all that comes in from other clocks, each by a
    synchroniser of the library.

    Parameters
    ----------
    board : Board
        The board.
    """

    def __init__(self, board: Board):
        self.board = board

    def elaborate(self, platform: object) -> Module:
        """Builds it for the board's platform."""
        m = Module()
        board = self.board

        m.domains.sync = ClockDomain()
        locked = Signal()
        platform.add_resources(board.resources)
        oscillator = platform.request(platform.default_clk, 0).i
        rates = {"input_mhz": board.clock_hz / 1e6, "output_mhz": board.design_hz / 1e6}
        wires = {"clock_in": oscillator, "clock_out": ClockSignal("sync"), "locked": locked}
        if board.family == "ecp5":
            m.submodules.pll = plan_pll(**rates).instance(**wires)
        else:
            for name, primitive in plan_mmcm(family=board.family, **rates).instances(**wires).items():
                m.submodules[name] = primitive
        button = platform.request(*board.reset).i
        m.submodules.reset = ResetSynchronizer(~locked | button, domain="sync", stages=3)

        m.submodules.selftest = design = SelfTest(
            config=load_preset(board.preset), n_nics=board.n_nics, memory_bytes=board.memory_bytes,
            clock_hz=board.design_hz, divisor=board.divisor,
        )
        uart = platform.request("uart", 0)
        m.submodules.line = FFSynchronizer(uart.rx.i, design.rx, init=1)
        m.d.comb += uart.tx.o.eq(design.tx)

        for light, value in (
            (board.passed, design.passed), (board.failed, design.failed), (board.alive, design.alive),
            (board.irq, design.irq),
        ):
            m.d.comb += self._output(platform, light).eq(value)
        return m

    def _output(self, platform: object, light: Light) -> Signal:
        resource = platform.request(light.resource, light.number)
        return resource.o if light.part is None else getattr(resource, light.part).o
