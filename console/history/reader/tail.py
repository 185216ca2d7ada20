"""Changes of the metadata log that were taken in after the last build: what `history` will have of them, without Spark.

Only what the records themselves say: who did it, and what differs in a snapshot, is found by the build.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.history.reader.tables import EPOCH, FILES, Change, Tables, Where, known_time
from console.history.schema import CHANGE_EVENT, HISTORY, KRAFT_RECORD
from console.history.transforms.kraft_facts import ALL, ONE_CHANGE, Entity, Fact, Names, Record, acl_of, facts

MOST = 20_000
"""Records that are read at most, those of snapshots last: without them an old value may be missing."""
SKEW = timedelta(hours=1)
"""How far the clocks of two controllers may be apart: files that are older by more are not read."""


class Value(NamedTuple):
    """What an attribute has, since when, in microseconds since 1970. digest: equal for equal values; None: unknown, as
    of what is hidden."""

    value: str | None
    digest: str | None
    since: int
    is_set: bool = True


State = dict[Entity, dict[str, Value]]
"""Attributes with their values, by entity."""


class Tail(NamedTuple):
    """changes: in their order. ended: when the value that `history` has as the current one ended, by its entity and
    attribute."""

    changes: Sequence[Change]
    ended: Mapping[tuple[str, ...], datetime]


def learned(records: Iterable[Record]) -> Names:
    """What the records name."""
    names = Names({}, {})
    for record in records:
        names.learn(record.type, record.fields)
    return names


def _missing(names: Names, records: Iterable[Record]) -> tuple[set[str], set[str]]:
    """The ids of topics and of ACLs that no record explains."""
    topics = {each.fields["topicId"] for each in records if "topicId" in each.fields}
    acls = {each.fields["id"] for each in records if each.type == "RemoveAccessControlEntryRecord"}
    return topics - names.topics.keys(), acls - names.acls.keys()


# -- changes: what sets another value than there was. Pure -------------------------------------------------------------


class Fold:
    """Records in their order, as changes. state: what was before them; it goes along."""

    def __init__(self, cluster_id: str, state: State) -> None:
        self._cluster_id = cluster_id
        self._state = state
        self._last: dict[tuple[str, ...], int] = {}
        self._runs: dict[Entity, Record] = {}
        self.changes: list[Change] = []
        self.ended: dict[tuple[str, ...], datetime] = {}

    def take(self, record: Record, found: Iterable[Fact]) -> None:
        """One more record, with its facts."""
        for fact in found:
            of_entity = self._state.setdefault(fact.entity, {})
            attrs = [fact.attr]
            if fact.attr == ALL:
                attrs = [attr for attr in of_entity if attr.startswith(":") or fact.entity[0] == "topic"]
            goes_on = False
            if fact.attr == ":partitions":
                last = self._runs.get(fact.entity)
                goes_on = last is not None and _follows(last, record)
                self._runs[fact.entity] = record
            for attr in attrs:
                self._set(record, fact._replace(attr=attr), of_entity, goes_on=goes_on)

    def _set(self, record: Record, fact: Fact, of_entity: dict[str, Value], *, goes_on: bool) -> None:
        """goes_on: it is of the change that was told last of this attribute."""
        was = of_entity.get(fact.attr, Value(None, None, -1, is_set=False))
        value = fact.value if fact.is_set else None
        digest = record.hmac or value
        if fact.is_set is was.is_set and (not fact.is_set or (digest is not None and digest == was.digest)):
            return
        key = (*fact.entity, fact.attr)
        place = self._last.get(key)
        if goes_on and place is not None:
            at = max(record.ts, was.since)
            self.changes[place] = self.changes[place]._replace(new_value=value, valid_from=known_time(at))
        else:
            at = max(record.ts, was.since + 1)
            if not record.in_snapshot:
                self._change(key, was.value if was.is_set else None, value, known_time(at), is_deleted=not fact.is_set)
        of_entity[fact.attr] = Value(value, digest, at, fact.is_set)

    def _change(
        self, key: tuple[str, ...], old: str | None, new: str | None, at: datetime, *, is_deleted: bool
    ) -> None:
        place = self._last.get(key)
        if place is None:
            self.ended[key] = at
        else:
            self.changes[place] = self.changes[place]._replace(valid_to=at, is_current=False)
        self._last[key] = len(self.changes)
        told = (self._cluster_id, *key, old, new, at, None, True, is_deleted, None, "none", "kraft_log", False)
        self.changes.append(Change._make(told))


def _follows(last: Record, record: Record) -> bool:
    """Whether both are of partitions that were created at once."""
    together = not last.in_snapshot and not record.in_snapshot and record.offset == last.offset + 1
    return together and record.ts - last.ts <= ONE_CHANGE


def folded(cluster_id: str, records: Iterable[Record], names: Names, state: State) -> Tail:
    """The changes that records make of a state."""
    fold = Fold(cluster_id, state)
    for record in records:
        names.learn(record.type, record.fields)
        fold.take(record, facts(record.type, record.fields, record.hmac, names))
    return Tail(fold.changes, fold.ended)


# -- reading -----------------------------------------------------------------------------------------------------------

_TYPES = """record_type IN ('ConfigRecord', 'ClientQuotaRecord', 'UserScramCredentialRecord', 'FeatureLevelRecord',
 'RemoveUserScramCredentialRecord', 'AccessControlEntryRecord', 'RemoveAccessControlEntryRecord', 'TopicRecord',
 'PartitionRecord', 'RemoveTopicRecord', 'RegisterBrokerRecord', 'UnregisterBrokerRecord', 'FenceBrokerRecord',
 'UnfenceBrokerRecord', 'BrokerRegistrationChangeRecord')
 OR (record_type = 'PartitionChangeRecord' AND contains(payload, '"replicas":['))"""

_ID = """regexp_extract(payload, '"id":"([^"]*)"', 1)"""


def tail(tables: Tables, cluster_id: str) -> Tail:
    """The changes of a cluster that are not built yet. Raises LakeError."""
    kept: Tail | None = tables.tails.get(cluster_id)
    if kept is None:
        kept = tables.tails[cluster_id] = _tail(tables, cluster_id)
    return kept


def _tail(tables: Tables, cluster_id: str) -> Tail:
    records = list(_records(tables, cluster_id))
    names = learned(records)
    topics, acls = _missing(names, records)
    names.topics.update(_topics(tables, cluster_id, topics))
    names.acls.update(_acls(tables, cluster_id, acls))
    touched = {fact.entity for record in records for fact in facts(record.type, record.fields, record.hmac, names)}
    return folded(cluster_id, records, names, _state(tables, cluster_id, touched))


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
    sql = f"""SELECT * FROM (
 SELECT log_offset, in_snapshot, epoch_us(record_ts), record_type, payload, value_hmac, record_index FROM {FILES}
 WHERE cluster_id = ? AND log_offset > CASE WHEN in_snapshot THEN ? ELSE ? END AND ({_TYPES})
 ORDER BY in_snapshot, log_offset DESC, record_index LIMIT ?
) ORDER BY log_offset, in_snapshot DESC, record_index"""  # noqa: S608
    for row in tables.ask(sql, [files, cluster_id, snapshot, log, MOST]):
        yield Record(*(*row[:4], json.loads(row[4]), row[5]))


def _topics(tables: Tables, cluster_id: str, ids: set[str]) -> dict[str, str]:
    where = _among(cluster_id, "new_value", ids).add("entity_type = 'topic' AND attr = ':topic_id'")
    days = tables.partitions(HISTORY, cluster_id) if ids else []
    return dict(tables.select("new_value, any_value(entity_key)", HISTORY, days, where, "GROUP BY new_value"))


def _acls(tables: Tables, cluster_id: str, ids: set[str]) -> dict[str, tuple[str, str]]:
    """What was said of ACLs when they were made; `history` does not have their ids."""
    where = _among(cluster_id, _ID, ids).add("record_type = 'AccessControlEntryRecord'")
    days = tables.partitions(KRAFT_RECORD, cluster_id) if ids else []
    made = [json.loads(payload) for (payload,) in tables.select("payload", KRAFT_RECORD, days, where)]
    return {each["id"]: acl_of(each) for each in made}


def _state(tables: Tables, cluster_id: str, entities: set[Entity]) -> State:
    """What `history` has as the current values of these entities."""
    found: State = defaultdict(dict)
    where = _among(cluster_id, "entity_key", {key for _, key in entities}).add("is_current")
    days = tables.partitions(HISTORY, cluster_id) if entities else []
    columns = "entity_type, entity_key, attr, new_value, epoch_us(valid_from), is_deleted"
    for type_, key, attr, value, since, is_deleted in tables.select(columns, HISTORY, days, where):
        if (type_, key) in entities:
            found[type_, key][attr] = Value(value, value, since, not is_deleted)
    secrets = {entity for entity, of in found.items() for each in of.values() if _is_by_hmac(entity[0], each)}
    for type_, key, attr, digest in _digests(tables, cluster_id, secrets):
        was = found.get((type_, key), {}).get(attr)
        if was is not None and _is_by_hmac(type_, was):
            found[type_, key][attr] = was._replace(digest=digest)
    return found


def _is_by_hmac(type_: str, each: Value) -> bool:
    """Whether the log has more of a value than `history`, so that its HMAC says whether it is another."""
    return each.is_set and (each.value is None or type_ == "scram")


def _digests(tables: Tables, cluster_id: str, entities: set[Entity]) -> list[tuple[str, str, str, str]]:
    """Entity, attribute, and what the log's last change of it has for an HMAC."""
    where = _among(cluster_id, "entity_key", {key for _, key in entities}).add("op = 'set' AND log_offset IS NOT NULL")
    days = tables.partitions(CHANGE_EVENT, cluster_id) if entities else []
    columns = "entity_type, entity_key, attr, arg_max(value_sha256, log_offset)"
    return tables.select(columns, CHANGE_EVENT, days, where, "GROUP BY ALL")


def _among(cluster_id: str, column: str, texts: set[str]) -> Where:
    return Where().equal("cluster_id", cluster_id).add(f"{column} IN (SELECT unnest(?))", sorted(texts))
