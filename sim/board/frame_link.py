"""Requests to a board and their answers, over anything that carries bytes both ways."""

import struct
from collections.abc import Sequence
from typing import Protocol

from firmware_models.abi.board import (
    ANSWER_HEADER_BYTES,
    ANSWER_SYNC,
    CRC_BYTES,
    MAX_WORDS,
    FrameStatus,
    Op,
    crc16,
    pack_request,
)


class SerialPort(Protocol):
    """Methods needed of a serial port; that of pyserial will do."""

    def write(self, data: bytes, /) -> int | None:
        """Sends bytes."""

    def read(self, size: int = 1, /) -> bytes:
        """Receives bytes: fewer than asked for if they do not come within the port's timeout."""


class BoardError(RuntimeError):
    """A board does not answer, or refuses a request; the message says what was asked."""


class BusError(BoardError):
    """An access was answered with an error."""


class FrameLink:
    """Sends requests and waits for their answers; repeats what was damaged on its way.

    Parameters
    ----------
    port : SerialPort
        The line.
    attempts : int
        How often a request is sent before it is given up.
    """

    def __init__(self, port: SerialPort, *, attempts: int = 4):
        self.port, self.attempts = port, attempts
        self.repeated = 0
        """Requests that had to be sent again so far."""
        self._tag = 0

    def read(self, target: int, address: int, count: int) -> list[int]:
        """`count` words from `address` on."""
        words: list[int] = []
        while len(words) < count:
            part = min(MAX_WORDS, count - len(words))
            words += self._request(Op.READ, target, address + 4 * len(words), count=part)
        return words

    def write(self, target: int, address: int, words: Sequence[int]) -> None:
        """Writes words to `address` and after."""
        for start in range(0, len(words), MAX_WORDS):
            self._request(Op.WRITE, target, address + 4 * start, words=tuple(words[start:start + MAX_WORDS]))

    def write_list(self, writes: Sequence[tuple[int, int, int]]) -> None:
        """Writes (target, address, value), one after the other; at most 32 follow each other without a pause."""
        for start in range(0, len(writes), MAX_WORDS // 2):
            pairs = writes[start:start + MAX_WORDS // 2]
            words = tuple(word for target, address, value in pairs for word in (target << 24 | address, value))
            self._request(Op.LIST, 0, 0, words=words)

    def _request(
        self, op: Op, target: int, address: int, *, words: tuple[int, ...] = (), count: int = 0
    ) -> tuple[int, ...]:
        what = f"{op.name} of target {target:#04x}, address {address:#x}"
        for attempt in range(self.attempts):
            self._tag = (self._tag + 1) % 256
            self.repeated += attempt > 0
            self.port.write(pack_request(
                op=op, tag=self._tag, target=target, address=address, words=words, count=count
            ))
            status, answer = self._answer(count)
            if status is FrameStatus.OK:
                return answer
            if status is FrameStatus.BUS_ERROR:
                raise BusError(f"{what} was answered with an error")
            if status is FrameStatus.BAD_REQUEST:
                raise BoardError(f"{what} is no request that the board knows")
            self._fall_silent()
        raise BoardError(f"{what} was not answered, {self.attempts} times: is it a board with the self-test design?")

    def _answer(self, count: int) -> tuple[FrameStatus | None, tuple[int, ...]]:
        """Status and words of the answer to the last request; no status if it did not come whole."""
        # Bytes that arrive before the answer are noise, and are skipped.
        for _ in range(4 * MAX_WORDS):
            sync = self.port.read(1)
            if not sync:
                return None, ()
            if sync[0] == ANSWER_SYNC:
                break
        header = self.port.read(ANSWER_HEADER_BYTES - 1)
        if len(header) < ANSWER_HEADER_BYTES - 1 or header[2] > MAX_WORDS:
            return None, ()
        rest = self.port.read(4 * header[2] + CRC_BYTES)
        body = header + rest[:-CRC_BYTES]
        if len(rest) < 4 * header[2] + CRC_BYTES or rest[-CRC_BYTES:] != struct.pack("<H", crc16(body)):
            return None, ()
        known = {status.value: status for status in FrameStatus}
        status = known.get(header[0])
        if header[1] != self._tag or status is None or (status is FrameStatus.OK and header[2] != count):
            return None, ()
        return status, struct.unpack(f"<{header[2]}I", body[3:])

    def _fall_silent(self) -> None:
        """Waits until nothing comes any more, so that the board has given up a frame that it has half of."""
        while self.port.read(1):
            pass
