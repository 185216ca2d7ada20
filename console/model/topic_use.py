"""The connectors, groups and producers that use a topic, each with how certain the use is. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from console.model import connect
from console.model.authorizer import covers, grants, pattern_of
from console.model.codes import AclOperation, AclResourceType
from console.model.config import ConfigSet
from console.model.numbers import commas, json_text
from console.model.parts import Part
from console.model.record_conditions import ConditionError, condition
from console.model.schema_use import subjects_in
from console.model.snapshot import Snapshot
from console.model.subjects import topics_of
from console.model.system_topics import system_topic

READS, WRITES, KEEPS, DESCRIBES = "reads", "writes", "keeps state in", "describes"
Sure = Literal["sure", "likely", "possible"]
_ORDER = ("sure", "likely", "possible")
_TOPIC, _WRITE = AclResourceType.parse("TOPIC"), AclOperation.parse("WRITE")


class TopicUse(NamedTuple):
    """A use of a topic: the user, the kind of use, the evidence, and how certain it is."""

    what: str
    """The kind of use: `READS`, `WRITES`, `KEEPS` or `DESCRIBES`."""
    who: str
    """The user of the topic, as ``connector main/orders``, ``group billing``, ``User:etl``."""
    sure: Sure
    why: str
    """The evidence of the use, as text."""


def topic_uses(snapshot: Snapshot, topic: str) -> list[TopicUse]:
    """Return the uses of a topic that the snapshot shows, the most certain first. A user of the topic occurs once
    for each kind of use.
    """
    best: dict[tuple[str, str], TopicUse] = {}
    for use in _uses(snapshot, topic):
        before = best.get((use.what, use.who))
        if before is None or _ORDER.index(use.sure) < _ORDER.index(before.sure):
            best[use.what, use.who] = use
    return sorted(best.values(), key=lambda use: (_ORDER.index(use.sure), use.what, use.who))


def unknown_uses(snapshot: Snapshot) -> list[str]:
    """Return sentences that name the kinds of uses that the snapshot can't show; empty if it shows all."""
    lines = [
        f"Connect{' ' if each.entity else ''}{each.entity} was not read: {each.failure}"
        for each in snapshot.failures
        if each.part == Part.CONNECT
    ]
    asked = snapshot.lags.keys() & snapshot.groups.keys()
    if Part.GROUPS not in snapshot.read_at:
        lines.append("the groups were not read")
    elif len(asked) < len(snapshot.groups):
        lines.append(f"{len(asked):,} of {len(snapshot.groups):,} groups were asked: list groups topic=NAME asks all")
    if Part.ACLS not in snapshot.read_at:
        lines.append("the ACLs were not read: they show who may write")
    return [*lines, "producers without a transaction leave no sign: brokers do not say who they are"]


def _uses(snapshot: Snapshot, topic: str) -> Iterator[TopicUse]:
    if (own := system_topic(topic, groups=snapshot.groups)) is not None:
        yield TopicUse(KEEPS, own.owner, "likely", "the topic's name")
    yield from _of_connectors(snapshot, topic)
    yield from _of_groups(snapshot, topic)
    yield from _of_producers(snapshot, topic)
    yield from _of_schemas(snapshot, topic)


def _of_connectors(snapshot: Snapshot, topic: str) -> Iterator[TopicUse]:
    for cluster in snapshot.connect.values():
        for connector in cluster.connectors.values():
            resource = connect.connector_resource(cluster.name, connector.name)
            config = snapshot.configs.get(resource)
            who = f"connector {resource.name}"
            is_sink = connector.kind == connect.SINK
            what = READS if is_sink else WRITES
            if topic in connector.topics:
                yield TopicUse(what, who, "sure", f"it {'read' if is_sink else 'wrote'} the topic")
            if connect.dead_letters(config) == topic:
                yield TopicUse(WRITES, who, "sure", "its dead letters go there")
            yield from _of_sink(who, config, topic) if is_sink else _of_source(who, config, topic)


def _of_sink(who: str, config: ConfigSet | None, topic: str) -> Iterator[TopicUse]:
    if topic in connect.listed_topics(config):
        yield TopicUse(READS, who, "sure", "its config lists the topic")
    if pattern := connect.value_of(config, connect.PATTERN):
        match matches(pattern, topic):
            case True:
                yield TopicUse(READS, who, "sure", f"{connect.PATTERN} matches")
            case None:
                yield TopicUse(READS, who, "possible", f"{connect.PATTERN} may match: Java alone reads it")


def _of_source(who: str, config: ConfigSet | None, topic: str) -> Iterator[TopicUse]:
    for entry in config or ():
        if entry.is_default or not entry.value:
            continue
        if entry.value == topic and entry.name != connect.DEAD_LETTERS:
            yield TopicUse(WRITES, who, "likely", f"{entry.name} names it")
        elif entry.name == "topic.prefix" and topic.startswith(entry.value):
            yield TopicUse(WRITES, who, "likely", "topic.prefix is the beginning of its name")


def matches(pattern: str, topic: str) -> bool | None:
    """Return whether a Java regular expression matches a topic's whole name; None if only Java can decide it, for a
    pattern with look-around or back references.

    It takes linear time, since the pattern comes from a cluster.
    """
    try:
        found = condition(f"key.matches({json_text(f'^(?:{pattern})$')})").run({"key": topic})
    except ConditionError:
        return None
    except Exception:  # noqa: BLE001 the engine refuses the pattern
        return None
    return found if isinstance(found, bool) else None


def _of_groups(snapshot: Snapshot, topic: str) -> Iterator[TopicUse]:
    sinks = {
        connect.sink_group(each.name, snapshot.configs.get(resource)): resource.name
        for cluster in snapshot.connect.values()
        for each in cluster.connectors.values()
        if each.kind == connect.SINK
        for resource in [connect.connector_resource(cluster.name, each.name)]
    }
    for name in sorted({*snapshot.groups, *snapshot.lags}):
        group, lag = snapshot.groups.get(name), snapshot.lags.get(name)
        of = f", the group of connector {sinks[name]}" if name in sinks else ""
        if any(place == topic for member in (group and group.members) or () for place, _ in member.assignment):
            yield TopicUse(READS, f"group {name}", "sure", f"members have its partitions{of}")
        elif lag is not None and any(each.topic == topic and each.committed >= 0 for each in lag.partitions):
            yield TopicUse(READS, f"group {name}", "sure", f"it committed offsets, no member has it now{of}")


def _of_schemas(snapshot: Snapshot, topic: str) -> Iterator[TopicUse]:
    for name, use in subjects_in(snapshot, topic):
        versions = f", version {commas(use.versions)}" if use.versions else ""
        why = f"its ids are in {use.matching} of the {use.records} newest records, as {use.part}{versions}"
        yield TopicUse(DESCRIBES, f"schema {name}", "sure", why)
    for name, subject in snapshot.schemas.items():
        for by_name in topics_of(subject, (topic,)) if not subject.is_deleted else ():
            yield TopicUse(DESCRIBES, f"schema {name}", "likely", f"by name: {by_name.why}, {by_name.part}")


def _of_producers(snapshot: Snapshot, topic: str) -> Iterator[TopicUse]:
    for place, poll in snapshot.transactions.items():
        if place[0] == topic:
            for each in poll.at(*place):
                known = poll.by_producer.get(each.producer.id)
                name = f"transactional id {known.id}" if known is not None else f"producer {each.producer.id}"
                yield TopicUse(WRITES, name, "sure", "its transaction is open there")
    for acl in snapshot.acls:
        if acl.permission.name == "ALLOW" and grants(acl, _WRITE) and covers(pattern_of(acl), _TOPIC, topic):
            yield TopicUse(WRITES, acl.principal, "possible", "an ACL lets it write")
