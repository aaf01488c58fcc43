"""The board's own registers."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.board import BOARD_ID, BOARD_PAGE, BOARD_VERSION
from firmware_models.abi.register import Access as Right
from fpga.selftest.access import AccessSignature


class BoardRegisters(wiring.Component):
    """``firmware_models.abi.board.BOARD_PAGE``: what the design is, time, lights, reset.

    Other addresses, and writes to registers that are only read, are answered with an error.

    Parameters
    ----------
    n_nics, memory_bytes, clock_hz, digest : int
        What the registers of these names say.

    Members
    -------
    i : ``In(AccessSignature())``
        Accesses; the target is not looked at.
    started : ``In(1)``
        Latches the cycle as `start`.
    bad_frame : ``In(1)``
        Counts.
    hold : ``Out(1)``
        NICs and switch are to be in reset. They are so for a few cycles after this component's own reset, too.
    leds : ``Out(2)``
        Pass, fail.
    """

    def __init__(self, *, n_nics: int, memory_bytes: int, clock_hz: int, digest: int):
        self.constants = {
            "id": BOARD_ID, "version": BOARD_VERSION, "n_nics": n_nics, "memory_bytes": memory_bytes,
            "clock_hz": clock_hz, "config": digest,
        }
        for name, value in self.constants.items():
            if not 0 <= value < 1 << BOARD_PAGE[name].width:
                raise ValueError(f"{name} must fit {BOARD_PAGE[name].width} bits, not {value!r}")
        super().__init__({
            "i": In(AccessSignature()), "started": In(1), "bad_frame": In(1), "hold": Out(1, init=1),
            "leds": Out(BOARD_PAGE["leds"].width),
        })

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        access, answer = self.i.access, self.i.answer
        control, settle = Signal(), Signal(4, init=15)
        cycles, latched, start = Signal(64), Signal(32), Signal(64)
        bad_frames, scratch = Signal(16), Signal(32)

        # Reset lasts a while: long enough for every unit, and counted in cycles of its own clock.
        m.d.sync += [cycles.eq(cycles + 1), self.hold.eq(control | (settle != 0))]
        with m.If(control):
            m.d.sync += settle.eq(15)
        with m.Elif(settle != 0):
            m.d.sync += settle.eq(settle - 1)
        with m.If(self.hold):
            m.d.sync += cycles.eq(0)
        with m.If(self.started):
            m.d.sync += start.eq(cycles)
        with m.If(self.bad_frame & ~bad_frames.all()):
            m.d.sync += bad_frames.eq(bad_frames + 1)

        values = {
            **self.constants, "control": control, "leds": self.leds, "cycles_lo": cycles[:32], "cycles_hi": latched,
            "start_lo": start[:32], "start_hi": start[32:], "bad_frames": bad_frames, "scratch": scratch,
        }
        stored = {"control": control, "leds": self.leds, "scratch": scratch}
        assert set(values) == {register.name for register in BOARD_PAGE}
        assert set(stored) == {register.name for register in BOARD_PAGE if register.access is Right.RW}

        answered = Signal()
        m.d.comb += [access.ready.eq(~answered), answer.valid.eq(answered)]
        with m.If(answered & answer.ready):
            m.d.sync += answered.eq(0)
        with m.If(access.valid & access.ready):
            m.d.sync += [answered.eq(1), answer.payload.data.eq(0), answer.payload.error.eq(1)]
            with m.Switch(access.payload.addr):
                for register in BOARD_PAGE:
                    name = register.name
                    with m.Case(register.offset):
                        with m.If(~access.payload.write):
                            m.d.sync += [answer.payload.data.eq(values[name]), answer.payload.error.eq(0)]
                            if name == "cycles_lo":
                                m.d.sync += latched.eq(cycles[32:])
                        if name in stored:
                            with m.Else():
                                m.d.sync += [stored[name].eq(access.payload.data), answer.payload.error.eq(0)]
        return m
