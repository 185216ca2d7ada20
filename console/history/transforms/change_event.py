"""`change_event`: every change that some source reports, those of the log and of polls with their authors. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from console.history.schema import ALTER_REQUEST, CHANGE_EVENT, ENTITY, JOURNAL, KRAFT_RECORD, SNAPSHOT, arrow_schema
from console.history.transforms.attribution import attributed
from console.history.transforms.coverage import Polls
from console.history.transforms.kraft_changes import (
    ACL_RECORDS,
    OTHER_RECORDS,
    TOPIC_RECORDS,
    Epochs,
    Event,
    Names,
    Placed,
    Record,
    acl_of,
    facts,
    kraft_changes,
    placed_facts,
)
from console.history.transforms.reported import (
    Author,
    Seen,
    author_changes,
    author_of_journal,
    authors_of_requests,
    poll_changes,
)
from console.history.transforms.rows import Row, rows_of, table_of

T = TypeVar("T")
_ByEntity = tuple[str, str, str]
_decode = msgspec.json.Decoder().decode


class Bronze(NamedTuple):
    """Rows of the bronze tables of these names; the columns that are not needed may be missing."""

    kraft_record: pa.Table = arrow_schema(KRAFT_RECORD).empty_table()
    snapshot: pa.Table = arrow_schema(SNAPSHOT).empty_table()
    journal: pa.Table = arrow_schema(JOURNAL).empty_table()
    alter_request: pa.Table = arrow_schema(ALTER_REQUEST).empty_table()


# -- which records are about which entities --------------------------------------------------------------------------

NAMING = ("TopicRecord", "AccessControlEntryRecord")
"""Records that have both a name and the id by which others name it."""
OF_ENTITIES = pc.field("record_type").isin(pa.array((*TOPIC_RECORDS, *ACL_RECORDS, *OTHER_RECORDS))) & (
    (pc.field("record_type") != "PartitionChangeRecord") | pc.match_substring(pc.field("payload"), '"replicas":[')
)
"""The records that say something of an entity; most partitions change without their replicas."""

# -- the table -------------------------------------------------------------------------------------------------------


def change_event(
    bronze: Bronze,
    epochs: Mapping[str, Epochs],
    polls: Mapping[str, Polls],
    touched: Container[_ByEntity] | None = None,
) -> pa.Table:
    """CHANGE_EVENT's rows of these rows. epochs, polls: of their clusters. touched: what rows are wanted of
    (None: of everything).

    All rows that are about an entity have to be given, and the metadata records that name its id.
    """
    placed, seen, asked, noted = _placed(bronze), _seen(bronze), _asked(bronze), _noted(bronze)

    def events() -> Iterator[Event]:
        for each in sorted({*placed, *seen, *asked, *noted}):
            cluster_id, entity = each[0], each[1:]
            if touched is not None and each not in touched:
                continue
            authors = [*authors_of_requests(asked.get(each, ())), *noted.get(each, ())]
            observed: list[Event] = []
            if each in placed:
                observed += kraft_changes(cluster_id, entity, placed[each], epochs[cluster_id])
            if each in seen:
                beats = polls[cluster_id].times.get(entity[0], ()) if cluster_id in polls else ()
                observed += poll_changes(cluster_id, entity, seen[each], beats)
            yield from attributed(observed, authors)
            yield from author_changes(cluster_id, entity, authors)

    return table_of(CHANGE_EVENT, events())


TAGS = ("entity_type", "entity_key", "entity_id")


def tagged(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Decoded records as rows of `kraft_record`: with the entity that each says something of, its type, and its key or
    the id by which the record names it."""
    rows = pa.Table.from_batches([batch])
    rows = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    columns: list[list[str | None]] = [[None] * rows.num_rows for _ in TAGS]
    names = Names()
    for place, type_, payload in rows_of(rows.filter(OF_ENTITIES), "place", "record_type", "payload"):
        fields = _decode(payload)
        tag: tuple[str | None, str | None, str | None] = (None, None, None)
        if "topicId" in fields:
            tag = "topic", fields.get("name"), fields["topicId"]
        elif type_ in ACL_RECORDS:
            tag = "acl", acl_of(fields)[0] if "resourceName" in fields else None, fields["id"]
        elif (fact := next(facts(type_, fields, None, names), None)) is not None:
            tag = *fact.entity, None
        for column, value in zip(columns, tag, strict=True):
            column[place] = value
    quarantined = pa.nulls(batch.num_rows, arrow_schema(KRAFT_RECORD).field("quarantined").type)
    made = [*batch.columns, *(pa.array(column, pa.string()) for column in columns), quarantined]
    return pa.RecordBatch.from_arrays(made, schema=arrow_schema(KRAFT_RECORD))


def records_of(records: pa.Table) -> dict[str, list[Record]]:
    """The records that say something of an entity, by cluster."""
    found: dict[str, list[Record]] = defaultdict(list)
    names = ("log_offset", "in_snapshot", "record_ts", "record_type", "payload", "value_hmac")
    for cluster_id, offset, in_snapshot, ts, type_, payload, hmac in rows_of(
        records.filter(OF_ENTITIES), "cluster_id", *names
    ):
        found[cluster_id].append(Record(offset, in_snapshot, ts, type_, _decode(payload), hmac))
    return found


def _placed(bronze: Bronze) -> dict[_ByEntity, list[Placed]]:
    return {
        (cluster_id, *entity): facts
        for cluster_id, records in records_of(bronze.kraft_record).items()
        for entity, facts in placed_facts(records).items()
    }


def _seen(bronze: Bronze) -> dict[_ByEntity, list[Seen]]:
    rows = bronze.snapshot.filter(pc.is_in(bronze.snapshot["kind"], pa.array(("state", "absent"))))
    told = rows_of(rows, *ENTITY, "kind", "observed_ts", "attr", "value")
    return _grouped(lambda kind, ts, attr, value: (ts, attr if kind == "state" else None, value), told)


def _asked(bronze: Bronze) -> dict[_ByEntity, list[Author]]:
    rows = bronze.alter_request
    done = rows.filter(pc.and_(pc.equal(rows["error_code"], 0), pc.invert(rows["validate_only"])))
    names = ("attr", "op", "value", "start_ts", "end_ts", "principal", "client_id", "client_host", "api")
    return _grouped(Author, rows_of(done, *ENTITY, *names, "is_forwarded"))


def _noted(bronze: Bronze) -> dict[_ByEntity, list[Author]]:
    # A change whose end was read later than its beginning stands there twice.
    order = [(name, "ascending") for name in (*JOURNAL.key, "read_ts")]
    rows = bronze.journal.sort_by(order) if bronze.journal.num_rows else bronze.journal
    last = dict(zip(rows_of(rows, *JOURNAL.key), range(rows.num_rows), strict=True))
    done = rows.take(pa.array(last.values(), pa.int64()))
    done = done.filter(pc.equal(done["status"], "applied"))
    names = ("attr", "op", "old_value", "value", "intent_ts", "end_ts", "principal", "client_host")
    return _grouped(author_of_journal, rows_of(done, *ENTITY, *names))


def _grouped(make: Callable[..., T], rows: Iterable[Row]) -> dict[_ByEntity, list[T]]:
    """What is made of the columns behind those of the entity, by entity."""
    found: dict[_ByEntity, list[T]] = defaultdict(list)
    for cluster_id, type_, key, *rest in rows:
        found[cluster_id, type_, key].append(make(*rest))
    return found
