"""The new data of a lake as streams of Spark: metadata logs, request logs, polls and journals by kac's own data
sources, request logs in a topic by Spark's Kafka source.

A batch's offsets determine its data, so that after a crash Spark makes the same batch again. `plans` finds new data in
the driver; the executors' tasks read and decode it. A secret must never be an option, because Spark shows options.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import Any, ClassVar, NamedTuple

import msgspec
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from console.lake.inputs import Topic
from console.lake.plans import SOURCES, Offset, Settings, Source
from console.lake.redact import Damaged
from console.lake.requests.counted import COUNTED, Whose, counted, damaged_row
from console.lake.schema import LOST, REQUEST, TABLES, arrow_schema
from console.lake.spark import set_properties
from console.lake.tables import given
from console.lake.transforms.rows import rows_of
from console.model.built_types import built
from console.model.numbers import is_natural, json_text

# -- our own data sources ----------------------------------------------------------------------------------------------


class _Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A source of the lake with the interface that Spark requires. With the trigger availableNow, all present data is
    one batch; data that arrives meanwhile is left for the next run.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_once = False
        self._was_asked = False

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Remember that Spark's trigger is availableNow."""
        self._is_once = True

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's
        """Return the start offset of a new checkpoint."""
        return self._source.initial()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002, N802 - Spark's
        """Return the offset at the end of the present data. Return `start` if there is no new data; with the trigger
        availableNow, also at each call after the first.
        """
        if self._is_once and self._was_asked:
            return start
        self._was_asked = True
        self._source.committed(start)
        return self._source.newest(start)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the parts of the data between two offsets, one for each task."""
        return [InputPartition(part) for part in self._source.parts(start, end)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part; no rows for None, which Spark passes if there is no part."""
        # Begin with an empty batch: Spark uses the schema of the first batch for all.
        yield pa.RecordBatch.from_pylist([], arrow_schema(TABLES[self._source.table]))
        if partition is not None:
            yield from self._source.read(partition.value)

    def commit(self, end: Offset) -> None:
        """Release the data before this offset, since the lake has it."""
        self._source.committed(end)


class LakeFormat(DataSource):
    """The base of the formats of the lake's sources. Option `settings`: `plans.Settings` as JSON."""

    source: ClassVar[type[Source]]

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return cls.source.name

    def schema(self) -> str:
        """Return the columns of the bronze table."""
        return TABLES[self.source.table].ddl

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        """Return a reader of the source with the settings in the options."""
        return _Stream(self.source(msgspec.json.decode(self.options["settings"], type=built(Settings))))


def formats() -> list[type[LakeFormat]]:
    """Return the formats of all sources, as classes of this process."""
    return [type(f"{each.__name__}Format", (LakeFormat,), {"source": each}) for each in SOURCES.values()]


# -- request logs that are shipped into a topic: offset-exact, without files and their rotation ------------------------

# A record is a line in any form that files may have; its key is the id of the broker that wrote the line.

NO_BROKER = "the record's key is not the id of a broker"


def topic_rows(spark: SparkSession, topic: Topic, begin: Mapping[str, Any] | None) -> DataFrame:
    """Return the rows of `request` from the records of a topic, as a stream.

    Args:
        begin: the start offsets of a new checkpoint, in the form of Spark's Kafka source; None to begin with the first
            existing record.
    """
    reader = spark.readStream.format("kafka").options(**topic.options).option("subscribe", topic.topic)
    # Records that are deleted before the read are lost: `lost_of` reports them.
    reader = reader.option("failOnDataLoss", "false").option("includeHeaders", "false")
    reader = reader.option("startingOffsets", "earliest" if begin is None else json_text(begin))
    columns = reader.load().select("key", "value", "partition", "offset")
    whose = Whose(topic.cluster_id, -1, topic.topic, topic.zone)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (rows for batch in batches for rows in rows_of_records(batch, whose))

    return columns.mapInArrow(count, REQUEST.ddl)


class Skipped(NamedTuple):
    """A range of offsets of a partition, from `at` on, that were deleted before kac read them."""

    partition: int
    at: int
    offsets: int
    """The number of offsets in the range; `UNCOUNTED` if unknown."""
    why: str

    @property
    def reason(self) -> str:
        """The description of the loss for a message."""
        amount = "0 or more offsets" if self.offsets == UNCOUNTED else f"{self.offsets:,} offsets"
        return f"{amount} {LOST}: {self.why}"


UNCOUNTED = 0
"""The value of `Skipped.offsets` for an unknown number: if a topic was deleted, nothing shows how many of its offsets
had not been read.
"""


DELETED = "they were deleted before they were read"
MADE_AGAIN = "the topic was deleted and created again"


def skipped(start: Mapping[str, int], end: Mapping[str, int], first: Mapping[str, int]) -> list[Skipped]:
    """Return the ranges of offsets that were deleted before a batch from `start` to `end` could read them. All offsets
    are by partition; a partition that is missing in `start` begins at 0.

    If brokers have no topic ids, a topic that was created again is recognized only if it has fewer offsets than were
    read before. Its records up to `end` are then in the result, because the batch does not read them.

    Args:
        first: the first existing offset of each partition.
    """
    found = []
    for name, upto in sorted(end.items(), key=_by_number):
        since = start.get(name, 0)
        begins = first.get(name, since)
        if upto < since:
            found.append(Skipped(int(name), begins, upto - begins, MADE_AGAIN))
        elif begins > since:
            found.append(Skipped(int(name), since, min(begins, upto) - since, DELETED))
    return [each for each in found if each.offsets > 0]


def _by_number(partition: tuple[str, int]) -> int:
    return int(partition[0])


def gone_of(end: Mapping[str, int]) -> list[Skipped]:
    """Return a range for each partition of a topic that was deleted and created again, because unread records may have
    been lost. end: partition -> the offset after the last one that was read.
    """
    return [Skipped(int(name), upto, UNCOUNTED, MADE_AGAIN) for name, upto in sorted(end.items(), key=_by_number)]


def lost_of(spark: SparkSession, topic: Topic, start: Mapping[str, int], end: Mapping[str, int]) -> list[Skipped]:
    """Return the ranges of offsets in a batch that the topic had already deleted. Sends requests to the brokers.

    Args:
        start, end: partition -> offset, in the form of Spark's Kafka source.
    """
    java: Any = spark._jvm
    settings = _client_settings(java, topic)
    for of in ("key", "value"):
        settings.put(f"{of}.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer")
    places = java.java.util.ArrayList()
    for partition in end:
        places.add(java.org.apache.kafka.common.TopicPartition(topic.topic, int(partition)))
    consumer = java.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
    try:
        begins = consumer.beginningOffsets(places)
        first = {str(place.partition()): begins[place] for place in places}
    finally:
        consumer.close()
    return skipped(start, end, first)


class Identity(NamedTuple):
    """The identity of a topic; offsets are valid only for the topic with the same identity.

    Attributes:
        cluster: the id of the topic's cluster; empty if unknown.
        topic: the topic's id, which no other topic with the same name has; empty if unknown, since the brokers have no
            topic ids (Kafka before 2.8), or if the topic does not exist at present.
    """

    cluster: str
    topic: str

    def is_on_another_cluster(self, now: Identity) -> bool:
        """Return whether both clusters are known and differ. now: the present identity under the same name."""
        return "" not in (self.cluster, now.cluster) and self.cluster != now.cluster

    def is_of_another(self, now: Identity) -> bool:
        """Return whether both topic ids are known and differ. now: the present identity under the same name."""
        return "" not in (self.topic, now.topic) and self.topic != now.topic


_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Kafka's Uuid.ZERO_UUID, which brokers without topic ids return."""
_ABSENT = re.compile("UnknownTopicOrPartition|UnknownTopicId")


def identity_of(spark: SparkSession, topic: Topic) -> Identity:
    """Return the identity of the topic that has the name now. Its topic id is empty if no such topic exists, or if the
    brokers have no topic ids. Sends requests to the brokers.
    """
    java: Any = spark._jvm
    names = java.java.util.ArrayList()
    names.add(topic.topic)
    admin = java.org.apache.kafka.clients.admin.AdminClient.create(_client_settings(java, topic))
    try:
        cluster = str(admin.describeCluster().clusterId().get() or "")
        try:
            described = str(admin.describeTopics(names).topicNameValues().get(topic.topic).get().topicId())
        except Py4JJavaError as wrong:
            if not _ABSENT.search(str(wrong)):
                raise
            described = _NO_ID
    finally:
        admin.close()
    return Identity(cluster, "" if described == _NO_ID else described)


def _client_settings(java: Any, topic: Topic) -> Any:
    """Return the properties of a Java Kafka client, with the connection settings of Spark's source."""
    settings = java.java.util.Properties()
    for name, value in topic.options.items():
        if name.startswith("kafka."):
            settings.put(name.removeprefix("kafka."), value)
    return settings


_LOST = pa.schema([("partition", pa.int64()), ("at", pa.int64()), ("reason", pa.string())])


def lost_rows(spark: SparkSession, topic: Topic, lost: Sequence[Skipped]) -> DataFrame:
    """Return a row of `request` for each range of lost records of a topic, as a frame."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [
                damaged_row(
                    Whose(topic.cluster_id, -1, f"{topic.topic}-{partition}", topic.zone),
                    Damaged(at, reason, "", ""),
                    lines=0,
                )
                for partition, at, reason in rows_of(pa.Table.from_batches([batch]), *_LOST.names)
            ]
            yield from pa.Table.from_pylist(rows, schema=COUNTED).to_batches()

    places = given(spark, ((each.partition, each.at, each.reason) for each in lost), _LOST)
    return places.mapInArrow(make, REQUEST.ddl)


@contextmanager
def logged_in(spark: SparkSession, login: str) -> Iterator[None]:
    """Give Java a login inside the ``with`` block, in a file that only this user can read.

    Args:
        login: the text of a Java login file (JAAS); empty to do nothing.
    """
    if not login:
        yield
        return
    with NamedTemporaryFile("w", prefix="kac-login-", encoding="utf-8") as file:
        file.write(login)
        file.flush()
        set_properties(spark, {"java.security.auth.login.config": file.name})
        yield


def rows_of_records(batch: pa.RecordBatch, whose: Whose) -> Iterator[pa.RecordBatch]:
    """Yield rows of `counted.COUNTED` from the records of a topic, by broker and partition; a record's offset counts as
    the position of its line. A record without a value is left out; a record whose key is not a broker's id becomes a
    damaged line.

    Args:
        batch: the columns key, value, partition, offset.
        whose: the fields that all records have in common.
    """
    of: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)
    damaged = []
    for key, value, partition, offset in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        if not value:
            continue
        # A JSON object may have several lines: make them one.
        whole = value.replace(b"\n", b" ") if value.startswith(b"{") else value
        line, broker = whole.rstrip(b"\r\n"), _broker(key)
        if broker is None:
            of_partition = whose._replace(file=f"{whose.file}-{partition}")
            damaged.append(damaged_row(of_partition, Damaged.of(offset, line, NO_BROKER), lines=1))
        else:
            of[broker, partition].append((offset, line))
    for (broker, partition), blocks in sorted(of.items()):
        yield from counted(whose._replace(broker_id=broker, file=f"{whose.file}-{partition}"), blocks)
    if damaged:
        yield pa.RecordBatch.from_pylist(damaged, schema=COUNTED)


def _broker(key: bytes | None) -> int | None:
    text = (key or b"")[:10].decode("latin-1").strip()
    return int(text) if is_natural(text) and len(text) < 10 else None
