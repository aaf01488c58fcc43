"""Streams and levels of a run, read from its waveform."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pywellen

HALVES = 2
"""Time steps of a waveform of a cluster in a cycle: the clock rises with the first."""


@dataclass(frozen=True)
class Transfers:
    """Cycles of a stream in some part of a run.

    Members
    -------
    done : list of int
        Cycles in which an item passed: `valid` and `ready` were high.
    stalled : list of int
        Cycles in which an item was offered and not taken.
    """

    done: list[int]
    stalled: list[int]


class Recording:
    """The waveform of a cluster.

    A signal is named by its model (``nic0``, ``switch0``) and its path in the design: submodules with dots, as in
    ``cou_0.trigger.i_start``.

    Parameters
    ----------
    path : Path
        The FST file that :func:`sim.collective.run_collective` wrote.
    """

    def __init__(self, path: Path):
        self._variables = {variable.full_name: variable for variable in pywellen.Waveform(str(path)).all_vars()}

    def values(self, model: str, signal: str, cycles: Sequence[int]) -> list[int]:
        """Values of `signal` in each of `cycles`.

        Raises
        ------
        LookupError
            If there is no such signal.
        """
        found = self._find(model, signal)
        if found is None:
            raise LookupError(f"{model} has no signal {signal!r}: the hardware calls it otherwise now")
        return [int(found.value_at(HALVES * cycle)) for cycle in cycles]

    def transfers(self, model: str, stream: str, cycles: Sequence[int]) -> Transfers:
        """When items of `stream` passed within `cycles`. A stream without `ready` is always taken; a pulse or a level,
        which has no `valid` either, passes while it is high."""
        names = [f"{stream}__valid", f"{stream}valid", stream]
        valid = next((name for name in names if self._find(model, name) is not None), names[0])
        offered = self.values(model, valid, cycles)
        ready = valid.removesuffix("valid") + "ready" if valid != stream else ""
        taken = self.values(model, ready, cycles) if ready and self._find(model, ready) else [1] * len(cycles)
        pairs = list(zip(cycles, offered, taken, strict=True))
        return Transfers(
            done=[cycle for cycle, valid, ready in pairs if valid and ready],
            stalled=[cycle for cycle, valid, ready in pairs if valid and not ready],
        )

    def _find(self, model: str, signal: str) -> Any:
        kind = model.rstrip("0123456789")
        # Offload units are instances of one module, which holds the unit as `core`; so does the exported top.
        inside = signal.replace("cou_0.", "cou_0.core.", 1) if signal.startswith("cou_0.") else signal
        top = f"{model}.conic_{kind}_simulation.top"
        for name in (f"{top}.core.{inside}", f"{top}.{inside}"):
            if name in self._variables:
                return self._variables[name].signal
        return None
