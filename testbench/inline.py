"""Inline data behind descriptors: their source, and who takes them."""

from collections.abc import Callable
from typing import Any

import cocotb
from amaranth.hdl import ShapeLike
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from rtl.abi import Descriptor
from rtl.interface import inline_layout, inline_words
from testbench.codec import encode
from testbench.edge import bits
from testbench.runner import rng
from testbench.stream import StreamSource

_PAYLOAD = formats.DESCRIPTOR.offset("payload")


class DescriptorSource(StreamSource):
    """Drives descriptors onto a stream, and their inline data behind each, as the descriptor queue does; now and then
    also those of a descriptor that somebody else has got.

    An item has a field `desc`, a whole descriptor: its bits, or a dict of fields.

    Parameters
    ----------
    dut, name, shape, idle
        As for :class:`testbench.stream.StreamSource`.
    inline : str
        Name of the port for inline data.
    data_width : int
        Bits of a word.
    """

    def __init__(
        self, dut: SimHandleBase, name: str, shape: ShapeLike, *, inline: str, data_width: int,
        idle: float | None = None,
    ):
        super().__init__(dut, name, shape, idle=idle)
        self._port, self._layout = getattr(dut, inline), inline_layout(data_width)
        self._words = rng(f"{name} words")
        self.n_words = inline_words(data_width)
        self._no_word()

    def _no_word(self) -> None:
        self._port.value = self._words.getrandbits(self._layout.size) & ~1

    async def _driver_send(self, transaction: Any, sync: bool = True) -> None:
        whole = encode(Descriptor, transaction["desc"])
        await super()._driver_send(transaction | {"desc": whole & ((1 << _PAYLOAD) - 1)}, sync=sync)
        await RisingEdge(self.clock)
        await self._follow(whole >> _PAYLOAD)
        if self._words.random() < 0.3:
            await self._follow(self._words.getrandbits(8 * formats.PAYLOAD_BYTES))

    async def _follow(self, payload: int) -> None:
        edge, width = RisingEdge(self.clock), self._layout["data"].width
        for index in range(self.n_words):
            word = payload >> index * width & ((1 << width) - 1)
            self._port.value = encode(self._layout, {"valid": 1, "index": index, "data": word})
            await edge
        self._no_word()
        # Fields of the next one come before it, a beat a cycle.
        for _ in range(self.n_words - 1):
            await edge


class InlineMonitor:
    """Collects inline data of descriptors, and checks that they come when they are due.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    name : str
        Name of the port.
    data_width : int
        Bits of a word.
    """

    def __init__(self, dut: SimHandleBase, name: str, data_width: int):
        self._dut, self._layout = dut, inline_layout(data_width)
        self._sample = bits(getattr(dut, name))
        self._n_words = inline_words(data_width)

    def follow(self, then: Callable[[int], None]) -> None:
        """Call it when a descriptor has been handed over; `then` gets its payload."""
        cocotb.start_soon(self._collect(then))

    async def _collect(self, then: Callable[[int], None]) -> None:
        edge, payload = RisingEdge(self._dut.clk), 0
        await edge
        for index in range(self._n_words):
            await edge
            word = self._layout.from_bits(self._sample())
            assert word.valid, f"word {index} of inline data is not there"
            assert word.index == index, f"word {word.index} of inline data where {index} was due"
            payload |= word.data << index * self._layout["data"].width
        then(payload)
