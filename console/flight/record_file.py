"""The file format of a flight record: an SQLite database with the tables in `TABLES`.

Request and response bodies (*payloads*) are compressed with zstd. A payload that resembles an earlier one, its *base*,
is compressed with the base as zstd's prefix: an answer of several megabytes in which a few offsets grew takes a
kilobyte. A base may have a base itself, which makes a chain.
"""

from __future__ import annotations

import sqlite3
import sys
import zlib
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

if sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

FORMAT = 1
"""The version of the format, stored as the database's `user_version`."""
APPLICATION = int.from_bytes(b"kacf")
"""The `application_id` of the database, by which SQLite's tools recognize the format."""
MOST_FILE = 2 << 30
"""Maximum size in bytes of a record's file."""
MOST_BYTES = 100 << 20
"""Maximum size in bytes of an answer, equal to the client's limit of a response."""
MOST_CELL = MOST_BYTES + (1 << 16)
MOST_REPEATS = 8 << 20
"""Maximum decompressed size in bytes of a row of the table ``repeats``."""
CHAIN = 32
"""Maximum number of payloads that follow each other with the previous one as base. The base of the next payload is
then the first of them.
"""
DEEPEST = 3 * CHAIN
"""Maximum number of bases in the chain of a payload."""
MOST_MADE = 256 << 20
"""Maximum size in bytes of a payload and all bases in its chain together, decompressed."""
LARGEST_BASE = 32 << 20
"""Maximum size in bytes of a base: with a payload on it, it fits the window of 128 MiB that zstd's decoders accept."""

TABLES = {
    "meta": """CREATE TABLE meta (
  -- What this file is. kac shows it: kac replay FILE.
  name TEXT NOT NULL,
  text TEXT NOT NULL
)""",
    "parts": """CREATE TABLE parts (
  -- The times at which something was recorded into this file. kac record --append begins a further part.
  id INTEGER PRIMARY KEY,
  cluster_id TEXT NOT NULL,
  context TEXT NOT NULL,       -- the name by which the cluster was known where it was recorded
  began_ms INTEGER NOT NULL,   -- milliseconds since 1970, UTC, as all times here
  kac TEXT NOT NULL,           -- the version of kac that recorded it
  anonymous INTEGER NOT NULL,  -- 1: names are replaced by pseudonyms
  left_off INTEGER NOT NULL    -- how many answers are missing, since there was no room for them
)""",
    "questions": """CREATE TABLE questions (
  -- What was asked, and which broker. Answers to one question follow each other.
  id INTEGER PRIMARY KEY,
  part INTEGER NOT NULL REFERENCES parts,
  node INTEGER NOT NULL,       -- the id of the broker; -1: it was not known yet
  host TEXT NOT NULL,
  port INTEGER NOT NULL,
  api TEXT NOT NULL,           -- the name of the API, for people
  api_key INTEGER NOT NULL,    -- its number in Kafka's protocol; 32768: a TLS handshake
  version INTEGER NOT NULL,    -- of the request; ApiVersions in version 0: a connection
  request INTEGER NOT NULL REFERENCES payloads,  -- without its header
  crc INTEGER NOT NULL         -- CRC-32 >> 9 of the columns before it, as a JSON array without blanks
)""",
    "payloads": """CREATE TABLE payloads (
  -- Bytes of requests and answers, each once.
  id INTEGER PRIMARY KEY,
  base INTEGER REFERENCES payloads,  -- an earlier one that is zstd's prefix, a raw dictionary; NULL: none
  size INTEGER NOT NULL,       -- bytes once it is decompressed
  zstd BLOB NOT NULL           -- a frame of zstd, with its checksum
)""",
    "answers": """CREATE TABLE answers (
  -- The answers that differ from the one before to the same question.
  id INTEGER PRIMARY KEY,      -- answers are numbered as they came; those that are not here stand in repeats
  at_ms INTEGER NOT NULL,      -- when it came, or was given up
  took_ms INTEGER NOT NULL,    -- since it was asked
  question INTEGER NOT NULL REFERENCES questions,
  payload INTEGER REFERENCES payloads,  -- without its header; NULL: no answer came
  problem TEXT,                -- why none came, as a JSON array: kind, name, message, remedy
  crc INTEGER NOT NULL         -- CRC-32 >> 9 of the columns before it, as a JSON array without blanks
)""",
    "repeats": """CREATE TABLE repeats (
  -- The answers that are the same as the one before to the same question, those of a few seconds in a row.
  id INTEGER PRIMARY KEY,      -- the number of the first of them
  at_ms INTEGER NOT NULL,      -- when the first of them came
  last_ms INTEGER NOT NULL,    -- when the last of them came
  zstd BLOB NOT NULL           -- of a JSON array of four arrays, with a number for each answer: its question, how many
                               -- answers further than the one before it, how many ms later, how many ms it took
)""",
}
"""Name of a table -> the SQL statement that creates it. SQLite keeps the statement with its comments in each file,
where users can read it.
"""
META = (
    ("what", "a flight record of kac: what the brokers of an Apache Kafka cluster answered, and when"),
    ("opened by", "kac replay FILE, or kac triage --replay FILE"),
    ("tables", "each column is described where its table is made: .schema in sqlite3"),
    ("answers by time", "SELECT datetime(at_ms / 1000, 'unixepoch'), node, api, size, problem FROM answers "
     "JOIN questions ON questions.id = question LEFT JOIN payloads ON payloads.id = payload ORDER BY at_ms"),
)  # fmt: skip

_LEVEL = 9
"""zstd's compression level. With a prefix of a megabyte, lower levels find too few of the equal parts, and higher
levels find no more of them.
"""
_LONG = 8 << 20
"""The size in bytes of a prefix from which on zstd's long-distance matching is used, because `_LEVEL` alone finds too
few equal parts.
"""
_SHORTEST_BASE = 8
"""Minimum length in bytes of a prefix; zstd accepts no shorter one."""
_WINDOWS = range(10, 28)
"""The permitted binary logarithms of the size in bytes of zstd's window."""


class Damaged(ValueError):
    """A part of a record is invalid or unreadable."""

    number = 0
    """The number of the first answer that the damage makes unreadable; 0 if unknown."""


class Question(NamedTuple):
    """A row of the table ``questions``, without its checksum."""

    id: int
    part: int
    node: int
    host: str
    port: int
    api: str
    api_key: int
    version: int
    request: int


class Changed(NamedTuple):
    """A row of the table ``answers``, without its checksum: an answer that differs from the previous one to the same
    question.
    """

    id: int
    at_ms: int
    took_ms: int
    question: int
    payload: int | None
    problem: str | None


class Repeats(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The decompressed content of a row of the table ``repeats``: four arrays of equal length, which `TABLES`
    describes.
    """

    questions: list[int]
    further: list[int]
    after: list[int]
    took: list[int]


def crc_of(row: tuple[object, ...]) -> int:
    """Return the checksum of a row's columns: the upper 23 bits of its CRC-32, since SQLite stores these in three
    bytes.
    """
    return zlib.crc32(msgspec.json.encode(row)) >> 9


def is_base(size: int) -> bool:
    """Return whether a payload of this size in bytes may be a base of others: from `_SHORTEST_BASE` (8 bytes) to
    `LARGEST_BASE` (32 MiB).
    """
    return _SHORTEST_BASE <= size <= LARGEST_BASE


def squeezed(data: bytes, prefix: bytes = b"") -> bytes:
    """Compress bytes with zstd. prefix: bytes that resemble `data`, which the reader needs for decompression, too;
    ``b""`` to compress without a prefix.
    """
    window = (len(data) + len(prefix)).bit_length()
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: _LEVEL,
        zstd.CompressionParameter.dict_id_flag: 0,
        zstd.CompressionParameter.checksum_flag: 1,
    }
    if not prefix:
        return zstd.compress(data, options=options)
    options[zstd.CompressionParameter.window_log] = min(max(window, _WINDOWS.start), _WINDOWS.stop - 1)
    options[zstd.CompressionParameter.enable_long_distance_matching] = int(len(prefix) >= _LONG)
    return zstd.compress(data, options=options, zstd_dict=zstd.ZstdDict(prefix, is_raw=True).as_prefix)


def unsqueezed(data: bytes, prefix: bytes = b"", most: int = MOST_BYTES) -> bytes:
    """Decompress a zstd frame.

    Args:
        prefix: the prefix that the compression used; ``b""`` without one.
        most: the maximum size of the result in bytes.

    Raises:
        Damaged: the data is not exactly one frame, or its content is larger than `most`.
    """
    try:
        known = zstd.ZstdDict(prefix, is_raw=True).as_prefix if prefix else None
        decompressor = zstd.ZstdDecompressor(zstd_dict=known)
        made = decompressor.decompress(data, most + 1)
    except (zstd.ZstdError, ValueError) as error:
        raise Damaged(str(error)) from error
    if len(made) > most:
        raise Damaged(f"it holds more than {most:,} bytes")
    if not decompressor.eof or decompressor.unused_data:
        raise Damaged("it ends too early, or too late")
    return made


def payload_of(database: sqlite3.Connection, number: int, known: Mapping[int, bytes]) -> bytes:
    """Return a payload's decompressed bytes; its bases are decompressed first.

    Args:
        number: the id of the payload.
        known: id -> bytes of payloads that are already decompressed.

    Raises:
        Damaged: the payload or a base is missing or can't be decompressed, or the chain of bases exceeds a limit.
        sqlite3.Error: the database can't be read.
    """
    needed: list[tuple[int, bytes]] = []
    data, made, at = b"", 0, number
    while True:
        if at in known:
            data = known[at]
            break
        row = database.execute("SELECT base, size, zstd FROM payloads WHERE id = ?", (at,)).fetchone()
        if row is None:
            raise Damaged("a payload is not there")
        base, size, frame = row
        if not isinstance(size, int) or not isinstance(frame, bytes) or not 0 <= size <= MOST_BYTES:
            raise Damaged("a payload says no size, or is no bytes")
        needed.append((size, frame))
        made += size
        if len(needed) > DEEPEST + 1 or made > MOST_MADE:
            raise Damaged(f"it is made of more than {DEEPEST} others, or of {MOST_MADE >> 20} MiB")
        if base is None:
            break
        if not isinstance(base, int) or not 0 < base < at:
            raise Damaged("a payload is made of one that does not come before it")
        at = base
    for size, frame in reversed(needed):
        if data and not is_base(len(data)):
            raise Damaged("a payload is made of one that no others are made of")
        data = unsqueezed(frame, data, size)
    return data
