"""Forecasts the effects of changing connectors: tasks that restart, rebalances, and records that a sink reads again.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.model import connect
from console.model.codes import CONNECTOR
from console.model.config import ConfigResource, entry_in
from console.model.numbers import first_few, plural
from console.model.secret import MaybeSecret
from console.model.snapshot import Snapshot
from console.plan import edits
from console.plan.staged import Draft
from console.plan.values import parts_of, result_of

NAMED = 3
"""Maximum number of topics that a line names."""
_MAX_TASKS = "tasks.max"
_OWN_GROUP = "consumer.override.group.id"


def tasks_of(found: connect.Connector | None) -> str:
    """Return the tasks of a connector for a sentence: ``tasks`` if their number is unknown or 0, else ``task`` or ``3
    tasks``.
    """
    count = len(found.tasks) if found is not None else 0
    return "task" if count == 1 else f"{count} tasks" if count else "tasks"


def _rebalance(name: str, snapshot: Snapshot) -> Iterator[str]:
    cluster, own = connect.split_name(name)
    there = snapshot.connect.get(cluster)
    others = len([each for each in there.connectors if each != own]) if there is not None else 0
    if others:
        are = "its other connector" if others == 1 else f"its {others} other connectors"
        yield f"the workers of {cluster} rebalance: tasks of {are} may move to other workers"


def _group_of(name: str, config: dict[str, MaybeSecret]) -> str:
    own = config.get(_OWN_GROUP)
    return own if isinstance(own, str) and own else f"connect-{connect.split_name(name)[1]}"


def creation_effects(edit: edits.CreateConnector, snapshot: Snapshot) -> tuple[str, ...]:
    """Return lines on the effects of creating a connector: for a sink, the offsets at which it begins; and the
    rebalance.
    """
    config = dict(edit.config)
    topics = next((value for key in (connect.TOPICS, connect.PATTERN) if (value := config.get(key))), None)
    lines = []
    if isinstance(topics, str):
        group = _group_of(edit.name, config)
        position = snapshot.group_positions.get(group)
        if position is not None and position.committed:
            named = first_few(sorted({topic for topic, _ in position.committed}), NAMED)
            lines.append(f"it continues at the offsets of group {group}, which has some of {named}")
        elif position is not None:
            lines.append(f"group {group} has no offsets: it reads its topics from the beginning")
        else:
            lines.append(f"it continues where group {group} has offsets, and begins at the first record elsewhere")
    return (*lines, *_rebalance(edit.name, snapshot))


def deletion_effects(name: str, snapshot: Snapshot) -> tuple[str, ...]:
    """Return lines on the effects of deleting a connector: the offsets that stay, and the rebalance."""
    found = connect.connector_in(snapshot.connect, name)
    if found is not None and found.kind == connect.SINK:
        resource = ConfigResource(CONNECTOR, name)
        group = connect.sink_group(found.name, snapshot.configs.get(resource))
        stays = f"its group {group} stays with its offsets: a sink that is created by this name continues there"
    else:
        stays = "its offsets stay: a connector that is created by this name continues there"
    return (stays, *_rebalance(name, snapshot))


def steering_effects(edit: edits.Steering, snapshot: Snapshot) -> tuple[str, ...]:
    """Return lines on the effects of pausing or stopping a connector; empty for resuming one."""
    found = connect.connector_in(snapshot.connect, edit.name)
    match edit:
        case edits.PauseConnector():
            return ("its tasks keep their place and do nothing: what it would read waits, as long as it is retained",)
        case edits.StopConnector():
            ends = "ends" if found is not None and len(found.tasks) == 1 else "end"
            return (f"its {tasks_of(found)} {ends}: what it would read waits, as long as it is retained",)
        case _:
            return ()


def offset_effects(name: str, offsets: Sequence[connect.ConnectorOffset] | None, snapshot: Snapshot) -> tuple[str, ...]:
    """Return lines on the effects of changed offsets: the records that the connector reads again, or never.

    Args:
        name: the connector's name ``CLUSTER/NAME``.
        offsets: the new offsets; None if all offsets are deleted.
    """
    found = connect.connector_in(snapshot.connect, name)
    is_sink = found is not None and found.kind == connect.SINK
    if offsets is None or all(offset is None for _, offset in offsets):
        where = "from the first record of its topics" if is_sink else "from the beginning of its source"
        some = "" if offsets is None else f" for {plural(len(offsets), 'partition')}"
        return (f"it begins{some} {where}: what it delivered before is delivered again",)
    if not is_sink:
        count = plural(len(offsets), "other offset")
        return (f"it continues at {count}: what it delivered may come again, and what lies between may be left out",)
    known = {_place(part): _number(offset) for part, offset in snapshot.connector_offsets.get(name, ())}
    again = never = 0
    for part, offset in offsets:
        was, now = known.get(_place(part)), _number(offset)
        if was is not None:
            again, never = again + max(0, was - (now or 0)), never + max(0, (now or 0) - was)
    lines = [f"up to {plural(again, 'record')} {'is' if again == 1 else 'are'} delivered again"] if again else []
    lines += [f"up to {plural(never, 'record')} {'is' if never == 1 else 'are'} never delivered"] if never else []
    return (", ".join(lines) or f"it continues at {plural(len(offsets), 'other offset')}",)


def _place(partition: object) -> tuple[str, str]:
    """Return the topic and the partition of a sink's offset, both as text, because JSON may have the number as a
    string.
    """
    found = partition if isinstance(partition, dict) else {}
    return str(found.get("kafka_topic")), str(found.get("kafka_partition"))


def _number(offset: object) -> int | None:
    found = offset.get("kafka_offset") if isinstance(offset, dict) else None
    return int(found) if isinstance(found, int) or (isinstance(found, str) and found.isdecimal()) else None


# -- configs -----------------------------------------------------------------------------------------------------------


def config_effects(edit: edits.ConfigEdit, draft: Draft) -> tuple[str, ...]:
    """Return lines on the effects of a change of a connector's config. Any change restarts the connector; only the
    lines of the first staged edit of the connector say so.
    """
    name = edit.resource.name
    lines = []
    if draft.once(("connector", name), lambda: _first_slot(edit.resource, draft)) == edit.slot:
        found = connect.connector_in(draft.snapshot.connect, name)
        tasks = f" and its {tasks_of(found)}" if found is not None and found.tasks else ""
        lines.append(f"the connector{tasks} restart for it" if tasks else "the connector restarts for it")
    if edit.key == _MAX_TASKS:
        lines += _rebalance(name, draft.snapshot)
    if edit.key == connect.TOPICS:
        lines += _other_topics(edit, draft)
    if edit.key == _OWN_GROUP:
        lines.append("it reads as another group: from the first record, where that group has no offsets")
    return tuple(lines)


def logger_effects(edit: edits.ConfigEdit, draft: Draft) -> tuple[str, ...]:
    """Return a line that names the loggers below the edited one whose own levels the new level replaces; empty if
    there are none, and if the edit removes a level.
    """
    levels = draft.snapshot.configs.get(edit.resource)
    if levels is None or not isinstance(edit, edits.SetConfig):
        return ()
    below = [each for each in levels if edit.key == connect.ROOT_LOGGER or each.name.startswith(f"{edit.key}.")]
    others = [f"{each.name} ({each.value})" for each in below if each.name != edit.key and each.value != edit.value]
    if not others:
        return ()
    return (f"it also sets the loggers below it, and a revert does not give these back: {first_few(others, NAMED)}",)


def _first_slot(resource: ConfigResource, draft: Draft) -> edits.Slot | None:
    return next((each.edit.slot for each in draft.staged if each.edit.target == resource), None)


def _other_topics(edit: edits.ConfigEdit, draft: Draft) -> Iterator[str]:
    entry = entry_in(draft.snapshot.configs, edit.resource, edit.key)
    before = {each.strip() for each in parts_of(entry.value if entry is not None else None)}
    after = {each.strip() for each in parts_of(result_of(edit, entry, draft.inheritance))}
    _, own = connect.split_name(edit.resource.name)
    group = connect.sink_group(own, draft.snapshot.configs.get(edit.resource))
    if new := sorted(after - before):
        yield f"it also reads {first_few(new, NAMED)}: from the first record, where group {group} has no offsets"
    if gone := sorted(before - after):
        yield f"it no longer reads {first_few(gone, NAMED)}: what is written there is not delivered"
