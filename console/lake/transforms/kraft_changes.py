"""Facts in records of the metadata log, each an attribute of one entity that is set or deleted; and the changes that
follow from these facts. Pure.

A record of the log is a change. A snapshot has the state: it shows a change only if the log and the snapshots before it
lead to another state, which means that a part of the log is missing. Both kinds of change follow from two consecutive
facts of an attribute. Snapshots divide the log into epochs, from 0 before the first snapshot; so the difference between
the epochs of two consecutive facts is the number of snapshots between them that lack the attribute.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from console.lake import entities
from console.lake.redact import HIDDEN

Entity = tuple[str, str]
"""Type and key of an entity, in the spelling of `console.lake.entities`."""
TOPIC_RECORDS = ("TopicRecord", "PartitionRecord", "PartitionChangeRecord", "RemoveTopicRecord")
ACL_RECORDS = ("AccessControlEntryRecord", "RemoveAccessControlEntryRecord")
BROKER_RECORDS = (
    "RegisterBrokerRecord",
    "UnregisterBrokerRecord",
    "BrokerRegistrationChangeRecord",
    "FenceBrokerRecord",
    "UnfenceBrokerRecord",
)
OTHER_RECORDS = (
    "ConfigRecord",
    "ClientQuotaRecord",
    "UserScramCredentialRecord",
    "RemoveUserScramCredentialRecord",
    "FeatureLevelRecord",
    *BROKER_RECORDS,
)
_OF_TOPIC = (":topic_id", ":partitions", ":replication")
_OF_BROKER = (":endpoints", ":rack", ":fenced")


# -- one record ------------------------------------------------------------------------------------------------------


class Fact(NamedTuple):
    """An attribute that a record sets or deletes."""

    entity: Entity
    attr: str
    value: str | None = None
    """The value; None if hidden."""
    is_set: bool = True
    told: bool = True
    """Whether the record names the attribute; False if it deletes the attribute without naming it."""


class Names:
    """The names that belong to ids in records: of topics by id, and of ACLs by id, as key and attribute."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.topics: dict[str, str] = {}
        self.acls: dict[str, tuple[str, str]] = {}
        for record in records:
            if record.type == "TopicRecord":
                self.topics[record.fields["topicId"]] = record.fields["name"]
            elif record.type == "AccessControlEntryRecord":
                self.acls[record.fields["id"]] = entities.acl_of(record.fields)


def facts(type_: str, f: Mapping[str, Any], hmac: str | None, names: Names) -> Iterator[Fact]:
    """Yield the facts in a record; no facts if the name of its topic or ACL is unknown.

    Args:
        type_: the record's type.
        f: the record's fields.
        hmac: the HMAC of its hidden value; None if no value is hidden.
    """
    match type_:
        case "ConfigRecord":
            of = entities.named(entities.CONFIG_TYPES, f["resourceType"])
            value = None if hmac is not None or f["value"] == HIDDEN else f["value"]
            yield Fact((of, entities.config_key(of, f["resourceName"])), f["name"], value, f["value"] is not None)
        case "ClientQuotaRecord":
            key = entities.quota_key({each["entityType"]: each["entityName"] for each in f["entity"]})
            yield Fact(("quota", key), f["key"], entities.quota_value(float(f["value"])), not f["remove"])
        case "UserScramCredentialRecord":
            yield Fact(
                ("scram", f["name"]),
                entities.named(entities.MECHANISMS, f["mechanism"]),
                entities.scram_value(f["iterations"]),
            )
        case "RemoveUserScramCredentialRecord":
            yield Fact(("scram", f["name"]), entities.named(entities.MECHANISMS, f["mechanism"]), is_set=False)
        case "FeatureLevelRecord":
            yield Fact(("feature", f["name"]), ":level", str(f["featureLevel"]), f["featureLevel"] > 0)
        case "AccessControlEntryRecord" | "RemoveAccessControlEntryRecord" if f["id"] in names.acls:
            upon, attr = names.acls[f["id"]]
            yield Fact(("acl", upon), attr, entities.ACL_SET, not type_.startswith("Remove"))
        case _ if type_ in TOPIC_RECORDS:
            if f["topicId"] in names.topics:
                yield from _of_topic(type_, ("topic", names.topics[f["topicId"]]), f)
        case _:
            yield from _of_broker(type_, ("broker", str(f.get("brokerId", f.get("id")))), f)


def _of_topic(type_: str, topic: Entity, f: Mapping[str, Any]) -> Iterator[Fact]:
    if type_ == "TopicRecord":
        yield Fact(topic, ":topic_id", f["topicId"])
    elif type_ == "PartitionRecord":
        yield Fact(topic, ":partitions", str(f["partitionId"] + 1))
    if f.get("partitionId") == 0 and f.get("replicas") is not None:
        # The first partition determines a topic's replication, without the replicas that a reassignment will remove.
        yield Fact(topic, ":replication", str(len(f["replicas"]) - len(f.get("removingReplicas") or ())))


def _of_broker(type_: str, broker: Entity, f: Mapping[str, Any]) -> Iterator[Fact]:
    match type_:
        case "RegisterBrokerRecord":
            shown = sorted(f"{each['name']}://{each['host']}:{each['port']}" for each in f["endPoints"])
            yield Fact(broker, ":endpoints", ",".join(shown))
            yield Fact(broker, ":rack", f.get("rack"), f.get("rack") is not None, told=False)
            yield Fact(broker, ":fenced", str(f["fenced"]).lower())
        case "UnregisterBrokerRecord":
            for attr in _OF_BROKER:
                yield Fact(broker, attr, is_set=False, told=attr == _OF_BROKER[0])
        case "FenceBrokerRecord" | "UnfenceBrokerRecord":
            yield Fact(broker, ":fenced", str(type_.startswith("Fence")).lower())
        case "BrokerRegistrationChangeRecord" if f.get("fenced"):  # 1: fenced, -1: no longer fenced, 0: unchanged
            yield Fact(broker, ":fenced", str(f["fenced"] > 0).lower())


# -- all records of entities -----------------------------------------------------------------------------------------


class Record(NamedTuple):
    """A row of `kraft_record` without the columns that changes do not need."""

    offset: int
    in_snapshot: bool
    ts: int
    """The record's time, microseconds since 1970."""
    type: str
    fields: Mapping[str, Any]
    hmac: str | None
    """The HMAC of its hidden value; None if no value is hidden."""


class Placed(NamedTuple):
    """A fact of an entity, with its position in the log: `offset`, `in_snapshot` and `ts`, the record's time in
    microseconds since 1970. `value` is None if it is hidden or deleted; `told` is as in `Fact`.
    """

    attr: str
    is_set: bool
    value: str | None
    digest: str | None
    """The SHA-256 of the value, or the HMAC of a hidden one; None if neither is known."""
    told: bool
    offset: int
    in_snapshot: bool
    ts: int


@lru_cache(1 << 16)
def sha256(value: str) -> str:
    """Return the SHA-256 of a text's UTF-8, in hex."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def placed_facts(records: Sequence[Record]) -> dict[Entity, list[Placed]]:
    """Return entity -> the facts in these records; topics and ACLs whose names are in no record are left out.

    Args:
        records: the records in any order.
    """
    names = Names(records)
    topics: dict[str, list[Record]] = defaultdict(list)
    found: dict[Entity, list[Placed]] = defaultdict(list)
    for record in records:
        if record.type in TOPIC_RECORDS:
            topics[record.fields["topicId"]].append(record)
        else:
            _place(record, names, found)
    for topic_id, of_topic in topics.items():
        if topic_id in names.topics:
            made = found["topic", names.topics[topic_id]]
            made += list(_topic_facts(of_topic, names, {each.attr for each in made if not each.attr.startswith(":")}))
    return found


def _place(record: Record, names: Names, found: dict[Entity, list[Placed]]) -> None:
    for entity, attr, value, is_set, told in facts(record.type, record.fields, record.hmac, names):
        if is_set:
            digest = record.hmac or (None if value is None else sha256(value))
            found[entity].append(Placed(attr, True, value, digest, told, record.offset, record.in_snapshot, record.ts))
        elif not record.in_snapshot:
            found[entity].append(Placed(attr, False, None, None, told, record.offset, False, record.ts))


# -- partitions of a topic that were created together ------------------------------------------------------------------

ONE_CHANGE = 1_000_000
"""Maximum time in microseconds between consecutive records that belong to one change."""


def _topic_facts(records: Iterable[Record], names: Names, configs: Iterable[str]) -> Iterator[Placed]:
    """Yield the facts from the records about one topic id.

    Args:
        configs: the configs that the topic ever had: the deletion of the topic deletes each of them.
    """
    ordered = sorted(records, key=lambda each: (each.in_snapshot, each.offset, each.type))
    values: dict[str, str] = {}
    for record, then in zip(ordered, [*ordered[1:], None], strict=True):
        where = (record.offset, record.in_snapshot, record.ts)
        if record.type == "RemoveTopicRecord":
            for attr in (*_OF_TOPIC, *sorted(configs)):
                yield Placed(attr, False, None, None, attr == _OF_TOPIC[0], *where)
            continue
        for fact in facts(record.type, record.fields, None, names):
            value = fact.value or ""
            if fact.attr not in values or int(value) > int(values[fact.attr]):
                values[fact.attr] = value
        if then is None or not _at_once(record, then):
            for attr, value in values.items():
                yield Placed(attr, True, value, sha256(value), True, *where)
            values = {}


def _at_once(record: Record, then: Record) -> bool:
    """Return whether two consecutive records are about partitions that were created together, at most a second
    (`ONE_CHANGE`) apart: `_topic_facts` then yields the facts of both only once, with the later record. In a
    snapshot, all partition records of a topic belong together.
    """
    if not record.type == then.type == "PartitionRecord" or record.in_snapshot is not then.in_snapshot:
        return False
    if record.in_snapshot:
        return then.offset == record.offset
    return then.offset == record.offset + 1 and then.ts // 1000 - record.ts // 1000 <= ONE_CHANGE // 1000


# -- changes ---------------------------------------------------------------------------------------------------------

SINCE_BEFORE = -1
"""The uncertainty of the values in the first poll of a cluster: they were set before it, at an unknown time."""
FIRST_OFFSETS = 10
"""A log with a record below this offset is complete from its beginning: before it are only the control records of its
first leader.
"""


class Event(NamedTuple):
    """A row of `change_event` (`schema.CHANGE_EVENT` documents its columns); times are microseconds since 1970. None
    stands for an empty column.
    """

    cluster_id: str
    event_ts: int
    ts_uncertainty_ms: int
    log_offset: int | None
    entity_type: str
    entity_key: str
    attr: str
    op: str
    value: str | None
    value_sha256: str | None
    source: str
    principal: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    attribution: str = "none"


class Epochs:
    """The snapshots of a cluster's log, and whether the log is complete from its beginning.

    Attributes:
        snapshots: end offset of a snapshot -> its time, microseconds since 1970.
        first: the first offset of the log's records; None if it has no record.
    """

    def __init__(self, snapshots: Mapping[int, int], first: int | None) -> None:
        self._offsets = sorted(snapshots)
        self._times = [None, *(snapshots[each] for each in self._offsets)]
        self.from_beginning = first is not None and first < FIRST_OFFSETS

    def of(self, fact: Placed) -> int:
        """Return the epoch of a fact; facts of a snapshot belong to the epoch that begins with it. A snapshot ends
        before its offset, so it comes before the record of the log with that offset.
        """
        return bisect_right(self._offsets, fact.offset)

    def began(self, epoch: int) -> int | None:
        """Return the time of the snapshot that begins an epoch; None if no snapshot does, or the epoch does not
        exist.
        """
        return self._times[epoch] if 0 <= epoch < len(self._times) else None

    def then(self, epoch: int) -> tuple[int, int] | None:
        """Return time and offset of the snapshot that ends an epoch; None if it is the last one."""
        time = self.began(epoch + 1)
        return None if time is None else (time, self._offsets[epoch])


def kraft_changes(cluster_id: str, entity: Entity, facts: Iterable[Placed], epochs: Epochs) -> Iterator[Event]:
    """Yield the changes of an entity that follow from its facts, without their authors."""
    by_attr: dict[str, list[tuple[int, bool, int, Placed]]] = defaultdict(list)
    for fact in facts:
        by_attr[fact.attr].append((epochs.of(fact), not fact.in_snapshot, fact.offset, fact))
    for attr, placed in by_attr.items():
        placed.sort(key=lambda each: each[:3])
        last: tuple[int, Placed] | None = None
        for place, (epoch, _, _, fact) in enumerate(placed):
            told = _own_change(epoch, fact, last, epochs)
            if told is not None:
                source, since = told
                value, digest = (fact.value, fact.digest) if fact.is_set else (None, None)
                op = "set" if fact.is_set else "delete"
                yield Event(
                    *(cluster_id, fact.ts, since, fact.offset, *entity, attr, op, value, digest, source),
                )
            end = epochs.then(epoch) if fact.is_set else None
            if end is not None:
                following = placed[place + 1] if place + 1 < len(placed) else None
                # The next snapshot lacks the fact's attribute, and no record deletes it.
                if following is None or following[0] - epoch - following[3].in_snapshot > 0:
                    since = _ms_since(end[0], fact.ts, epochs.began(epoch))
                    yield Event(
                        *(cluster_id, end[0], since, end[1], *entity, attr, "delete", None, None, "kraft_snapshot"),
                    )
            last = epoch, fact


def _own_change(epoch: int, fact: Placed, last: tuple[int, Placed] | None, epochs: Epochs) -> tuple[str, int] | None:
    """Return the source and the uncertainty (milliseconds) of the change that a fact makes; None if it makes no change.

    Args:
        epoch: the epoch of the fact.
        last: the epoch and the fact before it; None for the first fact of the attribute.
    """
    was_set = last is not None and last[1].is_set and epoch - last[0] - fact.in_snapshot == 0
    if not fact.in_snapshot:
        nothing_known = last is None and epoch == 0 and not epochs.from_beginning
        return ("kraft_log", 0) if fact.is_set or was_set or (fact.told and nothing_known) else None
    if last is not None and was_set and fact.digest == last[1].digest:
        return None
    return "kraft_snapshot", _ms_since(fact.ts, None if last is None else last[1].ts, epochs.began(epoch - 1))


def _ms_since(then: int, *known: int | None) -> int:
    """Return the milliseconds from the latest of these times to `then`; `SINCE_BEFORE` (-1) if all are None."""
    times = [each // 1000 for each in known if each is not None]
    return max(0, then // 1000 - max(times)) if times else SINCE_BEFORE
