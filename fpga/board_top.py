"""The self-test design on a board: clock, reset, pins. The only place with primitives of the device."""

from amaranth import ClockDomain, ClockSignal, Elaboratable, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer

from firmware_models.config import load_preset
from fpga.board import Board, Light
from fpga.mmcm import plan_mmcm
from fpga.pll import plan_pll
from fpga.selftest.design import SelfTest


class BoardTop(Elaboratable):
    """Top level of a board: surrounds :class:`fpga.selftest.design.SelfTest` with what it needs there.

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
        m.submodules.oscillator = oscillator = io.Buffer("i", platform.request(platform.default_clk, 0, dir="-"))
        rates = {"input_mhz": board.clock_hz / 1e6, "output_mhz": board.design_hz / 1e6}
        wires = {"clock_in": oscillator.i, "clock_out": ClockSignal("sync"), "locked": locked}
        if board.family == "ecp5":
            m.submodules.pll = plan_pll(**rates).instance(**wires)
        else:
            for name, primitive in plan_mmcm(family=board.family, **rates).instances(**wires).items():
                m.submodules[name] = primitive
        m.submodules.button = button = io.Buffer("i", platform.request(*board.reset, dir="-"))
        m.submodules.reset = ResetSynchronizer(~locked | button.i, domain="sync", stages=3)

        m.submodules.selftest = design = SelfTest(
            config=load_preset(board.preset), n_nics=board.n_nics, memory_bytes=board.memory_bytes,
            clock_hz=board.design_hz, divisor=board.divisor,
        )
        uart = platform.request("uart", 0, dir="-")
        m.submodules.uart_rx = rx = io.Buffer("i", uart.rx)
        m.submodules.uart_tx = tx = io.Buffer("o", uart.tx)
        m.submodules.line = FFSynchronizer(rx.i, design.rx, init=1)
        m.d.comb += tx.o.eq(design.tx)

        for name in ("passed", "failed", "alive", "irq"):
            m.submodules[name] = self._light(platform, getattr(board, name), getattr(design, name))
        return m

    def _light(self, platform: object, light: Light, shines: Signal) -> Module:
        """Drives all colours of a light, for a pin that nothing drives may glow."""
        m = Module()
        resource = platform.request(light.resource, light.number, dir="-")
        for part, port in ({None: resource} if light.part is None else vars(resource)).items():
            m.submodules[part or "light"] = buffer = io.Buffer("o", port)
            m.d.comb += buffer.o.eq(shines if part == light.part else 0)
        return m
