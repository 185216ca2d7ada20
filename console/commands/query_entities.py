"""`show` and `describe`: one entity, from the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from console.commands.errors import CommandError
from console.commands.existence import config_problems, problems, require
from console.commands.query_configs import chosen, config_table, key_detail, key_table
from console.commands.results import Column, Data, Detail, Result, Row, Table
from console.commands.statements import Show, Subject
from console.commands.words import Span
from console.model.cluster import Topic
from console.model.codes import BROKER, BROKER_LOGGER, GROUP, TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource, ConfigSet
from console.model.inheritance import differing
from console.model.snapshot import Snapshot
from console.plan.plan import Plan
from console.present.failures import failure_text
from console.present.names import plural, resource
from console.present.spans import plain

_PARTITION_COLUMNS = (
    Column(""),
    Column("Partition", True),
    Column("Leader", True),
    Column("Replicas"),
    Column("ISR"),
    Column("Offline"),
    Column(""),
)
_LAG_COLUMNS = (
    Column("Topic"),
    Column("Partition", True),
    Column("Committed", True),
    Column("End", True),
    Column("Lag", True),
    Column("Member"),
)


def show(statement: Show, subject: Subject, snapshot: Snapshot, plan: Plan, span: Span | None) -> Result:
    """One entity, briefly or in full. Raises CommandError where it is not there or could not be read."""
    if not isinstance(subject, ConfigResource):
        from console.commands.query_quotas import quota_subject

        return quota_subject(statement, subject, snapshot, plan)
    require(snapshot, subject, span, plan)
    entries = snapshot.configs.get(subject)
    if statement.keys or (entries is None and not _has_more(subject)):
        entries = _readable(snapshot, subject, entries, span)
    if statement.keys and entries is not None:
        return _keys(statement, subject, snapshot, entries, plan)
    about = _ABOUT.get(subject.type, _nothing) if statement.full else _nothing
    lines, data, parts = about(snapshot, subject)
    if entries is not None:
        table = config_table(snapshot, subject, entries, plan, overrides_only=not statement.full)
        parts["configs"] = table
    title = resource(subject) + _count(entries, subject)
    return Detail(title, _identity(subject) | data, lines, parts, config_problems(snapshot, subject))


def _has_more(subject: ConfigResource) -> bool:
    """Whether there is something to show where the configs could not be read."""
    return subject.type in (TOPIC, GROUP) or (subject.type == BROKER and not subject.is_cluster_default)


def _readable(snapshot: Snapshot, subject: ConfigResource, entries: ConfigSet | None, span: Span | None) -> ConfigSet:
    if entries is not None:
        return entries
    for failed in config_problems(snapshot, subject):
        raise CommandError(f"configs of {resource(subject)}: {failure_text(failed.failure)}", "", span)
    raise CommandError(f"configs of {resource(subject)} were not read", "try again", span)


def _identity(subject: ConfigResource) -> dict[str, Data]:
    return {"resource_type": subject.type.name, "resource_name": subject.name}


def _count(entries: ConfigSet | None, subject: ConfigResource) -> str:
    if entries is None:
        return ""
    own = len(entries.overrides(subject))
    if subject.is_cluster_default:
        return f"  {own} set"
    what = "levels set" if subject.type == BROKER_LOGGER else "overrides"
    return f"  {own} {what if own != 1 else what.replace('overrides', 'override')} of {len(entries)}"


def _keys(statement: Show, subject: ConfigResource, snapshot: Snapshot, entries: ConfigSet, plan: Plan) -> Detail:
    found = chosen(snapshot, subject, entries, statement.keys)
    if not statement.full:
        return Detail(resource(subject), _identity(subject), (), {"configs": key_table(snapshot, subject, found, plan)})
    details = tuple(
        key_detail(snapshot, subject, entry, differing(snapshot, entry.name) if subject.type == TOPIC else {}, plan)
        for entry in found
    )
    return Detail(resource(subject), _identity(subject), (), {"configs": details})


About = tuple[tuple[str, ...], dict[str, Data], dict[str, "Table | tuple[Detail, ...]"]]


def _nothing(_snapshot: Snapshot, _subject: ConfigResource) -> About:
    return (), {}, {}


def _about_topic(snapshot: Snapshot, subject: ConfigResource) -> About:
    topic = snapshot.topics.get(subject.name)
    if topic is None:
        return ("to be created by the plan",), {}, {}
    return (topic_line(topic),), {"internal": topic.internal}, {"partitions": partitions(topic)}


def topic_line(topic: Topic) -> str:
    """``12 partitions, replication 3, 2 under-replicated``."""
    words = [plural(len(topic.partitions), "partition"), f"replication {topic.replication}"]
    words += [f"{topic.under_replicated} under-replicated"] if topic.under_replicated else []
    words += [f"{topic.offline} without a leader"] if topic.offline else []
    return ", ".join(words + (["internal"] if topic.internal else []))


def partitions(topic: Topic) -> Table:
    """A topic's partitions."""
    from console.present.topics import partition_cells

    rows = tuple(
        Row(
            tuple(plain(cell) for cell in partition_cells(partition)),
            {
                "partition": partition.number,
                "leader": partition.leader,
                "replicas": list(partition.replicas),
                "isr": list(partition.isr),
                "offline": list(partition.offline),
            },
        )
        for partition in topic.partitions
    )
    return Table("partitions", _PARTITION_COLUMNS, rows)


def _about_broker(snapshot: Snapshot, subject: ConfigResource) -> About:
    if subject == CLUSTER_DEFAULT:
        return ("what every broker inherits that sets nothing of its own",), {}, {}
    from console.present.brokers import broker_loads, broker_rows

    loads = broker_loads(snapshot)
    for row in broker_rows(snapshot, Plan(), loads):
        if row.broker is not None and row.key == subject.name:
            break
    else:
        return (), {}, {}
    broker, load = row.broker, row.load
    where = f"{broker.host}:{broker.port}" + (f", rack {broker.rack}" if broker.rack else "")
    lines = [where + (f", Kafka {row.release}" if row.release else "") + (", fenced" if broker.fenced else "")]
    if row.controller or row.quorum:
        lines.append(", ".join(word for word in ("active controller" if row.controller else "", row.quorum) if word))
    lines.append(f"leads {load.leaders}, holds {plural(load.replicas, 'replica')}, {load.out_of_sync} out of sync")
    data: dict[str, Data] = {
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "release": row.release or None,
        "controller": row.controller,
        "leaders": load.leaders,
        "replicas": load.replicas,
        "out_of_sync": load.out_of_sync,
    }
    return tuple(lines), data, {}


def _about_group(snapshot: Snapshot, subject: ConfigResource) -> About:
    from console.present.groups import group_line, lag_cells

    group, lag = snapshot.groups.get(subject.name), snapshot.lags.get(subject.name)
    if group is None:
        unread = problems(snapshot, "groups", f"group {subject.name}")
        why = failure_text(unread[0].failure) if unread else "no such group; its configs can be set all the same"
        return (why,), {"state": None}, {}
    line = "".join(text for text, _ in group_line(group, lag))
    data: dict[str, Data] = {
        "state": group.state,
        "type": group.type,
        "protocol": group.protocol,
        "coordinator": group.coordinator,
        "lag": lag.known_total if lag is not None else None,
    }
    parts: dict[str, Table | tuple[Detail, ...]] = {}
    if group.members is not None:
        rows = tuple(
            Row(
                (member.client_id, member.host, member.member_id, str(len(member.assignment))),
                {
                    "member_id": member.member_id,
                    "client_id": member.client_id,
                    "host": member.host,
                    "instance_id": member.instance_id,
                    "assignment": [{"topic": topic, "partition": number} for topic, number in member.assignment],
                },
            )
            for member in group.members
        )
        columns = (Column("Client"), Column("Host"), Column("Member"), Column("Partitions", True))
        parts["members"] = Table("members", columns, rows, empty="no members")
    if lag is not None:
        rows = tuple(
            Row(
                tuple(plain(cell) for cell in lag_cells(behind)),
                {
                    "topic": behind.topic,
                    "partition": behind.partition,
                    "committed": behind.committed,
                    "end": behind.end,
                    "lag": behind.lag,
                    "member": behind.member or None,
                },
            )
            for behind in lag.partitions
        )
        parts["partitions"] = Table("partitions", _LAG_COLUMNS, rows, empty="no offsets committed")
    return (line,), data, parts


_ABOUT: Mapping[int, Callable[[Snapshot, ConfigResource], About]] = {
    TOPIC: _about_topic,
    BROKER: _about_broker,
    GROUP: _about_group,
}
"""What `describe` says of a resource beside its configs."""
