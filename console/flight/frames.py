"""The file's frames: a length, a checksum and a payload each.

    file    = MAGIC part…
    part    = HEADER (BODY | ANSWERS)…         a new part begins where a record is appended to, and holds by itself
    frame   = length u32 of what follows the checksum, CRC-32 of that u32, kind u8, payload
    HEADER  = msgpack of `Header`
    BODY    = distance u32, zstd               bytes of a request or a response; numbered in the part, from 0
    ANSWERS = zstd of msgpack of `Answers`     what was asked and answered within about a second

u32 are little-endian. A body whose distance is not 0 is compressed with the body so many before it as zstd's prefix,
and `Answers` with those before them in the part: so what is equal costs next to nothing. A file that ends within a
frame is whole up to there.
"""

from __future__ import annotations

import re
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from console.flight.answer import MOST_FILE, Problem, RecordError
from console.safe_files import read_regular

if sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

FORMAT = 1
"""The version of the format."""
_NAME = b"kacflight "
MAGIC = _NAME + b"%d\n" % FORMAT
HEADER, BODY, ANSWERS = range(3)
MOST_BYTES = 100 << 20
"""Bytes of an answer: as many as are read from a broker."""
MOST_FRAME = MOST_BYTES + (1 << 16)
MOST_LISTED = 8 << 20
"""Bytes of `Answers`."""
MOST_MADE = 256 << 20
"""Bytes of all bodies that one is based on, itself among them."""
LARGEST_PREFIX = 32 << 20
"""Bytes of a body on which others are based: with them it stays in the window of 128 MiB that readers of zstd have."""

_LEVEL = 9
"""zstd: of the prefix of a megabyte lower levels forget too much to find what is equal, higher ones find no more."""
_LONG = 8 << 20
"""Bytes of a prefix of which that level forgets too much, too: what is equal is looked for at long distances there."""
_SHORTEST_PREFIX = 8
"""Bytes; zstd takes no shorter one."""
_WINDOWS = range(10, 28)
"""Logarithms of sizes."""

_HEAD = struct.Struct("<II")
_DISTANCE = struct.Struct("<I")


class DamagedFrame(ValueError):
    """A frame that can't be read."""


class Question(NamedTuple):
    """What is asked, and of whom. request: the number of its body."""

    node: int
    host: str
    port: int
    api_key: int
    version: int
    request: int


SAME, PROBLEM, FIRST_BODY = range(3)
"""What was answered: the same as the last time to this question, the next of the problems, or a body: FIRST_BODY is the
last one in the part so far, one more is the one before that."""


class Answers(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Some answers, in the order of time.

    questions: that are new; numbered in the part, from 0. problems: why there was no answer. asked: of each answer the
    number of its question. after: milliseconds since the answer before it, of the first one since the part began. took:
    milliseconds since it was asked. given: SAME, PROBLEM, or which body.
    """

    questions: list[Question]
    problems: list[Problem]
    asked: list[int]
    after: list[int]
    took: list[int]
    given: list[int]


def read_record(path: Path) -> bytes:
    """Return the bytes of a record's file. Raises OSError, and RecordError for any other file or format."""
    try:
        data = read_regular(path, MOST_FILE)
    except ValueError:
        raise RecordError(f"{path} is larger than {MOST_FILE >> 30} GiB") from None
    if data.startswith(MAGIC):
        return data
    if version := re.match(_NAME + rb"(\d{1,9})\n", data):
        raise RecordError(f"{path} is a flight record of format {int(version[1])}; this kac reads up to {FORMAT}")
    raise RecordError(f"{path} is no flight record")


class Held:
    """The memory that a file may take for what is kept of it as long as it is open: one budget for all of it."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, size: int) -> None:
        """Take so many bytes of the budget. Raises DamagedFrame where that exceeds it."""
        self._left -= size
        if self._left < 0:
            raise DamagedFrame(f"it takes more than {self._most >> 20} MiB of memory")


class Frame(NamedTuple):
    """A frame in a file. start, end: of the payload."""

    kind: int
    start: int
    end: int


def framed(kind: int, *payload: bytes) -> bytes:
    """Return a frame: length, checksum, kind and payload."""
    content = b"".join((bytes((kind,)), *payload))
    return _HEAD.pack(len(content), zlib.crc32(content)) + content


def frames_of(data: bytes, at: int) -> Iterator[Frame]:
    """Yield the frames from an offset on; an incomplete one at the end is left out. Raises DamagedFrame."""
    while at + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, at)
        start, end = at + _HEAD.size, at + _HEAD.size + length
        if not 1 <= length <= MOST_FRAME:
            raise DamagedFrame(f"byte {at:,}: a frame of {length:,} bytes")
        if end > len(data):
            return
        if zlib.crc32(memoryview(data)[start:end]) != checksum:
            raise DamagedFrame(f"byte {at:,}: the checksum of a frame is wrong")
        yield Frame(data[start], start + 1, end)
        at = end


def body_frame(distance: int, data: bytes, prefix: bytes = b"") -> bytes:
    """Return the frame of a body. prefix: the body that is `distance` before it, empty with a distance of 0."""
    return framed(BODY, _DISTANCE.pack(distance), squeezed(data, prefix))


def body_at(data: bytes, frame: Frame) -> tuple[int, int]:
    """Return the distance of a body's prefix, and where what is compressed begins. Raises DamagedFrame."""
    start = frame.start + _DISTANCE.size
    if start > frame.end:
        raise DamagedFrame("a body without a distance")
    return _DISTANCE.unpack_from(data, frame.start)[0], start


def is_prefix(size: int) -> bool:
    """Return whether a body of so many bytes can be the zstd prefix of others."""
    return _SHORTEST_PREFIX <= size <= LARGEST_PREFIX


def squeezed(data: bytes, prefix: bytes = b"") -> bytes:
    """Return the bytes compressed with zstd. prefix: bytes that the reader has, too."""
    window = (len(data) + len(prefix)).bit_length()
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: _LEVEL,
        zstd.CompressionParameter.dict_id_flag: 0,
    }
    if not prefix:
        return zstd.compress(data, options=options)
    options[zstd.CompressionParameter.window_log] = min(max(window, _WINDOWS.start), _WINDOWS.stop - 1)
    options[zstd.CompressionParameter.enable_long_distance_matching] = int(len(prefix) >= _LONG)
    return zstd.compress(data, options=options, zstd_dict=zstd.ZstdDict(prefix, is_raw=True).as_prefix)


def unsqueezed(data: bytes, prefix: bytes = b"", most: int = MOST_BYTES) -> bytes:
    """Return the decompressed bytes, at most `most` of them. Raises DamagedFrame."""
    try:
        known = zstd.ZstdDict(prefix, is_raw=True).as_prefix if prefix else None
        decompressor = zstd.ZstdDecompressor(zstd_dict=known)
        made = decompressor.decompress(data, most + 1)
    except (zstd.ZstdError, ValueError) as error:
        raise DamagedFrame(str(error)) from error
    if len(made) > most:
        raise DamagedFrame(f"it holds more than {most:,} bytes")
    if not decompressor.eof or decompressor.unused_data:
        raise DamagedFrame("it ends too early, or too late")
    return made
