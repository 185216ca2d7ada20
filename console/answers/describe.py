"""The results of `show` and `describe`: one entity from the snapshot, its configs as a table, single keys in detail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from console.answers.connectors import about_connector, require_connector
from console.answers.results import NOT_READ, Detail, Result, Table, table_of
from console.language import vocabulary
from console.language.errors import CommandError, did_you_mean
from console.language.quoting import quote
from console.language.statements import Key, Subject
from console.language.tokenizer import Span
from console.language.verbs.show import Show
from console.language.verbs.whose import Whose
from console.model import codes
from console.model.broker_keys import UpdateMode, update_mode
from console.model.cluster import Topic
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigResource, ConfigSet, is_override
from console.model.inheritance import Inheritance, Inherited, differing
from console.model.numbers import Data
from console.model.parts import Part
from console.model.snapshot import MEMBERS_UNREAD, Snapshot
from console.plan.plan import Plan
from console.plan.predict_configs import UNDESCRIBED
from console.plan.values import LONG
from console.present.configs import CONFIGS, ConfigLine, ConfigRow, config_rows, described_by, details, staged_lines
from console.present.failures import failure_text
from console.present.names import plural, resource
from console.present.text import clean

DOCUMENTATION_WIDTH = 96


def config_table(
    snapshot: Snapshot, target: ConfigResource, entries: ConfigSet, plan: Plan, *, overrides_only: bool = False
) -> Table:
    """Return config entries as a table: first those that the resource itself sets and those with staged edits.

    Args:
        overrides_only: whether to leave out all entries that are neither set by the resource itself nor have a staged
            edit.
    """
    rows = config_rows(target, entries, staged_lines(target, plan, snapshot), plan, overrides_only=overrides_only)
    empty = "nothing is set here" + ("; describe shows what is inherited" if overrides_only else "")
    return _table(snapshot, target, rows, empty)


def key_table(snapshot: Snapshot, target: ConfigResource, entries: Iterable[ConfigEntry], plan: Plan) -> Table:
    """Return config entries as a table, each with the plan's staged edit of its key."""
    found = ConfigSet(tuple(entries))
    rows = config_rows(target, found, staged_lines(target, plan, snapshot), plan, overrides_only=False)
    named = [row for row in rows if row.entry is not None]
    return _table(snapshot, target, named)


def _table(snapshot: Snapshot, target: ConfigResource, rows: Iterable[ConfigRow], empty: str = "none") -> Table:
    broker = described_by(target, snapshot)
    return table_of("configs", CONFIGS, (ConfigLine(row, broker) for row in rows), empty=empty)


def _inherited_data(inherited: Inherited) -> dict[str, Data]:
    source = inherited.source
    return {"name": inherited.name, "value": inherited.value, "source": source.name if source is not None else None}


def chosen(snapshot: Snapshot, target: ConfigResource, entries: ConfigSet, keys: tuple[Key, ...]) -> list[ConfigEntry]:
    """Return the entries of these keys, in their order.

    Raises:
        CommandError: the resource lacks one of the keys.
    """
    found = []
    for key in keys:
        entry = entries.get(key.name)
        if entry is None and _rate_not_set(target, key.name):
            entry = ConfigEntry(key.name, None, codes.DEFAULT_CONFIG, type=LONG)
        if entry is None:
            raise _no_key(snapshot, target, key)
        found.append(entry)
    return found


def _rate_not_set(target: ConfigResource, key: str) -> bool:
    """Return whether the key is one that brokers accept, but describe only while it is set. A key of this kind
    without an entry counts as not set.
    """
    return target.type == codes.BROKER and key in UNDESCRIBED


def _no_key(snapshot: Snapshot, target: ConfigResource, key: Key) -> CommandError:
    described = vocabulary.known_entry(snapshot, target, key.name)
    if described is not None:
        own = f"each broker has a value of its own: describe broker ID {quote(key.name)}; "
        mode = update_mode(target.type, key.name, described)
        alters = mode in (UpdateMode.AT_ONCE, UpdateMode.CLUSTER_WIDE)
        if mode == UpdateMode.PER_BROKER:
            alters = not target.is_cluster_default
        hint = own if target.is_cluster_default else ""
        hint = f"{hint}set {resource(target)} {quote(key.name)}=VALUE sets it" if alters else hint.rstrip("; ")
        return CommandError(f"{key.name} is not set on {resource(target)}", hint, key.span)
    hint = did_you_mean(key.name, vocabulary.known_keys(snapshot, target))
    return CommandError(f"{resource(target)} has no config '{key.name}'", hint, key.span)


def key_detail(
    snapshot: Snapshot, target: ConfigResource, entry: ConfigEntry, by_broker: Mapping[int, Inherited], plan: Plan
) -> Detail:
    """Return one key in detail: the value, its source and type, when a change takes effect, the value without the
    override, all synonyms, and the documentation.

    Args:
        by_broker: broker -> the value that topics inherit there, if these values differ; else empty.
    """
    line = staged_lines(target, plan, snapshot).get(entry.name)
    outcome = plan.outcome(line.staged.edit) if line is not None else None
    row = ConfigRow(entry.name, entry, line, outcome, is_override(entry, target))
    text = details(target, row, snapshot, by_broker, DOCUMENTATION_WIDTH)
    shown = ConfigLine(row, described_by(target, snapshot))
    data = CONFIGS.data(shown) | {
        "type": entry.type.name if entry.type.known else None,
        "documentation": snapshot.documentation.get((int(target.type), entry.name)),
    }
    data["pending"] = data.pop("pending")
    if is_override(entry, target):
        beneath = Inheritance(snapshot).without_override(target, entry.name)
        data["without_override"] = _inherited_data(beneath) if beneath.known else None
    if target.type == codes.BROKER:
        data["update_mode"] = update_mode(target.type, entry.name, entry).name
    if by_broker:
        data["by_broker"] = [
            {"broker": broker, **_inherited_data(inherited)} for broker, inherited in sorted(by_broker.items())
        ]
    letters, key, value, source, _ = CONFIGS.texts(shown)
    lines = ["".join(part for part, _ in spans) for spans in text]
    if entry.value is None and _rate_not_set(target, entry.name):
        lines.append("not set: no limit; brokers list this key only while it is set")
        lines.append(f"set {resource(target)} {quote(entry.name)}=VALUE sets it")
    # Remove the value from the headline, as the title already has it. If the value has no human form, the headline
    # begins with the value itself.
    head = next(place for place, text_line in enumerate(lines) if not text_line.startswith("✗"))
    lines[head] = lines[head].removeprefix(value).lstrip()
    return Detail(f"{letters}  {key} = {value}   {source}", data, tuple(lines))


# The answers to `show` and `describe`: one entity, from the snapshot.


def show(statement: Show, subject: Subject, snapshot: Snapshot, plan: Plan, span: Span | None) -> Result:
    """Return one entity, briefly for `show` or in full for `describe`.

    Raises:
        CommandError: the entity does not exist, or could not be read.
    """
    if not isinstance(subject, ConfigResource):
        from console.answers.quotas import quota_subject

        return quota_subject(statement, subject, snapshot, plan)
    vocabulary.require(snapshot, subject, span, plan)
    if subject.type == codes.CONNECTOR:
        require_connector(snapshot, subject.name, span)
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
    return Detail(title, _identity(subject) | data, lines, parts, vocabulary.config_problems(snapshot, subject))


def _has_more(subject: ConfigResource) -> bool:
    """Return whether the result for an entity has more than configs, so that it is useful even if configs could not be
    read.
    """
    return subject.type in (codes.TOPIC, codes.GROUP, codes.SCHEMA) or (
        subject.type == codes.BROKER and not subject.is_cluster_default
    )


def _readable(snapshot: Snapshot, subject: ConfigResource, entries: ConfigSet | None, span: Span | None) -> ConfigSet:
    if entries is not None:
        return entries
    for failed in vocabulary.config_problems(snapshot, subject):
        raise CommandError(f"configs of {resource(subject)}: {failure_text(failed.failure)}", "", span)
    raise CommandError(f"configs of {resource(subject)} were not read", "try again", span)


def _identity(subject: ConfigResource) -> dict[str, Data]:
    return {"resource_type": subject.type.name, "resource_name": subject.name}


def _count(entries: ConfigSet | None, subject: ConfigResource) -> str:
    if entries is None:
        return ""
    own = len(entries.overrides(subject))
    if subject.is_default:
        return f"  {own} set"
    what = "levels set" if subject.type.entity.has_levels else "overrides"
    return f"  {own} {what if own != 1 else what.replace('overrides', 'override')} of {len(entries)}"


def _keys(statement: Show, subject: ConfigResource, snapshot: Snapshot, entries: ConfigSet, plan: Plan) -> Detail:
    found = chosen(snapshot, subject, entries, statement.keys)
    if not statement.full:
        return Detail(resource(subject), _identity(subject), (), {"configs": key_table(snapshot, subject, found, plan)})
    details = tuple(
        key_detail(
            snapshot, subject, entry, differing(snapshot, entry.name) if subject.type == codes.TOPIC else {}, plan
        )
        for entry in found
    )
    return Detail(resource(subject), _identity(subject), (), {"configs": details})


def whose(statement: Whose, snapshot: Snapshot) -> Detail:
    """Return the readers and writers of a topic, and the kinds of uses that can't be known.

    Raises:
        CommandError: there is no such topic, or it could not be read.
    """
    from console.model.topic_use import unknown_uses

    name = statement.topic.text or ""
    vocabulary.require_topic(snapshot, name, statement.topic.span)
    unknown = unknown_uses(snapshot)
    unread = vocabulary.problems(snapshot, Part.CONNECT, Part.GROUPS, Part.ACLS)
    return Detail(
        f"topic {clean(name)}: who reads and writes it",
        {"topic": name, "not_known": [*unknown]},
        tuple(f"not known: {clean(line)}" for line in unknown),
        {"uses": _uses(snapshot, name)},
        unread,
    )


def _uses(snapshot: Snapshot, topic: str) -> Table:
    from console.model.topic_use import topic_uses
    from console.present.topics import USES

    return table_of("uses", USES, topic_uses(snapshot, topic), empty="no sign of anyone who reads or writes it")


About = tuple[tuple[str, ...], dict[str, Data], dict[str, "Table | tuple[Detail, ...]"]]


def _nothing(_snapshot: Snapshot, _subject: ConfigResource) -> About:
    return (), {}, {}


def _about_topic(snapshot: Snapshot, subject: ConfigResource) -> About:
    topic = snapshot.topics.get(subject.name)
    if topic is None:
        return ("to be created by the plan",), {}, {}
    from console.present.topics import TOPICS, TopicRow, partition_columns, rows_of_partitions

    rows = rows_of_partitions(topic, snapshot.reassignments, snapshot.rates, snapshot.tiered)
    parts: dict[str, Table | tuple[Detail, ...]] = {"partitions": table_of("partitions", partition_columns(rows), rows)}
    if (uses := _uses(snapshot, topic.name)).rows:
        parts["uses"] = uses
    return (topic_line(topic),), TOPICS.detail(TopicRow(topic)), parts


def topic_line(topic: Topic) -> str:
    """Return a summary of a topic as text: ``12 partitions, replication 3, 2 under-replicated``."""
    words = [plural(len(topic.partitions), "partition"), f"replication {topic.replication}"]
    words += [f"{topic.under_replicated} under-replicated"] if topic.under_replicated else []
    words += [f"{topic.offline} without a leader"] if topic.offline else []
    return ", ".join(words + (["internal"] if topic.internal else []))


def _about_broker(snapshot: Snapshot, subject: ConfigResource) -> About:
    if subject == CLUSTER_DEFAULT:
        return ("what every broker inherits that sets nothing of its own",), {}, {}
    from console.present.brokers import BROKERS, broker_loads, broker_rows

    loads = broker_loads(snapshot)
    for row in broker_rows(snapshot, Plan(), loads):
        if row.broker is not None and row.key == subject.name:
            break
    else:
        return (), {}, {}
    broker, load = row.broker, row.load
    address = f"{broker.host}:{broker.port}" if broker.port >= 0 else "down, or not known"
    where = address + (f", rack {broker.rack}" if broker.rack else "")
    lines = [where + (f", Kafka {row.release}" if row.release else "") + (", fenced" if broker.fenced else "")]
    if row.controller or row.quorum:
        lines.append(", ".join(word for word in ("active controller" if row.controller else "", row.quorum) if word))
    if not row.is_counted:
        lines.append("no topic is visible to this principal: which replicas it has is unknown")
    elif not snapshot.cluster.controllers:  # controllers hold no replicas
        lines.append(f"leads {load.leaders}, holds {plural(load.replicas, 'replica')}, {load.out_of_sync} out of sync")
        lines.append(f"is the preferred leader of {load.preferred}, of which {load.to_elect} are to be elected")
    return tuple(lines), BROKERS.detail(row), {}


def _about_group(snapshot: Snapshot, subject: ConfigResource) -> About:
    from console.present import groups

    group, lag = snapshot.groups.get(subject.name), snapshot.lags.get(subject.name)
    trend = snapshot.lag_trends.get(subject.name)
    if group is None:
        unread = [
            each
            for each in vocabulary.problems(snapshot, Part.GROUPS, MEMBERS_UNREAD)
            if each.part == Part.GROUPS or each.entity == subject.name
        ]
        why = failure_text(unread[0].failure) if unread else "no such group; its configs can be set all the same"
        return (why,), {"state": None}, {}
    line = "".join(text for text, _ in groups.group_line(group, lag, trend))
    parts: dict[str, Table | tuple[Detail, ...]] = {}
    if group.members is not None:
        parts["members"] = table_of("members", groups.member_columns(group), group.members, empty="no members")
    if group.topology is not None:
        parts["topology"] = table_of("topology", groups.subtopology_columns(group.topology), group.topology)
    if group.nodes is not None:
        parts["nodes"] = table_of("nodes", groups.NODES, group.nodes, empty=group.no_nodes or "no nodes")
    if lag is not None:
        empty = NOT_READ if lag.failures else "no offsets committed"
        rows = map(groups.partition_rows(group, trend), lag.partitions)
        parts["partitions"] = table_of("partitions", groups.LAGS, rows, empty=empty)
    return (line,), groups.GROUPS.detail(groups.GroupRow(group, lag, trend)), parts


def _about_schema(snapshot: Snapshot, subject: ConfigResource) -> About:
    if subject.is_default:
        return ("what every subject has that sets nothing of its own",), {}, {}
    from console.model.schema_use import id_uses
    from console.present import schemas

    row = schemas.row_of(snapshot, subject.name)
    if row is None:
        unread = [each for each in vocabulary.problems(snapshot, Part.SCHEMAS) if each.entity in ("", subject.name)]
        return (failure_text(unread[0].failure) if unread else "there is no such subject",), {}, {}
    lines = tuple("".join(text for text, _ in line) for line in schemas.schema_lines(snapshot, row))
    versions = table_of("versions", schemas.VERSIONS, reversed(row.subject.versions))
    parts: dict[str, Table | tuple[Detail, ...]] = {"versions": versions}
    if by_ids := id_uses(snapshot, row.subject):
        parts["ids_in_records"] = table_of("ids_in_records", schemas.ID_USES, by_ids)
    if (diff := schemas.version_diff(snapshot, subject.name)) is not None:
        empty = diff.why or f"versions {diff.old} and {diff.new} do not differ for any reader"
        parts["differences"] = table_of("differences", schemas.DIFFERENCES, diff.places, empty=empty)
        lines = (*lines, f"{'differences':<15}from version {diff.old} to version {diff.new}")
    return lines, schemas.SCHEMAS.detail(row), parts


_ABOUT: Mapping[int, Callable[[Snapshot, ConfigResource], About]] = {
    codes.TOPIC: _about_topic,
    codes.BROKER: _about_broker,
    codes.GROUP: _about_group,
    codes.CONNECTOR: about_connector,
    codes.SCHEMA: _about_schema,
}
"""Number of a resource type -> the function that returns what `describe` shows besides the configs."""
