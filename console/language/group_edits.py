"""The edits of statements about groups: they turn positions and times into offsets that were read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from console.language.errors import CommandError
from console.language.statements import Name, OffsetPosition
from console.language.vocabulary import near, require_topic
from console.model.cluster import GroupPosition, LogRange, partition_in
from console.model.parts import Part
from console.model.snapshot import Snapshot, TopicPartition
from console.plan.edits import CommitOffset, Edit
from console.plan.group_forecast import SHARE
from console.present.failures import failure_text
from console.present.text import clean

# -- selected partitions -----------------------------------------------------------------------------------------------


def shown(name: Name) -> str:
    """Return a name as it appears in messages."""
    return f"'{clean(name.text or '', 80)}'"


def position_of(snapshot: Snapshot, group: Name) -> GroupPosition:
    """Return the position of a group; its `group` is None if the group does not exist.

    Raises CommandError: the position was not read completely, so that an edit could miss offsets.
    """
    name = group.text or ""
    position = snapshot.group_positions.get(name)
    if position is not None and not position.failures:
        return position
    told = (each.failure for each in snapshot.failures if each.part == Part.GROUP_POSITIONS and each.entity == name)
    failure = next(iter((*told, *(position.failures if position is not None else ()))), None)
    why = failure_text(failure) if failure is not None else "it was not read"
    raise CommandError(f"the offsets of group {shown(group)} are unknown: {why}", "", group.span)


def is_share(position: GroupPosition) -> bool:
    """Return whether the group is a share group."""
    return position.group is not None and position.group.type == SHARE


def existing(snapshot: Snapshot, group: Name) -> GroupPosition:
    """Return the position of an existing group. Raises CommandError: it does not exist, or was not read completely."""
    position = position_of(snapshot, group)
    if position.group is None:
        raise CommandError(
            f"there is no group {shown(group)}",
            lambda: near(group.text or "", snapshot.groups) or "list groups shows what there is",
            group.span,
        )
    return position


def partitions_in(snapshot: Snapshot, topic: Name, partition: int | None) -> list[TopicPartition]:
    """Return all partitions of a topic, or only the given one. Raises CommandError: the topic or partition does not
    exist.
    """
    name = topic.text or ""
    require_topic(snapshot, name, topic.span)
    known = snapshot.topics[name]
    if partition is None:
        return [(name, each.number) for each in known.partitions]
    if partition_in(known, partition) is None:
        message = f"topic {shown(topic)} has no partition {partition}: it has {len(known.partitions)}, from 0"
        raise CommandError(message, "", topic.span)
    return [(name, partition)]


# -- selected offsets --------------------------------------------------------------------------------------------------


def commits(
    group: Name,
    places: Iterable[TopicPartition],
    to: OffsetPosition,
    snapshot: Snapshot,
    position: GroupPosition,
    share: bool = False,
) -> Iterator[Edit]:
    """Yield an edit for each of these partitions that commits the offset of a position.

    Args:
        to: the position, such as a time, which each partition turns into an offset of its own.
        position: the present position of the group.
        share: whether the group is a share group.

    Raises:
        CommandError: the offset of a partition is unknown.
    """
    offset = _offsets(to, snapshot, position)
    for place in places:
        yield CommitOffset(group.text or "", *place, offset(place), to.epoch, to.metadata, to.restored, share)


def _offsets(to: OffsetPosition, snapshot: Snapshot, position: GroupPosition) -> Callable[[TopicPartition], int]:
    """Return a function that turns a position into the offset in a partition. The function raises CommandError: the
    position depends on an offset that was not read.
    """

    def log(place: TopicPartition) -> LogRange:
        found = snapshot.log_ranges.get(place)
        if found is None:
            raise _unknown(place, snapshot, to)
        return found

    def at_time(place: TopicPartition) -> int:
        found = snapshot.offsets_at.get((*place, to.number))
        if found is None:
            raise _unknown(place, snapshot, to)
        # If all records are older, start at the end, as kafka-consumer-groups does.
        return found if found >= 0 else log(place).end

    def beside(place: TopicPartition) -> int:
        committed = position.committed.get(place)
        if committed is None:
            message = f"the group has no offset of {clean(place[0], 80)}/{place[1]} to go on from"
            raise CommandError(message, "give an offset, or reset to earliest, latest or a time", to.span)
        # Stay within the log: records that retention deleted can't be read again.
        return min(max(committed.offset + to.number, log(place).start), log(place).end)

    def current(place: TopicPartition) -> int:
        committed = position.committed.get(place)
        return log(place).end if committed is None else committed.offset

    match to.how:
        case "earliest":
            return lambda place: log(place).start
        case "latest":
            return lambda place: log(place).end
        case "time":
            return at_time
        case "by":
            return beside
        case "current":
            return current
        case _:
            return lambda _place: to.number


def _unknown(place: TopicPartition, snapshot: Snapshot, to: OffsetPosition) -> CommandError:
    told = (each.failure for each in snapshot.failures if each.part in (Part.LOG_RANGES, Part.OFFSETS_AT))
    failure = next(told, None)
    why = f": {failure_text(failure)}" if failure is not None else ""
    message = f"where the log of {clean(place[0], 80)}/{place[1]} begins and ends is unknown{why}"
    return CommandError(message, "name partitions that have a leader, or give an offset", to.span)
