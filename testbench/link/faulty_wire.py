"""A model of a wire that loses, changes, doubles and delays words, for ``rtl.link.wire.WireSignature``."""

from collections import deque
from collections.abc import Mapping

from cocotb.handle import SimHandleBase

from testbench.edge import bits, every_cycle, level
from testbench.runner import rng

FAULTS = ("lose", "double", "flip", "control", "noise")
"""A word does not come; comes twice; with one to four bits changed; with its kind changed; one comes of itself."""


class FaultyWire:
    """Carries the words of one direction of a reliable link, each `delay` cycles late at least.

    A doubled word, or noise, takes a cycle; the words behind it are late then, until there is a gap. Where gaps are too
    few for the faults asked for, words are lost instead, and counted.

    Parameters
    ----------
    dut : SimHandleBase
        What has both ends as ports.
    tx, rx : str
        Names of the sender's and the receiver's wire.
    data_width : int
        Bits of a word.
    delay : int
        Cycles, at least 1.
    rates : mapping of str to float
        Probability of each fault, for a word; of noise, for a cycle.
    """

    def __init__(
        self, dut: SimHandleBase, tx: str, rx: str, *, data_width: int, delay: int = 1,
        rates: Mapping[str, float] | None = None,
    ):
        self.rates = dict.fromkeys(FAULTS, 0.0)
        self.set_rates(rates or {})
        self.cut = False
        """No word comes through."""
        self.faults = dict.fromkeys(FAULTS, 0)
        """How often each has happened."""
        self.words = {"data": 0, "control": 0}
        """Words that the sender has sent."""
        self.watch = lambda control, word: None
        """Called with each word that the sender sends."""
        self._width, self._delay = data_width, delay
        self._rng = rng(f"{tx} {rx} faulty wire")
        self._valid, self._control = level(getattr(dut, f"{tx}__valid")), level(getattr(dut, f"{tx}__control"))
        self._in_reset = level(dut.rst)
        self._data = bits(getattr(dut, f"{tx}__data"))
        self._out = [getattr(dut, f"{rx}__{name}") for name in ("valid", "control", "data")]
        self._on_the_way: deque[tuple[int, int, int]] = deque()
        self._now, self._shown = 0, False
        self._out[0].value = 0
        every_cycle(dut.clk, self._cycle)

    def set_rates(self, rates: Mapping[str, float]) -> None:
        """Changes the rates from the next word on; faults that are not named do not happen."""
        if unknown := set(rates) - set(FAULTS):
            raise ValueError(f"rates must be of {', '.join(FAULTS)}, not {sorted(unknown)!r}")
        self.rates = dict.fromkeys(FAULTS, 0.0) | dict(rates)
        self._any = any(self.rates.values())

    @property
    def n_faults(self) -> int:
        """How many faults have happened."""
        return sum(self.faults.values())

    def _happens(self, fault: str) -> bool:
        happens = self._rng.random() < self.rates[fault]
        self.faults[fault] += happens
        return happens

    def _cycle(self) -> None:
        self._now += 1
        if self._in_reset():
            return
        if self._valid():
            self._carry(int(self._control()), self._data())
        if self._any and self._happens("noise"):
            self._send(self._rng.getrandbits(1), self._rng.getrandbits(self._width))
        if self._on_the_way and self._on_the_way[0][0] <= self._now:
            _, control, word = self._on_the_way.popleft()
            self._out[0].value, self._out[1].value, self._out[2].value = 1, control, word
            self._shown = True
        elif self._shown:
            self._out[0].value = 0
            self._shown = False

    def _carry(self, control: int, word: int) -> None:
        self.words["control" if control else "data"] += 1
        self.watch(control, word)
        if self.cut:
            return
        if self._any:
            late = bool(self._on_the_way) and self._on_the_way[0][0] < self._now - 8
            if self._happens("lose") or late:
                self.faults["lose"] += late
                return
            if self._happens("flip"):
                for _ in range(self._rng.randint(1, 4)):
                    word ^= 1 << self._rng.randrange(self._width)
            if self._happens("control"):
                control ^= 1
            if self._happens("double"):
                self._send(control, word)
        self._send(control, word)

    def _send(self, control: int, word: int) -> None:
        self._on_the_way.append((self._now + self._delay - 1, control, word))
