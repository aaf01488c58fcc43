"""Parts of a contract: free inputs, unknown constants, checks, and situations that must be reachable."""

from typing import Any

from amaranth import ClockDomain, Elaboratable, Module, Mux, Signal, Value
from amaranth.hdl import Assert, Assume, Cover, ShapeLike, ValueLike


class Contract(Elaboratable):
    """A unit in an environment that does whatever its rules allow.

    A subclass implements :meth:`build`. The registers start as reset leaves them, and there is no reset later.

    Members
    -------
    ports : list of Signal
        The clock, and the free inputs: the solver chooses their values, in every cycle anew.
    situations : list of str
        What :meth:`reach` was given: all of it must be reachable in one run, or the proof would say too little.
    """

    def __init__(self) -> None:
        self.ports: list[Signal] = []
        self.situations: list[str] = []
        self._seen: list[Signal] = []
        self._module = Module()

    def build(self, m: Module) -> None:
        """Describes unit, environment and claims."""
        raise TypeError(f"{type(self).__name__} describes no contract")

    def elaborate(self, platform: object) -> Module:
        m = self._module
        m.domains.sync = clocked = ClockDomain(reset_less=True)
        self.ports.append(clocked.clk)
        self.first = Signal(init=1)
        m.d.sync += self.first.eq(0)
        self.build(m)
        reached = Signal()
        m.d.comb += reached.eq(1)
        for seen in self._seen:
            with m.If(~seen):
                m.d.comb += reached.eq(0)
        # The emitter turns this into an assertion for the run that looks for the situations.
        m.d.comb += Cover(~reached)
        return m

    def free(self, shape: ShapeLike, name: str) -> Signal:
        """An input with any value in any cycle."""
        port = Signal(shape, name=f"free_{name}")
        self.ports.append(port)
        return port

    def constant(self, shape: ShapeLike, name: str) -> Signal:
        """An input with any value, the same in all cycles."""
        port, kept, value = self.free(shape, name), Signal(shape, name=f"kept_{name}"), Signal(shape, name=name)
        self._module.d.sync += kept.eq(value)
        self._module.d.comb += value.eq(Mux(self.first, port, kept))
        return value

    def offered(self, port: Any, name: str) -> Value:
        """A stream into the unit: any item at any time, each offered until it is taken.

        Returns
        -------
        Value
            High if an item is being taken.
        """
        valid, payload = self.free(1, name), self.free(len(port.payload.as_value()), f"{name}_payload")
        stalled, before = Signal(name=f"{name}_stalled"), Signal(len(payload), name=f"{name}_before")
        self._module.d.comb += [port.valid.eq(valid), port.payload.eq(payload)]
        self._module.d.sync += [stalled.eq(valid & ~port.ready), before.eq(payload)]
        self.assume(~stalled | valid & (payload == before))
        return port.valid & port.ready

    def assume(self, condition: ValueLike) -> None:
        """The environment keeps this rule."""
        self._module.d.comb += Assume(condition)

    def check(self, condition: ValueLike) -> None:
        """The unit keeps this promise, in every cycle."""
        self._module.d.comb += Assert(condition)

    def reach(self, condition: ValueLike, situation: str) -> None:
        """This can happen."""
        seen, now = Signal(name=f"seen_{len(self._seen)}"), Signal(name=f"now_{len(self._seen)}")
        self._module.d.comb += now.eq(seen | condition)
        self._module.d.sync += seen.eq(now)
        self._seen.append(now)
        self.situations.append(situation)
