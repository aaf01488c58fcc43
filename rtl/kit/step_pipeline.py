"""Registers placed by a table between the steps of a computation."""

from collections.abc import Callable, Mapping
from typing import Any

from amaranth import Module, Signal, Value
from amaranth.hdl import ValueCastable, ValueLike


class StepValues:
    """Values that a step hands on, each an attribute by the name that the step gave it.

    Parameters
    ----------
    named : ValueLike
        The values.
    """

    def __init__(self, **named: ValueLike):
        vars(self).update(named)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no step handed on {name!r}, only {', '.join(vars(self))}")


Step = Callable[[StepValues], Mapping[str, ValueLike]]
"""Computes the values that a step adds, by name, from those that the steps before it handed on."""


class StepPipeline:
    """Carries named values from step to step; a step ends in registers if it is one of the `cuts`, else in wires.

    Synthesis for the open flows does not move registers, so a unit writes what it computes as a row of
    steps so small that a depth is chosen by naming the steps after which registers stand.

    Parameters
    ----------
    m : Module
        Where the wires and registers go.
    cuts : tuple of str
        Names of the steps that end in registers. Every one must be taken; :meth:`finish` checks it.
    stays : bool
        The inputs stay until the result has been used. So does what every step adds, and nothing has to be carried
        along through the registers of later steps.
    enable : ValueLike
        Cycles in which registers are loaded.
    """

    def __init__(self, m: Module, *, cuts: tuple[str, ...], stays: bool = False, enable: ValueLike = 1):
        self._m = m
        self._cuts = cuts
        self._stays = stays
        self._enable = enable
        self._taken: list[str] = []

    def cut(self, name: str) -> bool:
        """True if registers stand after step `name`."""
        return name in self._cuts

    def cycles(self, *names: str) -> int:
        """How many of the steps `names` end in registers; of all that were taken so far, if none is named."""
        return sum(self.cut(name) for name in names or self._taken)

    def step(
        self, name: str, before: StepValues | None = None, drop: str = "", /, **new: ValueLike
    ) -> StepValues:
        """Ends step `name`.

        Parameters
        ----------
        before : StepValues, optional
            What the step before handed on; it is handed on again.
        drop : str
            Names in `before`, separated by blanks, that nothing needs after this step.
        new : ValueLike
            What this step adds or replaces.
        """
        values = dict(vars(before)) if before is not None else {}
        for dropped in drop.split():
            del values[dropped]
        ended = {
            key: self._end(f"{name}_{key}", value, registered=self.cut(name))
            for key, value in (new if self._stays else values | new).items()
        }
        self._taken.append(name)
        return StepValues(**values | ended if self._stays else ended)

    def run(self, before: StepValues | None, *steps: tuple[str, Step]) -> StepValues:
        """Takes one named step after the other; what a step replaces or nobody needs later is for :meth:`step`."""
        after = before if before is not None else StepValues()
        for name, compute in steps:
            after = self.step(name, after, **compute(after))
        return after

    def follow(self, value: Value, *names: str, name: str, reset: bool = True) -> Value:
        """`value` behind as many registers as the steps `names` have, or all that were taken so far.

        For what goes beside the computation: a valid bit, which has to be reset, or a tag.
        """
        for index in range(self.cycles(*names)):
            after = Signal(value.shape(), name=f"{name}_{index}", reset_less=not reset)
            self._load(after, value)
            value = after
        return value

    def finish(self) -> None:
        """Checks that the depth of the pipeline is that of its cuts."""
        missing = [name for name in self._cuts if self._taken.count(name) != 1]
        if missing:
            raise ValueError(f"cuts must name steps that are taken once, not {missing!r}")

    def _end(self, name: str, value: ValueLike, *, registered: bool) -> Signal:
        """The register or the wires in which a step leaves `value`."""
        if not isinstance(value, ValueCastable):
            value = Value.cast(value)
        # Only valid bits need a reset, and they do not pass through here.
        signal = Signal(value.shape(), name=name, reset_less=registered)
        if registered:
            self._load(signal, value)
        else:
            self._m.d.comb += signal.eq(value)
        return signal

    def _load(self, register: Signal, value: ValueLike) -> None:
        if isinstance(self._enable, int) and self._enable:
            self._m.d.sync += register.eq(value)
        else:
            with self._m.If(self._enable):
                self._m.d.sync += register.eq(value)
