"""Request logs that are shipped into a topic, for `kac lake follow`: offset-exact, without files and their rotation.

A record is a line, as it is or in a JSON object's `message` (as shippers of logs wrap it); its key is the id of the
broker that wrote the line. The offsets that were read are in the release with the rows, so each line counts once.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from console.admin.records import read_records
from console.admin.topics import describe_topics
from console.history.jobs.quarantine import ROWS, quarantine_arrow
from console.history.jobs.request_rows import RequestRows
from console.history.redact import mask
from console.history.requests.counted import SOURCE, Whose, counted
from console.history.store.write import writing
from console.lake.follow import JOB, Taken
from console.model.numbers import is_natural
from console.model.records import MOST_RECORDS, FromOffset, FromOffsets, RecordsQuery

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.admin.link import Link
    from console.history.store import Lake
    from console.history.store.release import Inputs
    from console.model.records import Record, Undecodable

REMEMBERED = "request_topic:"
EVERY = 5.0
"""Seconds between two rounds, unless there is more to read: each writes the hours again that its lines are of."""
_MOST_BYTES = 64 << 20
"""Of lines in a round."""
NO_BROKER = "the record's key is not the id of a broker"


class _Wrapped(msgspec.Struct):
    message: str


_WRAPPED = msgspec.json.Decoder(_Wrapped)


class Lines(NamedTuple):
    """What was read of a topic. begins, offsets: where this read and the next one of each partition begin. more:
    whether there is more. notes: what was deleted before it was read."""

    topic_id: str
    begins: Mapping[int, int]
    offsets: Mapping[int, int]
    records: Sequence[Record]
    undecodable: Sequence[Undecodable]
    more: bool
    notes: tuple[str, ...]


class RequestTopicFollowed:
    """The request logs of a cluster's brokers in a topic. zone: of the times in the lines."""

    def __init__(self, lake: Lake, client: AdminClient, topic: str, cluster_id: str, zone: str) -> None:
        self._lake = lake
        self._client = client
        self._topic = topic
        self._whose = Whose(cluster_id, -1, topic, zone)
        self._key = f"{REMEMBERED}{cluster_id}:{topic}"
        self._next = 0.0

    def round(self, stop: threading.Event) -> Taken | None:
        """As `Followed` says. A partition that can't be read keeps the others waiting: its lines are not lost."""
        if time.monotonic() < self._next or stop.is_set():
            return None
        known = self._remembered(self._lake.current().inputs)
        lines = self._client.submit(_read, self._topic, known).result()
        self._next = 0.0 if lines.more else time.monotonic() + EVERY
        return None if lines.offsets == lines.begins else self._write(known, lines)

    def close(self) -> None:
        """Nothing is held."""

    def _remembered(self, inputs: Inputs) -> Mapping[str, Any]:
        known: Mapping[str, Any] = inputs.get(self._key, {})
        return known

    def _write(self, known: Mapping[str, Any], lines: Lines) -> Taken | None:
        """Commits it as one run; None where another run has read the same meanwhile."""
        damaged = [_damaged(self._whose, each.partition, each.first, str(each), b"") for each in lines.undecodable]
        read = {"cluster_id": self._whose.cluster_id, "topic": self._topic, "records": len(lines.records)}
        with writing(self._lake, JOB, inputs=read) as write:
            if self._remembered(write.release.inputs) != known:
                return None
            rows = RequestRows(write)
            for batch in _counted(lines, self._whose, damaged):
                rows.add(batch)
            rows.end()
            bad = rows.quarantined + quarantine_arrow(write, pa.Table.from_pylist(damaged, schema=ROWS))
            offsets = {str(number): at for number, at in lines.offsets.items()}
            write.remember({self._key: {"topic_id": lines.topic_id, "offsets": offsets}})
            write.commit(inputs=read, quarantined=bad)
        unreadable = f", {bad:,} unreadable" if bad else ""
        return Taken(write.run_id, f"{len(lines.records):,} lines of {self._topic}{unreadable}", lines.notes)


async def _read(link: Link, topic: str, known: Mapping[str, Any]) -> Lines:
    """What is new in each partition, up to `_MOST_BYTES` in all. A topic that was deleted and made again is another."""
    listing = await describe_topics(link, [topic])
    there = listing.topics.get(topic)
    if there is None:
        await read_records(link, RecordsQuery(topic))  # raises why
        raise AssertionError("unreachable")
    topic_id = there.topic_id or ""
    before = known.get("offsets", {}) if known.get("topic_id") == topic_id else {}
    begins = {partition.number: int(before.get(str(partition.number), 0)) for partition in there.partitions}
    offsets = dict(begins)
    records: list[Record] = []
    undecodable: list[Undecodable] = []
    notes: list[str] = []
    size, more = 0, False
    for number in sorted(offsets):
        while size < _MOST_BYTES:
            query = RecordsQuery(topic, number, FromOffset(offsets[number]), MOST_RECORDS)
            read = await read_records(link, query)
            records += read.records
            undecodable += read.undecodable
            if offsets[number]:
                notes += [note for note in read.notes if "deleted" in note]
            size += sum(len(each.value or b"") for each in read.records)
            offsets[number] = read.looked[0].next
            if not isinstance(read.more, FromOffsets):
                break
            offsets[number] = read.more.offsets.get(number, offsets[number])
        else:
            more = True
    return Lines(topic_id, begins, offsets, records, undecodable, more, tuple(dict.fromkeys(notes)))


# -- lines as rows -----------------------------------------------------------------------------------------------------


def _broker(record: Record) -> int | None:
    text = (record.key or b"").decode("latin-1").strip()
    return int(text) if is_natural(text) and len(text) < 10 else None


def _line(value: bytes) -> bytes:
    """The line in a record's value."""
    if value.startswith(b"{"):
        try:
            return _WRAPPED.decode(value).message.encode("utf-8", "replace")
        except (msgspec.DecodeError, msgspec.ValidationError):
            return value
    return value


def _counted(lines: Lines, whose: Whose, damaged: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    """`COUNTED` of the lines, by broker and partition. The place of a line is its offset. damaged: gets those of no
    broker."""
    of: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)
    for record in lines.records:
        if not record.value:
            continue
        broker, line = _broker(record), _line(record.value)
        if broker is None:
            damaged.append(_damaged(whose, record.partition, record.offset, NO_BROKER, line))
        else:
            of[broker, record.partition].append((record.offset, line.rstrip(b"\r\n")))
    for (broker, partition), blocks in sorted(of.items()):
        yield from counted(whose._replace(broker_id=broker, file=f"{whose.file}-{partition}"), blocks)


def _damaged(whose: Whose, partition: int, at: int, reason: str, line: bytes) -> dict[str, Any]:
    return {
        "cluster_id": whose.cluster_id,
        "source": SOURCE,
        "file": f"{whose.file}-{partition}",
        "byte_pos": at,
        "reason": reason,
        "sha256": hashlib.sha256(line).hexdigest(),
        "sample": mask(line[:1000].decode("utf-8", "replace")),
    }
