"""The log's own transactions (KIP-866): records between a BeginTransactionRecord and an AbortTransactionRecord never
counted; those behind a BeginTransactionRecord without an end do not count yet."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .batches import COMPRESSION, HEADER_BYTES, Header, unpack_header, unpacked
from .values import MalformedRecordError, uvarint
from .walk import Batch, Window

Kind = Literal["begin", "end", "abort"]
_KINDS: dict[bytes, Kind] = {b"\x01\x17\x00": "begin", b"\x01\x18\x00": "end", b"\x01\x19\x00": "abort"}
"""By how the records' values begin: version of the frame, number and version of the type."""

_ANY = re.compile(b"\x01[\x17\x18\x19]\x00")


class Marker(NamedTuple):
    """Where a transaction begins or ends."""

    offset: int
    kind: Kind


class Record(NamedTuple):
    """A record of a batch: its offset, key and value."""

    offset: int
    key: bytes
    value: bytes


@dataclass(frozen=True)
class Settled:
    """What does not count: aborted: first and last offsets, in order. open_at: where one begins that has no end."""

    aborted: tuple[tuple[int, int], ...]
    open_at: int | None


def markers(window: Window) -> list[Marker]:
    """The beginnings and ends of transactions in whole batches; batches without any are not looked into."""
    suspects: set[int] = set()
    starts = [batch.at - window.at for batch in window.batches]
    end = window.batches[-1].end - window.at
    for found in _ANY.finditer(window.data, starts[0], end):
        suspects.add(bisect_right(starts, found.start()) - 1)
    suspects |= {at for at, start in enumerate(starts) if window.data[start + 22] & COMPRESSION}
    return [
        Marker(record.offset, _KINDS[record.value[:3]])
        for suspect in sorted(suspects)
        if not window.batches[suspect].is_control
        for record in readable(window, window.batches[suspect])
        if record.value[:3] in _KINDS
    ]


def settle(found: Iterable[Marker], first_offset: int) -> Settled:
    """What does not count, by the markers of a log. first_offset: the first one of the log that is there.

    Of a transaction whose beginning the broker has deleted only the end is there; of one whose end is damaged only the
    beginning: then nothing shows that it counts, and it does not.
    """
    aborted: list[tuple[int, int]] = []
    begun: int | None = None
    is_first = True
    for offset, kind in sorted(found):
        if kind == "begin":
            if begun is not None:
                aborted.append((begun, offset - 1))
            begun = offset
        else:
            since = begun if begun is not None else first_offset if is_first else offset
            if kind == "abort":
                aborted.append((since, offset))
            begun = None
        is_first = False
    return Settled(tuple(aborted), begun)


def records(data: bytes, at: int, end: int) -> Iterator[Record]:
    """The records of a whole batch. Raises MalformedRecordError, IndexError, ValueError."""
    header = Header._make(unpack_header(data, at))
    body, p = data[at + HEADER_BYTES : end], 0
    if header.attributes & COMPRESSION:
        body = unpacked(header.attributes & COMPRESSION, body)
    for _ in range(header.records):
        size, p = uvarint(body, p)
        stop = p + (size >> 1)
        _, p = uvarint(body, p + 1)
        delta, p = uvarint(body, p)
        key, p = _sized(body, p)
        value, p = _sized(body, p)
        if p >= stop:
            raise MalformedRecordError("a record is longer than it says")
        yield Record(header.base_offset + (delta >> 1), key, value)
        p = stop


def _sized(body: bytes, p: int) -> tuple[bytes, int]:
    size, p = uvarint(body, p)
    end = p + (size >> 1)  # none is -1, of which the half is 0 here
    return body[p:end], end


def readable(window: Window, batch: Batch) -> Iterator[Record]:
    """The batch's records, up to the first that is damaged."""
    try:
        yield from records(window.data, batch.at - window.at, batch.end - window.at)
    except (ValueError, IndexError):
        return  # the decoder reports it
