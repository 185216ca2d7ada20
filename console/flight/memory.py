"""The last half hour of answers, in memory: parts of a few minutes each, so that the oldest can go."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from msgspec.structs import replace

from console.flight.answer import Answer, Header
from console.flight.coding import Encoder
from console.flight.frames import MAGIC
from console.safe_files import PRIVATE, write_whole

KEPT_MS = 30 * 60_000
MOST_BYTES = 20 << 20
"""Bytes of frames; with what encoders hold to find what changed, and what waits for them, it stays below 64 MiB."""
MOST_HELD = 28 << 20
"""Bytes that an encoder holds; 40,000 partitions take 25 MiB."""
PART_MS = 5 * 60_000
PART_BYTES = 5 << 20


class _Part:
    """The frames of a few minutes. header: its number of carried answers, and when it began."""

    def __init__(self, header: Header, encoder: Encoder) -> None:
        self.header = header
        self.encoder: Encoder | None = encoder
        self.frames: list[bytes] = []
        self.size = 0
        self.ended_ms = header.began_ms

    def put(self, frames: bytes) -> None:
        """Add frames to the part."""
        if frames:
            self.frames.append(frames)
            self.size += len(frames)


class Memory:
    """Keeps what was answered in the last half hour, in at most 64 MiB. Not for several threads.

    size: bytes of frames. began_ms: from when on all answers are there, None before the first.
    """

    def __init__(self, header: Header) -> None:
        """Begin empty. header: of the files that are written; their times are filled in."""
        self._header = header
        self._parts: deque[_Part] = deque()

    @property
    def size(self) -> int:
        """Bytes of frames."""
        return sum(part.size for part in self._parts)

    @property
    def began_ms(self) -> int | None:
        """From when on all answers are there, None before the first."""
        return self._parts[0].header.began_ms if self._parts else None

    def add(self, answer: Answer) -> None:
        """Keep an answer, and drop the oldest parts beyond KEPT_MS or MOST_BYTES."""
        part = self._parts[-1] if self._parts else self._begin(answer.at_ms, [])
        if answer.at_ms - part.header.began_ms >= PART_MS or part.size >= PART_BYTES:
            assert part.encoder is not None
            part.put(part.encoder.flush())
            carried = part.encoder.last_answers()
            part.encoder = None
            part = self._begin(answer.at_ms, carried)
        assert part.encoder is not None
        part.put(part.encoder.add(answer))
        part.ended_ms = answer.at_ms
        while len(self._parts) > 1 and (self._parts[0].ended_ms < answer.at_ms - KEPT_MS or self.size > MOST_BYTES):
            self._parts.popleft()

    def flush_changed(self) -> None:
        """Encode the waiting answers if any of them changed."""
        if self._parts and (encoder := self._parts[-1].encoder) is not None:
            self._parts[-1].put(encoder.flush_changed())

    def flush(self) -> None:
        """Encode the waiting answers."""
        if self._parts and (encoder := self._parts[-1].encoder) is not None:
            self._parts[-1].put(encoder.flush())

    def close(self) -> None:
        """Do nothing: there is no file to close."""

    def write(self, path: Path, cluster_id: str, kac: str = "") -> int:
        """Write all that is kept into a file of mode 0600, whole or not at all. kac: its version, ``""`` where it is
        not said. Returns its size in bytes. Raises OSError and UntrustedPath."""
        self.flush()
        made = [MAGIC]
        for part in self._parts:
            made.append(Encoder(replace(part.header, cluster_id=cluster_id, kac=kac)).begin())
            made += part.frames
        data = b"".join(made)
        write_whole(path, data, PRIVATE)
        return len(data)

    def _begin(self, at_ms: int, carried: list[Answer]) -> _Part:
        header = replace(self._header, began_ms=at_ms, carried=len(carried))
        encoder = Encoder(header, MOST_HELD)
        part = _Part(header, encoder)
        for answer in carried:
            part.put(encoder.add(answer))
        self._parts.append(part)
        return part
