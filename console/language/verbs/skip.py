"""``skip``: moves a group past the record at its committed offset, or past several."""

from __future__ import annotations

from collections.abc import Iterator

from console.language import arguments, statements
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import Needs, the_group
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.language.verbs import passed_over
from console.plan.edits import Edit


class SkipRecords(passed_over.PassingStatement, frozen=True):
    """The statement ``skip group``."""

    group: statements.Name
    topic: statements.Name
    partition: int
    count: int = 1


def _parse(reader: Reader) -> SkipRecords:
    group, topic = arguments.group_name(reader), arguments.topic_name(reader, arguments.A_TOPIC)
    reader.need_keyword("partition")
    partition = arguments.partition_number(reader, topic)
    reader.expect(Expected(What.WORDS, "how many records, 1 if left out"))
    count, word = 1, reader.word
    if word is not None and word.text[:1].isdecimal():
        count = arguments.need_number(reader, Expected(What.WORDS, "a number of records"), arguments.NUMBER_MAX, 1)
    return passed_over.with_first(reader, SkipRecords(group, topic, partition, count))


def _text(statement: SkipRecords) -> str:
    count = str(statement.count) if statement.count != 1 else ""
    of = statements.in_group(statement.group, statement.topic, statement.partition)
    return statements.joined("skip", of, count, passed_over.first_text(statement))


def _needs(statement: SkipRecords, _selected: statements.Subject | None) -> Needs:
    topic = frozenset({statement.topic.text or ""})
    return the_group(statement.group) | Needs(topics=topic, log_ranges=topic) | passed_over.first_needs(statement)


def _edits(statement: SkipRecords, staging: Staging) -> Iterator[Edit]:
    from console.language.group_edits import commits, existing, partitions_in

    position = existing(staging.snapshot, statement.group)
    places = partitions_in(staging.snapshot, statement.topic, statement.partition)
    steps = statements.OffsetPosition("by", statement.count, span=statement.span)
    made = commits(statement.group, places, steps, staging.snapshot, position)
    yield from passed_over.letters_first(statement, staging, made)


VERBS = (
    Verb(
        "skip",
        CHANGE,
        (f"skip group NAME topic NAME partition N [COUNT] {passed_over.USAGE}",),
        "Stage that a group skips the record at its position, or COUNT records",
        "Skip a record that no consumer can process. The group must have no members.\n\n"
        "`keep FILE` first copies the records into a new file of JSON lines, when you stage the skip. `to topic "
        "NAME` sends the records to that topic when you apply the skip. The sent records have headers that `redrive` "
        "reads. The group's offset moves only after kac has sent all these records.",
        (
            "skip group billing topic orders partition 3 10",
            "skip group billing topic orders partition 3 to topic orders.dlt",
            "skip group billing topic orders partition 3 keep poison.jsonl",
        ),
        takes_away=True,
        parse=_parse,
        statements=(StatementKind(statement=SkipRecords, text=_text, needs=_needs, edits=_edits),),
    ),
)
