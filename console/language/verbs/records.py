"""``records``: shows records of a topic or a partition.

records = "records topic" NAME ["partition" N] [start] {option}
start   = ("last" | "first") N | "from offset" N | "from time" TIME | "of group" NAME
option  = "limit" N | "text" TEXT | "key" GLOB | "json" CONDITION | "uncommitted" | "as" FORM | "--reveal"
"""

from __future__ import annotations

from datetime import UTC, datetime

from console.language import arguments
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import Statement
from console.language.verb import LOOK, StatementKind, Verb
from console.model.records import DEFAULT_COUNT, MOST_RECORDS
from console.plan.amounts import moment

REVEAL = "--reveal"
FORMS = ("text", "json", "hex")
"""The forms of contents; without one, kac guesses the form from the content."""

_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Placeholder to validate times; they are resolved when the statement runs."""


class Records(Statement, frozen=True):
    """``records``.

    start: ``last``, ``first``, ``offset``, ``time`` or ``group``; at: the offset, time or group as text. text, key,
    json:
    filters of `console.model.record_filter`. form: of the contents; ``""`` to guess it. reveal: whether to show
    contents
    in a context that hides them also.
    """

    topic: str
    partition: int | None = None
    start: str = "last"
    at: str = ""
    count: int = DEFAULT_COUNT
    text: str = ""
    key: str = ""
    json: str = ""
    committed: bool = True
    form: str = ""
    reveal: bool = False


def _parse(reader: Reader) -> Records:
    topic = arguments.topic_name(reader, arguments.A_TOPIC).text or ""
    partition = None
    if reader.take_keyword("partition") is not None:
        partition = arguments.need_number(
            reader, Expected(What.ARGUMENT, "the NUMBER of a partition"), arguments.INT_MAX
        )
    start, at, count = _start(reader)
    given: dict[str, str] = {}
    flags: set[str] = set()
    while not reader.ended:
        word = _option(reader, start, given, flags)
        if word == "limit":
            count = _count(reader)
            given[word] = ""
        elif word == "as":
            given[word] = reader.need_keyword(*FORMS)
        elif word == "text":
            given[word] = arguments.named(reader, Expected(What.ARGUMENT, "a TEXT"), Role.VALUE)
        elif word == "key":
            given[word] = arguments.named(reader, Expected(What.ARGUMENT, "a key, or a glob for it"), Role.VALUE)
        elif word == "json":
            given[word] = _condition(reader)
        else:
            flags.add(word)
    _option(reader, start, given, flags)  # records the valid options, for the completion
    return Records(
        topic,
        partition,
        start,
        at,
        count,
        given.get("text", ""),
        given.get("key", ""),
        given.get("json", ""),
        "uncommitted" not in flags,
        given.get("as", ""),
        REVEAL in flags,
    )


def _start(reader: Reader) -> tuple[str, str, int]:
    """Read the start: its keyword, its argument, and the number of records."""
    found = reader.take_keyword("last", "first", "from", "of")
    if found is None:
        return "last", "", DEFAULT_COUNT
    if found in ("last", "first"):
        return found, "", _count(reader)
    if found == "of":
        reader.need_keyword("group")
        return "group", arguments.named(reader, arguments.GROUP, may_be_empty=True), DEFAULT_COUNT
    if reader.need_keyword("offset", "time") == "offset":
        return (
            "offset",
            str(arguments.need_number(reader, Expected(What.ARGUMENT, "an OFFSET"), arguments.NUMBER_MAX)),
            DEFAULT_COUNT,
        )
    word = reader.take(Expected(What.ARGUMENT, "a TIME such as 2h, 14:05 or 2026-11-20T14:05"), Role.VALUE)
    try:
        moment(word.text, _SOME_TIME)
    except ValueError as error:
        reader.fail(str(error), word)
    return "time", word.text, DEFAULT_COUNT


def _option(reader: Reader, start: str, given: dict[str, str], flags: set[str]) -> str:
    """Read the next option; return ``""`` at the end."""
    words = ["text", "key", "json", "as"]
    # For the last and the first records the number follows the keyword.
    if start not in ("last", "first"):
        words.insert(0, "limit")
    left = [word for word in words if word not in given]
    left += [word for word in ("uncommitted", REVEAL) if word not in flags]
    found = reader.take_keyword(*left, role=Role.KEYWORD)
    if found is None and not reader.ended:
        reader.fail()
    return found or ""


def _count(reader: Reader) -> int:
    return arguments.need_number(reader, Expected(What.ARGUMENT, f"how many, 1 to {MOST_RECORDS:,}"), MOST_RECORDS, 1)


def _condition(reader: Reader) -> str:
    word = reader.take(Expected(What.ARGUMENT, "a condition such as $.order.id=7"), Role.VALUE)
    from console.model.record_filter import json_condition

    try:
        return json_condition(word.text).text
    except ValueError as error:
        reader.fail(str(error), word)


def _text(statement: Records) -> str:
    words = ["records topic", quote(statement.topic)]
    if statement.partition is not None:
        words.append(f"partition {statement.partition}")
    of = statement.start not in ("last", "first")
    match statement.start:
        case "offset" | "time":
            words.append(f"from {statement.start} {quote(statement.at)}")
        case "group":
            words.append(f"of group {quote(statement.at)}")
        case _ if (statement.start, statement.count) != ("last", DEFAULT_COUNT):
            words.append(f"{statement.start} {statement.count}")
    if of and statement.count != DEFAULT_COUNT:
        words.append(f"limit {statement.count}")
    filters = (("text", statement.text), ("key", statement.key), ("json", statement.json))
    words += [f"{word} {quote(value)}" for word, value in filters if value]
    words += ["uncommitted"] if not statement.committed else []
    words += [f"as {statement.form}"] if statement.form else []
    words += [REVEAL] if statement.reveal else []
    return " ".join(words)


VERBS = (
    Verb(
        "records",
        LOOK,
        (
            "records topic NAME [partition N] [last N | first N] {OPTION}",
            "records topic NAME [partition N] (from offset N | from time TIME | of group NAME) {OPTION}",
        ),
        "Records of a topic or a partition: the last 10, or from a place on",
        "The options: limit N (from an offset, a time or a group's position on); text TEXT (in key, value or a "
        "header); key GLOB; json CONDITION, for example $.order.items[0].price>10, $.state=open or $.error, with "
        "['name'] and [*]; uncommitted (also open and aborted transactions); as text, json or hex. Of a group: "
        "from the first record that it has not committed. At most 10,000 records, 16 MiB and 10 s, and 100,000 "
        "records looked at for a filter; what ended the look is reported. Where the context has records = "
        "'hidden', contents are masked without --reveal; with 'never' nothing is read.",
        (
            "records topic orders",
            "records topic orders partition 3 last 100",
            "records topic orders from time 2h limit 50 json $.state=failed",
            "records topic orders partition 3 of group billing limit 1",
            "records topic orders partition 0 from offset 41208 as hex",
        ),
        parse=_parse,
        statements=(StatementKind(statement=Records, text=_text),),
    ),
)
