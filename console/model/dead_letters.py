"""Dead letters: the headers by which tools say where a record failed and why, and the record that is sent again. Pure.

The names are those of Spring's DeadLetterPublishingRecoverer (``KafkaHeaders``), of Kafka Connect's
DeadLetterQueueReporter, of Kafka Streams' ExceptionHandlerUtils (KIP-1034), and of the brokers' ShareGroupDLQManager
(KIP-1191, Kafka 4.4); and kac's own, of records that a group or a deletion passes over.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct, field

from console.model.new_records import NewRecord, partition_of
from console.model.numbers import LAST_MS, json_text, plural
from console.model.records import Header, Record

LONGEST = 300
"""Maximum length in characters of an exception, and of the name of a group or topic, that is kept."""
GROUP_PREFIX = "kac-redrive-"
_HASH = 12
"""Number of characters of a selection's hash."""


class Convention(Struct, frozen=True):
    """The headers of one tool.

    Attributes:
        name: the name of the tool.
        topic, partition, offset: the headers with the place of the record that failed.
        exceptions: the headers with the exception's class, the one nearest to the cause first.
        message: the header with the exception's text.
        group: the header with the group that failed; ``b""`` if the tool writes no such header.
        drops: the beginning of the names of this tool's headers: a record that is sent again has none of them.
        is_binary: whether partition and offset are big-endian numbers; text otherwise.
        may_be_empty: whether the contents of a letter without key and value were not copied.
    """

    name: str
    topic: bytes
    partition: bytes
    offset: bytes
    exceptions: tuple[bytes, ...]
    message: bytes
    group: bytes
    drops: tuple[bytes, ...]
    is_binary: bool = False
    may_be_empty: bool = False

    @property
    def told_by(self) -> tuple[bytes, ...]:
        """The names of the headers that may have the exception, in the order in which to look for them."""
        return (*self.exceptions, self.message)


SPRING_DROPS = (
    b"kafka_dlt-",
    b"kafka_original-",
    b"kafka_exception-",
    b"kafka_key-exception-",
    b"retry_topic-",
    b"springDeserializerException",
)
PASSED_OVER = "kac"
_OWN, _CONNECTS = b"kac.passed-over.", b"__connect.errors."
_STREAMS, _SHARE = b"__streams.errors.", b"__dlq.errors."


def _prefixed(
    name: str,
    prefix: bytes,
    exceptions: tuple[bytes, ...] = (),
    *,
    message: bytes = b"message",
    group: bytes = b"",
    may_be_empty: bool = False,
) -> Convention:
    """Return a convention whose headers all begin with a prefix. message: the rest of the header with the text."""
    places = prefix + b"topic", prefix + b"partition", prefix + b"offset"
    return Convention(name, *places, exceptions, prefix + message, group, (prefix,), may_be_empty=may_be_empty)


CONVENTIONS = (
    # kac's own convention comes first: a record that was passed over may itself be a letter of another tool.
    _prefixed(PASSED_OVER, _OWN, group=_OWN + b"group"),
    Convention(
        "Spring Kafka",
        b"kafka_dlt-original-topic",
        b"kafka_dlt-original-partition",
        b"kafka_dlt-original-offset",
        (b"kafka_dlt-exception-cause-fqcn", b"kafka_dlt-exception-fqcn", b"kafka_dlt-key-exception-fqcn"),
        b"kafka_dlt-exception-message",
        b"kafka_dlt-original-consumer-group",
        SPRING_DROPS,
        is_binary=True,
    ),
    Convention(
        "Spring Kafka, retry topics",
        b"kafka_original-topic",
        b"kafka_original-partition",
        b"kafka_original-offset",
        (b"kafka_exception-cause-fqcn", b"kafka_exception-fqcn", b"kafka_key-exception-fqcn"),
        b"kafka_exception-message",
        b"kafka_dlt-original-consumer-group",
        SPRING_DROPS,
        is_binary=True,
    ),
    _prefixed("Kafka Connect", _CONNECTS, (_CONNECTS + b"exception.class.name",), message=b"exception.message"),
    _prefixed("Kafka Streams", _STREAMS, (_STREAMS + b"exception",)),
    _prefixed("share group", _SHARE, group=_SHARE + b"group", may_be_empty=True),
)
"""The conventions. If a letter has headers of several, the first of these counts."""
_DROPS = tuple(dict.fromkeys(each for convention in CONVENTIONS for each in convention.drops))


class Origin(Struct, frozen=True):
    """The place at which a letter failed, by its headers."""

    convention: str
    topic: str
    partition: int = -1
    """The original partition; -1 if unknown."""
    offset: int = -1
    """The original offset; -1 if unknown."""
    exception: str = ""
    """The class of the exception, else its text; ``""`` if unknown."""
    message: str = ""
    group: str = ""
    """The group that failed to process the record; ``""`` if unknown."""
    by: bytes = b""
    """The header with the exception."""


def origin_of(record: Record) -> Origin | None:
    """Return the place at which a letter failed; None if it has no convention's headers."""
    headers = dict(record.headers)  # if a name occurs twice, its last value counts, as for the tools themselves
    for each in CONVENTIONS:
        topic = _text(headers.get(each.topic))
        if not topic:
            continue
        by = next((name for name in each.told_by if _text(headers.get(name))), b"")
        return Origin(
            each.name,
            topic,
            _number(headers.get(each.partition), 4 if each.is_binary else 0),
            _number(headers.get(each.offset), 8 if each.is_binary else 0),
            _text(headers.get(by)),
            _text(headers.get(each.message)),
            _text(headers.get(each.group)),
            by,
        )
    return None


def _text(data: bytes | None) -> str:
    return "" if data is None else data.decode("utf-8", "replace")[:LONGEST]


def _number(data: bytes | None, size: int) -> int:
    """Return the number in a header's value; -1 for None, and for other bytes. size: the number of its bytes if it is
    binary; 0 for text.
    """
    if data is None:
        return -1
    if size:
        return int.from_bytes(data, signed=True) if len(data) == size else -1
    return int(data) if len(data) < 20 and data.isdigit() and data.isascii() else -1


def letter_of(record: Record, group: str | None) -> NewRecord:
    """Return the letter for a record that a plan passes over: its key, value and headers, and new headers with its
    place and its time. The letter goes to the partition of its key, and its own time is that of sending, so that
    retention keeps it.

    Args:
        group: the group that continues behind the record; None if the record is deleted.
    """
    why = "deleted" if group is None else f"skipped by group {group}"
    own = {
        b"topic": record.topic,
        b"partition": str(record.partition),
        b"offset": str(record.offset),
        b"timestamp": str(record.timestamp),
        b"message": why,
    } | ({} if group is None else {b"group": group})
    headers = [each for each in record.headers if not each[0].startswith(_OWN)]
    headers += [(_OWN + name, text.encode()) for name, text in own.items()]
    return NewRecord(record.key, record.value, tuple(headers))


def application_headers(headers: tuple[Header, ...], origin: Origin | None) -> tuple[Header, ...]:
    """Return the headers with which a redrive sends a letter again: without those of any convention. A record that was
    passed over loses only kac's own headers: it may be a letter of another tool, which gets it as it was.

    Args:
        origin: the origin of the letter; None for a letter without one.
    """
    drops = (_OWN,) if origin is not None and origin.convention == PASSED_OVER else _DROPS
    return tuple(each for each in headers if not each[0].startswith(drops))


# -- the selection -----------------------------------------------------------------------------------------------------


class Redrive(Struct, frozen=True, tag="redrive"):
    """The goal that the letters of a topic are sent again, once.

    Attributes:
        topic: the dead-letter topic.
        where: a condition for the letters; ``""`` for all.
        to: the topic that gets the letters; ``""`` for the original topic of each.
        ends: the end of each partition when the redrive began: later letters are not sent.
        topic_id: the id of the dead-letter topic at that time; ``""`` if brokers have no topic ids. A topic with
            another id and the same name has other letters.
        reached: the first offset of each partition that earlier operations did not look at, by the journal.
        behind: the last of these operations; 0 for none.
        noted: the letters that they sent, by the journal.
    """

    topic: str
    where: str = ""
    to: str = ""
    ends: tuple[tuple[int, int], ...] = ()
    topic_id: str = ""
    reached: tuple[tuple[int, int], ...] = ()
    behind: int = 0
    noted: int = 0

    @property
    def group(self) -> str:
        """The name of the group with the redrive's positions, also its transactional id: the same for the same letters
        and target.
        """
        about = json_text([self.where, self.to]).encode()
        return f"{GROUP_PREFIX}{self.topic}-{sha256(about).hexdigest()[:_HASH]}"

    def __str__(self) -> str:
        return f"redrive {self.topic}" + (f" to {self.to}" if self.to else "")


def is_selection_of(group: str, topic: str) -> bool:
    """Return whether a group is that of a redrive of a topic."""
    return group.startswith(f"{GROUP_PREFIX}{topic}-") and len(group) == len(GROUP_PREFIX) + len(topic) + 1 + _HASH


class Stays(StrEnum):
    """The reasons why a letter stays in the dead-letter topic."""

    NOT_CHOSEN = "not chosen"
    NO_ORIGIN = "without headers that name a topic"
    NO_TOPIC = "of topics that do not exist"
    UNSEEN = "of topics that may not be described: it needs DESCRIBE on them"
    ITSELF = "of this topic itself"
    NO_CONTENTS = "whose contents were not copied"
    BAD_HEADER = "with a header whose name is no text"


IN_THE_WAY = (Stays.NO_ORIGIN, Stays.NO_TOPIC, Stays.UNSEEN)
"""Reasons because of which a redrive stops at a chosen letter instead of passing over it."""
UNSEEN = -1
"""Stands for the number of partitions of a topic that the principal may not describe."""


class Letter(Struct, frozen=True):
    """A letter that a redrive sends again."""

    partition: int
    offset: int
    """The offset in the dead-letter topic."""
    target: str
    record: NewRecord


def addressed(record: Record, goal: Redrive, partitions: Mapping[str, int], *, is_chosen: bool) -> Letter | Stays:
    """Return a letter as it is sent, or the reason why it stays.

    A letter to its original topic goes to the partition in which it failed, if the topic still has that partition; any
    other letter goes to the partition of its key. Its time is that of sending.

    Args:
        record: the record as the broker sent it.
        partitions: the number of partitions of each topic that exists, or `UNSEEN`.
        is_chosen: whether the operator's selection includes the letter.
    """
    if not is_chosen:
        return Stays.NOT_CHOSEN
    origin = origin_of(record)
    target = goal.to or (origin.topic if origin is not None else "")
    if not target:
        return Stays.NO_ORIGIN
    if target == goal.topic:
        return Stays.ITSELF
    if target not in partitions:
        return Stays.NO_TOPIC
    if partitions[target] == UNSEEN:
        return Stays.UNSEEN
    empty = record.key is None and record.value is None
    if (
        empty
        and origin is not None
        and any(each.may_be_empty for each in CONVENTIONS if each.name == origin.convention)
    ):
        return Stays.NO_CONTENTS
    headers = application_headers(record.headers, origin)
    if not all(_is_text(name) for name, _ in headers):
        return Stays.BAD_HEADER
    place = None
    if origin is not None and origin.topic == target and 0 <= origin.partition < partitions[target]:
        place = origin.partition
    return Letter(record.partition, record.offset, target, NewRecord(record.key, record.value, headers, place))


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


# -- positions ---------------------------------------------------------------------------------------------------------


class Position(Struct, frozen=True):
    """The progress of a redrive in a partition, from the offset that its group committed.

    Attributes:
        offset: the first letter that was not looked at.
        sent, stayed: the numbers of letters before it that were sent, and that stay.
    """

    offset: int
    sent: int = 0
    stayed: int = 0

    @property
    def metadata(self) -> str:
        """The counts, as the metadata of the committed offset."""
        return f"kac sent={self.sent} stayed={self.stayed}"


def position_of(offset: int, metadata: str) -> Position:
    """Return the position of a committed offset. Counts that kac did not write are zero."""
    words = dict(each.partition("=")[::2] for each in metadata.split()[1:]) if metadata.startswith("kac ") else {}
    counts = (words.get(name, "") for name in ("sent", "stayed"))
    return Position(offset, *(int(each) if each.isdecimal() and len(each) < 20 else 0 for each in counts))


def moved_on(
    positions: Mapping[int, Position], looked_at: Mapping[int, int], letters: list[Letter], stayed: Mapping[int, int]
) -> dict[int, Position]:
    """Return the positions after a part of the letters.

    Args:
        looked_at: the first offset of each partition that was not looked at.
        letters: the letters that are sent.
        stayed: partition -> the number of its letters that stay.
    """
    sent: dict[int, int] = {}
    for each in letters:
        sent[each.partition] = sent.get(each.partition, 0) + 1
    return {
        number: Position(
            offset,
            positions[number].sent + sent.get(number, 0),
            positions[number].stayed + stayed.get(number, 0),
        )
        for number, offset in looked_at.items()
    }


# -- the contents of a dead-letter topic -------------------------------------------------------------------------------

MOST_PILES = 500
"""Maximum number of rows of a survey; all further letters are in the row without topic and exception."""
MORE = "…"


class Age(StrEnum):
    """The time since a letter was written."""

    HOUR = "last hour"
    DAY = "last day"
    WEEK = "last 7 days"
    OLDER = "older"
    UNKNOWN = "without a time"


_HOUR = 3_600_000
_UP_TO = {Age.HOUR: _HOUR, Age.DAY: 24 * _HOUR, Age.WEEK: 7 * 24 * _HOUR}
"""Age -> its upper bound in milliseconds; a letter has the first age that fits."""


def age_of(timestamp: int, now: int) -> Age:
    """Return the age of a letter. timestamp, now: ms since 1970; the age of a timestamp outside of the calendar is
    unknown.
    """
    if not 0 <= timestamp <= LAST_MS:
        return Age.UNKNOWN
    return next((age for age, most in _UP_TO.items() if timestamp >= now - most), Age.OLDER)


class Pile(Struct):
    """The letters of one original topic, exception and age.

    Attributes:
        by: the name of the header with the exception; ``b""`` without one.
        count: the number of letters.
        chosen: the number of letters that are sent.
        first, last: the earliest and the latest time of the letters, ms since 1970; -1 without any.
        example: partition and offset of one of the letters in the dead-letter topic.
        message: the text of the example's exception.
    """

    topic: str
    exception: str
    convention: str = ""
    by: bytes = b""
    age: Age = Age.UNKNOWN
    count: int = 0
    chosen: int = 0
    first: int = -1
    last: int = -1
    example: tuple[int, int] = (-1, -1)
    message: str = ""


class Heap(Struct):
    """The letters that are sent to one partition."""

    sizes: list[int] = field(default_factory=list)
    """The size of each letter, in bytes."""
    keys: set[bytes] = field(default_factory=set)
    """The distinct keys."""
    nulls: int = 0
    keyless: int = 0


_Kind = tuple[str, str, str, bytes, Age]


class Survey(Struct):
    """The letters that a redrive found and would send.

    Attributes:
        now: the time from which ages count, ms since 1970, a whole minute.
        piles: the piles by convention, original topic, exception, its header, and age.
        heaps: the heaps by topic and partition.
        stays: reason -> the number of letters that stay because of it.
        failed: topic -> the groups in which its letters failed.
        before: the number of letters that this selection sent before.
        others: group of another selection of the topic -> the number of letters that it sent.
        unread: the number of other selections that were not read; None if not all of them could be listed.
    """

    now: int = 0
    piles: dict[_Kind, Pile] = field(default_factory=dict)
    heaps: dict[tuple[str, int], Heap] = field(default_factory=dict)
    stays: dict[Stays, int] = field(default_factory=dict)
    failed: dict[str, set[str]] = field(default_factory=dict)
    before: int = 0
    others: dict[str, int] = field(default_factory=dict)
    unread: int | None = 0

    @property
    def count(self) -> int:
        """The number of letters."""
        return sum(each.count for each in self.piles.values())

    @property
    def chosen(self) -> int:
        """The number of letters that are sent."""
        return sum(each.chosen for each in self.piles.values())

    @property
    def in_the_way(self) -> tuple[str, ...]:
        """The reasons why a redrive can't begin, a line each: chosen letters that have no place to go to."""
        return tuple(
            f"{plural(self.stays[why], 'chosen letter')} {why.value}" for why in IN_THE_WAY if self.stays.get(why)
        )

    def add(self, record: Record, found: Letter | Stays, partitions: Mapping[str, int]) -> None:
        """Count a letter.

        Args:
            found: the result of `addressed`.
            partitions: the number of partitions of each topic that exists.
        """
        origin, age = origin_of(record) or Origin("", ""), age_of(record.timestamp, self.now)
        about = origin.convention, origin.topic, origin.exception, origin.by, age
        if about not in self.piles and len(self.piles) >= MOST_PILES:
            about = "", MORE, MORE, b"", Age.UNKNOWN
        pile = self.piles.get(about)
        if pile is None:
            convention, topic, exception, by, age = about
            place = record.partition, record.offset
            pile = Pile(topic, exception, convention, by, age, example=place, message=origin.message)
            self.piles[about] = pile
        pile.count += 1
        if record.timestamp >= 0:
            pile.first = record.timestamp if pile.first < 0 else min(pile.first, record.timestamp)
            pile.last = max(pile.last, record.timestamp)
        if isinstance(found, Stays):
            self.stays[found] = self.stays.get(found, 0) + 1
            return
        pile.chosen += 1
        new = found.record
        heap = self.heaps.setdefault((found.target, partition_of(new, partitions[found.target])), Heap())
        heap.sizes.append(new.size)
        heap.nulls += new.value is None
        heap.keyless += new.key is None
        if new.key is not None:
            heap.keys.add(sha256(new.key).digest()[:8])
        if origin.group:
            self.failed.setdefault(found.target, set()).add(origin.group)


# -- the condition for a pile ------------------------------------------------------------------------------------------


def condition_of(pile: Pile, found: Survey) -> str:
    """Return the condition that holds for the letters of a pile, and for no others of the survey.

    Raises:
        ValueError: the pile has letters of several kinds.
    """
    if pile.topic == MORE:
        raise ValueError(f"the row has letters of many kinds: more than {MOST_PILES} are not told apart")
    seen = {each.convention for each in found.piles.values()}
    parts, absent = [], []
    for each in CONVENTIONS:
        if each.name == pile.convention:
            parts.append(_equals(each.topic, pile.topic))
            before = each.told_by[: each.told_by.index(pile.by)] if pile.by else each.told_by
            parts += [_equals(pile.by, pile.exception)] if pile.by else []
            absent += [_is_empty(name) for name in before]
            break
        # A letter with the headers of several tools counts for the first of them.
        absent += [_is_empty(each.topic)] if each.name in seen else []
    return " && ".join((*parts, *_times(pile.age, found.now), *absent))


def _equals(header: bytes, text: str) -> str:
    name = _quoted(header.decode())
    if len(text) == LONGEST:  # the text may have been cut at this length
        return f"headers[{name}].startsWith({_quoted(text)})"
    return f"headers[{name}] == {_quoted(text)}"


def _is_empty(header: bytes) -> str:
    name = _quoted(header.decode())
    return f'(!({name} in headers) || headers[{name}] in ["", null])'


def _quoted(text: str) -> str:
    """Return a text as a literal of a condition."""
    made = []
    for each in text:
        if each in '"\\':
            made.append(f"\\{each}")
        else:
            made.append(each if each.isprintable() else f"\\U{ord(each):08x}")
    return f'"{"".join(made)}"'


def _times(age: Age, now: int) -> list[str]:
    if age is Age.UNKNOWN:
        return ["time == null"]
    ages = list(Age)
    before = ages[ages.index(age) - 1] if age is not Age.HOUR else None
    parts = [] if age is Age.OLDER else [f"time >= {_moment(now - _UP_TO[age])}"]
    return parts + ([f"time < {_moment(now - _UP_TO[before])}"] if before is not None else [])


def _moment(at: int) -> str:
    return f'timestamp("{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}")'
