"""Models of the two ends of a link, and of the wire between them, for ``rtl.interface.LinkSignature``.

The link ``rx`` of a component is the ports ``rx__valid``, ``rx__ready``, ``rx__flit``, ``rx__credit_valid``,
``rx__credit_vc``; element 2 of an array of links is named ``rx__2``.
"""

from collections import deque
from collections.abc import Sequence

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from cocotb_bus.drivers import BusDriver
from cocotb_bus.monitors import BusMonitor

from rtl.interface import flit
from testbench.codec import decoder, encode
from testbench.pause import pauses
from testbench.runner import rng
from testbench.stream import ProtocolError

N_VCS = 2
_signals = ("valid", "ready", "flit", "credit_valid", "credit_vc")
_bus = {"bus_separator": "__", "case_insensitive": False}


class LinkSource(BusDriver):
    """The sending end: drives packets onto a link that is an input of the component, against its credits.

    The channels' flits mix at random; a random part of the cycles stays idle. Fails the test if more credits come back
    than were spent.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    name : str
        Name of the link.
    data_width : int
        Bits of a flit.
    buffer_flits : int
        Credits of each channel at the beginning.
    idle : float, optional
        Probability of an idle cycle; bursts of different density if not given.
    marked : bool
        If true, the flits of the link have a mark `bad`; it is not set.
    """

    _signals = _signals

    def __init__(
        self, dut: SimHandleBase, name: str, *, data_width: int, buffer_flits: int, idle: float | None = None,
        marked: bool = False,
    ):
        super().__init__(dut, name, dut.clk, **_bus)
        self.buffer_flits = buffer_flits
        self.credits = [buffer_flits] * N_VCS
        self.first_sent: float | None = None
        """Time in ns at which the first flit was taken from the link's wires; None starts over."""
        self._shape = flit(data_width, marked=marked)
        self._rng = rng(f"{name} link source")
        self._idle = pauses(self._rng, idle)
        self._flits: list[deque[int]] = [deque() for _ in range(N_VCS)]
        self.bus.valid.value = 0

    def append(self, transaction: tuple[int, Sequence[int]]) -> None:
        """Queues a packet: its virtual channel and the data of its flits."""
        vc, words = transaction
        for number, word in enumerate(words):
            last = int(number == len(words) - 1)
            item = {"data": word, "last": last, "vc": vc, "bad": 0}
            self._flits[vc].append(encode(self._shape, {key: item[key] for key in self._shape.members}))
        if not self._sendQ:
            super().append(None)

    def set_idle(self, rate: float | None) -> None:
        """Changes the idle cycles from the next cycle on."""
        self._idle = pauses(self._rng, rate)

    @property
    def pending(self) -> int:
        """Flits not sent yet."""
        return sum(len(queue) for queue in self._flits)

    async def drain(self) -> None:
        """Waits until everything has been sent and every credit is back."""
        while self.pending or self.credits != [self.buffer_flits] * N_VCS:
            await RisingEdge(self.clock)

    async def _driver_send(self, transaction: None, sync: bool = True) -> None:
        """Runs for good: the first item only starts it."""
        edge = RisingEdge(self.clock)
        offered = False
        while True:
            await edge
            if int(self.bus.credit_valid.value):
                vc = int(self.bus.credit_vc.value)
                self.credits[vc] += 1
                if self.credits[vc] > self.buffer_flits:
                    raise ProtocolError(f"{self.name}: channel {vc} got a credit back that was not spent")
            if offered and not int(self.bus.ready.value):
                continue
            if offered and self.first_sent is None:
                self.first_sent = get_sim_time("ns")
            able = [vc for vc in range(N_VCS) if self._flits[vc] and self.credits[vc]]
            offered = bool(able) and not next(self._idle)
            self.bus.valid.value = int(offered)
            if offered:
                vc = self._rng.choice(able)
                self.credits[vc] -= 1
                self.bus.flit.value = self._flits[vc].popleft()
            else:
                self.bus.flit.value = self._rng.getrandbits(self._shape.size)


class LinkSink(BusMonitor):
    """The receiving end: takes flits from a link that is an output of the component and returns credits late.

    Fails the test if a flit comes without a credit, or an offer is taken back or changed while `ready` is low.

    Parameters
    ----------
    dut, name, data_width, buffer_flits
        As for :class:`LinkSource`.
    stall : float, optional
        Probability of a cycle without ready. Never by default, as at a link without a MAC.
    hold : float, optional
        Probability of a cycle in which no flit leaves the buffer, so that no credit returns; bursts if not given.
    marked : bool
        If true, the flits of the link have a mark `bad`. Marked packets are counted and dropped.
    """

    _signals = _signals

    def __init__(
        self, dut: SimHandleBase, name: str, *, data_width: int, buffer_flits: int, stall: float | None = 0,
        hold: float | None = None, marked: bool = False,
    ):
        self.buffer_flits = buffer_flits
        self.received: list[list[list[int]]] = [[] for _ in range(N_VCS)]
        """Whole packets of each channel, in the order in which they ended: the data of their flits."""
        self.order: list[tuple[int, list[int]]] = []
        """Channel and data of all packets, in the order in which they ended."""
        self.flits = 0
        """Flits received."""
        self.bad = 0
        """Packets that were dropped because of their mark."""
        self.first_received: float | None = None
        """Time in ns at which the first flit was taken from the link's wires; None starts over."""
        self.withheld: set[int] = set()
        """Channels whose credits do not return."""
        self._decode = decoder(flit(data_width, marked=marked))
        self._rng = rng(f"{name} link sink")
        self._stall = pauses(self._rng, stall)
        self._hold = pauses(self._rng, hold)
        self._held = [0] * N_VCS
        self.partial: list[list[int]] = [[] for _ in range(N_VCS)]
        """Flits of the packet that each channel is in the middle of."""
        super().__init__(dut, name, dut.clk, reset=dut.rst, **_bus)
        self.bus.ready.value = 0
        self.bus.credit_valid.value = 0
        self.bus.credit_vc.value = 0

    def set_hold(self, rate: float | None) -> None:
        """Changes how long flits stay in the buffer; 1 withholds all credits."""
        self._hold = pauses(self._rng, rate)

    @property
    def idle(self) -> bool:
        """No flit in the buffer, no packet half received."""
        return not any(self._held) and not any(self.partial)

    async def _monitor_recv(self) -> None:
        edge = RisingEdge(self.clock)
        offered = None
        ready = False
        while True:
            await edge
            if self.in_reset:
                offered = None
                continue
            bits = int(self.bus.flit.value) if int(self.bus.valid.value) else None
            if offered is not None and bits != offered:
                raise ProtocolError(f"{self.name}: a flit was taken back or changed before ready")
            offered = bits if not ready else None
            if ready and bits is not None:
                self._take(self._decode(bits))
            ready = not next(self._stall)
            self.bus.ready.value = int(ready)
            self._return_credit()

    def _take(self, item: dict[str, int]) -> None:
        vc = item["vc"]
        if self.first_received is None:
            self.first_received = get_sim_time("ns")
        self.flits += 1
        self._held[vc] += 1
        if self._held[vc] > self.buffer_flits:
            raise ProtocolError(f"{self.name}: channel {vc} sent a flit without a credit")
        self.partial[vc].append(item["data"])
        if item["last"] and item.get("bad"):
            self.bad += 1
            self.partial[vc] = []
        elif item["last"]:
            self.received[vc].append(self.partial[vc])
            self.order.append((vc, self.partial[vc]))
            self.partial[vc] = []
            self._recv(self.order[-1])
            self._recvQ.clear()

    def _return_credit(self) -> None:
        owed = [vc for vc in range(N_VCS) if self._held[vc] and vc not in self.withheld]
        returns = bool(owed) and not next(self._hold)
        vc = self._rng.choice(owed) if returns else self._rng.randrange(N_VCS)
        if returns:
            self._held[vc] -= 1
        self.bus.credit_valid.value = int(returns)
        self.bus.credit_vc.value = vc


class LinkWire:
    """Carries flits from one component's output to another's input, and credits back, each some cycles late.

    Nothing overtakes. Call ``await run()`` as a task.

    Parameters
    ----------
    dut : SimHandleBase
        What has both ends as ports.
    tx, rx : str
        Names of the sender's and the receiver's link.
    cycles : tuple of int
        Shortest and longest delay, at least 1.
    stall : float, optional
        Probability of a cycle in which the wire takes no flit; bursts of different density if not given.
    """

    def __init__(self, dut: SimHandleBase, tx: str, rx: str, *, cycles: tuple[int, int], stall: float | None = None):
        self.clock = dut.clk
        self._tx = {name: getattr(dut, f"{tx}__{name}") for name in _signals}
        self._rx = {name: getattr(dut, f"{rx}__{name}") for name in _signals}
        self._cycles = cycles
        self._rng = rng(f"{tx} {rx} wire")
        self._stall = pauses(self._rng, stall)
        self.in_flight = 0
        """Flits and credits under way."""
        self._tx["ready"].value = 0
        self._tx["credit_valid"].value = 0
        self._rx["valid"].value = 0

    async def run(self) -> None:
        """Carries for good."""
        edge = RisingEdge(self.clock)
        flits: deque[tuple[int, int]] = deque()
        returns: deque[tuple[int, int]] = deque()
        now, ready = 0, False
        while True:
            await edge
            now += 1
            delay = self._rng.randint(*self._cycles) - 1
            if ready and int(self._tx["valid"].value):
                flits.append((now + delay, int(self._tx["flit"].value)))
            if int(self._rx["credit_valid"].value):
                returns.append((now + delay, int(self._rx["credit_vc"].value)))
            arrived = bool(flits) and flits[0][0] <= now
            self._rx["valid"].value = int(arrived)
            if arrived:
                self._rx["flit"].value = flits.popleft()[1]
            returned = bool(returns) and returns[0][0] <= now
            self._tx["credit_valid"].value = int(returned)
            if returned:
                self._tx["credit_vc"].value = returns.popleft()[1]
            ready = not next(self._stall)
            self._tx["ready"].value = int(ready)
            self.in_flight = len(flits) + len(returns) + int(arrived) + int(returned)
