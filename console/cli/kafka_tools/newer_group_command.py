"""Carries out what `kac share-groups` and `kac streams-groups` do as Kafka's tools: lists, descriptions, and deleting
the offsets of a share group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from console.cli.kafka_tools import newer_group_lines
from console.cli.kafka_tools.aligned import safe
from console.cli.kafka_tools.cluster_command import read_cluster
from console.cli.kafka_tools.consumer_groups import chosen_states
from console.cli.kafka_tools.group_command import (
    DONE,
    FAILED,
    chosen_groups,
    complained,
    for_each,
    in_own_form,
    listed_groups,
)
from console.cli.kafka_tools.group_lines import Lines
from console.cli.kafka_tools.group_tools import SHARE, GroupTool
from console.cli.kafka_tools.java_errors import error_text
from console.cli.kafka_tools.newer_group_lines import GroupAt
from console.cli.noun import Answers, Change, Changed, OptionsError, Running
from console.language.quoting import quote
from console.model.changes import GroupOffsetTarget
from console.model.cluster import Broker, GroupPosition

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client


async def list_(command: Running, client: Client, context: Context, tool: GroupTool) -> int:
    """Print the tool's groups as its --list; return the exit code."""
    groups, failures = await listed_groups(client, context, tool)
    states = chosen_states(command.given, tool)
    found = [group for group in groups if not states or group.state in states]
    command.lines(newer_group_lines.listed(found, states=command.given.state is not None))
    return complained(command, failures)


async def describe(command: Running, client: Client, context: Context, tool: GroupTool) -> int | Answers:
    """Print offsets, members or states as the tool's --describe; return the exit code.

    With --all-groups it has kac's own forms, too.
    """
    names = await chosen_groups(command, client, context, tool)
    if not command.is_kafka:
        return in_own_form(names)
    brokers = (await read_cluster(client, context)).brokers if command.given.state is not None else ()
    code = DONE
    for lines, failed in await for_each(names, lambda name: _described(command, client, brokers, name, tool)):
        command.lines(lines.out, lines.err)
        code = FAILED if failed else code
    return code


async def _described(
    command: Running, client: Client, brokers: Sequence[Broker], name: str, tool: GroupTool
) -> tuple[Lines, bool]:
    from console.admin.errors import AdminError
    from console.admin.groups import group_position

    given = command.given
    try:
        position = await client.run(group_position, name)
        group = position.group
        if group is None or not tool.knows(group):
            return Lines((newer_group_lines.not_described(name, group, tool),)), True
        if given.members:
            members = newer_group_lines.share_members if tool is SHARE else newer_group_lines.streams_members
            return members(group, verbose=given.verbose), False
        if given.state is not None:
            at = next((each for each in brokers if each.id == group.coordinator), None)
            state = newer_group_lines.share_state if tool is SHARE else newer_group_lines.streams_state
            return state(group, at, verbose=given.verbose), False
        place = await (_share_place if tool is SHARE else _streams_place)(client, name, position)
    except AdminError as error:
        why = safe(error.failure.message or error.failure.name)
        return Lines((f"\nError: Executing {tool.kind} group command failed due to {why}",)), True
    offsets = newer_group_lines.share_offsets if tool is SHARE else newer_group_lines.streams_offsets
    for problem in position.failures:
        command.complain(f"{name}: {problem}")
    return offsets(place, verbose=given.verbose), bool(position.failures)


async def _share_place(client: Client, name: str, position: GroupPosition) -> GroupAt:
    """Read its lag, and the other partitions of its topics: the tool shows those that it has not begun to read, too.
    Of a group that has begun none its topics are those that its members have."""
    from console.admin.groups import group_lag
    from console.admin.partitions import log_ranges
    from console.admin.topics import describe_topics

    assert position.group is not None
    assigned = {topic for member in position.group.members or () for topic, _ in member.assignment}
    topics = sorted({topic for topic, _ in position.committed} | assigned)
    if not topics:
        return GroupAt(position.group, position.committed)
    lag = await client.run(group_lag, name)
    known = await client.run(describe_topics, topics)
    places = [(topic.name, each.number) for topic in known.topics.values() for each in topic.partitions]
    logs, _ = await client.run(log_ranges, places)
    lags = {(at.topic, at.partition): at.lag for at in lag.partitions if at.lag >= 0}
    return GroupAt(position.group, position.committed, {place: log.start for place, log in logs.items()}, lags=lags)


async def _streams_place(client: Client, _name: str, position: GroupPosition) -> GroupAt:
    """Read the ends of what the active tasks read: the tool shows nothing else."""
    from console.admin.partitions import log_ranges

    assert position.group is not None
    places = sorted({place for member in position.group.members or () for place in member.assignment})
    logs, _ = await client.run(log_ranges, places)
    ends = {place: log.end for place, log in logs.items()}
    return GroupAt(position.group, position.committed, {place: log.start for place, log in logs.items()}, ends)


# What a share group has of topics, deleted.

_NO_GROUP, _NOT_EMPTY = "Group {} not found.", "The group is not empty."
_NO_OFFSET = "There is no offset information to delete."


async def delete_share_offsets(command: Running, client: Client, _context: Context) -> int | Change:
    """Delete a share group's offsets of whole topics. Raises OptionsError."""
    from console.admin.groups import group_position
    from console.admin.topics import describe_topics

    name, topics = command.given.group[-1], tuple(dict.fromkeys(command.given.topic))
    position = await client.run(group_position, name)
    group = position.group
    if group is not None and not SHARE.knows(group):
        raise OptionsError(f"group '{name}' is no share group: it is of type {group.type}")
    mine = [topic for topic in topics if any(topic == each for each, _ in position.committed)]
    statements = tuple(f"delete group {quote(name)} topic {quote(topic)}" for topic in mine)
    if not command.is_kafka:
        if not mine:
            raise OptionsError(f"group '{name}' has no offset of {', '.join(topics)}")
        return Change(statements, ask=True)
    whole = _NO_GROUP.format(safe(name)) if group is None else _NOT_EMPTY if group.members else ""
    if whole:
        return _show_offsets(command, dict.fromkeys(topics, whole), whole)
    known = (await client.run(describe_topics, list(topics))).topics
    problems = {
        topic: "" if topic in mine else _NO_OFFSET if topic in known else error_text("UNKNOWN_TOPIC_OR_PARTITION")
        for topic in topics
    }
    if mine:
        return Change(statements, then=partial(_offsets_deleted, command, problems))
    return _show_offsets(command, problems)


async def _offsets_deleted(command: Running, problems: Mapping[str, str], changed: Changed) -> int:
    if command.given.validate_only or not changed.outcomes:
        return changed.code
    failed = {
        each.target.topic: error_text(each.failure.name) if each.failure is not None else each.status.value
        for each in changed.outcomes
        if not each.ok and isinstance(each.target, GroupOffsetTarget)
    }
    return _show_offsets(command, {**problems, **failed})


def _show_offsets(command: Running, problems: Mapping[str, str], whole: str = "") -> int:
    command.lines(newer_group_lines.share_deleted_offsets(problems, whole))
    return FAILED if any(problems.values()) else DONE
