"""What metadata records set and delete: facts, each of one attribute of one entity. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from console.history.entities import (
    ACL_SET,
    CONFIG_TYPES,
    MECHANISMS,
    acl_attr,
    acl_key,
    config_key,
    named,
    quota_key,
    quota_value,
    scram_value,
)
from console.history.redact import HIDDEN
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

Entity = tuple[str, str]
"""Type and key, as `console.history.entities` spells them."""
ALL = ""
"""As an attribute: all attributes of an entity that is deleted."""
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
    """What a record sets, or deletes. value: None if hidden. told: false if the record deletes an attribute that it
    does not name."""

    entity: Entity
    attr: str
    value: str | None = None
    is_set: bool = True
    told: bool = True


class Names:
    """What records name by an id alone: topics, and ACLs with their key and attribute."""

    def __init__(self, topics: Mapping[str, str], acls: Mapping[str, tuple[str, str]]) -> None:
        self.topics = dict(topics)
        self.acls = dict(acls)

    def learn(self, type_: str, f: Mapping[str, Any]) -> None:
        """Takes what a record names."""
        if type_ == "TopicRecord":
            self.topics[f["topicId"]] = f["name"]
        elif type_ == "AccessControlEntryRecord":
            self.acls[f["id"]] = acl_of(f)


def acl_of(f: Mapping[str, Any]) -> tuple[str, str]:
    """Key and attribute of an ACL, from the fields of its record."""
    upon = named(AclResourceType.NAMES, f["resourceType"]), named(PatternType.NAMES, f["patternType"])
    what = named(Permission.NAMES, f["permissionType"]), named(AclOperation.NAMES, f["operation"])
    return acl_key(*upon, f["resourceName"]), acl_attr(*what, f["principal"], f["host"])


def facts(type_: str, f: Mapping[str, Any], hmac: str | None, names: Names) -> Iterator[Fact]:
    """What a record sets and deletes; nothing where a name is unknown. hmac: of its hidden value."""
    match type_:
        case "ConfigRecord":
            of = named(CONFIG_TYPES, f["resourceType"])
            value = None if hmac is not None or f["value"] == HIDDEN else f["value"]
            yield Fact((of, config_key(of, f["resourceName"])), f["name"], value, f["value"] is not None)
        case "ClientQuotaRecord":
            key = quota_key({each["entityType"]: each["entityName"] for each in f["entity"]})
            yield Fact(("quota", key), f["key"], quota_value(float(f["value"])), not f["remove"])
        case "UserScramCredentialRecord":
            yield Fact(("scram", f["name"]), named(MECHANISMS, f["mechanism"]), scram_value(f["iterations"]))
        case "RemoveUserScramCredentialRecord":
            yield Fact(("scram", f["name"]), named(MECHANISMS, f["mechanism"]), is_set=False)
        case "FeatureLevelRecord":
            yield Fact(("feature", f["name"]), ":level", str(f["featureLevel"]), f["featureLevel"] > 0)
        case "AccessControlEntryRecord" | "RemoveAccessControlEntryRecord" if f["id"] in names.acls:
            upon, attr = names.acls[f["id"]]
            yield Fact(("acl", upon), attr, ACL_SET, not type_.startswith("Remove"))
        case _ if type_ in TOPIC_RECORDS:
            if f["topicId"] in names.topics:
                yield from _of_topic(type_, ("topic", names.topics[f["topicId"]]), f)
        case _:
            yield from _of_broker(type_, ("broker", str(f.get("brokerId", f.get("id")))), f)


def _of_topic(type_: str, topic: Entity, f: Mapping[str, Any]) -> Iterator[Fact]:
    if type_ == "TopicRecord":
        yield Fact(topic, ":topic_id", f["topicId"])
    elif type_ == "RemoveTopicRecord":
        yield Fact(topic, ALL, is_set=False)
    elif type_ == "PartitionRecord":
        yield Fact(topic, ":partitions", str(f["partitionId"] + 1))
    if f.get("partitionId") == 0 and f.get("replicas") is not None:
        # A topic's replication is that of its first partition, without the replicas that a reassignment will remove.
        yield Fact(topic, ":replication", str(len(f["replicas"]) - len(f.get("removingReplicas") or ())))


def _of_broker(type_: str, broker: Entity, f: Mapping[str, Any]) -> Iterator[Fact]:
    match type_:
        case "RegisterBrokerRecord":
            shown = sorted(f"{each['name']}://{each['host']}:{each['port']}" for each in f["endPoints"])
            yield Fact(broker, ":endpoints", ",".join(shown))
            yield Fact(broker, ":rack", f.get("rack"), f.get("rack") is not None, told=False)
            yield Fact(broker, ":fenced", str(f["fenced"]).lower())
        case "UnregisterBrokerRecord":
            yield Fact(broker, ALL, is_set=False)
        case "FenceBrokerRecord" | "UnfenceBrokerRecord":
            yield Fact(broker, ":fenced", str(type_.startswith("Fence")).lower())
        case "BrokerRegistrationChangeRecord" if f.get("fenced"):  # 1: fenced, -1: no longer, 0: unchanged
            yield Fact(broker, ":fenced", str(f["fenced"] > 0).lower())


# -- all records of entities -----------------------------------------------------------------------------------------


class Record(NamedTuple):
    """A row of `kraft_record`. ts: microseconds since 1970. hmac: of its hidden value."""

    offset: int
    in_snapshot: bool
    ts: int
    type: str
    fields: Mapping[str, Any]
    hmac: str | None


class Placed(NamedTuple):
    """A fact of an entity, with its place in the log. digest: SHA-256 of the value, or the HMAC of a hidden one."""

    attr: str
    is_set: bool
    value: str | None
    digest: str | None
    told: bool
    offset: int
    in_snapshot: bool
    ts: int


@lru_cache(1 << 16)
def sha256(value: str) -> str:
    """SHA-256 in hex of a text's UTF-8."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def names_of(records: Iterable[Record]) -> Names:
    """What records name."""
    names = Names({}, {})
    for record in records:
        names.learn(record.type, record.fields)
    return names


def placed_facts(records: Sequence[Record], names: Names | None = None) -> dict[Entity, list[Placed]]:
    """The facts of records, by entity. records: in any order. names: None: all that name an id are among the records.
    Topics and ACLs of unknown name are left out."""
    names = names_of(records) if names is None else names
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
        if not is_set and record.in_snapshot:
            continue
        where = (record.offset, record.in_snapshot, record.ts)
        for name in _OF_BROKER if attr == ALL else (attr,):
            known = told if attr != ALL else name == _OF_BROKER[0]
            shown = value if is_set else None
            digest = record.hmac or (None if shown is None else sha256(shown)) if is_set else None
            found[entity].append(Placed(name, is_set, shown, digest, known, *where))


# -- partitions of a topic that were created at once -----------------------------------------------------------------

ONE_CHANGE = 1_000_000
"""How many microseconds the records of one change, next to each other in the log, may be apart."""


def _topic_facts(records: Iterable[Record], names: Names, configs: Iterable[str]) -> Iterator[Placed]:
    """Facts of the records of one topic id. configs: all that the topic ever had: a deletion deletes each of them; if
    it was deleted before, nothing changes."""
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
    """Whether both are of partitions that were created at once, though the clock went on: the last one has the values
    of all. All of a snapshot are at once."""
    if not record.type == then.type == "PartitionRecord" or record.in_snapshot is not then.in_snapshot:
        return False
    if record.in_snapshot:
        return then.offset == record.offset
    return then.offset == record.offset + 1 and then.ts // 1000 - record.ts // 1000 <= ONE_CHANGE // 1000
