"""The grammar of ``records``, and its statement as text.

records = "records topic" NAME ["partition" N] [start] {option}
start   = ("last" | "first") N | "from offset" N | "from time" TIME | "of group" NAME
option  = "limit" N | "text" TEXT | "key" GLOB | "json" CONDITION | "uncommitted" | "as" FORM | "--reveal"
"""

from __future__ import annotations

from datetime import UTC, datetime

from console.language.arguments import INT_MAX, named, plain_name, whole_number
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import REVEAL, Records
from console.model.record_filter import json_condition
from console.model.records import DEFAULT_COUNT, MOST_RECORDS
from console.plan.amounts import moment

FORMS = ("text", "json", "hex")
"""How contents are shown, if not by what they look like."""

_TOPIC = Expected(What.TOPIC, "the NAME of a topic")
_GROUP = Expected(What.GROUP, "the NAME of a group")
_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Times are read when the statement runs; here only whether they can be."""
_OFFSET_MAX = 2**63 - 1


def records(reader: Reader, _verb: str) -> Records:
    """``records topic NAME …``."""
    reader.need_keyword("topic")
    topic = plain_name(reader, _TOPIC, "topics").text or ""
    partition = None
    if reader.take_keyword("partition") is not None:
        partition = _number(reader, "the NUMBER of a partition", 0, INT_MAX)
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
            given[word] = named(reader, Expected(What.ARGUMENT, "a TEXT"), Role.VALUE)
        elif word == "key":
            given[word] = named(reader, Expected(What.ARGUMENT, "a key, or a glob for it"), Role.VALUE)
        elif word == "json":
            given[word] = _condition(reader)
        else:
            flags.add(word)
    _option(reader, start, given, flags)  # records what can follow, for the completion
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
    """Where to begin: the word of it, its argument, and how many records."""
    found = reader.take_keyword("last", "first", "from", "of")
    if found is None:
        return "last", "", DEFAULT_COUNT
    if found in ("last", "first"):
        return found, "", _count(reader)
    if found == "of":
        reader.need_keyword("group")
        return "group", named(reader, _GROUP, may_be_empty=True), DEFAULT_COUNT
    if reader.need_keyword("offset", "time") == "offset":
        return "offset", str(_number(reader, "an OFFSET", 0, _OFFSET_MAX)), DEFAULT_COUNT
    word = reader.take(Expected(What.ARGUMENT, "a TIME such as 2h, 14:05 or 2026-11-20T14:05"), Role.VALUE)
    try:
        moment(word.text, _SOME_TIME)
    except ValueError as error:
        reader.fail(str(error), word)
    return "time", word.text, DEFAULT_COUNT


def _option(reader: Reader, start: str, given: dict[str, str], flags: set[str]) -> str:
    """The next option, ``""`` at the end."""
    words = ["text", "key", "json", "as"]
    if start not in ("last", "first"):
        words.insert(0, "limit")
    left = [word for word in words if word not in given]
    left += [word for word in ("uncommitted", REVEAL) if word not in flags]
    found = reader.take_keyword(*left, role=Role.KEYWORD)
    if found is None and not reader.ended:
        reader.fail()
    return found or ""


def _count(reader: Reader) -> int:
    return _number(reader, f"how many, 1 to {MOST_RECORDS:,}", 1, MOST_RECORDS)


def _number(reader: Reader, label: str, lowest: int, highest: int) -> int:
    word = reader.take(Expected(What.ARGUMENT, label), Role.VALUE)
    number = whole_number(word.text, lowest, highest)
    if number is None:
        reader.fail(f"expected {label}, not {reader.shown(word)}", word)
    return number


def _condition(reader: Reader) -> str:
    word = reader.take(Expected(What.ARGUMENT, "a condition such as $.order.id=7"), Role.VALUE)
    try:
        return json_condition(word.text).text
    except ValueError as error:
        reader.fail(str(error), word)


def records_text(statement: Records) -> str:
    """The statement as text that parses to it."""
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
