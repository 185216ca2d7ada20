"""Changes of the metadata log that were taken in after the last build: what `history` will have of them, without Spark.

Only what the records themselves say: who did it, and what differs in a snapshot, is found by the build.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from console.history.reader.tables import FILES, Change, Tables, known_time
from console.history.schema import CHANGE_EVENT, HISTORY, KRAFT_RECORD
from console.history.transforms.kraft_facts import ALL, Fact, Names, acl_of, facts

MOST = 20_000
"""Records that are read at most, those of snapshots last: without them an old value may be missing."""
ONE_CHANGE = timedelta(seconds=1)
"""How far the records of one topic's partitions may be apart, as `transforms.kraft_facts` has it."""
SKEW = timedelta(hours=1)
"""How far the clocks of two controllers may be apart: files that are older by more are not read."""
_MICROSECOND = timedelta(microseconds=1)


class Record(NamedTuple):
    """A row of `kraft_record`. hmac: of its hidden value."""

    offset: int
    in_snapshot: bool
    at: datetime
    type: str
    fields: Mapping[str, Any]
    hmac: str | None


class Value(NamedTuple):
    """What an attribute has, since when. digest: equal for equal values; None: unknown, as of what is hidden."""

    value: str | None
    digest: str | None
    since: datetime
    is_set: bool = True


State = dict[tuple[str, str], dict[str, Value]]
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
        self._runs: dict[tuple[str, str], Record] = {}
        self.changes: list[Change] = []
        self.ended: dict[tuple[str, ...], datetime] = {}

    def take(self, record: Record, found: Iterable[Fact]) -> None:
        """One more record, with its facts."""
        for fact in found:
            of_entity = self._state.setdefault(fact.entity, {})
            if fact.attr == ALL:
                gone = [attr for attr in of_entity if attr.startswith(":") or fact.entity[0] == "topic"]
                for attr in gone:
                    self._set(record, fact._replace(attr=attr), of_entity, goes_on=False)
                continue
            goes_on = False
            if fact.attr == ":partitions":
                last = self._runs.get(fact.entity)
                goes_on = last is not None and _follows(last, record)
                self._runs[fact.entity] = record
            self._set(record, fact, of_entity, goes_on=goes_on)

    def _set(self, record: Record, fact: Fact, of_entity: dict[str, Value], *, goes_on: bool) -> None:
        """goes_on: it is of the change that was told last of this attribute."""
        was = of_entity.get(fact.attr)
        was_set = was is not None and was.is_set
        value = fact.value if fact.is_set else None
        digest = record.hmac or value
        if not fact.is_set and not was_set:
            return
        if fact.is_set and was is not None and was_set and digest is not None and digest == was.digest:
            return
        at = record.at if was is None else max(record.at, was.since + _MICROSECOND)
        key = (*fact.entity, fact.attr)
        place = self._last.get(key)
        if goes_on and place is not None:
            at = max(record.at, self.changes[place].valid_from)
            self.changes[place] = self.changes[place]._replace(new_value=value, valid_from=at)
        elif not record.in_snapshot:
            if place is not None:
                self.changes[place] = self.changes[place]._replace(valid_to=at, is_current=False)
            else:
                self.ended[key] = at
            old = was.value if was is not None and was_set else None
            self._last[key] = len(self.changes)
            self.changes.append(
                Change(
                    *(self._cluster_id, *key, old, value, at, None, True, not fact.is_set),
                    *(None, "none", "kraft_log", False),
                )
            )
        of_entity[fact.attr] = Value(value, digest, at, fact.is_set)


def _follows(last: Record, record: Record) -> bool:
    """Whether both are of partitions that were created at once."""
    together = not last.in_snapshot and not record.in_snapshot and record.offset == last.offset + 1
    return together and record.at - last.at <= ONE_CHANGE


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


def _built(tables: Tables, cluster_id: str) -> tuple[int, int, datetime] | None:
    """Up to which offsets of the log and of snapshots the last build has found changes, and the time of the last: what
    came before that made none then makes none now. None: there was no build."""
    days = sorted(tables.partitions(CHANGE_EVENT, cluster_id), reverse=True)
    sql = f"""SELECT max(log_offset - (source = 'kraft_snapshot')::INT), max(log_offset), epoch_us(max(event_ts))
 FROM {FILES} WHERE cluster_id = ? AND log_offset IS NOT NULL"""  # noqa: S608
    for day in days:
        ((log, snapshot, at),) = tables.ask(sql, [tables.files(CHANGE_EVENT, [day]), cluster_id])
        if log is not None:
            return log, snapshot, known_time(at)
    return None


def _records(tables: Tables, cluster_id: str) -> Iterator[Record]:
    built = _built(tables, cluster_id)
    log, snapshot, at = built or (-1, -1, datetime.min.replace(tzinfo=timezone.utc) + SKEW)
    files = tables.files_since(KRAFT_RECORD, cluster_id, "record_ts", at - SKEW)
    if not files:
        return
    sql = f"""SELECT * FROM (
 SELECT log_offset, in_snapshot, epoch_us(record_ts), record_type, payload, value_hmac, record_index FROM {FILES}
 WHERE cluster_id = ? AND log_offset > CASE WHEN in_snapshot THEN ? ELSE ? END AND ({_TYPES})
 ORDER BY in_snapshot, log_offset DESC, record_index LIMIT ?
) ORDER BY log_offset, in_snapshot DESC, record_index"""  # noqa: S608
    for offset, in_snapshot, stamp, type_, payload, hmac, _ in tables.ask(
        sql, [files, cluster_id, snapshot, log, MOST]
    ):
        yield Record(offset, in_snapshot, known_time(stamp), type_, json.loads(payload), hmac)


def _topics(tables: Tables, cluster_id: str, ids: set[str]) -> dict[str, str]:
    files = tables.files(HISTORY, tables.partitions(HISTORY, cluster_id)) if ids else []
    if not files:
        return {}
    sql = f"""SELECT new_value, any_value(entity_key) FROM {FILES} JOIN (SELECT unnest(?) AS id) ON new_value = id
 WHERE cluster_id = ? AND entity_type = 'topic' AND attr = ':topic_id' GROUP BY new_value"""  # noqa: S608
    return dict(tables.ask(sql, [files, sorted(ids), cluster_id]))


def _acls(tables: Tables, cluster_id: str, ids: set[str]) -> dict[str, tuple[str, str]]:
    """What was said of ACLs when they were made; `history` does not have their ids."""
    files = tables.files(KRAFT_RECORD, tables.partitions(KRAFT_RECORD, cluster_id)) if ids else []
    if not files:
        return {}
    sql = f"""SELECT payload FROM {FILES} JOIN (SELECT unnest(?) AS id) ON {_ID} = id
 WHERE cluster_id = ? AND record_type = 'AccessControlEntryRecord'"""  # noqa: S608
    made = [json.loads(payload) for (payload,) in tables.ask(sql, [files, sorted(ids), cluster_id])]
    return {each["id"]: acl_of(each) for each in made}


def _state(tables: Tables, cluster_id: str, entities: set[tuple[str, str]]) -> State:
    """What `history` has as the current values of these entities."""
    found: State = defaultdict(dict)
    files = tables.files(HISTORY, tables.partitions(HISTORY, cluster_id)) if entities else []
    if files:
        sql = f"""SELECT entity_type, entity_key, attr, new_value, epoch_us(valid_from), is_deleted FROM {FILES}
 JOIN (SELECT DISTINCT unnest(?) AS key) ON entity_key = key WHERE cluster_id = ? AND is_current"""  # noqa: S608
        keys = [key for _, key in entities]
        for type_, key, attr, value, since, is_deleted in tables.ask(sql, [files, keys, cluster_id]):
            if (type_, key) in entities:
                found[type_, key][attr] = Value(value, value, known_time(since), not is_deleted)
    secrets = {entity for entity, of in found.items() for each in of.values() if _is_by_hmac(entity[0], each)}
    for type_, key, attr, digest in _digests(tables, cluster_id, secrets):
        was = found.get((type_, key), {}).get(attr)
        if was is not None and _is_by_hmac(type_, was):
            found[type_, key][attr] = was._replace(digest=digest)
    return found


def _is_by_hmac(type_: str, each: Value) -> bool:
    """Whether the log has more of a value than `history`, so that its HMAC says whether it is another."""
    return each.is_set and (each.value is None or type_ == "scram")


def _digests(tables: Tables, cluster_id: str, entities: set[tuple[str, str]]) -> list[tuple[str, str, str, str]]:
    """Entity, attribute, and what the log's last change of it has for an HMAC."""
    files = tables.files(CHANGE_EVENT, tables.partitions(CHANGE_EVENT, cluster_id)) if entities else []
    sql = f"""SELECT entity_type, entity_key, attr, arg_max(value_sha256, log_offset) FROM {FILES}
 JOIN (SELECT DISTINCT unnest(?) AS key) ON entity_key = key
 WHERE cluster_id = ? AND op = 'set' AND log_offset IS NOT NULL GROUP BY ALL"""  # noqa: S608
    return tables.ask(sql, [files, [key for _, key in entities], cluster_id]) if files else []
