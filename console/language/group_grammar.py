"""The grammar of statements that change groups and their offsets."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from console.language.arguments import named, plain_name, whole_number
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import CloneGroup, DeleteGroupOffsets, Name, OffsetPosition, ResetOffsets, SkipRecords
from console.plan.amounts import moment

OFFSET_MAX = 2**63 - 1
TO = ("earliest", "latest", "offset", "time", "by", "file")

_GROUP = Expected(What.GROUP, "the NAME of a group")
_NEW_GROUP = Expected(What.GROUP, "the NAME of the other group")
_TOPIC = Expected(What.TOPIC, "the NAME of a topic")
_STEPS = re.compile(r"[+-]?[0-9]{1,19}")
_TIMES = ("1h", "24h", "7d")


def reset(reader: Reader) -> ResetOffsets:
    """``reset [share] group NAME [topic NAME [partition N]] to …``."""
    share = reader.take_keyword("share") is not None
    group = _group(reader)
    topic = _topic(reader)
    partition = _partition(reader, topic) if topic is not None else None
    reader.need_keyword("to")
    return ResetOffsets(group, _position(reader), topic, partition, share)


def skip(reader: Reader) -> SkipRecords:
    """``skip group NAME topic NAME partition N [COUNT]``."""
    group = _group(reader)
    reader.need_keyword("topic")
    topic = plain_name(reader, _TOPIC, "topics")
    reader.need_keyword("partition")
    partition = _number(reader, _partitions_of(topic), 2**31 - 1)
    if reader.ended:
        reader.expect(Expected(What.WORDS, "how many records, 1 if left out"))
        return SkipRecords(group, topic, partition)
    word = reader.take(Expected(What.WORDS, "how many records"), Role.VALUE)
    count = whole_number(word.text, 1, OFFSET_MAX)
    if count is None:
        reader.fail(f"expected a number of records, not {reader.shown(word)}", word)
    return SkipRecords(group, topic, partition, count)


def clone(reader: Reader) -> CloneGroup:
    """``clone group NAME to NAME``."""
    group = _group(reader)
    reader.need_keyword("to")
    return CloneGroup(group, plain_name(reader, _NEW_GROUP, "groups"))


def delete(reader: Reader) -> DeleteGroupOffsets:
    """What follows ``delete group``: ``NAME [topic NAME [partition N]]``."""
    group = _named(reader)
    topic = _topic(reader)
    return DeleteGroupOffsets(group, topic, _partition(reader, topic) if topic is not None else None)


def _group(reader: Reader) -> Name:
    reader.need_keyword("group")
    return _named(reader)


def _named(reader: Reader) -> Name:
    """Read the name of a group that there is. Brokers keep offsets of the group with the empty name, too."""
    return plain_name(reader, _GROUP, "groups", may_be_empty=True)


def _topic(reader: Reader) -> Name | None:
    return plain_name(reader, _TOPIC, "topics") if reader.take_keyword("topic") is not None else None


def _partition(reader: Reader, topic: Name) -> int | None:
    if reader.take_keyword("partition") is None:
        return None
    return _number(reader, _partitions_of(topic), 2**31 - 1)


def _partitions_of(topic: Name) -> Expected:
    return Expected(What.PARTITION, "the number of a partition", detail=topic.text or "")


def _number(reader: Reader, expected: Expected, highest: int) -> int:
    word = reader.take(expected, Role.VALUE)
    number = whole_number(word.text, 0, highest)
    if number is None:
        reader.fail(f"expected {expected.label}, not {reader.shown(word)}", word)
    return number


def _position(reader: Reader) -> OffsetPosition:
    first = reader.word
    how = reader.need_keyword(*TO)
    assert first is not None
    number, path, metadata, epoch, restored = 0, "", "", -1, False
    match how:
        case "offset":
            number = _number(reader, Expected(What.WORDS, "an offset"), OFFSET_MAX)
            if reader.take_keyword("epoch") is not None:
                epoch = _number(reader, Expected(What.WORDS, "a leader epoch"), 2**31 - 1)
            if reader.take_keyword("metadata") is not None:
                metadata = reader.take(Expected(What.WORDS, "a text"), Role.VALUE).text
            restored = reader.take_keyword("restored") is not None
        case "time":
            number = _time(reader)
        case "by":
            word = reader.take(Expected(What.WORDS, "how many records, +N or -N"), Role.VALUE)
            if _STEPS.fullmatch(word.text) is None or abs(int(word.text)) > OFFSET_MAX:
                reader.fail(f"expected how many records, +N or -N, not {reader.shown(word)}", word)
            number = int(word.text)
        case "file":
            path = named(reader, Expected(What.WORDS, "a FILE with topic,partition,offset"), Role.VALUE)
    return OffsetPosition(how, number, path, metadata, epoch, restored, span=reader.span_from(first))


def _time(reader: Reader) -> int:
    """Read a time. Returns milliseconds since 1970."""
    word = reader.take(Expected(What.WORDS, "a TIME such as 2h or 2026-11-20T14:05Z", _TIMES), Role.VALUE)
    try:
        milliseconds = round(moment(word.text, datetime.now(UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        reader.fail(str(error), word)
    if milliseconds < 0:
        reader.fail("Kafka has no times before 1970", word)
    return milliseconds
