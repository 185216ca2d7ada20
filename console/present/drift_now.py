"""Present drift, found without a lake: between brokers, and between the cluster and its state when the console
began.
"""

from __future__ import annotations

from collections.abc import Mapping

from console.lake import entities
from console.lake.reader import Drifted
from console.model.acl import Acl
from console.model.broker_matrix import BrokerRow, broker_matrix
from console.model.codes import DEFAULT_CONFIG
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, broker_resource
from console.model.drift_rules import severity_of
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.model.unordered import differ
from console.present.lake import REDACTED
from console.present.names import resource_word
from console.triage.config_changes import HIDDEN
from console.triage.events import Event, Kind, Place, Record

_RANKS = {"high": 0, "medium": 1, "low": 2}


def brokers_now(snapshot: Snapshot) -> list[Drifted]:
    """Return, for each broker, the config values that differ from the majority's, the severest first. Only brokers
    whose configs were read are compared.

    Keys whose values naturally differ, such as the broker's id, are left out. A broker that does not override the key
    has the value None.
    """
    sets: dict[int, ConfigSet] = {}
    for broker in snapshot.cluster.brokers:
        if (found := snapshot.configs.get(broker_resource(broker.id))) is not None:
            sets[broker.id] = found
    rows = [row for row in broker_matrix(sets) if row.odd]
    cluster = snapshot.cluster.cluster_id or ""
    found_rows = [
        Drifted(
            cluster,
            "broker",
            f"broker:{broker}",
            row.key,
            _majority(row),
            _text(row.values[broker]),
            len(row.values),
            len(row.odd),
            None,
            severity_of("broker", row.key),
        )
        for row in rows
        for broker in sorted(row.odd)
    ]
    # Sort by number: as text, 10 would come before 2.
    return sorted(found_rows, key=lambda each: (_RANKS[each.severity], each.attr, int(each.entity[1])))


def _majority(row: BrokerRow) -> str | None:
    return next(_text(entry) for broker, entry in row.values.items() if broker not in row.odd)


def _text(entry: ConfigEntry | None) -> str | None:
    if entry is None or entry.source == DEFAULT_CONFIG:
        return None
    return REDACTED if entry.hidden else entry.value


def since_start(record: Record, cluster: str) -> list[Drifted]:
    """Return the configs, quotas and ACLs whose values differ from those at the start of the record, the severest
    first. A hidden value that was set again is included, because kac can't compare it.

    Args:
        record: the events since the console began.
        cluster: the id of the cluster, for the rows.
    """
    first: dict[Place, str | None] = {}
    last: dict[Place, Event] = {}
    # The record has the latest event first, but the value before the earliest event counts.
    for event in reversed(record.events):
        if event.kind in (Kind.CONFIG, Kind.QUOTA, Kind.ACL):
            for place in event.places:
                first.setdefault(place, event.was)
                last[place] = event
    found = [
        _since_start(place, first[place], event, cluster)
        for place, event in last.items()
        # Keep hidden values, which can't be compared: kac only knows that the value was set again.
        if differ(place.key, first[place], event.became) or event.became == HIDDEN
    ]
    return sorted(found, key=lambda each: (_RANKS[each.severity], each.entity_key, each.attr))


def _since_start(place: Place, was: str | None, event: Event, cluster: str) -> Drifted:
    type_, key, attr = _named(place)
    values: Mapping[str | None, str | None] = {HIDDEN: REDACTED}
    majority, this = (values.get(value, value) for value in (was, event.became))
    return Drifted(
        cluster, "baseline", f"{type_}:{key}", attr, majority, this, 1, 1, event.until, severity_of(type_, attr)
    )


def _named(place: Place) -> tuple[str, str, str]:
    """Return the type, key and attribute by which the lake identifies the place of an event."""
    match place.about:
        case ConfigResource():
            type_ = resource_word(place.about.type)
            return type_, entities.config_key(type_, place.about.name), place.key
        case QuotaEntity():
            return "quota", entities.quota_key(place.about.as_dict()), place.key
        case Acl(resource_type=resource, resource_name=name, pattern_type=pattern):
            attr = entities.acl_attr(
                place.about.permission.name, place.about.operation.name, place.about.principal, place.about.host
            )
            return "acl", entities.acl_key(resource.name, pattern.name, name), attr
        case _:
            raise AssertionError(place)
