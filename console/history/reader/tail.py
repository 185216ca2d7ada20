"""Changes of the metadata log that were taken in after the last build: what `history` will have of them, without Spark.

Only what the records themselves say: who did it, and what differs in a snapshot, is found by the build.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.history.reader.tables import EPOCH, FILES, Change, Tables, Where, known_time
from console.history.schema import CHANGE_EVENT, HISTORY, KRAFT_RECORD
from console.history.transforms.kraft_changes import (
    ACL_RECORDS,
    OTHER_RECORDS,
    TOPIC_RECORDS,
    Entity,
    Names,
    Placed,
    Record,
    acl_of,
    placed_facts,
    sha256,
)

MOST = 20_000
"""Records that are read at most, those of snapshots last: without them an old value may be missing."""
SKEW = timedelta(hours=1)
"""How far the clocks of two controllers may be apart: files that are older by more are not read."""


class Value(NamedTuple):
    """What an attribute has, since when, in microseconds since 1970. digest: as of `Placed`; None: unknown."""

    value: str | None = None
    digest: str | None = None
    since: int = -1
    is_set: bool = False


State = dict[Entity, dict[str, Value]]
"""Attributes with their values, by entity."""
_UNSET = Value()


class Tail(NamedTuple):
    """changes: of each attribute in their order. ended: when the value that `history` has as the current one ended, by
    its entity and attribute."""

    changes: Sequence[Change]
    ended: Mapping[tuple[str, ...], datetime]


def folded(cluster_id: str, facts: Mapping[Entity, Iterable[Placed]], state: State) -> Tail:
    """The changes that facts make of a state, which goes along. A snapshot sets the state and is no change."""
    changes: list[Change] = []
    ended: dict[tuple[str, ...], datetime] = {}
    last: dict[tuple[str, ...], int] = {}
    for entity, of_entity in facts.items():
        values = state.setdefault(entity, {})
        for fact in sorted(of_entity, key=lambda each: (each.offset, not each.in_snapshot)):
            # A topic that is deleted loses the configs that `history` alone knows of it, too.
            is_gone = fact.attr == ":topic_id" and not fact.is_set
            for attr in (fact.attr, *(each for each in tuple(values) if is_gone and not each.startswith(":"))):
                was = values.get(attr, _UNSET)
                is_same = not fact.is_set or (fact.digest is not None and fact.digest == was.digest)
                if fact.is_set is was.is_set and is_same:
                    continue
                since = max(fact.ts, was.since + 1)
                values[attr] = Value(fact.value, fact.digest, since, fact.is_set)
                if fact.in_snapshot:
                    continue
                key, at = (*entity, attr), known_time(since)
                if key in last:
                    changes[last[key]] = changes[last[key]]._replace(valid_to=at, is_current=False)
                else:
                    ended[key] = at
                last[key] = len(changes)
                told = (was.value, fact.value, at, None, True, not fact.is_set, None, "none", "kraft_log", False)
                changes.append(Change._make((cluster_id, *key, *told)))
    return Tail(changes, ended)


# -- reading -----------------------------------------------------------------------------------------------------------

_OF_ENTITIES = f"""record_type IN {(*TOPIC_RECORDS, *ACL_RECORDS, *OTHER_RECORDS)}
 AND (record_type <> 'PartitionChangeRecord' OR contains(payload, '"replicas":['))"""

_ID = """regexp_extract(payload, '"id":"([^"]*)"', 1)"""


def tail(tables: Tables, cluster_id: str) -> Tail:
    """The changes of a cluster that are not built yet. Raises LakeError."""
    kept: Tail | None = tables.tails.get(cluster_id)
    if kept is None:
        records = list(_records(tables, cluster_id))
        facts = placed_facts(records, _names(tables, cluster_id, records))
        kept = tables.tails[cluster_id] = folded(cluster_id, facts, _state(tables, cluster_id, facts.keys()))
    return kept


def _built(tables: Tables, cluster_id: str) -> tuple[int, int, datetime]:
    """Up to which offsets of the log and of snapshots the last build has found changes, and the time of the last: what
    came before that made none then makes none now. Without a build what is before everything."""
    where = Where().equal("cluster_id", cluster_id).add("log_offset IS NOT NULL")
    columns = "max(log_offset - (source = 'kraft_snapshot')::INT), max(log_offset), epoch_us(max(event_ts))"
    for day in sorted(tables.partitions(CHANGE_EVENT, cluster_id), reverse=True):
        ((log, snapshot, at),) = tables.select(columns, CHANGE_EVENT, [day], where)
        if log is not None:
            return log, snapshot, known_time(at)
    return -1, -1, EPOCH


def _records(tables: Tables, cluster_id: str) -> Iterator[Record]:
    log, snapshot, at = _built(tables, cluster_id)
    files = tables.files_since(KRAFT_RECORD, cluster_id, "record_ts", at - SKEW)
    if not files:
        return
    sql = f"""SELECT log_offset, in_snapshot, epoch_us(record_ts), record_type, payload, value_hmac FROM {FILES}
 WHERE cluster_id = ? AND log_offset > CASE WHEN in_snapshot THEN ? ELSE ? END AND {_OF_ENTITIES}
 ORDER BY in_snapshot, log_offset DESC, record_index LIMIT ?"""  # noqa: S608
    for *record, payload, hmac in tables.ask(sql, [files, cluster_id, snapshot, log, MOST]):
        yield Record._make((*record, json.loads(payload), hmac))


def _names(tables: Tables, cluster_id: str, records: Iterable[Record]) -> Names:
    """What the lake has of topics and ACLs that these records name by an id alone; `history` has no ids of ACLs."""
    names = Names(records)
    ids = {each.fields["topicId"] for each in records if each.type in TOPIC_RECORDS} - names.topics.keys()
    where = _among(cluster_id, "new_value", ids).add("entity_type = 'topic' AND attr = ':topic_id'")
    days = tables.partitions(HISTORY, cluster_id) if ids else []
    columns = "new_value, any_value(entity_key)"
    names.topics.update(tables.select(columns, HISTORY, days, where, "GROUP BY new_value"))
    ids = {each.fields["id"] for each in records if each.type in ACL_RECORDS} - names.acls.keys()
    where = _among(cluster_id, _ID, ids).add("record_type = 'AccessControlEntryRecord'")
    days = tables.partitions(KRAFT_RECORD, cluster_id) if ids else []
    made = [json.loads(payload) for (payload,) in tables.select("payload", KRAFT_RECORD, days, where)]
    names.acls.update((each["id"], acl_of(each)) for each in made)
    return names


def _state(tables: Tables, cluster_id: str, entities: Collection[Entity]) -> State:
    """What `history` has as the current values of these entities."""
    found: State = defaultdict(dict)
    where = _among(cluster_id, "entity_key", {key for _, key in entities}).add("is_current")
    days = tables.partitions(HISTORY, cluster_id) if entities else []
    columns = "entity_type, entity_key, attr, new_value, epoch_us(valid_from), is_deleted"
    for type_, key, attr, value, since, is_deleted in tables.select(columns, HISTORY, days, where):
        if (type_, key) in entities:
            # The log has an HMAC of what is hidden, and of a whole credential.
            digest = None if value is None or type_ == "scram" else sha256(value)
            found[type_, key][attr] = Value(value, digest, since, not is_deleted)
    by_hmac = {
        (*entity, attr): each
        for entity, of_entity in found.items()
        for attr, each in of_entity.items()
        if each.is_set and each.digest is None
    }
    where = _among(cluster_id, "entity_key", {key for _, key, _ in by_hmac})
    where.add("op = 'set' AND log_offset IS NOT NULL")
    days = tables.partitions(CHANGE_EVENT, cluster_id) if by_hmac else []
    columns = "entity_type, entity_key, attr, arg_max(value_sha256, log_offset)"
    for type_, key, attr, digest in tables.select(columns, CHANGE_EVENT, days, where, "GROUP BY ALL"):
        if (type_, key, attr) in by_hmac:
            found[type_, key][attr] = by_hmac[type_, key, attr]._replace(digest=digest)
    return found


def _among(cluster_id: str, column: str, texts: Iterable[str]) -> Where:
    return Where().equal("cluster_id", cluster_id).add(f"{column} IN (SELECT unnest(?))", sorted(texts))
