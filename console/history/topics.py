"""Request logs that are shipped into a topic, by Spark's own Kafka source: offset-exact, without files and their
rotation.

A record is a line in any form that files may have; its key is the id of the broker that wrote the line.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from console.history.redact import Damaged
from console.history.requests.counted import COUNTED, Whose, counted, damaged_row
from console.history.schema import REQUEST
from console.model.numbers import is_natural, json_text

STREAM = "request_topic"
"""Begins the name of a topic's stream."""
NO_BROKER = "the record's key is not the id of a broker"


class Topic(NamedTuple):
    """A topic. options: of Spark's Kafka source, no secret among them. cluster_id, zone: whose lines they are, and of
    the times in them."""

    topic: str
    options: Mapping[str, str]
    cluster_id: str
    zone: str

    @property
    def stream(self) -> str:
        """The name of its stream: a folder of the checkpoints."""
        return f"{STREAM}-{hashlib.sha256(f'{self.cluster_id}/{self.topic}'.encode()).hexdigest()[:12]}"


def topic_rows(spark: SparkSession, topic: Topic, begin: Mapping[str, Any] | None) -> DataFrame:
    """The rows of `request` of what is written to a topic, as a stream. begin: where a new checkpoint begins, as Spark
    writes offsets; None: with the first record that is there."""
    reader = spark.readStream.format("kafka").options(**topic.options).option("subscribe", topic.topic)
    # What retention deletes before it is read is lost, and Spark's log says so.
    reader = reader.option("failOnDataLoss", "false").option("includeHeaders", "false")
    reader = reader.option("startingOffsets", "earliest" if begin is None else json_text(begin))
    columns = reader.load().select("key", "value", "partition", "offset")
    whose = Whose(topic.cluster_id, -1, topic.topic, topic.zone)
    return columns.mapInArrow(_Counting(whose), REQUEST.ddl)


@contextmanager
def logged_in(spark: SparkSession, login: str) -> Iterator[None]:
    """Java knows a login for the context, by a file of this user alone. login: the text of a login file of Java (JAAS);
    empty: none is needed."""
    if not login:
        yield
        return
    with NamedTemporaryFile("w", prefix="kac-login-", encoding="utf-8") as file:
        file.write(login)
        file.flush()
        java: Any = spark._jvm
        java.java.lang.System.setProperty("java.security.auth.login.config", file.name)
        yield


class _Counting:
    """Makes rows of records; it goes to the tasks."""

    def __init__(self, whose: Whose) -> None:
        self._whose = whose

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of some records."""
        for batch in batches:
            yield from rows_of_records(batch, self._whose)


def rows_of_records(batch: pa.RecordBatch, whose: Whose) -> Iterator[pa.RecordBatch]:
    """`counted.COUNTED` of records, by broker and partition. The place of a line is its offset. batch: the columns key,
    value, partition, offset. whose: of all of them."""
    of: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)
    damaged = []
    for key, value, partition, offset in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        if not value:
            continue
        line, broker = _line(value).rstrip(b"\r\n"), _broker(key)
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


def _line(value: bytes) -> bytes:
    """The line in a record's value: of an object, too, which may have several."""
    return value.replace(b"\n", b" ") if value.startswith(b"{") else value
