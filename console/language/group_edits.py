"""Statements about groups as edits: places and times become the offsets that were read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from console.language.errors import CommandError
from console.language.statements import (
    CloneGroup,
    DeleteGroupOffsets,
    Name,
    OffsetPosition,
    ResetOffsets,
    SkipRecords,
)
from console.language.vocabulary import near, require_topic
from console.model.cluster import GroupPosition, LogRange
from console.model.elections import partition_in
from console.model.snapshot import Snapshot, TopicPartition
from console.plan.edits import CommitOffset, DeleteGroup, DeleteOffset, Edit
from console.plan.group_forecast import SHARE, STREAMS
from console.present.failures import failure_text
from console.present.text import clean

GroupStatement = ResetOffsets | SkipRecords | CloneGroup | DeleteGroupOffsets

_INTERNAL = ("-changelog", "-repartition", "-subscription-registration-topic", "-subscription-response-topic")
"""How names of topics end that a Streams application makes (StreamsResetter.isInternalTopic)."""


def group_edits(statement: GroupStatement, snapshot: Snapshot) -> Iterator[Edit]:
    """The edits of a statement. Raises CommandError."""
    match statement:
        case ResetOffsets():
            yield from _reset(statement, snapshot)
        case SkipRecords():
            position = _existing(snapshot, statement.group)
            places = _of_topic(snapshot, statement.topic, statement.partition)
            steps = OffsetPosition("by", statement.count, span=statement.span)
            yield from _commits(statement.group, places, steps, snapshot, position)
        case CloneGroup():
            position = _existing(snapshot, statement.group)
            if statement.to == statement.group:
                raise CommandError("a group can't be cloned to itself", "", statement.to.span)
            _position(snapshot, statement.to)
            if not position.committed:
                raise CommandError(f"group {_shown(statement.group)} has no offsets", "", statement.group.span)
            share = _is_share(position) and _position(snapshot, statement.to).group is None
            for (topic, partition), committed in position.committed.items():
                yield CommitOffset(statement.to.text or "", topic, partition, *committed, share=share)
        case DeleteGroupOffsets():
            yield from _delete(statement, snapshot)


def is_internal(topic: str, application: str) -> bool:
    """Whether a Streams application made the topic for itself, by its name."""
    return topic.startswith(f"{application}-") and topic.endswith(_INTERNAL)


# -- which partitions --------------------------------------------------------------------------------------------------


def _shown(name: Name) -> str:
    return f"'{clean(name.text or '', 80)}'"


def _position(snapshot: Snapshot, group: Name) -> GroupPosition:
    """Where a group stands, which may not exist. Raises CommandError if that could not be read whole: what is missing
    would be left as it is."""
    name = group.text or ""
    position = snapshot.group_positions.get(name)
    if position is not None and not position.failures:
        return position
    told = (each.failure for each in snapshot.failures if each.part == "group_positions" and each.entity == name)
    failure = next(iter((*told, *(position.failures if position is not None else ()))), None)
    why = failure_text(failure) if failure is not None else "it was not read"
    raise CommandError(f"the offsets of group {_shown(group)} are unknown: {why}", "", group.span)


def _is_share(position: GroupPosition) -> bool:
    return position.group is not None and position.group.type == SHARE


def _existing(snapshot: Snapshot, group: Name) -> GroupPosition:
    position = _position(snapshot, group)
    if position.group is None:
        raise CommandError(
            f"there is no group {_shown(group)}",
            lambda: near(group.text or "", snapshot.groups) or "list groups shows what there is",
            group.span,
        )
    return position


def _of_topic(snapshot: Snapshot, topic: Name, partition: int | None) -> list[TopicPartition]:
    name = topic.text or ""
    require_topic(snapshot, name, topic.span)
    known = snapshot.topics[name]
    if partition is None:
        return [(name, each.number) for each in known.partitions]
    if partition_in(known, partition) is None:
        message = f"topic {_shown(topic)} has no partition {partition}: it has {len(known.partitions)}, from 0"
        raise CommandError(message, "", topic.span)
    return [(name, partition)]


def _reset(statement: ResetOffsets, snapshot: Snapshot) -> Iterator[Edit]:
    group, to = statement.group, statement.to
    position = _position(snapshot, group)
    if to.how == "file":
        yield from _from_file(statement, snapshot)
        return
    if statement.topic is not None:
        places = _of_topic(snapshot, statement.topic, statement.partition)
    else:
        places = list(_existing(snapshot, group).committed)
        if position.group is not None and position.group.type == STREAMS:
            places = [place for place in places if not is_internal(place[0], group.text or "")]
        if not places:
            raise CommandError(
                f"group {_shown(group)} has no offsets",
                "name a topic: reset group NAME topic NAME to earliest",
                group.span,
            )
    yield from _commits(group, places, to, snapshot, position, statement.share)


def _from_file(statement: ResetOffsets, snapshot: Snapshot) -> Iterator[Edit]:
    wanted, number = statement.topic, statement.partition
    if statement.to.rows is None:
        raise CommandError("the file was not read", "", statement.to.span)
    rows = [
        row
        for row in statement.to.rows
        if (wanted is None or row.topic == wanted.text) and (number is None or row.partition == number)
    ]
    if not rows:
        raise CommandError("the file has no offset of that", "", statement.to.span)
    for name in dict.fromkeys(row.topic for row in rows):
        require_topic(snapshot, name, statement.to.span)
    for row in rows:
        yield CommitOffset(statement.group.text or "", row.topic, row.partition, row.offset, share=statement.share)


def _delete(statement: DeleteGroupOffsets, snapshot: Snapshot) -> Iterator[Edit]:
    group, topic = statement.group, statement.topic
    name = group.text or ""
    if topic is None:
        _existing(snapshot, group)
        yield DeleteGroup(name)
        return
    if statement.partition is not None:
        _existing(snapshot, group)
        yield DeleteOffset(name, topic.text or "", statement.partition)
        return
    places = [place for place in _existing(snapshot, group).committed if place[0] == topic.text]
    if not places:
        raise CommandError(f"group {_shown(group)} has no offset of topic {_shown(topic)}", "", topic.span)
    for place in places:
        yield DeleteOffset(name, *place)


# -- which offsets -----------------------------------------------------------------------------------------------------


def _commits(
    group: Name,
    places: Iterable[TopicPartition],
    to: OffsetPosition,
    snapshot: Snapshot,
    position: GroupPosition,
    share: bool = False,
) -> Iterator[Edit]:
    offset = _offsets(to, snapshot, position)
    for place in places:
        yield CommitOffset(group.text or "", *place, offset(place), to.epoch, to.metadata, to.restored, share)


def _offsets(to: OffsetPosition, snapshot: Snapshot, position: GroupPosition) -> Callable[[TopicPartition], int]:
    """Partition -> the offset that is meant there."""

    def log(place: TopicPartition) -> LogRange:
        found = snapshot.log_ranges.get(place)
        if found is None:
            raise _unknown(place, snapshot, to)
        return found

    def at_time(place: TopicPartition) -> int:
        found = snapshot.offsets_at.get((*place, to.number))
        if found is None:
            raise _unknown(place, snapshot, to)
        # Where all records are older there is nothing to read again, as kafka-consumer-groups takes it.
        return found if found >= 0 else log(place).end

    def beside(place: TopicPartition) -> int:
        committed = position.committed.get(place)
        if committed is None:
            message = f"the group has no offset of {clean(place[0], 80)}/{place[1]} to go on from"
            raise CommandError(message, "give an offset, or reset to earliest, latest or a time", to.span)
        return committed.offset + to.number

    match to.how:
        case "earliest":
            return lambda place: log(place).start
        case "latest":
            return lambda place: log(place).end
        case "time":
            return at_time
        case "by":
            return beside
        case _:
            return lambda _place: to.number


def _unknown(place: TopicPartition, snapshot: Snapshot, to: OffsetPosition) -> CommandError:
    told = (each.failure for each in snapshot.failures if each.part in ("log_ranges", "offsets_at"))
    failure = next(told, None)
    why = f": {failure_text(failure)}" if failure is not None else ""
    message = f"where the log of {clean(place[0], 80)}/{place[1]} begins and ends is unknown{why}"
    return CommandError(message, "name partitions that have a leader, or give an offset", to.span)
