"""Dead letters: the headers by which tools say where a record failed and why, and the record that a redrive sends
again. Pure.

The names of the headers are those of Spring's DeadLetterPublishingRecoverer (``KafkaHeaders``), of Kafka Connect's
DeadLetterQueueReporter, of Kafka Streams' ExceptionHandlerUtils (KIP-1034), and of the brokers' ShareGroupDLQManager
(KIP-1191, Kafka 4.4); and kac's own, for records that an operator lets a group skip, or deletes.
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
"""Maximum length in characters of a text from a header: an exception, the name of a group or a topic."""
GROUP_PREFIX = "kac-redrive-"
_HASH = 12
"""Number of characters of the hash in the name of a redrive's group."""


class Convention(Struct, frozen=True):
    """The headers that one tool writes into dead letters.

    Attributes:
        name: the name of the tool.
        topic, partition, offset: the headers with the place of the record that failed.
        exceptions: the headers with the exception's class, the one nearest to the root cause first.
        message: the header with the exception's text.
        group: the header with the group that failed; ``b""`` if the tool writes no such header.
        drops: prefixes of the names of this tool's headers, which a redrive removes from a letter.
        is_binary: whether partition and offset are big-endian numbers; text otherwise.
        may_be_empty: whether a letter without key and value means that the tool did not copy the contents.
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
        """The names of the headers that may contain the exception, in the order in which to look for them."""
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
    """Return a convention whose headers all begin with a prefix. message, group: the names, without the prefix, of
    the headers with the exception's text and with the group.
    """
    places = prefix + b"topic", prefix + b"partition", prefix + b"offset"
    return Convention(name, *places, exceptions, prefix + message, group, (prefix,), may_be_empty=may_be_empty)


CONVENTIONS = (
    # kac's own convention comes first: a record that a group skipped may itself be a dead letter of another tool.
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
"""The known conventions. If a letter has headers of several, the first of these conventions applies."""
_DROPS = tuple(dict.fromkeys(each for convention in CONVENTIONS for each in convention.drops))


class Origin(Struct, frozen=True):
    """The place at which the record in a dead letter failed, and why, by the letter's headers."""

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
    """The name of the header with the exception; ``b""`` if unknown."""


def origin_of(record: Record) -> Origin | None:
    """Return the place at which the record in a dead letter failed; None if the record has no headers of a known
    convention.
    """
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
    """Return the number in a header's value; -1 for None, and for bytes that are not a number in the form that
    `size` says. size: the number of bytes of a binary number; 0 for a number that the tool writes as text.
    """
    if data is None:
        return -1
    if size:
        return int.from_bytes(data, signed=True) if len(data) == size else -1
    return int(data) if len(data) < 20 and data.isdigit() and data.isascii() else -1


def letter_of(record: Record, group: str | None) -> NewRecord:
    """Return the dead letter for a record that a plan lets a group skip, or deletes: its key, value and headers, and
    kac's headers with its place and time. The letter has no partition and no time of its own: it gets the partition of
    its key and the time at which it is sent, so that retention keeps it.

    Args:
        group: the group that skips the record; None if the record is deleted.
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
    """Return the headers with which a redrive sends a letter again: without the headers of any tool's convention. A
    letter that kac itself wrote (`PASSED_OVER`) loses only kac's headers, because the record may have been a letter of
    another tool.

    Args:
        origin: the origin of the letter; None if it has none.
    """
    drops = (_OWN,) if origin is not None and origin.convention == PASSED_OVER else _DROPS
    return tuple(each for each in headers if not each[0].startswith(drops))


# -- the selection -----------------------------------------------------------------------------------------------------


class Redrive(Struct, frozen=True, tag="redrive"):
    """The goal of an operation that sends the letters of a dead-letter topic again, each once.

    Attributes:
        topic: the dead-letter topic.
        where: a condition that selects letters; ``""`` for all.
        to: the topic that gets the letters; ``""`` for the original topic of each.
        ends: pairs of a partition and its end offset when the redrive began; letters from this offset on are not sent.
        topic_id: the id of the dead-letter topic when the redrive began; ``""`` if brokers have no topic ids. A topic
            with the same name and another id has other letters.
        reached: pairs of a partition and the first offset that no earlier operation with the same selection looked at,
            by the journal.
        behind: the operation number of the last earlier operation with the same selection; 0 if there is none.
        noted: the number of letters that the earlier operations with the same selection sent, by the journal.
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
        """The name of the group that holds the redrive's positions, also its transactional id. Redrives with the same
        topic, condition and target have the same name.
        """
        about = json_text([self.where, self.to]).encode()
        return f"{GROUP_PREFIX}{self.topic}-{sha256(about).hexdigest()[:_HASH]}"

    def __str__(self) -> str:
        return f"redrive {self.topic}" + (f" to {self.to}" if self.to else "")


def is_selection_of(group: str, topic: str) -> bool:
    """Return whether a group's name is that of a redrive of a topic."""
    return group.startswith(f"{GROUP_PREFIX}{topic}-") and len(group) == len(GROUP_PREFIX) + len(topic) + 1 + _HASH


class Stays(StrEnum):
    """The reasons why a redrive leaves a letter in the dead-letter topic."""

    NOT_CHOSEN = "not chosen"
    NO_ORIGIN = "without headers that name a topic"
    NO_TOPIC = "of topics that do not exist"
    UNSEEN = "of topics that may not be described: it needs DESCRIBE on them"
    ITSELF = "of this topic itself"
    NO_CONTENTS = "whose contents were not copied"
    BAD_HEADER = "with a header whose name is no text"


IN_THE_WAY = (Stays.NO_ORIGIN, Stays.NO_TOPIC, Stays.UNSEEN)
"""The reasons that prevent a redrive from beginning if they apply to a selected letter. For any other reason the
redrive only leaves the letter where it is.
"""
UNSEEN = -1
"""This value in place of a topic's number of partitions means that the principal may not describe the topic."""


class Letter(Struct, frozen=True):
    """A letter that a redrive sends again."""

    partition: int
    offset: int
    """The offset of the letter in the dead-letter topic."""
    target: str
    record: NewRecord


def addressed(record: Record, goal: Redrive, partitions: Mapping[str, int], *, is_chosen: bool) -> Letter | Stays:
    """Return a letter in the form in which a redrive sends it, or the reason why it stays in the dead-letter topic.

    A letter to its original topic goes to the partition in which it failed, if the topic still has that partition; any
    other letter goes to the partition of its key. Its timestamp is the time of sending.

    Args:
        record: the record of the dead-letter topic as the broker sent it.
        partitions: topic -> the number of its partitions, or `UNSEEN`; topics that do not exist are missing.
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
        offset: the offset of the first letter that the redrive has not looked at.
        sent, stayed: the numbers of letters before `offset` that were sent, and that stayed in the topic.
    """

    offset: int
    sent: int = 0
    stayed: int = 0

    @property
    def metadata(self) -> str:
        """The two counts as text, which is the metadata of the committed offset."""
        return f"kac sent={self.sent} stayed={self.stayed}"


def position_of(offset: int, metadata: str) -> Position:
    """Return the position for a committed offset and its metadata. The counts are 0 if kac did not write the
    metadata.
    """
    words = dict(each.partition("=")[::2] for each in metadata.split()[1:]) if metadata.startswith("kac ") else {}
    counts = (words.get(name, "") for name in ("sent", "stayed"))
    return Position(offset, *(int(each) if each.isdecimal() and len(each) < 20 else 0 for each in counts))


def moved_on(
    positions: Mapping[int, Position], looked_at: Mapping[int, int], letters: list[Letter], stayed: Mapping[int, int]
) -> dict[int, Position]:
    """Return partition -> its position after a redrive has handled a batch of letters.

    Args:
        positions: partition -> its position before the batch.
        looked_at: partition -> the first offset after the batch.
        letters: the letters of the batch that are sent.
        stayed: partition -> the number of letters of the batch that stay.
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
"""Maximum number of `Pile` objects in a survey. The letters of all further piles are counted in one more pile, whose
topic and exception are `MORE`.
"""
MORE = "…"


class Age(StrEnum):
    """The class of a letter's age: the time since it was written."""

    HOUR = "last hour"
    DAY = "last day"
    WEEK = "last 7 days"
    OLDER = "older"
    UNKNOWN = "without a time"


_HOUR = 3_600_000
_UP_TO = {Age.HOUR: _HOUR, Age.DAY: 24 * _HOUR, Age.WEEK: 7 * 24 * _HOUR}
"""Age -> its upper bound in milliseconds; the first age whose bound is not exceeded applies."""


def age_of(timestamp: int, now: int) -> Age:
    """Return the age of a letter; `UNKNOWN` for a timestamp before 1970 or after the last day of the calendar.
    timestamp, now: ms since 1970.
    """
    if not 0 <= timestamp <= LAST_MS:
        return Age.UNKNOWN
    return next((age for age, most in _UP_TO.items() if timestamp >= now - most), Age.OLDER)


class Pile(Struct):
    """The letters of a survey that have the same original topic, exception and age.

    Attributes:
        by: the name of the header with the exception; ``b""`` if the letters have none.
        count: the number of letters.
        chosen: the number of letters that a redrive sends.
        first, last: the earliest and the latest timestamp of the letters, ms since 1970; -1 if no letter has one.
        example: partition and offset of one of the letters in the dead-letter topic.
        message: the text of the exception of `example`.
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
    """The letters that a redrive sends to one partition."""

    sizes: list[int] = field(default_factory=list)
    """The size of each letter, in bytes."""
    keys: set[bytes] = field(default_factory=set)
    """Hashes of the distinct keys, 8 bytes each."""
    nulls: int = 0
    keyless: int = 0


_Kind = tuple[str, str, str, bytes, Age]


class Survey(Struct):
    """The letters that a redrive found, and those that it would send.

    Attributes:
        now: the time from which ages count, ms since 1970, a whole minute.
        piles: (convention, original topic, exception, header of the exception, age) -> the pile.
        heaps: (topic, partition) -> the letters that the redrive sends there.
        stays: reason -> the number of letters that stay because of it.
        failed: topic that gets letters -> the groups that failed to process them.
        before: the number of letters that earlier redrives with the same selection sent.
        others: group of a redrive with another selection of the topic -> the number of letters that it sent.
        unread: the number of other redrives whose counts were not read; None if not all of them could be listed.
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
        """The number of letters that were found."""
        return sum(each.count for each in self.piles.values())

    @property
    def chosen(self) -> int:
        """The number of letters that the redrive would send."""
        return sum(each.chosen for each in self.piles.values())

    @property
    def in_the_way(self) -> tuple[str, ...]:
        """The reasons why a redrive can't begin, one line each: selected letters without a topic to send them to. Empty
        if it can begin.
        """
        return tuple(
            f"{plural(self.stays[why], 'chosen letter')} {why.value}" for why in IN_THE_WAY if self.stays.get(why)
        )

    def add(self, record: Record, found: Letter | Stays, partitions: Mapping[str, int]) -> None:
        """Add one letter to the counts.

        Args:
            found: the result of `addressed` for the letter.
            partitions: topic -> the number of its partitions.
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
    """Return a condition on records, in the language of `where`, that holds for the letters of a pile and for no other
    letters of the survey.

    Raises:
        ValueError: the pile is the one that collects all further letters (`MOST_PILES`).
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
    """Return a text as a string literal in the language of conditions."""
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
