"""Seam of the pool of shared credits."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

Consumed = data.StructLayout({"loan": 1, "want": 1})
"""Of a consumed packet: it travelled on a shared credit; its sender asks for one."""


class ConsumptionSignature(wiring.Signature):
    """Packets that are consumed, seen from whoever consumes them.

    One packet at most is consumed in a cycle, by whoever it is. The answer stands in the same cycle.

    Members
    -------
    taken : ``Out(1)``, consumed : ``Out(Consumed)``
        High in the cycle in which a packet is consumed; the packet.
    granted : ``In(1)``
        Its sender is granted a shared credit.
    n_left : ``In(2)``
        By how many packets fewer keep the job here.
    """

    def __init__(self):
        super().__init__({"taken": Out(1), "consumed": Out(Consumed), "granted": In(1), "n_left": In(2)})
