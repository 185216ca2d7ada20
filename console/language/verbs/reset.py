"""``reset``: commits other offsets for a group, or sets those of a connector. Positions and times become offsets when
the statement is staged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from console.language import statements
from console.language.arguments import INT_MAX, NUMBER_MAX, group_name, named, need_number, topic_of_group
from console.language.errors import CommandError
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.snapshot_parts import Needs, the_group
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.language.verbs import connector
from console.model.system_topics import is_of_application
from console.plan.amounts import moment
from console.plan.edits import CommitOffset, Edit

TO = ("earliest", "latest", "current", "offset", "time", "by", "file")

_TIMES = ("1h", "24h", "7d")


class ResetOffsets(statements.EditStatement, frozen=True):
    """The statement ``reset group``: for all offsets that the group has committed, for those of a topic, or of a
    partition.
    """

    group: statements.Name
    to: statements.OffsetPosition
    topic: statements.Name | None = None
    partition: int | None = None
    share: bool = False
    """Whether the statement is ``reset share group``."""

    @property
    def reads_file(self) -> bool:
        """Whether the offsets are in a file."""
        return self.to.how == "file"


# -- grammar -----------------------------------------------------------------------------------------------------------


def _parse(reader: Reader) -> ResetOffsets | connector.ResetConnector:
    share = reader.take_keyword("share") is not None
    if not share and reader.take_keyword("connector") is not None:
        return connector.parse_reset(reader)
    group = group_name(reader)
    topic, partition = topic_of_group(reader)
    reader.need_keyword("to")
    return ResetOffsets(group, _position(reader), topic, partition, share)


def _position(reader: Reader) -> statements.OffsetPosition:
    first = reader.word
    how = reader.need_keyword(*TO)
    assert first is not None
    number, path, metadata, epoch, restored = 0, "", "", -1, False
    match how:
        case "offset":
            number = need_number(reader, Expected(What.WORDS, "an offset"), NUMBER_MAX)
            if reader.take_keyword("epoch") is not None:
                epoch = need_number(reader, Expected(What.WORDS, "a leader epoch"), INT_MAX)
            if reader.take_keyword("metadata") is not None:
                metadata = reader.take(Expected(What.WORDS, "a text"), Role.VALUE).text
            restored = reader.take_keyword("restored") is not None
        case "time":
            number = _time(reader)
        case "by":
            word = reader.take(Expected(What.WORDS, "how many records, +N or -N"), Role.VALUE)
            if re.fullmatch(r"[+-]?[0-9]{1,19}", word.text) is None or abs(int(word.text)) > NUMBER_MAX:
                reader.fail(f"expected how many records, +N or -N, not {reader.shown(word)}", word)
            number = int(word.text)
        case "file":
            path = named(reader, Expected(What.WORDS, "a FILE with topic,partition,offset"), Role.VALUE)
    return statements.OffsetPosition(how, number, path, metadata, epoch, restored, span=reader.span_from(first))


def _time(reader: Reader) -> int:
    """Read a time; return milliseconds since 1970. Raises ParseError."""
    word = reader.take(Expected(What.WORDS, "a TIME such as 2h or 2026-11-20T14:05Z", _TIMES), Role.VALUE)
    try:
        milliseconds = round(moment(word.text, datetime.now(UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        reader.fail(str(error), word)
    if milliseconds < 0:
        reader.fail("Kafka has no times before 1970", word)
    return milliseconds


def _text(statement: ResetOffsets) -> str:
    share = "share" if statement.share else ""
    of = statements.in_group(statement.group, statement.topic, statement.partition)
    return statements.joined("reset", share, of, "to", _position_text(statement.to))


def _position_text(to: statements.OffsetPosition) -> str:
    match to.how:
        case "offset":
            epoch = f"epoch {to.epoch}" if to.epoch >= 0 else ""
            metadata = f"metadata {quote(to.metadata)}" if to.metadata else ""
            return statements.joined("offset", str(to.number), epoch, metadata, "restored" if to.restored else "")
        case "time":
            at = datetime.fromtimestamp(to.number // 1000, UTC)
            return f"time {at:%Y-%m-%dT%H:%M:%S}.{to.number % 1000:03}Z"
        case "by":
            return f"by {to.number:+}"
        case "file":
            return f"file {quote(to.path)}"
        case how:
            return how


# -- edits -------------------------------------------------------------------------------------------------------------


def _needs(statement: ResetOffsets, _selected: statements.Subject | None) -> Needs:
    time = statement.to.number if statement.to.how == "time" else None
    topics = {row.topic for row in statement.to.rows or ()}
    if statement.topic is not None:
        topics.add(statement.topic.text or "")
    if not topics:
        return the_group(statement.group, time)
    at = {(topic, time) for topic in topics} if time is not None else set()
    named = Needs(topics=frozenset(topics), log_ranges=frozenset(topics), offsets_at=frozenset(at))
    return the_group(statement.group) | named


def _edits(statement: ResetOffsets, staging: Staging) -> Iterator[Edit]:
    from console.language.group_edits import commits, existing, partitions_in, position_of, shown
    from console.plan.group_forecast import STREAMS, nothing_committed

    group, snapshot = statement.group, staging.snapshot
    position = position_of(snapshot, group)
    if statement.to.how == "file":
        yield from _from_file(statement, staging)
        return
    if statement.topic is not None:
        places = partitions_in(snapshot, statement.topic, statement.partition)
    else:
        places = list(existing(snapshot, group).committed)
        # Leave out topics that the application itself created: they are no inputs, and it keeps their offsets
        # consistent.
        if position.group is not None and position.group.type == STREAMS:
            places = [place for place in places if not is_of_application(place[0], group.text or "")]
        if not places:
            raise CommandError(
                nothing_committed(shown(group), position) or f"group {shown(group)} has no offsets of its inputs",
                "name a topic: reset group NAME topic NAME to earliest",
                group.span,
            )
    yield from commits(group, places, statement.to, snapshot, position, statement.share)


def _from_file(statement: ResetOffsets, staging: Staging) -> Iterator[Edit]:
    from console.language.vocabulary import require_topic

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
        require_topic(staging.snapshot, name, statement.to.span)
    for row in rows:
        yield CommitOffset(statement.group.text or "", row.topic, row.partition, row.offset, share=statement.share)


def _of_commit(edit: CommitOffset) -> ResetOffsets:
    to = statements.OffsetPosition(
        "offset", edit.offset, metadata=edit.metadata, epoch=edit.leader_epoch, restored=edit.restored
    )
    return ResetOffsets(statements.Name(edit.group), to, statements.Name(edit.topic), edit.partition, edit.share)


_RESET = StatementKind(
    statement=ResetOffsets, text=_text, needs=_needs, edits=_edits, of_edits={CommitOffset: _of_commit}
)

VERBS = (
    Verb(
        "reset",
        CHANGE,
        ("reset [share] group NAME [topic NAME [partition N]] to PLACE", connector.RESET_USAGE),
        "Stage other offsets for a group or a connector: it then reads records again, or skips them",
        "PLACE says where the group continues to read:\n\n"
        "- `earliest` and `latest` are the start and the end of the log.\n"
        "- `current` is the group's present offset, or the end of the log if the group has no offset.\n"
        "- `offset N` is an offset. kac refuses an offset outside of the log.\n"
        "- `time T` is the first record from a time on. T is 2h (two hours ago), or 2026-11-20T14:05Z. A time "
        "without Z or another zone is in this host's time zone.\n"
        "- `by +N` and `by -N` move the offset by N records, up to the ends of the log.\n"
        "- `file F` takes the offsets from a file that `kac groups --export` wrote. Its lines have "
        "topic,partition,offset; the group may come first.\n\n"
        "Without a topic kac resets every partition for which the group has committed an offset. With a topic kac "
        "resets all partitions of the topic. kac turns places and times into offsets when you stage the "
        "statement.\n\n"
        "The group must have no members. A member that joins before kac sends the reset stops the reset. kac "
        "can't see consumers that use assign(), because they are not members.\n\n"
        "For a share group kac sets the start offset. Write the word `share` only for a share group that does not "
        "exist yet.\n\n"
        "`revert` commits the old offsets again, although they may be outside of the log by then. As a command "
        "such an offset reads `offset N [epoch E] [metadata TEXT] restored`.\n\n"
        "A connector's offsets change only while the connector is stopped (Kafka 3.6 and newer). The plan first "
        "stops the connector, and leaves it stopped. `none` deletes all offsets of the connector. F is a file "
        "with offsets as Connect returns them. JSON is the same text in quotes.",
        (
            "reset group billing to earliest",
            "reset group billing topic orders to time 2h",
            "reset group billing topic orders partition 3 to offset 1200",
            "reset group billing to file offsets.csv",
            "reset connector main/orders-sink offsets to none",
        ),
        takes_away=True,
        rank=6,
        stands_for={"reset group NAME topic TOPIC to earliest": "group reset, group alter, offset reset, offset alter"},
        parse=_parse,
        statements=(_RESET, connector.RESET),
    ),
)
