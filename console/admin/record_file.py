"""Storage for found records that exceed the memory for them: a private file without a name, which disappears with the
process that has it open.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, cast, overload

import msgspec

from console.model.built_types import built
from console.model.records import Record

MOST_KEPT = 64 << 20
"""Maximum size in bytes of the records that are kept in memory."""
_OVERHEAD = 400
"""Approximate size in bytes of a record in memory, without its key, value and headers."""


def weight(record: Record) -> int:
    """Return the approximate size in bytes of a record in memory."""
    headers = sum(len(name) + len(value or b"") + 100 for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers + _OVERHEAD


class RecordFile:
    """A file of records that no other user can open: its mode is 0600 and it has no name."""

    def __init__(self) -> None:
        self._file: BinaryIO = cast("BinaryIO", tempfile.TemporaryFile(prefix="kac-records-"))  # noqa: SIM115 open as long as this object
        self._end = 0
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(built(Record))

    def append(self, record: Record) -> int:
        """Write a record, and return its position in the file. Raises OSError, for example if the disk is full."""
        data = self._encoder.encode(record)
        at = self._end
        self._file.seek(at)
        self._file.write(len(data).to_bytes(4, "big") + data)
        self._end += 4 + len(data)
        return at

    def read(self, at: int) -> Record:
        """Return the record at a position that `append` has returned."""
        self._file.seek(at)
        size = int.from_bytes(self._file.read(4), "big")
        return self._decoder.decode(self._file.read(size))


class FoundRecords(Sequence[Record]):
    """The records that a search found, in the order of their addition, or sorted. The first ones are in memory, the
    rest in a file.
    """

    def __init__(self) -> None:
        self._kept: list[Record] = []
        self._weight = 0
        self._file: RecordFile | None = None
        self._places = array("Q")
        """Positions in the file of the records that are not in memory."""
        self._order: array[int] | None = None

    def extend(self, records: Iterable[Record]) -> None:
        """Add records. Raises OSError, for example if the disk is full."""
        for record in records:
            if self._file is None:
                self._weight += weight(record)
                if self._weight <= MOST_KEPT:
                    self._kept.append(record)
                    continue
                self._file = RecordFile()
            self._places.append(self._file.append(record))

    def in_order_of_time(self) -> Sequence[Record]:
        """Return all records sorted by timestamp, then topic, partition and offset. Don't add records afterwards."""

        def key(record: Record) -> tuple[int, str, int, int]:
            return record.timestamp, record.topic, record.partition, record.offset

        if self._file is None:
            return sorted(self._kept, key=key)
        keys = [key(record) for record in self]
        self._order = array("Q", sorted(range(len(keys)), key=keys.__getitem__))
        return self

    @property
    def is_spilled(self) -> bool:
        """Whether some of the records are in a file."""
        return self._file is not None

    def __len__(self) -> int:
        return len(self._kept) + len(self._places)

    def __iter__(self) -> Iterator[Record]:
        for place in range(len(self)):
            yield self[place]

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        if self._order is not None:
            place = self._order[place]
        if place < len(self._kept):
            return self._kept[place]
        assert self._file is not None
        return self._file.read(self._places[place - len(self._kept)])
