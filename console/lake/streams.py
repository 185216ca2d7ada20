"""What is new for the lake as streams of Spark: metadata logs, request logs, polls and journals by data sources of
ours, request logs in a topic by Spark's own Kafka source.

An offset says what is read, so that after a kill the checkpoint's batch is made again of the same. What is new is found
by `plans`, in the driver; executors' tasks read and decode. A secret is never an option: Spark shows options.
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
from console.model.numbers import is_natural, json_text

# -- data sources of ours ----------------------------------------------------------------------------------------------


class _Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A source as Spark asks it. With the trigger availableNow what is there is one batch: what comes while it is read
    is for the next run."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_once = False
        self._was_asked = False

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Note that Spark's trigger is availableNow."""
        self._is_once = True

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's
        """Return the offset at which a new checkpoint begins."""
        return self._source.initial()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002, N802 - Spark's
        """Return the offset at which what is there now ends; `start` where nothing is new."""
        if self._is_once and self._was_asked:
            return start
        self._was_asked = True
        self._source.committed(start)
        return self._source.newest(start)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return what tasks read."""
        return [InputPartition(part) for part in self._source.parts(start, end)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part; Spark passes None where there is none."""
        # Spark takes the schema of the first batch for all.
        yield pa.RecordBatch.from_pylist([], arrow_schema(TABLES[self._source.table]))
        if partition is not None:
            yield from self._source.read(partition.value)

    def commit(self, end: Offset) -> None:
        """Release what was read up to this offset: it is in the lake."""
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
        """Return the source of these options."""
        return _Stream(self.source(msgspec.json.decode(self.options["settings"], type=Settings)))


def formats() -> list[type[LakeFormat]]:
    """Return the formats of all sources that exist in this process."""
    return [type(f"{each.__name__}Format", (LakeFormat,), {"source": each}) for each in SOURCES.values()]


# -- request logs that are shipped into a topic: offset-exact, without files and their rotation ------------------------

# A record is a line in any form that files may have; its key is the id of the broker that wrote the line.

NO_BROKER = "the record's key is not the id of a broker"


def topic_rows(spark: SparkSession, topic: Topic, begin: Mapping[str, Any] | None) -> DataFrame:
    """Return the rows of `request` of what is written to a topic, as a stream. begin: where a new checkpoint begins, as
    Spark writes offsets; None: with the first record that is there.
    """
    reader = spark.readStream.format("kafka").options(**topic.options).option("subscribe", topic.topic)
    # What is deleted before it is read is lost: `lost_of` says what.
    reader = reader.option("failOnDataLoss", "false").option("includeHeaders", "false")
    reader = reader.option("startingOffsets", "earliest" if begin is None else json_text(begin))
    columns = reader.load().select("key", "value", "partition", "offset")
    whose = Whose(topic.cluster_id, -1, topic.topic, topic.zone)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (rows for batch in batches for rows in rows_of_records(batch, whose))

    return columns.mapInArrow(count, REQUEST.ddl)


class Skipped(NamedTuple):
    """Offsets of a partition, from `at` on, that were deleted before they were read. offsets: how many; `UNCOUNTED`:
    unknown."""

    partition: int
    at: int
    offsets: int
    why: str

    @property
    def reason(self) -> str:
        """The same as a text."""
        amount = "0 or more offsets" if self.offsets == UNCOUNTED else f"{self.offsets:,} offsets"
        return f"{amount} {LOST}: {self.why}"


UNCOUNTED = 0
"""A topic that is gone does not say how many offsets it had beyond those that were read."""


DELETED = "they were deleted before they were read"
MADE_AGAIN = "the topic was deleted and created again"


def skipped(start: Mapping[str, int], end: Mapping[str, int], first: Mapping[str, int]) -> list[Skipped]:
    """Return what a batch from `start` to `end` does not have. first: the first offset that there still is; all of them
    by partition. A partition that is new begins at 0. Brokers that have no ids for topics do not show that a topic was
    created again, unless it has fewer offsets than were read: those are not read."""
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
    """Return what may be lost of a topic that was deleted, and created again. end: up to where it was read, by
    partition."""
    return [Skipped(int(name), upto, UNCOUNTED, MADE_AGAIN) for name, upto in sorted(end.items(), key=_by_number)]


def lost_of(spark: SparkSession, topic: Topic, start: Mapping[str, int], end: Mapping[str, int]) -> list[Skipped]:
    """Return what is not there any more of what a batch is to read. start, end: offsets by partition, as Spark writes
    them. Asks the brokers."""
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
    """Which topic of a name it is: offsets count for this one alone.

    Attributes:
        cluster: the id of the cluster that the topic is on; empty: not known.
        topic: the topic's own id, which no other topic of the name gets; empty: not known, since the brokers have no
            ids (Kafka before 2.8), or it is not there just now.
    """

    cluster: str
    topic: str

    def is_on_another_cluster(self, now: Identity) -> bool:
        """Return whether the brokers that answer now are known to be of another cluster."""
        return "" not in (self.cluster, now.cluster) and self.cluster != now.cluster

    def is_of_another(self, now: Identity) -> bool:
        """Return whether it is known that another topic has the name now."""
        return "" not in (self.topic, now.topic) and self.topic != now.topic


_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Kafka's Uuid.ZERO_UUID: of brokers that have no ids for topics."""
_ABSENT = re.compile("UnknownTopicOrPartition|UnknownTopicId")


def identity_of(spark: SparkSession, topic: Topic) -> Identity:
    """Return which topic has the name now. Asks the brokers."""
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
    """Return the properties of a Kafka client of Java's that reaches a topic as Spark's source does."""
    settings = java.java.util.Properties()
    for name, value in topic.options.items():
        if name.startswith("kafka."):
            settings.put(name.removeprefix("kafka."), value)
    return settings


_LOST = pa.schema([("partition", pa.int64()), ("at", pa.int64()), ("reason", pa.string())])


def lost_rows(spark: SparkSession, topic: Topic, lost: Sequence[Skipped]) -> DataFrame:
    """Return rows of `request` that say what of a topic was not read. An executor makes them."""

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
    """Give Java a login for the context, by a file of this user alone. login: the text of a login file of Java (JAAS);
    empty: none is needed.
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
    """Yield `counted.COUNTED` of records, by broker and partition. The position of a line is its offset. batch: the
    columns key, value, partition, offset. whose: of all of them.
    """
    of: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)
    damaged = []
    for key, value, partition, offset in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        if not value:
            continue
        # Of an object, too, which may have several lines.
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
