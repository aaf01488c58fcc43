"""Registers placed by hand between the steps of a computation."""

from types import SimpleNamespace

from amaranth import Module, Signal, Value
from amaranth.hdl import ValueCastable, ValueLike


class StepPipeline:
    """Carries named values from step to step; a step ends in registers if it is one of the `cuts`, else in wires.

    Synthesis for the open flows does not move registers, so a unit of arithmetic is written as a row of
    steps so small that a depth is chosen by naming the steps after which registers stand.

    Parameters
    ----------
    m : Module
        Where the wires and registers go.
    cuts : tuple of str
        Names of the steps that end in registers. Every one must be taken; :meth:`finish` checks it.
    """

    def __init__(self, m: Module, *, cuts: tuple[str, ...]):
        self._m = m
        self._cuts = cuts
        self._taken: list[str] = []

    def cut(self, name: str) -> bool:
        """Whether registers stand after step `name`."""
        return name in self._cuts

    def step(
        self, name: str, before: SimpleNamespace | None = None, drop: str = "", /, **new: ValueLike
    ) -> SimpleNamespace:
        """Ends step `name`.

        Parameters
        ----------
        before : SimpleNamespace, optional
            What the step before handed on; it is handed on again.
        drop : str
            Names in `before`, separated by blanks, that nothing needs after this step.
        new : ValueLike
            What this step adds or replaces.
        """
        values = dict(vars(before)) if before is not None else {}
        for gone in drop.split():
            del values[gone]
        values.update(new)
        domain = self._m.d.sync if self.cut(name) else self._m.d.comb
        after = SimpleNamespace()
        for key, value in values.items():
            if not isinstance(value, ValueCastable):
                value = Value.cast(value)
            # Only valid bits need a reset, and they do not pass through here.
            signal = Signal(value.shape(), name=f"{name}_{key}", reset_less=self.cut(name))
            domain += signal.eq(value)
            setattr(after, key, signal)
        self._taken.append(name)
        return after

    def finish(self) -> None:
        """Checks that the pipeline is as deep as its cuts say."""
        missing = [name for name in self._cuts if self._taken.count(name) != 1]
        if missing:
            raise ValueError(f"cuts must name steps that are taken once, not {missing!r}")
