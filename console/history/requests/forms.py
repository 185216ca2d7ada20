"""The forms that a request's line may have: a pattern's line, JSON objects that have it as a text (of log4j's and
logback's layouts, ECS, GELF, Docker), either of them behind what syslog or a container's runtime writes before it.

All of it is foreign: wrappers are opened a few deep, and of what precedes a message its end is looked at.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

MESSAGE = b"Completed request:"
LOGGER = b"kafka.request.logger"

At = tuple[datetime, int]
"""A second and the milliseconds in it. The second has no zone where the line has none, and is in UTC where it has."""

_TIME = re.compile(
    rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?"
    rb"(Z\b|[+-]\d\d(?::?[0-5]\d)?(?!\d)| [+-]\d\d:?[0-5]\d(?!\d)| ?(?:UTC|GMT)\b)?"
)
_USUAL = re.compile(rb"\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3})\] [A-Z]{5} ")
"""All that precedes a message by Kafka's own configuration: several times as fast as to search."""
_BEFORE = 4096
"""Bytes before a message in which its time is looked for."""
_DEEPEST = 4
"""Wrappers around a line: a layout's JSON in Docker's in a shipper's, and one to spare."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
"""Below which a number since 1970 is of seconds, milliseconds, or microseconds, and the nanoseconds of one."""


class _Event(Struct, gc=False):
    """An object that is an event of a log. Raw values: of another type they are no errors."""

    message: Raw = Raw()
    log: Raw = Raw()
    msg: Raw = Raw()
    short_message: Raw = Raw()
    full_message: Raw = Raw()
    journal: Raw = field(default=Raw(), name="MESSAGE")
    text_payload: Raw = field(default=Raw(), name="textPayload")
    event: Raw = Raw()
    instant: Raw = Raw()
    time_millis: Raw = field(default=Raw(), name="timeMillis")
    ecs_time: Raw = field(default=Raw(), name="@timestamp")
    timestamp: Raw = Raw()
    time: Raw = Raw()
    ts: Raw = Raw()

    @property
    def message_text(self) -> bytes | None:
        """The first text that has a request; None: there is none."""
        of_layouts = (self.message, self.log, self.msg, self.short_message, self.full_message)
        texts = (*of_layouts, self.journal, self.text_payload, self.event)
        for text in texts:
            if MESSAGE in (raw := bytes(text)) and raw.startswith(b'"'):
                return _TEXT.decode(raw).encode("utf-8", "replace").strip()
        return None

    @property
    def at(self) -> At | None:
        """Its time: a logger's own name for it comes before those that shippers write, too."""
        times = (self.instant, self.time_millis, self.ecs_time, self.timestamp, self.time, self.ts)
        return next((at for raw in times if (at := _at_of(bytes(raw))) is not None), None)


class _Instant(Struct, rename="camel"):
    epoch_second: int
    nano_of_second: int = 0


_EVENT, _TEXT, _INSTANT, _NUMBER = Decoder(_Event), Decoder(str), Decoder(_Instant), Decoder(int | float)
_NO_JSON = (DecodeError, RecursionError, UnicodeDecodeError)
_NO_TIME = (*_NO_JSON, ValueError, OverflowError)


class Taken(NamedTuple):
    """A request's message, taken out of its wrappers. rest: what follows `MESSAGE`. is_json: it was in an object."""

    rest: bytes
    at: At | None
    is_json: bool


def taken(line: bytes) -> Taken | None:
    """The message of a line, and the time that is nearest to it: the logger's own, not that of what wraps its line.
    None: no request is in it."""
    at: At | None = None
    is_json = False
    before, found, rest = line.partition(MESSAGE)
    if not found:
        return None
    for _ in range(_DEEPEST):
        # Of the usual line nothing else is asked.
        brace = before.find(b"{")
        inner = None if brace < 0 else _event(line[brace:] if brace else line)
        if inner is None:
            break
        line, own = inner
        at, is_json = own or time_of(before[:brace]) or at, True
        before, _, rest = line.partition(MESSAGE)
    return Taken(rest, time_of(before) or at, is_json)


def _event(line: bytes) -> tuple[bytes, At | None] | None:
    """The text and the time of an object with a request in a text."""
    with suppress(*_NO_JSON):
        event = _EVENT.decode(line)
        text = event.message_text
        return None if text is None else (text, event.at)
    return None


def time_of(before: bytes) -> At | None:
    """The time that stands last in what precedes a message."""
    if usual := _USUAL.fullmatch(before):
        with suppress(ValueError):
            return _second(usual[1], usual[2], b""), int(usual[3])
    times = _TIME.findall(before[-_BEFORE:])
    return _read(*times[-1]) if times else None


def _read(day: bytes, clock: bytes, fraction: bytes, zone: bytes) -> At | None:
    with suppress(ValueError, OverflowError):
        return _second(day, clock, zone), int(fraction[:3].ljust(3, b"0"))
    return None


@lru_cache(16)
def _second(day: bytes, clock: bytes, zone: bytes) -> datetime:
    """The second, the same object for the same bytes."""
    at = datetime.fromisoformat(f"{day.decode()} {clock.decode()}")
    name = zone.strip().decode()
    if not name:
        return at
    hours, minutes = (0, 0) if name[0].isalpha() else (int(name[:3]), int(name[0] + (name[3:].lstrip(":") or "0")))
    return at.replace(tzinfo=timezone(timedelta(hours=hours, minutes=minutes))).astimezone(timezone.utc)


def _at_of(raw: bytes) -> At | None:
    """The time that a value is: a text, a number since 1970, a number as a text, or log4j's instant."""
    with suppress(*_NO_TIME):
        if raw.startswith(b"{"):
            instant = _INSTANT.decode(raw)
            return _since_1970(instant.epoch_second * 10**9 + instant.nano_of_second)
        text = _TEXT.decode(raw[:200]).encode() if raw.startswith(b'"') else raw[:200]
        if found := _TIME.match(text):
            return _read(*(part or b"" for part in found.groups()))
        number = _NUMBER.decode(text)
        unit = next((unit for below, unit in _UNITS if abs(number) < below), 1)
        return _since_1970(number * unit if isinstance(number, int) else round(number * 1000) * unit // 1000)
    return None


def _since_1970(nanos: int) -> At:
    millis = nanos // 10**6
    return _of_second(millis // 1000), millis % 1000


@lru_cache(16)
def _of_second(second: int) -> datetime:
    return _EPOCH + timedelta(seconds=second)


# What is said of a log of which no line can be read.


class Form(NamedTuple):
    """What a log is that can't be read, and what to do. what: goes on from "is in the form of"."""

    what: str
    remedy: str


_LONGEST = 64 << 10
"""Bytes of a line that are looked at."""
_XML = re.compile(rb"\s*<(?:\?xml|log4j:|Event\b|Events\b|/)")
_SYSLOG = re.compile(rb"<\d{1,3}>|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ")
_SPREAD = re.compile(rb'\s*"message"\s{0,9}:')
_AS_JSON = "Write one JSON object a line"
_PATTERN = "log it by the pattern of Kafka's own configuration, [%d] %p %m (%c)%n"

OF_OTHERS = Form(
    "lines of other loggers, with none of kafka.request.logger",
    "Set kafka.request.logger to DEBUG on that broker, and name the file of its appender (kafka-request.log).",
)
OF_OLD = Form(
    "a broker before Kafka 2.8, whose requests are no JSON",
    "Requests can be read from Kafka 2.8 on: leave out this broker's log, or name files that it wrote since.",
)
OF_XML = Form("an XML layout", f"{_AS_JSON}, or {_PATTERN}.")
OF_SPREAD = Form(
    "JSON objects of several lines",
    f"{_AS_JSON} (compact and eventEol of log4j's JsonLayout), or {_PATTERN}.",
)
OF_JSON_WITHOUT_TIME = Form(
    "JSON objects without a time",
    "Have the layout write @timestamp, timestamp, time, instant or timeMillis, with the date.",
)
OF_SYSLOG = Form(
    "syslog without a year",
    "Have the logger's pattern write its own time, [%d] %p %m (%c)%n, or syslog that of RFC 5424.",
)
OF_NO_TIME = Form("lines without a date and time", f"To have one before each request, {_PATTERN}.")
OF_CUT_JSON = Form(
    "JSON objects in which no whole request is",
    "A container's runtime cuts lines at 16 KiB: name the file of the logger's own appender. "
    "If they are whole, the request has to be a text in message, log or msg.",
)
OF_CUT = Form(
    "lines in which no whole request is",
    f"See that nothing cuts or escapes them on their way, and {_PATTERN}.",
)
OF_BINARY = Form("no text", "Name a request log, as it was written or as .gz.")


def form_of(text: bytes) -> Form:
    """The form of lines of which none can be read."""
    lines = [line[:_LONGEST] for line in text.split(b"\n") if line.strip()]
    if any(b"\0" in line for line in lines):
        return OF_BINARY
    if sum(_XML.match(line) is not None for line in lines) * 2 > len(lines):
        return OF_XML
    asked = [line for line in lines if MESSAGE in line]
    if not asked:
        return OF_OTHERS
    line = asked[-1]
    request = taken(line)
    assert request is not None
    if is_old(request.rest):
        return OF_OLD
    if _XML.match(line):
        return OF_XML
    if _SPREAD.match(line):
        return OF_SPREAD
    if request.is_json:
        return OF_JSON_WITHOUT_TIME if request.at is None else OF_CUT_JSON
    if b"{" in line.partition(MESSAGE)[0]:
        return OF_CUT_JSON
    if request.at is None:
        return OF_SYSLOG if _SYSLOG.match(line) else OF_NO_TIME
    return OF_CUT


def is_old(rest: bytes) -> bool:
    """Whether what follows `MESSAGE` is a request as Kafka logged it before 2.8."""
    return rest.startswith((b"RequestHeader(", b"{api_key=", b"Name:"))
