"""Noise of the processes of hosts: calls that come late, cores that are taken away; all drawn from a seed."""

import math
import random

from sim.host.model import Host


def late_cycles(host: Host, *, node: int, job: int) -> float:
    """Cycles by which the process of `job` on `node` calls later than the others."""
    noise = host.noise
    rng = random.Random(f"late {noise.seed} {node} {job}")
    return host.cycles(noise.late_ns) if rng.random() < noise.late_share else 0.0


class Interruptions:
    """When a core does something else: for `interrupt_ns` each time, with times between that are drawn exponentially.

    Parameters
    ----------
    host : Host
        With its noise.
    node, core : int
        Each core of each node has draws of its own.
    """

    def __init__(self, host: Host, *, node: int, core: int):
        noise = host.noise
        self._rng = random.Random(f"interruptions {noise.seed} {node} {core}")
        self._length = host.cycles(noise.interrupt_ns)
        self._mean = host.cycles(noise.interrupt_every_ns)
        self._next = math.inf
        if self._length and self._mean:
            self._next = self._gap()

    def end_of(self, begin: float, cycles: float) -> float:
        """When work of `cycles` is done that begins at `begin`, or as soon as the core is back.

        No call begins before the end of the one before.
        """
        at, left = begin, cycles
        while self._next < at + left or self._next <= at:
            if self._next > at:
                left -= self._next - at
            at = max(at, self._next + self._length)
            self._next += self._length + self._gap()
        return at + left

    def _gap(self) -> float:
        return self._rng.expovariate(1 / self._mean)
