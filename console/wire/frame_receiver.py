"""Receiving frames into one buffer: as many bytes as came, however many were announced."""

from __future__ import annotations

import asyncio
import struct
import weakref
from typing import Protocol

MAX_FRAME = 100 * 1024 * 1024
"""Bytes of an answer: as many as brokers accept in a request (socket.request.max.bytes), and about as many as
librdkafka receives (receive.message.max.bytes)."""
USUAL_BUFFER = 64 * 1024
"""Bytes of the receive buffer while no answer is expected."""
GROWTH = 4
"""A full buffer grows to so many times its size, but not beyond the frame."""

PREFIX = struct.Struct(">i")
"""The length before a frame."""


class NotKafka(ConnectionError):
    """The peer's first bytes are not a Kafka frame. start: those bytes."""

    def __init__(self, start: bytes) -> None:
        super().__init__("the peer does not speak Kafka's protocol")
        self.start = start


class FrameTooLong(ConnectionError):
    """A peer announced an answer of more than MAX_FRAME bytes; the connection is closed. size: bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"an answer of {size:,} bytes was announced; at most {MAX_FRAME:,} are read")
        self.size = size


def too_long(error: BaseException | None) -> FrameTooLong | None:
    """Return the FrameTooLong among the causes of an error, or None."""
    while error is not None and not isinstance(error, FrameTooLong):
        error = error.__cause__
    return error


class Carrier(Protocol):
    """The connection that frames are for."""

    @property
    def is_open(self) -> bool:
        """Whether this side has not closed it."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its answer."""
        ...

    def take(self, frame: memoryview) -> None:
        """Take a whole frame, which may not be kept."""
        ...

    def refuse(self, error: Exception) -> None:
        """Close the connection for this reason."""
        ...


class FrameReceiver(asyncio.BufferedProtocol):
    """Receives frames into one buffer. Its size depends on the bytes received, not on the length announced.

    asyncio's streams copy all bytes twice more, and wake a task for each read. All other events are passed on to
    aiokafka's protocol.
    """

    def __init__(self, carrier: Carrier, inner: asyncio.StreamReaderProtocol) -> None:
        self._carrier = weakref.ref(carrier)
        self._inner = inner
        self._buffer = memoryview(bytearray(USUAL_BUFFER))
        self._filled = 0

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Return the free part of the buffer."""
        return self._buffer[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """Pass complete frames on after a read of `nbytes`."""
        self._filled += nbytes
        start, wanted = 0, PREFIX.size
        carrier = self._carrier()
        while carrier is not None and carrier.is_open and self._filled - start >= PREFIX.size:
            prefix = self._buffer[start : start + PREFIX.size]
            (size,) = PREFIX.unpack(prefix)
            if size < PREFIX.size:
                carrier.refuse(NotKafka(bytes(prefix)))
            elif size > MAX_FRAME:
                carrier.refuse(FrameTooLong(size))
            elif self._filled - start < PREFIX.size + size:
                wanted = PREFIX.size + size
                break
            else:
                end = start + PREFIX.size + size
                carrier.take(self._buffer[start + PREFIX.size : end])
                start = end
        if carrier is None or not carrier.is_open:
            start = self._filled
        self._keep(start, wanted, shrink=carrier is None or carrier.is_idle)

    def _keep(self, start: int, wanted: int, *, shrink: bool) -> None:
        """Move the bytes from `start` on to the beginning of a buffer that has room for more.

        wanted: size of the incomplete frame in bytes. shrink: whether the buffer may go back to its usual size.
        """
        left, size = self._filled - start, len(self._buffer)
        if left == size:
            size = min(wanted, GROWTH * size)
        elif shrink and wanted <= USUAL_BUFFER:
            size = USUAL_BUFFER
        if start or size != len(self._buffer):
            buffer = self._buffer if size == len(self._buffer) else memoryview(bytearray(size))
            buffer[:left] = self._buffer[start : self._filled]
            self._buffer, self._filled = buffer, left

    def eof_received(self) -> bool | None:
        """Return the peer has closed its side."""
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the transport is closed."""
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Note that the transport's send buffer is full."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Note that the transport accepts bytes again."""
        self._inner.resume_writing()
