"""``records``: finds, shows and follows records of topics.

records = "records" ["topic"] NAMES {option}
NAMES   = NAME or GLOB, parted by commas
option  = "partition" N | start | "to" ("offset" N | "time" TIME | "end") | "key" GLOB ["only"] | "text" TEXT
        | "where" CONDITION | "without" ("value" | "key") | "latest by key" | "limit" N | "follow" | "uncommitted"
        | "as" FORM | "--reveal"
start   = "from" ("start" | "end" | "offset" N | "time" TIME | "group" NAME) | ("last" | "first") N
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from console.language import arguments
from console.language.quoting import quote, quote_pattern
from console.language.reader import SEVERAL, Expected, Reader, Role, What
from console.language.statements import Name, Statement
from console.language.tokenizer import Piece, Word
from console.language.verb import LOOK, StatementKind, Verb
from console.model.records import DEFAULT_COUNT
from console.plan.amounts import moment

REVEAL = "--reveal"
FORMS = ("text", "json", "hex")
"""The forms in which contents can be shown; without one of them, kac chooses the form by the contents."""

MOST_SHOWN = 10_000
"""Default maximum number of records for a screen or a table, for a search that has a condition or an end, or that is
for the newest record of each key (`Records.most`). The operator can continue the search.
"""
_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Any time, for checking the form of relative times; they are resolved when the statement runs."""


class Bound(NamedTuple):
    """The place where a search begins or ends: a word of the language, and its argument as text."""

    word: str
    """The word: ``last``, ``start``, ``end``, ``offset``, ``time`` or ``group``."""
    at: str = ""
    """The number, offset, time or group after the word; ``""`` for ``start`` and ``end``."""


class Records(Statement, frozen=True):
    """The statement ``records``. The fields text, key, where and without are the conditions of
    `console.model.record_filter`; `partition` is None for all partitions.
    """

    topics: tuple[str, ...]
    """Names and globs of topics."""
    partition: int | None = None
    start: Bound | None = None
    """The place where the search begins; None for the default (`Records.begins`)."""
    until: Bound | None = None
    """The place where the search ends; None for the present end of the log, or for no end if the search follows new
    records.
    """
    text: str = ""
    key: str = ""
    key_only: bool = False
    """Whether to search only the partitions into which Kafka's partitioners put records with the key."""
    where: str = ""
    without: str = ""
    """The part of the records that must be null: ``value`` or ``key``; ``""`` for no such condition."""
    latest: bool = False
    """Whether to show only the newest record of each key."""
    limit: int | None = None
    """Maximum number of records to find; 0 for no limit; None for the default (`Records.most`)."""
    follow: bool = False
    committed: bool = True
    form: str = ""
    """The form in which contents are shown; ``""`` to choose it by the contents."""
    reveal: bool = False
    """Whether to show contents even in a context that hides them."""

    @property
    def topic(self) -> str:
        """The names and globs of the topics as one text."""
        return ",".join(self.topics)

    @property
    def is_filtered(self) -> bool:
        """Whether the statement has a condition, so that not all records are found."""
        return bool(self.text or self.key or self.where or self.without)

    @property
    def begins(self) -> Bound:
        """The place where the search begins: `start` if it is given. By default a search that follows new records
        begins at the end of the log. A search with a condition, an end or limit 0, or only for the newest record
        of each key, begins at the start of the log. Any other search begins at the newest records.
        """
        if self.start is not None:
            return self.start
        # Start at the end, as tail -f does: the present records would scroll new ones away.
        if self.follow:
            return Bound("end")
        if self.is_filtered or self.latest or self.until is not None or self.limit == 0:
            return Bound("start")
        return Bound("last", str(self.limit or DEFAULT_COUNT))

    @property
    def most(self) -> int:
        """The maximum number of records to find for a screen or a table; 0 for no limit."""
        if self.limit is not None:
            return self.limit
        if self.follow or self.begins.word == "last":
            return 0
        return MOST_SHOWN if self.is_filtered or self.latest or self.until is not None else DEFAULT_COUNT


class _Given:
    """The options of a statement, collected while its words are read."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        """The first words of the options that were read so far."""
        self.of: dict[str, object] = {}
        """Field of `Records` -> its value."""

    def left(self) -> list[str]:
        """Return the words of the options that may still follow."""
        left = [word for word in _OPTIONS if word not in self.words]
        if self.words & _STARTS:
            left = [word for word in left if word not in _STARTS]
        if "first" in self.words and "limit" in left:
            left.remove("limit")
        apart = {"follow"} if self.words & {"to", "latest"} else set()
        apart |= {"to", "latest"} if "follow" in self.words else set()
        return [word for word in left if word not in apart]


_STARTS = {"from", "last", "first"}
_Option = Callable[[Reader, _Given, tuple[str, ...]], None]
"""Reads the arguments of an option. Arguments: the reader, the options so far, and the topics."""


def _parse(reader: Reader) -> Records:
    reader.take_keyword("topic")
    topics = _topics(reader)
    given = _Given()
    while True:
        found = reader.take_keyword(*given.left())
        if found is None:
            break
        given.words.add(found)
        _OPTIONS[found](reader, given, topics)
    reader.finish()
    return Records(topics, **given.of)  # type: ignore[arg-type]  # each option has set a field of its own type


def parse_copied(reader: Reader) -> tuple[Records, Name]:
    """Read the words of ``copy`` about the records, up to ``to topic NAME``; return the search and the name. By default
    all records are copied, from the first one on. Raises ParseError.
    """
    topics = _topics(reader)
    given = _Given()
    left = [word for word in _OPTIONS if word not in _NOT_COPIED]
    while True:
        found = reader.need_keyword(*(word for word in left if word == "to" or word in given.left()))
        if found == "to" and reader.take_keyword("topic") is not None:
            break
        # A second `to` can only begin the target, as the end of the range was given.
        if found in given.words:
            reader.need_keyword("topic")
        given.words.add(found)
        _OPTIONS[found](reader, given, topics)
    name = arguments.plain_name(reader, arguments.A_TOPIC, "topics")
    reader.finish()
    return Records(topics, **({"limit": 0} | given.of)), name  # type: ignore[arg-type]


_NOT_COPIED = ("follow", "as", REVEAL)


def _topics(reader: Reader) -> tuple[str, ...]:
    word = reader.take(
        Expected(What.TOPIC, "the NAME of a topic, or several and globs, parted by commas", detail=SEVERAL)
    )
    pattern = arguments.pattern(word)
    if pattern is None:
        reader.fail("topics have no <default>", word, "quote a name that is spelled so: '<default>'")
    topics = tuple(dict.fromkeys(pattern.split(",")))
    if not all(topics):
        reader.fail("the NAME of a topic can't be empty", word)
    return topics


def _partition(reader: Reader, given: _Given, topics: tuple[str, ...]) -> None:
    given.of["partition"] = arguments.partition_number(reader, Name(topics[0]))


def _from(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    word = reader.need_keyword("start", "end", "offset", "time", "group")
    if word == "group":
        given.of["start"] = Bound(word, arguments.named(reader, arguments.GROUP, may_be_empty=True))
    else:
        given.of["start"] = Bound(word, _place(reader, word))


def _to(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    word = reader.need_keyword("offset", "time", "end")
    given.of["until"] = Bound(word, _place(reader, word))


def _place(reader: Reader, word: str) -> str:
    """Read the offset or the time after the word ``offset`` or ``time``; return ``""`` for any other word, which has no
    argument. Raises ParseError.
    """
    if word == "offset":
        return str(arguments.need_number(reader, Expected(What.ARGUMENT, "an OFFSET"), arguments.NUMBER_MAX))
    if word != "time":
        return ""
    time = reader.take(Expected(What.ARGUMENT, "a TIME such as 2h, 14:05 or 2026-11-20T14:05"), Role.VALUE)
    try:
        # Check only the form: 2h means two hours before the search, not before the parsing.
        moment(time.text, _SOME_TIME)
    except ValueError as error:
        reader.fail(str(error), time)
    return time.text


def _last(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    given.of["start"] = Bound("last", str(_count(reader, 1)))


def _first(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    given.of |= {"start": Bound("start"), "limit": _count(reader, 1)}
    given.words.add("limit")


def _limit(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    given.of["limit"] = _count(reader, 0)


def _count(reader: Reader, lowest: int) -> int:
    label = "how many" if lowest else "how many, 0 for all"
    return arguments.need_number(reader, Expected(What.ARGUMENT, label), arguments.NUMBER_MAX, lowest)


def _text_option(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    given.of["text"] = arguments.named(reader, Expected(What.ARGUMENT, "a TEXT"), Role.VALUE)


def _key(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    given.of["key"] = arguments.named(reader, Expected(What.ARGUMENT, "a key, or a glob for it"), Role.VALUE)
    given.of["key_only"] = reader.take_keyword("only") is not None


def _where(reader: Reader, given: _Given, topics: tuple[str, ...]) -> None:
    given.of["where"] = parse_condition(reader, topics)


def parse_condition(reader: Reader, topics: tuple[str, ...]) -> str:
    """Read a condition for records of these topics and return its text. Raises ParseError, with the place within the
    condition.
    """
    label = "a CONDITION such as 'value.state == \"failed\"'"
    word = reader.take(Expected(What.CONDITION, label, detail=",".join(topics)), Role.VALUE)
    from console.model.record_conditions import ConditionError, condition

    try:
        condition(word.text)
    except ConditionError as error:
        reader.fail(f"the condition is wrong, {error}", _at(word, error.at))
    return word.text


def _at(word: Word, at: int | None) -> Word:
    """Return the one character of a word at an index of its text, for an error; the whole word if the index is None, or
    if the text has escapes.
    """
    piece = word.pieces[0] if len(word.pieces) == 1 else None
    marks = 2 if piece is not None and piece.quote else 0
    if at is None or piece is None or piece.end - piece.start - marks != len(piece.text):
        return word
    start = piece.start + marks // 2 + min(at, len(piece.text))
    return Word((Piece(piece.text[at : at + 1], start, start + 1, piece.quote),), start, start + 1)


def _without(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    given.of["without"] = reader.need_keyword("value", "key")


def _latest(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    reader.need_keyword("by")
    reader.need_keyword("key")
    given.of["latest"] = True


def _as(reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
    given.of["form"] = reader.need_keyword(*FORMS)


def _flag(field: str, *, value: bool) -> _Option:
    def read(_reader: Reader, given: _Given, _topics: tuple[str, ...]) -> None:
        given.of[field] = value

    return read


_OPTIONS: dict[str, _Option] = {
    "partition": _partition,
    "from": _from,
    "last": _last,
    "first": _first,
    "to": _to,
    "key": _key,
    "text": _text_option,
    "where": _where,
    "without": _without,
    "latest": _latest,
    "limit": _limit,
    "follow": _flag("follow", value=True),
    "uncommitted": _flag("committed", value=False),
    "as": _as,
    REVEAL: _flag("reveal", value=True),
}


def text_of(statement: Records) -> str:
    """Return the statement as text that parses to an equal statement."""
    topics = ",".join(map(quote_pattern, statement.topics))
    words = ["records", "'topic'" if topics == "topic" else topics]
    if statement.partition is not None:
        words.append(f"partition {statement.partition}")
    if statement.start is not None:
        words.append(_bound_text("" if statement.start.word == "last" else "from ", statement.start))
    if statement.until is not None:
        words.append(_bound_text("to ", statement.until))
    if statement.key:
        words.append(f"key {quote(statement.key)}{' only' if statement.key_only else ''}")
    filters = (("text", statement.text), ("where", statement.where), ("without", statement.without))
    words += [f"{word} {quote(value)}" for word, value in filters if value]
    words += ["latest by key"] if statement.latest else []
    words += [f"limit {statement.limit}"] if statement.limit is not None else []
    words += ["follow"] if statement.follow else []
    words += ["uncommitted"] if not statement.committed else []
    words += [f"as {statement.form}"] if statement.form else []
    words += [REVEAL] if statement.reveal else []
    return " ".join(words)


def _bound_text(before: str, bound: Bound) -> str:
    argument = f" {quote(bound.at)}" if bound.at or bound.word == "group" else ""
    return f"{before}{bound.word}{argument}"


VERBS = (
    Verb(
        "records",
        LOOK,
        (
            "records NAME[,GLOB…] [partition N] [last N | first N] {OPTION}",
            "records NAME[,GLOB…] [partition N] from (start | offset N | time TIME | group NAME) "
            "[to (offset N | time TIME | end)] {OPTION}",
            "records NAME[,GLOB…] follow {OPTION}",
        ),
        "Records of topics: the last 10, those that match, those from a position on, or new ones",
        "The options:\n\n"
        "- `partition N` reads only this partition.\n"
        "- `key GLOB` finds records by their key. With `only` kac reads just the partitions in which Kafka's "
        "partitioners put the key.\n"
        "- `text TEXT` finds a text in the key, the value or a header.\n"
        "- `where CONDITION` takes a condition in CEL, the Common Expression Language. The condition may use key, "
        "value, headers, partition, offset, time, size and schema.\n"
        "- `without value` and `without key` find records whose value or key is null.\n"
        "- `latest by key` shows only the newest record of each key.\n"
        "- `limit N` ends the search after N records; 0 means all.\n"
        "- `follow` shows new records as clients write them.\n"
        "- `uncommitted` also shows records of open and aborted transactions.\n"
        "- `as text`, `as json` and `as hex` choose the form of the contents.\n\n"
        "By default, a search with a condition reads from the start of the log to its end. A search without "
        "options shows the newest 10 records. `from group NAME` begins at the first record that the group has not "
        "committed.\n\n"
        "In a context with records = 'hidden' kac masks contents unless you give --reveal. In a context with "
        "records = 'never' kac reads no records.",
        (
            "records orders",
            "records orders partition 3 last 100",
            "records orders from time 2h where 'value.state == \"failed\"'",
            "records orders key order-77",
            "records orders,payments text timeout follow",
            "records orders partition 3 from group billing limit 1",
            "records orders partition 0 from offset 41208 as hex",
        ),
        rank=4,
        stands_for={"records NAME": "record list, record read, topic read"},
        parse=_parse,
        statements=(StatementKind(statement=Records, text=text_of),),
    ),
)
