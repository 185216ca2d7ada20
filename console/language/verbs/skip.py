"""``skip``: a group continues behind the record at its committed offset, or behind several."""

from __future__ import annotations

from collections.abc import Iterator

from console.language.arguments import A_TOPIC, NUMBER_MAX, group_name, partition_number, topic_name, whole_number
from console.language.reader import Expected, Reader, Role, What
from console.language.snapshot_parts import Needs, the_group
from console.language.staging import Staging
from console.language.statements import EditStatement, Name, OffsetPosition, Subject, in_group, joined
from console.language.verb import CHANGE, StatementKind, Verb
from console.plan.edits import Edit


class SkipRecords(EditStatement, frozen=True):
    """``skip group``."""

    group: Name
    topic: Name
    partition: int
    count: int = 1


def _parse(reader: Reader) -> SkipRecords:
    group, topic = group_name(reader), topic_name(reader, A_TOPIC)
    reader.need_keyword("partition")
    partition = partition_number(reader, topic)
    if reader.ended:
        reader.expect(Expected(What.WORDS, "how many records, 1 if left out"))
        return SkipRecords(group, topic, partition)
    word = reader.take(Expected(What.WORDS, "how many records"), Role.VALUE)
    count = whole_number(word.text, 1, NUMBER_MAX)
    if count is None:
        reader.fail(f"expected a number of records, not {reader.shown(word)}", word)
    return SkipRecords(group, topic, partition, count)


def _text(statement: SkipRecords) -> str:
    count = str(statement.count) if statement.count != 1 else ""
    return joined("skip", in_group(statement.group, statement.topic, statement.partition), count)


def _needs(statement: SkipRecords, _selected: Subject | None) -> Needs:
    topic = frozenset({statement.topic.text or ""})
    return the_group(statement.group) | Needs(topics=topic, log_ranges=topic)


def _edits(statement: SkipRecords, staging: Staging) -> Iterator[Edit]:
    from console.language.group_edits import commits, existing, partitions_in

    position = existing(staging.snapshot, statement.group)
    places = partitions_in(staging.snapshot, statement.topic, statement.partition)
    steps = OffsetPosition("by", statement.count, span=statement.span)
    yield from commits(statement.group, places, steps, staging.snapshot, position)


VERBS = (
    Verb(
        "skip",
        CHANGE,
        ("skip group NAME topic NAME partition N [COUNT]",),
        "Stage that a group goes on behind the record it stands on, or behind COUNT of them",
        "For a record that no consumer can read. The group has to be without members.",
        ("skip group billing topic orders partition 3 10",),
        takes_away=True,
        parse=_parse,
        statements=(StatementKind(statement=SkipRecords, text=_text, needs=_needs, edits=_edits),),
    ),
)
