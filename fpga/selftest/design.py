"""The self-test design: what is the same on every board."""

import hashlib

from amaranth import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from firmware_models.abi import registers
from firmware_models.abi.board import Target
from firmware_models.config import Config
from fpga.selftest.access_router import AccessRouter
from fpga.selftest.axi_lite_manager import AxiLiteManager
from fpga.selftest.board_registers import BoardRegisters
from fpga.selftest.bridge import Bridge
from fpga.selftest.on_chip_memory import OnChipMemory
from rtl.nic.nic import Nic
from rtl.switch.control import ADDRESS_BITS as SWITCH_ADDRESS_BITS
from rtl.switch.switch import Switch


def config_digest(config: Config) -> int:
    """32 bits that say which configuration a design was built from: how the host knows what it talks to."""
    return int.from_bytes(hashlib.sha256(repr(config).encode()).digest()[:4], "little")


class SelfTest(wiring.Component):
    """NICs on one switch, a host memory for each, and a host on a serial line.

    Parameters
    ----------
    config : Config
        The hardware; its switch must have a port for each NIC.
    n_nics : int
        NICs; number n is on port n of the switch.
    memory_bytes : int
        Of each host memory; a power of two.
    clock_hz : int
        Frequency of the clock, for the host to know.
    divisor : int
        Clock cycles of a bit of the serial line.

    Members
    -------
    rx, tx : ``In(1)``, ``Out(1)``
        The serial line; ``rx`` synchronised to the clock.
    passed, failed : ``Out(1)``
        The host's verdict.
    alive : ``Out(1)``
        Blinks while the clock runs.
    irq : ``Out(1)``
        A NIC has written a completion that the host has not seen.
    """

    def __init__(self, *, config: Config, n_nics: int, memory_bytes: int, clock_hz: int, divisor: int):
        if not 1 <= n_nics <= config.switch.radix:
            raise ValueError(f"n_nics must be 1 to switch.radix ({config.switch.radix}), not {n_nics!r}")
        self.config, self.n_nics, self.memory_bytes = config, n_nics, memory_bytes
        self.clock_hz, self.divisor = clock_hz, divisor
        super().__init__({
            "rx": In(1, init=1), "tx": Out(1, init=1), "passed": Out(1), "failed": Out(1), "alive": Out(1),
            "irq": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        numbers = range(self.n_nics)
        m.submodules.bridge = bridge = Bridge(divisor=self.divisor)
        m.submodules.router = router = AccessRouter(targets=[
            Target.BOARD, Target.SWITCH, *(Target.NIC + n for n in numbers), *(Target.MEMORY + n for n in numbers),
        ])
        m.submodules.board = board = BoardRegisters(
            n_nics=self.n_nics, memory_bytes=self.memory_bytes, clock_hz=self.clock_hz,
            digest=config_digest(self.config) )
        connect(m, bridge.access, router.i)
        connect(m, router.o[0], board.i)

        # `hold` resets everything below except the host's own access path. The contents of memories survive, because no
        # reset clears them.
        switch_held = self._add(m, "switch", switch := Switch(self.config), hold=board.hold)
        m.submodules.switch_registers = switch_registers = AxiLiteManager(address_bits=SWITCH_ADDRESS_BITS)
        connect(m, router.o[1], switch_registers.i)
        connect(m, switch_registers.bus, switch.s_axil)
        m.d.comb += switch_registers.offline.eq(board.hold | switch_held)
        irqs = []
        for n in numbers:
            nic_held = self._add(m, f"nic_{n}", nic := Nic(self.config), hold=board.hold)
            m.submodules[f"registers_{n}"] = nic_registers = AxiLiteManager(address_bits=registers.ADDRESS_BITS)
            memory = OnChipMemory(n_bytes=self.memory_bytes, data_width=self.config.datapath.data_width)
            self._add(m, f"memory_{n}", memory, hold=board.hold)
            connect(m, router.o[2 + n], nic_registers.i)
            connect(m, nic_registers.bus, nic.s_axil)
            connect(m, router.o[2 + self.n_nics + n], memory.host)
            connect(m, nic.m_axi, memory.s_axi)
            connect(m, nic.tx, switch.rx[n])
            connect(m, switch.tx[n], nic.rx)
            m.d.comb += nic_registers.offline.eq(board.hold | nic_held)
            irqs.append(nic.irq)

        blink = Signal(range(self.clock_hz), name="blink")
        m.d.sync += blink.eq(blink + 1)
        m.d.comb += [
            bridge.rx.eq(self.rx), self.tx.eq(bridge.tx), board.started.eq(bridge.started),
            board.bad_frame.eq(bridge.bad_frame), self.passed.eq(board.leds[0]), self.failed.eq(board.leds[1]),
            self.alive.eq(blink[-1]), self.irq.eq(Cat(irqs).any()),
        ]
        return m

    @staticmethod
    def _add(m: Module, name: str, block: wiring.Component, *, hold: Signal) -> Signal:
        """Adds a block with a reset of its own, and returns that: a cycle after that of the design, or after `hold`.

        A single register for all would have to reach every corner of the device in a cycle. `keep`: synthesis is not
        to make one of them again.
        """
        held = Signal(init=1, name=f"{name}_held", attrs={"keep": 1})
        m.domains += ClockDomain(name, local=True)
        m.d.sync += held.eq(hold)
        m.d.comb += [ClockSignal(name).eq(ClockSignal()), ResetSignal(name).eq(held)]
        m.submodules[name] = DomainRenamer(name)(block)
        return held
