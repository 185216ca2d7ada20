"""`change_event`: every change that some source reports, those of the log and of polls with their authors. Pure."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from console.history.entities import DEFAULT, acl_resource, quota_parts
from console.history.schema import ALTER_REQUEST, CHANGE_EVENT, JOURNAL, KRAFT_RECORD, SNAPSHOT, arrow_schema
from console.history.transforms.attribution import attributed
from console.history.transforms.coverage import LOG, Covered, Polls
from console.history.transforms.kraft_changes import (
    ACL_RECORDS,
    BROKER_RECORDS,
    OTHER_RECORDS,
    SINCE_BEFORE,
    TOPIC_RECORDS,
    Epochs,
    Event,
    Placed,
    Record,
    acl_of,
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
from console.history.transforms.rows import ENTITY, Row, Touched, rows_of, table_of

T = TypeVar("T")
_ByEntity = tuple[str, str, str]
_BY_ID = (*TOPIC_RECORDS, *ACL_RECORDS)
_decode = msgspec.json.Decoder().decode


class Bronze(NamedTuple):
    """Rows of the bronze tables of these names; the columns that are not needed may be missing."""

    kraft_record: pa.Table = arrow_schema(KRAFT_RECORD).empty_table()
    snapshot: pa.Table = arrow_schema(SNAPSHOT).empty_table()
    journal: pa.Table = arrow_schema(JOURNAL).empty_table()
    alter_request: pa.Table = arrow_schema(ALTER_REQUEST).empty_table()


# -- what holds for a whole cluster ----------------------------------------------------------------------------------


def epochs_of(records: pa.Table) -> dict[str, Epochs]:
    """By cluster. records: the columns cluster_id, log_offset, in_snapshot and record_ts of all of its log."""
    of_snapshot = pc.if_else(records["in_snapshot"], records["log_offset"], pa.scalar(None, pa.int64()))
    found = (
        records.select(["cluster_id", "log_offset", "record_ts"])
        .append_column("of_snapshot", of_snapshot)
        .group_by(["cluster_id", "of_snapshot"])
        .aggregate([("record_ts", "max"), ("log_offset", "min")])
    )
    snapshots: dict[str, dict[int, int]] = defaultdict(dict)
    first: dict[str, int] = {}
    for cluster_id, offset, ts, lowest in rows_of(
        found, "cluster_id", "of_snapshot", "record_ts_max", "log_offset_min"
    ):
        if offset is None:
            first[cluster_id] = lowest
        else:
            snapshots[cluster_id][offset] = ts
    return {each: Epochs(snapshots[each], first.get(each)) for each in {*first, *snapshots}}


def polls_of(snapshot: pa.Table, poll: pa.Table | None = None) -> dict[str, Polls]:
    """By cluster. snapshot, poll: all rows of these tables, with the columns cluster_id, kind, entity_type and
    observed_ts, and entity_key of `snapshot`. Eight bytes for each poll."""
    names = ["cluster_id", "entity_type", "observed_ts"]
    beats = [
        rows.filter(pc.equal(rows["kind"], "heartbeat")).select(names) for rows in (snapshot, poll) if rows is not None
    ]
    found = pa.concat_tables(beats).group_by(names[:2], use_threads=False).aggregate([("observed_ts", "list")])
    times: dict[str, dict[str, array[int]]] = defaultdict(dict)
    for cluster_id, types, when in zip(*(found.column(name) for name in found.column_names), strict=True):
        of_types = array("q", sorted(set(when.values.cast(pa.int64()).to_pylist())))
        for each in types.as_py().split(","):
            of_cluster = times[cluster_id.as_py()]
            known = of_cluster.get(each)
            of_cluster[each] = of_types if known is None else array("q", sorted({*known, *of_types}))
    is_broker = pc.and_(pc.equal(snapshot["kind"], "state"), pc.equal(snapshot["entity_type"], "broker"))
    seen = snapshot.filter(is_broker).group_by(["cluster_id", "entity_key"]).aggregate([])
    brokers: dict[str, set[str]] = defaultdict(set)
    for cluster_id, key in rows_of(seen, "cluster_id", "entity_key"):
        brokers[cluster_id].add(key)
    return {each: Polls(times[each], brokers[each]) for each in {*times, *brokers}}


def covers_of(events: pa.Table) -> dict[str, Covered]:
    """The time that the metadata logs cover, by cluster. events: the columns cluster_id, event_ts, ts_uncertainty_ms
    and source of all rows of `change_event`."""
    of_log = events.filter(pc.is_in(events["source"], pa.array(LOG)))
    ends = of_log.group_by("cluster_id").aggregate([("event_ts", "min"), ("event_ts", "max")])
    by_snapshot = of_log.filter(pc.equal(of_log["source"], "kraft_snapshot"))
    told = by_snapshot.group_by(["cluster_id", "event_ts", "ts_uncertainty_ms"]).aggregate([])
    holes: dict[str, dict[int, int]] = defaultdict(dict)
    whole: dict[str, int] = {}
    for cluster_id, ts, uncertainty in rows_of(told, "cluster_id", "event_ts", "ts_uncertainty_ms"):
        if uncertainty > 0:
            holes[cluster_id][ts] = min(ts - uncertainty * 1000, holes[cluster_id].get(ts, ts))
        elif uncertainty == SINCE_BEFORE:
            whole[cluster_id] = min(ts, whole.get(cluster_id, ts))
    return {
        of: Covered(first, last, tuple(sorted((begins, end) for end, begins in holes[of].items())), whole.get(of))
        for of, first, last in rows_of(ends, "cluster_id", "event_ts_min", "event_ts_max")
    }


# -- which records are about which entities --------------------------------------------------------------------------

OF_ENTITIES = pc.field("record_type").isin(pa.array((*TOPIC_RECORDS, *ACL_RECORDS, *OTHER_RECORDS))) & (
    (pc.field("record_type") != "PartitionChangeRecord") | pc.match_substring(pc.field("payload"), '"replicas":[')
)
"""The records that say something of an entity; most partitions change without their replicas."""
_NAMING = ("TopicRecord", "AccessControlEntryRecord")
Reader = Callable[[pc.Expression], pa.Table]
"""Gives the records of a cluster for which an expression holds."""


def entities_of(new: pa.Table, read: Reader) -> set[_ByEntity]:
    """What new records of one cluster are about."""
    found: set[_ByEntity] = set()
    for cluster_id, records in records_of(new).items():
        ids = {each.fields.get("topicId") or each.fields["id"] for each in records if each.type in _BY_ID}
        named = records_of(read(_is_any(_NAMING) & _has(ids))).get(cluster_id, []) if ids else []
        found |= {(cluster_id, *entity) for entity in placed_facts([*named, *records])}
    return found


def about(entities: Iterable[_ByEntity], read: Reader) -> pa.Table:
    """The records that are about entities of a cluster, and some beside."""
    keys = {(entity_type, key) for _, entity_type, key in entities}
    texts = {text for entity_type, key in keys for text in _texts(entity_type, key)}
    of_brokers = pa.array(
        BROKER_RECORDS if any(entity_type == "broker" for entity_type, _ in keys) else (), pa.string()
    )
    by_name = _is_any((*OTHER_RECORDS, *_NAMING)) & (_has(texts) | pc.field("record_type").isin(of_brokers))
    named = read(by_name)
    ids = set()
    for type_, payload in rows_of(named, "record_type", "payload"):
        fields = _decode(payload) if type_ in _NAMING else {}
        if type_ == "TopicRecord" and ("topic", fields["name"]) in keys:
            ids.add(fields["topicId"])
        elif type_ == "AccessControlEntryRecord" and ("acl", acl_of(fields)[0]) in keys:
            ids.add(fields["id"])
    others = OF_ENTITIES & _is_any(tuple(each for each in _BY_ID if each not in _NAMING))
    return pa.concat_tables([named, read(others & _has(ids))]) if ids else named


def _texts(entity_type: str, key: str) -> Iterator[str | None]:
    """The names that records of an entity have in their JSON; None: a null."""
    if entity_type == "quota":
        yield from quota_parts(key).values()
    elif entity_type == "acl":
        yield acl_resource(key)[2]
    else:
        yield "" if key == DEFAULT else key


def _is_any(types: Iterable[str]) -> pc.Expression:
    return pc.field("record_type").isin(pa.array(types))


def _has(texts: Iterable[str | None]) -> pc.Expression:
    """Whether the payload has any of these texts; of those that JSON may write in several ways all may be."""
    payload = pc.field("payload")
    plain = [text for text in texts if text is not None]
    if any(not text.isascii() or not text.isprintable() or set(text) & set('"\\') for text in plain):
        return pc.is_valid(payload)
    pattern = "|".join(f'"{re.escape(text)}"' for text in sorted(plain))
    return pc.match_substring_regex(payload, "|".join(filter(None, (pattern, "null" if None in texts else ""))))


# -- the table -------------------------------------------------------------------------------------------------------


def change_event(
    bronze: Bronze,
    epochs: Mapping[str, Epochs] | None = None,
    polls: Mapping[str, Polls] | None = None,
    touched: Touched | None = None,
) -> pa.Table:
    """CHANGE_EVENT's rows of these rows. epochs, polls: of their clusters (None: as these rows have them). touched:
    what rows are wanted of (None: of everything).

    All rows that are about an entity have to be given, and the metadata records that name its id.
    """
    epochs = epochs_of(bronze.kraft_record) if epochs is None else epochs
    polls = polls_of(bronze.snapshot) if polls is None else polls
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
    done = bronze.journal.filter(pc.equal(bronze.journal["status"], "applied"))
    names = ("attr", "op", "old_value", "value", "intent_ts", "end_ts", "principal", "client_host")
    return _grouped(author_of_journal, rows_of(done, *ENTITY, *names))


def _grouped(make: Callable[..., T], rows: Iterable[Row]) -> dict[_ByEntity, list[T]]:
    """What is made of the columns behind those of the entity, by entity."""
    found: dict[_ByEntity, list[T]] = defaultdict(list)
    for cluster_id, type_, key, *rest in rows:
        found[cluster_id, type_, key].append(make(*rest))
    return found
