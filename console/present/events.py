"""Events as text: rows of the screen, lines of a terminal, and the fields of JSON output."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby

from console.model import changes
from console.model.acl import Acl
from console.model.codes import BROKER, GROUP
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.numbers import Data
from console.model.quota import QuotaEntity
from console.plan.amounts import quota
from console.present import columns, names
from console.present.names import HIDDEN, NOTHING, plural
from console.present.text import Line, clean
from console.present.triage import WORDS
from console.present.values import config_value, human_or_text, with_unit
from console.triage import events as triage_events
from console.triage.config_changes import HIDDEN as UNTOLD

NOT_KAC = "not kac"
"""Text in place of the author of a change that is not in this host's journal."""
MOST_NAMED = 8
"""Maximum number of places (entities or partitions) in the details of an event."""

GROUPS: tuple[tuple[str, frozenset[triage_events.Kind]], ...] = (
    ("all kinds", frozenset(triage_events.Kind)),
    *((name, frozenset(kinds)) for name, kinds in groupby(triage_events.Kind, lambda kind: kind.about.shown_with)),
)
"""Name of a group of events, as the breadcrumbs show it -> the kinds of events in it."""


def what_text(event: triage_events.Event) -> str:
    """Return what changed in an event: ``broker 3``, ``topic audit retention.ms``, ``broker 2 ISR, stock (3
    partitions)``.
    """
    place, many = event.place, event.units > 1
    match place.kind:
        case triage_events.Kind.LEADER:
            return f"leader of {_partitions(event)}"
        case triage_events.Kind.ISR:
            return f"broker {place.key} ISR, {_partitions(event)}"
        case triage_events.Kind.REPLICAS:
            return f"replicas of {_partitions(event)}"
        case triage_events.Kind.CONTROLLER:
            return "active controller"
        case triage_events.Kind.BROKER if isinstance(place.about, changes.BrokerTarget):
            name = f"broker {place.about.id} {place.key}".rstrip()
            return f"{name} came and went, {event.times} changes" if event.times > 1 else name
        case triage_events.Kind.OFFSET:
            return f"offsets of {_partitions(event)}"
        case triage_events.Kind.ACL if isinstance(place.about, Acl):
            acl = place.about
            word = f"{acl.permission.name.lower()} {acl.operation.name}"
            return plural(event.count, "ACL") if many else f"{clean(acl.principal)} {word}"
        case triage_events.Kind.CONNECTOR if place.key not in (triage_events.STATE, triage_events.TASKS):
            return _of_connect(event)
        case triage_events.Kind.CONNECTOR:
            which = plural(event.units, "connector") if many else names.target(place.about)
            return which + (" tasks" if place.key == triage_events.TASKS else "")
        case kind if kind.about.one:
            which = plural(event.units, kind.about.one) if many else names.target(place.about)
            return which + (" members" if place.key == triage_events.MEMBERS else "")
        case _:
            whose = names.target(place.about)
            if many and isinstance(place.about, ConfigResource):
                whose = plural(event.units, names.resource_word(place.about.type))
            elif many:
                whose = plural(event.units, "quota entity", "quota entities")
            return f"{whose} {clean(place.key)}".rstrip()


def _of_connect(event: triage_events.Event) -> str:
    """Return what changed in an event of a Connect cluster: its rebalances, or a worker."""
    cluster = event.place.about
    if event.place.key != triage_events.UNPLACED:
        return f"worker {clean(event.place.key)} of {names.target(cluster)}"
    several = f", {event.times} changes" if event.times > 1 else ""
    return f"{names.target(cluster)} rebalances{several}"


def _partitions(event: triage_events.Event) -> str:
    about = event.place.about
    if isinstance(about, changes.GroupOffsetTarget):
        if event.units > 1:
            return f"{event.units:,} groups ({plural(event.count, 'partition')})"
        whose = names.target(about) if event.count == 1 else names.target(changes.GroupTarget(about.group))
        return f"{whose} ({plural(event.count, 'partition')})" if event.count > 1 else whose
    assert isinstance(about, changes.PartitionTarget | changes.MoveTarget)
    if event.units > 1:
        return f"{event.units:,} topics ({plural(event.count, 'partition')})"
    if event.count > 1:
        return f"{clean(about.topic)} ({plural(event.count, 'partition')})"
    return names.partition(about.topic, about.number)


def side(event: triage_events.Event, value: str | None, *, exact: bool = False) -> str:
    """Return the old or new value of an event as text; ``…`` if the places of the event have different values.

    Args:
        value: `event.was` or `event.became`; None for a missing value.
        exact: whether to add the exact number to a config's value with a unit.
    """
    place = event.place
    if value == UNTOLD:
        return HIDDEN
    if value is None:
        if place.key == triage_events.UNPLACED:
            return "all run"
        none = {
            triage_events.Kind.BROKER: "gone",
            triage_events.Kind.LEADER: "none",
            triage_events.Kind.ISR: "out",
            triage_events.Kind.OFFSET: "none",
        }
        return NOTHING if place.kind is triage_events.Kind.BROKER and place.key else none.get(place.kind, NOTHING)
    match place.kind:
        case triage_events.Kind.CONFIG:
            return with_unit(place.key, value) if exact else _short(place.key, value)
        case _ if not value:
            return "…"
        case triage_events.Kind.QUOTA:
            return quota(place.key, float(value))
        case triage_events.Kind.ACL if isinstance(place.about, Acl):
            return (
                "set" if event.count > 1 else names.acl_resource(place.about.resource_type, place.about.resource_name)
            )
        case triage_events.Kind.TOPIC if place.key == triage_events.ID:
            return clean(value) if exact else "a topic" if value == event.was else "another topic"
        case triage_events.Kind.TOPIC:
            return plural(int(value), "partition")
        case triage_events.Kind.CONNECTOR if place.key == triage_events.UNPLACED:
            return f"{plural(int(value), 'instance')} without a worker"
        case kind:
            return clean(kind.about.value(value))


def _short(key: str, value: str) -> str:
    return "∞" if config_value(key, value) == "no limit" else human_or_text(key, value)


def who_text(event: triage_events.Event) -> str:
    """Return the author of a change, from the journal; ``not kac`` if the change needs a request and the journal has
    none; else a dash.
    """
    if event.author is not None:
        return clean(event.author.who)
    return NOT_KAC if event.is_by_request else NOTHING


def words(event: triage_events.Event) -> str:
    """Return the text that a filter searches: the line of an event, and its places."""
    line = (what_text(event), side(event, event.was), side(event, event.became), who_text(event), event.kind.value)
    return " ".join((*line, *map(place_text, event.places)))


def details(event: triage_events.Event) -> list[Line]:
    """Return the details of an event; the first line is the title."""
    was, became = (side(event, value, exact=True) for value in (event.was, event.became))
    lines: list[Line] = [
        [(what_text(event), "")],
        [("was ", "muted"), (was, ""), ("; became ", "muted"), (became, "strong")],
    ]
    severity: Line = [("   ", ""), (WORDS[event.severity], "failed")] if event.trouble else []
    lines.append([(seen_text(event), "muted"), *severity])
    if event.kind is triage_events.Kind.ACL or event.count > 1:
        lines.append([(_named(event), "")])
    if event.author is not None:
        lines.append(
            [("Who: ", "muted"), (clean(event.author.who), "strong"), (f", change {event.author.number}", "muted")]
        )
    elif event.is_by_request:
        lines.append([("Who: the protocol does not say; not in this host's journal", "muted")])
    return lines


def seen_text(event: triage_events.Event) -> str:
    """Return when an event happened: the time at which it was seen, or the range between two polls."""
    if event.since is None:
        return f"seen at {columns.clock(event.until)}"
    return f"seen between {columns.clock(event.since)} and {columns.clock(event.until)}"


def _named(event: triage_events.Event) -> str:
    some = ", ".join(place_text(place) for place in event.places[:MOST_NAMED])
    return f"{some} and {event.count - MOST_NAMED:,} more" if event.count > MOST_NAMED else some


def place_text(place: triage_events.Place) -> str:
    """Return the name of the entity or partition in which an event happened."""
    about = place.about
    if isinstance(about, changes.PartitionTarget | changes.MoveTarget):
        return names.partition(about.topic, about.number)
    return names.target(about)


# -- the entity of an event --------------------------------------------------------------------------------------------


def about_of(place: triage_events.Place) -> ConfigResource | QuotaEntity | str | None:
    """Return the entity of a place as panes identify it: a config resource (for a partition, its topic), a quota
    entity, or a group's name; None for any other entity.
    """
    match place.about:
        case changes.OwnTarget(resource=ConfigResource() as resource):
            return resource
        case changes.MoveTarget(topic=name):
            return topic_resource(name)
        case changes.PartitionTarget():
            return topic_resource(place.about.topic)
        case changes.BrokerTarget(id=number):
            return broker_resource(number)
        case changes.GroupTarget(name=name) | changes.GroupOffsetTarget(group=name):
            return name
        case ConfigResource() | QuotaEntity():
            return place.about
        case _:
            return None


def concerns(event: triage_events.Event, about: object) -> bool:
    """Return whether an event is about an entity. Events of a group's configs are about the group; those of leaders and
    ISRs are also about the brokers in them.

    Args:
        about: the entity in the form of `about_of`.
    """
    for place in event.places:
        mine = about_of(place)
        if mine == about or (isinstance(mine, ConfigResource) and mine.type == GROUP and mine.name == about):
            return True
        # Events of leaders and ISRs are about partitions; their values name the brokers.
        if (
            isinstance(about, ConfigResource)
            and about.type == BROKER
            and event.kind in (triage_events.Kind.ISR, triage_events.Kind.LEADER)
        ):
            return about.name in (place.key, event.was, event.became)
    return False


# -- events as text and as JSON ----------------------------------------------------------------------------------------


def line(event: triage_events.Event) -> str:
    """Return an event as a line of text: time, ``!`` for trouble, what changed, old → new value, author."""
    mark = "!" if event.trouble else " "
    change = f"{side(event, event.was)} → {side(event, event.became)}"
    return f"{columns.clock(event.until)} {mark} {what_text(event)}  {change}  {who_text(event)}"


def _plain(value: str | None, kind: triage_events.Kind) -> str | None:
    # Only a config can be set to the empty text; for other kinds the empty text stands for different values.
    return None if value == UNTOLD or (value == "" and kind is not triage_events.Kind.CONFIG) else value


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _subject(about: changes.Target) -> dict[str, Data]:
    match about:
        case changes.BrokerTarget():
            return {"broker": about.id}
        case changes.TopicTarget():
            return {"topic": about.name}
        case changes.GroupTarget():
            return {"group": about.name}
        case changes.PartitionTarget() | changes.MoveTarget():
            return {"topic": about.topic, "partition": about.number}
        case changes.GroupOffsetTarget():
            return {"group": about.group, "topic": about.topic, "partition": about.number}
        case ConfigResource():
            return {"entity_type": names.resource_word(about.type), "entity_name": about.name}
        case QuotaEntity():
            return {"entity": dict(about.as_dict())}
        case changes.OwnTarget() if about.data:
            return about.data
        case changes.ScramUser():
            return {"user": about.user, "mechanism": about.mechanism.label}
        case Acl():
            fields = ("principal", "host", "resource_name")
            coded = ("resource_type", "pattern_type", "operation", "permission")
            named: dict[str, Data] = {name: getattr(about, name) for name in fields}
            return {**named, **{name: getattr(about, name).name for name in coded}}
        case _:
            return {"what": names.target(about)}


EVENTS: columns.Columns[triage_events.Event] = columns.Columns(
    columns.Column("v", columns.OBJECT, lambda _event: 1, "number"),
    columns.Column(
        "trouble",
        type="boolean",
        cell=lambda event: ("!", "danger") if event.trouble else "",
        layout=columns.on_screen(2, gutter=True),
    ),
    columns.Column(
        "at",
        get=lambda event: _moment(event.until),
        cell=lambda event: (columns.clock(event.until), "muted"),
        layout=columns.on_screen((8, 11), "When", priority=98),
    ),
    columns.Column("since", columns.OBJECT, lambda event: _moment(event.since) if event.since is not None else None),
    columns.Column("kind", columns.OBJECT, lambda event: event.kind.value),
    columns.Column("severity", columns.OBJECT, lambda event: event.severity.value),
    columns.Column("what", get=what_text, layout=columns.on_screen((24, 90), flex=3, priority=97)),
    columns.Column("key", columns.OBJECT, lambda event: event.place.key),
    columns.Column(
        "was",
        get=lambda event: _plain(event.was, event.kind),
        cell=lambda event: (side(event, event.was), "muted"),
        layout=columns.on_screen((8, 40), flex=1, priority=92),
    ),
    columns.Column(
        "became",
        get=lambda event: _plain(event.became, event.kind),
        cell=lambda event: side(event, event.became),
        layout=columns.on_screen((8, 40), flex=1, priority=94),
    ),
    columns.Column("count", columns.OBJECT, type="number"),
    columns.Column("places", columns.OBJECT, lambda event: [_subject(each.about) for each in event.places], "object"),
    columns.Column(
        "who",
        get=lambda event: event.author.who if event.author is not None else None,
        cell=lambda event: (who_text(event), "muted"),
        layout=columns.on_screen((7, 14), priority=90),
    ),
    columns.Column(
        "change", columns.OBJECT, lambda event: event.author.number if event.author is not None else None, "number"
    ),
    orders={"data": ("v", "at", "since", "kind", "severity", "trouble")},
    views=columns.OBJECT | columns.SCREEN,
)
"""The fields of events in data. ``places`` has the places that are kept, ``count`` the number of all places. ``was``
and ``became`` are null if there is no value, if places have different values, or if brokers hide the value.
"""
