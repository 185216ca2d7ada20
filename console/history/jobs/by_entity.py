"""The transforms of an entity's rows, on Spark: for more rows than one process takes. Rows are brought together by
entity, once, and each task gives whole entities to the transform; all rows of one entity are in memory then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from console.history.jobs.plan_build import BRONZE
from console.history.schema import CHANGE_EVENT, HISTORY, TABLES, Table
from console.history.transforms.change_event import OF_ENTITIES, Bronze, change_event
from console.history.transforms.coverage import Covered, Polls
from console.history.transforms.history import history
from console.history.transforms.kraft_changes import Epochs
from console.history.transforms.kraft_facts import Names, acl_of, facts
from console.history.transforms.rows import rows_of
from console.history.transforms.touched import ENTITY

CHUNK = 50_000
"""Rows that are given to a transform at a time, or those of one entity."""
_ID = "id"
_OF = "of_table"
_Made = Callable[[pa.Table], pa.Table]


def events_of(bronze: Mapping[str, DataFrame], epochs: Mapping[str, Epochs], polls: Mapping[str, Polls]) -> DataFrame:
    """CHANGE_EVENT's rows, less `run_id`, of the bronze tables by name."""
    records = bronze["kraft_record"]
    with_entity = f"{_ddl(TABLES['kraft_record'])}, entity_type STRING, entity_key STRING, {_ID} STRING"
    tagged = records.select(*_names(TABLES["kraft_record"])).mapInArrow(_tag, with_entity)
    named = tagged.where(F.col(_ID).isNotNull() & F.col("entity_key").isNotNull())
    names = named.select("cluster_id", _ID, F.col("entity_key").alias("name")).distinct()
    keyed = tagged.join(names, on=["cluster_id", _ID], how="left").withColumn(
        "entity_key", F.coalesce("entity_key", "name")
    )
    told = {**bronze, "kraft_record": keyed.where(F.col("entity_key").isNotNull()).drop(_ID, "name")}
    told["snapshot"] = told["snapshot"].where(F.col("kind").isin("state", "absent"))
    parts = [rows.withColumn(_OF, F.lit(name)) for name, rows in told.items()]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)

    def make(rows: pa.Table) -> pa.Table:
        own = (rows.filter(pc.equal(rows[_OF], name)) for name in BRONZE)
        return change_event(Bronze(*own), epochs, polls)

    return _by_entity(together, make, CHANGE_EVENT)


def history_of(events: DataFrame, polls: Mapping[str, Polls], covers: Mapping[str, Covered]) -> DataFrame:
    """HISTORY's rows, less those of gaps."""
    return _by_entity(events, lambda rows: history(rows, polls, covers), HISTORY)


def _by_entity(rows: DataFrame, make: _Made, table: Table) -> DataFrame:
    together = rows.repartition(*ENTITY).sortWithinPartitions(*ENTITY)
    return together.mapInArrow(lambda batches: in_chunks(batches, make), _ddl(table))


def in_chunks(batches: Iterable[pa.RecordBatch], make: _Made) -> Iterator[pa.RecordBatch]:
    """What `make` gives of rows in the order of their entities, whole entities at a time."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= CHUNK:
            rows = pa.Table.from_batches(waiting)
            last = {name: rows[name][-1] for name in ENTITY}
            begun = reduce(pc.and_, (pc.equal(rows[name], value) for name, value in last.items()))
            first = pc.index(begun, True).as_py()
            if first:
                yield from make(rows.slice(0, first)).to_batches()
            waiting = rows.slice(first).to_batches()
            count = 0 if first else rows.num_rows
    if waiting:
        yield from make(pa.Table.from_batches(waiting)).to_batches()


def _tag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The records that say something of an entity, with its type, its key where they have it, and the id by which they
    name it."""
    names = Names({}, {})
    decode = msgspec.json.Decoder().decode
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        rows = rows.filter(OF_ENTITIES)
        tags: list[tuple[str, str | None, str | None]] = []
        for type_, payload in rows_of(rows, "record_type", "payload"):
            fields = decode(payload)
            if "topicId" in fields:
                tags.append(("topic", fields.get("name"), fields["topicId"]))
            elif "AccessControlEntry" in type_:
                tags.append(("acl", acl_of(fields)[0] if "resourceName" in fields else None, fields["id"]))
            else:
                fact = next(facts(type_, fields, None, names), None)
                tags.append(("", None, None) if fact is None else (*fact.entity, None))
        columns = zip(*tags, strict=True) if tags else ((), (), ())
        for name, column in zip(("entity_type", "entity_key", _ID), columns, strict=True):
            rows = rows.append_column(name, pa.array(column, pa.string()))
        yield from rows.to_batches()


def _names(table: Table) -> list[str]:
    return [name for name in table.names if name != "run_id"]


def _ddl(table: Table) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in table.columns if column.name != "run_id")
