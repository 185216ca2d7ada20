"""``skip``: moves a group past the record at its committed offset, or past several."""

from __future__ import annotations

from collections.abc import Iterator

from console.language import arguments, statements
from console.language.reader import Expected, Reader, Role, What
from console.language.snapshot_parts import Needs, the_group
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.plan.edits import Edit


class SkipRecords(statements.EditStatement, frozen=True):
    """``skip group``."""

    group: statements.Name
    topic: statements.Name
    partition: int
    count: int = 1


def _parse(reader: Reader) -> SkipRecords:
    group, topic = arguments.group_name(reader), arguments.topic_name(reader, arguments.A_TOPIC)
    reader.need_keyword("partition")
    partition = arguments.partition_number(reader, topic)
    if reader.ended:
        reader.expect(Expected(What.WORDS, "how many records, 1 if left out"))
        return SkipRecords(group, topic, partition)
    word = reader.take(Expected(What.WORDS, "how many records"), Role.VALUE)
    count = arguments.whole_number(word.text, 1, arguments.NUMBER_MAX)
    if count is None:
        reader.fail(f"expected a number of records, not {reader.shown(word)}", word)
    return SkipRecords(group, topic, partition, count)


def _text(statement: SkipRecords) -> str:
    count = str(statement.count) if statement.count != 1 else ""
    return statements.joined("skip", statements.in_group(statement.group, statement.topic, statement.partition), count)


def _needs(statement: SkipRecords, _selected: statements.Subject | None) -> Needs:
    topic = frozenset({statement.topic.text or ""})
    return the_group(statement.group) | Needs(topics=topic, log_ranges=topic)


def _edits(statement: SkipRecords, staging: Staging) -> Iterator[Edit]:
    from console.language.group_edits import commits, existing, partitions_in

    position = existing(staging.snapshot, statement.group)
    places = partitions_in(staging.snapshot, statement.topic, statement.partition)
    steps = statements.OffsetPosition("by", statement.count, span=statement.span)
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
