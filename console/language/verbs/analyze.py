"""``analyze``: counts the records, keys and sizes in a topic.

analyze = "analyze" ["topic"] NAME {option}
option  = "last" DURATION | "sample" N "%" | "rate" SIZE | "--reveal"
"""

from __future__ import annotations

from datetime import datetime
from math import isfinite

from console.language import arguments
from console.language.quoting import quote
from console.language.reader import Candidate, Expected, Reader, Role, What
from console.language.statements import Statement
from console.language.verb import LOOK, StatementKind, Verb
from console.language.verbs.records import REVEAL
from console.model.numbers import is_decimal
from console.model.records import First, FromTime, Search
from console.model.snapshot import Snapshot
from console.plan.amounts import Unit, duration_text, parse_amount

_SMALLEST = 0.0001
"""The minimum of ``sample``, in percent."""


class Analyze(Statement, frozen=True):
    """The statement ``analyze``, which counts the records of a topic."""

    topic: str
    last_ms: int | None = None
    """The maximum age of the records to read, in milliseconds; None to read all records."""
    sample: float = 0.0
    """The percentage of each partition's records to read; 0 to read all."""
    rate: int = 0
    """Maximum number of bytes to read per second; 0 for no limit."""
    reveal: bool = False
    """Whether the result contains keys and headers even in a context that hides contents."""

    def search(self, now: datetime) -> Search:
        """Return the search that finds the records to count. now: the time from which `last_ms` counts back."""
        since = self.since_ms(now)
        start = First() if since is None else FromTime(since)
        return Search((self.topic,), start=start, rate=self.rate, sample=self.sample % 100 / 100)

    def since_ms(self, now: datetime) -> int | None:
        """Return the time from which on records are counted, in ms since 1970; None for all records."""
        return None if self.last_ms is None else max(0, int(now.timestamp() * 1000) - self.last_ms)


def _parse(reader: Reader) -> Analyze:
    reader.take_keyword("topic")
    topic = arguments.named(reader, arguments.A_TOPIC)
    given: dict[str, object] = {}
    while (found := reader.take_keyword(*(each for each in _WORDS if each not in given))) is not None:
        match found:
            case "last":
                given[found] = arguments.duration(reader)
            case "sample":
                given[found] = _percentage(reader)
            case "rate":
                given[found] = _rate(reader)
            case _:
                given[found] = True
    reader.finish()
    return Analyze(topic, **{_WORDS[word]: value for word, value in given.items()})  # type: ignore[arg-type]  # by word


_WORDS = {"last": "last_ms", "sample": "sample", "rate": "rate", REVEAL: "reveal"}
"""Word of an option -> its field."""


def _samples(_snapshot: Snapshot) -> list[Candidate]:
    return [Candidate(text) for text in ("0.1%", "1%", "10%")]


def _percentage(reader: Reader) -> float:
    word = reader.take(Expected(What.ARGUMENT, "a PERCENTAGE such as 1%", offers=_samples), Role.VALUE)
    text = word.text.removesuffix("%")
    share = float(text) if is_decimal(text) else 0.0
    if not (isfinite(share) and _SMALLEST <= share <= 100):
        reader.fail(f"expected a percentage from {_SMALLEST:g}% to 100%, not {reader.shown(word)}", word)
    return share


def _rates(_snapshot: Snapshot) -> list[Candidate]:
    return [Candidate(text) for text in ("1MB/s", "10MB/s", "100MB/s")]


def _rate(reader: Reader) -> int:
    word = reader.take(Expected(What.ARGUMENT, "a RATE such as 10MB/s", offers=_rates), Role.VALUE)
    try:
        rate = parse_amount(word.text, Unit.BYTES_PER_SECOND)
    except ValueError as error:
        reader.fail(str(error), word)
    if rate < 1:
        reader.fail("a rate must be greater than 0", word)
    return rate


def _text(statement: Analyze) -> str:
    words = ["analyze topic", quote(statement.topic)]
    words += [f"last {duration_text(statement.last_ms)}"] if statement.last_ms is not None else []
    words += [f"sample {statement.sample:.12g}%"] if statement.sample else []
    words += [f"rate {statement.rate}B/s"] if statement.rate else []
    words += [REVEAL] if statement.reveal else []
    return " ".join(words)


VERBS = (
    Verb(
        "analyze",
        LOOK,
        ("analyze topic NAME [last DURATION] [sample N%] [rate SIZE]",),
        "Count the contents of a topic: keys, sizes, partitions, compression, schemas, headers, times",
        "kac reads the records and counts these properties:\n\n"
        "- nulls, sizes and codecs\n"
        "- different keys and the most frequent keys\n"
        "- how evenly the partitions are filled\n"
        "- schemas, headers, and records that can't be decoded\n"
        "- gaps in time, and times that are out of order or in the future\n\n"
        "`sample` reads evenly spread ranges of each partition. `rate` limits how many bytes a second kac reads "
        "from the brokers. The verb needs the extra `analyze` of the Python package.\n\n"
        "In a context with records = 'hidden' kac names keys and headers only with --reveal. In a context with "
        "records = 'never' kac reads no records.",
        (
            "analyze topic orders",
            "analyze topic orders last 1h",
            "analyze topic orders sample 1% rate 10MB/s",
        ),
        parse=_parse,
        statements=(StatementKind(statement=Analyze, text=_text),),
    ),
)
