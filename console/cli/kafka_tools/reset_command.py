"""Carries out --reset-offsets of `kac groups`, `share-groups` and `streams-groups`: reads committed offsets and log
ranges, shows or sets new offsets."""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from console.answers.results import Column, Row, Table
from console.cli.kafka_tools import group_lines
from console.cli.kafka_tools.aligned import safe
from console.cli.kafka_tools.consumer_groups import given_targets
from console.cli.kafka_tools.group_command import chosen_groups
from console.cli.kafka_tools.group_tools import ASSIGNABLE, CONSUMERS, SHARE, STREAMS, GroupTool
from console.cli.kafka_tools.reset_offsets import (
    CURRENT,
    SHIFT,
    TIME,
    NoOffset,
    Place,
    Positions,
    Wanted,
    csv_lines,
    date_time,
    duration,
    topic_arguments,
    wanted_offsets,
)
from console.cli.noun import Change, Changed, OptionsError, Running
from console.language.quoting import quote
from console.model.cluster import Group, GroupPosition
from console.model.numbers import Data
from console.plan.group_forecast import nothing_committed
from console.present.names import NOTHING, target

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client

DONE, FAILED = 0, 1

DRY_RUN = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require "
    "either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are "
    "scripting this command and want to keep the current default behavior without prompting."
)
"""The warning of kafka-consumer-groups where neither --execute nor --dry-run is given."""


class Reset(Struct, frozen=True):
    """The reset that the options ask for.

    Attributes:
        to: one of `TARGETS`; a duration is a time.
        amount: the offset, or the step of a shift.
        moment: ms since 1970, None without a time.
        topics: those of which all partitions are meant.
        places: single partitions.
        file: the text of a file of offsets.
    """

    to: str
    amount: int
    moment: int | None
    topics: tuple[str, ...]
    places: tuple[Place, ...]
    file: str | None


def reset_of(given: argparse.Namespace) -> Reset:
    """Return the reset that the options ask for; reads the file of --from-file. Raises OptionsError."""
    (to,) = given_targets(given)
    topics, places = topic_arguments(given.topic)
    moment = None
    if given.to_datetime is not None:
        moment = date_time(given.to_datetime)
    elif given.by_duration is not None:
        to, moment = TIME, time.time_ns() // 1_000_000 - duration(given.by_duration)
    file = None
    if given.from_file is not None:
        from console.language.offset_files import read_text

        file = read_text(given.from_file)
        if len(given.group) != 1 and file.partition("\n")[0].count(",") == 2:
            raise OptionsError("several groups need a file with them: group,topic,partition,offset")
    amount = given.shift_by if to == SHIFT else given.to_offset
    return Reset(to, amount or 0, moment, topics, places, file)


class NewOffsets(Struct, frozen=True):
    """Group -> partition -> its new offset.

    before: the same with those that are committed. failed: whether a group can't be reset.
    """

    offsets: Mapping[str, Mapping[Place, int]]
    before: Mapping[str, Mapping[Place, int]]
    failed: bool


async def reset(command: Running, client: Client, context: Context, tool: GroupTool = CONSUMERS) -> int | Change:
    """Show the new offsets, and set them with --execute. Raises OptionsError."""
    given = command.given
    if tool is CONSUMERS and not (given.execute or given.dry_run):
        command.lines((), (DRY_RUN,))
    asked = reset_of(given)
    names = await chosen_groups(command, client, context, tool)
    try:
        new = await _new_offsets(command, client, asked, names, tool)
    except Failed as error:
        command.lines(("", f"Error: Executing {tool.kind} group command failed due to {error}"))
        return FAILED
    if not given.execute:
        return _show(command, new, tool)
    if new.failed:
        raise OptionsError("nothing was reset: leave out the groups that are named above")
    return Change(_statements(new.offsets), then=partial(_reset, command, new, tool))


async def _new_offsets(
    command: Running, client: Client, asked: Reset, names: Sequence[str], tool: GroupTool
) -> NewOffsets:
    """Return the new offsets of groups; print why a group has none, and what was adjusted. Raises as `_wanted` does."""
    found: dict[str, Mapping[Place, int]] = {}
    before: dict[str, Mapping[Place, int]] = {}
    failed = False
    for name in names:
        try:
            position, wanted = await _wanted(client, asked, name, tool, all_topics=_means_all(command, tool))
            why = nothing_committed(quote(name), position) if not wanted.offsets else ""
            # Kafka's own tool prints an empty table there, and a file of no offsets is right.
            if why and not command.is_kafka and not command.given.export:
                raise NotReset(f"{why}: nothing is reset; --topic names what it has not committed yet")
        except NotReset as error:
            command.lines(("", f"Error: {error}"))
            found[name], failed = {}, True
            continue
        for text in wanted.warnings:
            command.lines(("", text))
        for text in wanted.clamped:
            command.complain(text)
        found[name] = wanted.offsets
        before[name] = {place: each.offset for place, each in position.committed.items()}
    return NewOffsets(found, before, failed)


def _means_all(command: Running, tool: GroupTool) -> bool:
    """Return whether all topics of a group are meant: beside --topic too, but not for kafka-share-groups."""
    return bool(command.given.all_topics and not (tool is SHARE and command.given.topic))


async def _reset(command: Running, new: NewOffsets, tool: GroupTool, changed: Changed) -> int:
    given, failed = command.given, bool(changed.code)
    if failed or given.validate_only or not (command.is_kafka or given.export):
        for outcome in changed.outcomes if failed and command.is_kafka else ():
            if not outcome.ok:
                command.complain(f"{target(outcome.target)}: {outcome.failure or outcome.status.value}")
        return changed.code
    return _show(command, new, tool)


def _show(command: Running, new: NewOffsets, tool: GroupTool) -> int:
    """Print new offsets, and return the exit code."""
    if command.given.export:
        command.lines((*csv_lines(new.offsets, with_group=len(command.given.group) != 1), ""))
    elif command.is_kafka:
        command.lines(group_lines.reset_lines(new.offsets, tool))
    else:
        command.show([_table(new.offsets, new.before)])
    return FAILED if new.failed else DONE


def _statements(offsets: Mapping[str, Mapping[Place, int]]) -> tuple[str, ...]:
    return tuple(
        f"reset group {quote(group)} topic {quote(topic)} partition {number} to offset {offset}"
        for group, places in offsets.items()
        for (topic, number), offset in places.items()
    )


def _table(offsets: Mapping[str, Mapping[Place, int]], before: Mapping[str, Mapping[Place, int]]) -> Table:
    """Return the new offsets beside those that the groups have committed."""
    columns = (Column("Group"), Column("Topic"), Column("Partition", True), Column("Offset", True), Column("New", True))
    rows = []
    for group, places in offsets.items():
        for (topic, number), new in places.items():
            old = before.get(group, {}).get((topic, number))
            data: dict[str, Data] = {"group": group, "topic": topic, "partition": number, "offset": old}
            data["new_offset"] = new
            shown = NOTHING if old is None else f"{old:,}"
            rows.append(Row((group, topic, str(number), shown, f"{new:,}"), data))
    return Table("offsets", columns, tuple(rows), notes=("nothing is changed without --execute",))


class NotReset(Exception):
    """A group's offsets can't be reset; the text is kafka-consumer-groups' own, which continues with the next group."""


class Failed(Exception):
    """Nothing is reset; the text is kafka-consumer-groups' own."""


async def _wanted(
    client: Client, asked: Reset, name: str, tool: GroupTool, *, all_topics: bool
) -> tuple[GroupPosition, Wanted]:
    """Read a group's position, and return it with the group's new offsets.

    Raises:
        NotReset: this group can't be reset; others can.
        Failed: no group is reset.
        OptionsError: a requested offset does not exist, or a share group has members.
        AdminError: a request failed.
    """
    from console.admin.groups import group_position

    position = await client.run(group_position, name)
    if position.group is not None and not tool.knows(position.group):
        raise NotReset(f"Group '{safe(name)}' is not a {tool.kind} group.")
    if problem := not_inactive(position.group):
        if tool is SHARE:
            raise OptionsError(f"Share group '{safe(name)}' is not empty.")
        raise NotReset(problem)
    if tool is STREAMS:
        check_inputs(asked, position, name)
    plan = _plan(asked, name)
    meant = _of_whole_topics(asked, position, tool, all_topics=all_topics)
    chosen = await _places(client, meant, position, plan, all_topics=all_topics)
    try:
        positions = await _positions(client, asked, position, chosen)
        return position, wanted_offsets(asked.to, asked.amount, chosen, positions, plan)
    except NoOffset as error:
        raise OptionsError(str(error)) from None


def _of_whole_topics(asked: Reset, position: GroupPosition, tool: GroupTool, *, all_topics: bool) -> Reset:
    """Return the reset with the topics of which all partitions are meant. With --all-topics partitions with an offset
    are meant, and of a share group the others of the same topics, which it has not begun to read."""
    if not all_topics:
        return asked
    topics = dict.fromkeys(topic for topic, _ in position.committed) if tool is SHARE else ()
    return replace(asked, topics=tuple(topics))


def _plan(asked: Reset, name: str) -> Mapping[Place, int] | None:
    """Return the offsets of a group in the file. Raises NotReset where it has none, CommandError for a bad line."""
    if asked.file is None:
        return None
    from console.language.offset_files import NotInFile, offset_rows

    try:
        return {(row.topic, row.partition): row.offset for row in offset_rows(asked.file, name)}
    except NotInFile:
        raise NotReset(f"No reset plan for group {safe(name)} found") from None


def check_inputs(asked: Reset, position: GroupPosition, name: str) -> None:
    """Raise NotReset where a streams group has no offset of a topic that is meant, or is not there at all."""
    topics = {topic for topic, _ in position.committed}
    if any(topic not in topics for topic in (*asked.topics, *(topic for topic, _ in asked.places))):
        raise NotReset(f"One or more topics are not part of the group '{safe(name)}'.")


def not_inactive(group: Group | None) -> str:
    """Return why a group's offsets can't be reset, ``""`` where they can."""
    if group is None or group.state in ASSIGNABLE:
        return ""
    return (
        f"Assignments can only be reset if the group '{safe(group.name)}' is inactive, but the current state is "
        f"{safe(group.state)}."
    )


async def _places(
    client: Client, asked: Reset, position: GroupPosition, plan: Mapping[Place, int] | None, *, all_topics: bool
) -> list[Place]:
    """Return the partitions that are meant, each of which exists and has a leader. Raises Failed."""
    from console.admin.topics import describe_topics

    chosen = set(plan if plan is not None else position.committed if all_topics else asked.places)
    whole = () if plan is not None else asked.topics
    names = sorted({*whole, *(topic for topic, _ in chosen)})
    known = (await client.run(describe_topics, names)).topics if names else {}
    if any(name not in known for name in names):
        raise Failed("This server does not host this topic-partition.")
    chosen.update((name, each.number) for name in whole for each in known[name].partitions)
    there = {(name, each.number): each.leader for name in names for each in known[name].partitions}
    if absent := sorted(chosen - there.keys()):
        raise Failed(f'The partitions "{_joined(absent)}" do not exist')
    if leaderless := sorted(place for place in chosen if there[place] < 0):
        raise Failed(f'The partitions "{_joined(leaderless)}" have no leader')
    return sorted(chosen)


def _joined(places: Sequence[Place]) -> str:
    return ",".join(f"{safe(topic)}-{number}" for topic, number in places)


async def _positions(client: Client, asked: Reset, position: GroupPosition, chosen: Collection[Place]) -> Positions:
    """Read what the new offsets follow from: committed offsets, log ranges, offsets at a time.

    Raises:
        Failed: the offsets of a partition could not be read.
        AdminError: a request failed.
    """
    from console.admin.partitions import list_offsets, log_ranges

    committed = {place: each.offset for place, each in position.committed.items()}
    if asked.to == CURRENT and committed.keys() >= set(chosen):
        return Positions(committed)
    logs, failures = await client.run(log_ranges, list(chosen))
    at: Mapping[Place, int] = {}
    if asked.moment is not None and not failures:
        at, failures = await client.run(list_offsets, dict.fromkeys(chosen, asked.moment))
    if failures:
        raise Failed(f"{failures[0].message or failures[0].name}")
    return Positions(committed, logs, at)
