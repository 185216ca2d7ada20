"""Lines of a broker's request log (Kafka 2.8 to 4.x): out of what wraps them, where, when, and the request, decoded.

A request's line may be a pattern's line, JSON objects that have it as a text (of log4j's and logback's layouts, ECS,
GELF, Docker), or either of them behind what syslog or a container's runtime writes before it. All of it is foreign:
wrappers are opened a few deep, and of what precedes a message its end is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from json import JSONDecoder
from typing import Any, NamedTuple, TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError
from msgspec.json import Decoder

from console.lake.redact import Damaged
from console.lake.requests.alters import NO_ANSWER, Change, changes
from console.model.foreign_json import DEEPEST, deeper_than, json_of
from console.model.numbers import EPOCH

# -- a message, taken out of its wrappers -----------------------------------------------------------------------------

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
_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
"""Below which a number since 1970 is of seconds, milliseconds, or microseconds, and the nanoseconds of one."""


_MESSAGES = ("message", "log", "msg", "short_message", "full_message", "MESSAGE", "textPayload", "event")
"""Where an object that is an event of a log has its text."""
_TIMES = ("instant", "timeMillis", "@timestamp", "timestamp", "time", "ts")
"""Where it has its time: a logger's own name for it comes before those that shippers write, too."""


class _Instant(Struct, rename="camel"):
    epoch_second: int
    nano_of_second: int = 0


_EVENT, _TEXT, _INSTANT, _NUMBER = Decoder(dict[str, Raw]), Decoder(str), Decoder(_Instant), Decoder(int | float)
_NO_JSON = (DecodeError, RecursionError, UnicodeDecodeError)
_NO_TIME = (*_NO_JSON, ValueError, OverflowError)


class Taken(NamedTuple):
    """A request's message, taken out of its wrappers. rest: what follows `MESSAGE`. is_json: it was in an object."""

    rest: bytes
    at: At | None
    is_json: bool


def taken(line: bytes) -> Taken | None:
    """Return the message of a line, and the time that is nearest to it: the logger's own, not that of what wraps its
    line. None: no request is in it.
    """
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
    """Return the text and the time of a JSON object with a request in a text."""
    with suppress(*_NO_JSON):
        event = {name: bytes(raw) for name, raw in _EVENT.decode(line).items()}
        for name in _MESSAGES:
            raw = event.get(name, b"")
            if MESSAGE in raw and raw.startswith(b'"'):
                times = (_at_of(event[each]) for each in _TIMES if each in event)
                return _TEXT.decode(raw).encode("utf-8", "replace").strip(), next(filter(None, times), None)
    return None


def time_of(before: bytes) -> At | None:
    """Return the last time in what precedes a message."""
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
    """Return the second, the same object for the same bytes."""
    at = datetime.fromisoformat(f"{day.decode()} {clock.decode()}")
    name = zone.strip().decode()
    if not name:
        return at
    hours, minutes = (0, 0) if name[0].isalpha() else (int(name[:3]), int(name[0] + (name[3:].lstrip(":") or "0")))
    return at.replace(tzinfo=timezone(timedelta(hours=hours, minutes=minutes))).astimezone(timezone.utc)


def _at_of(raw: bytes) -> At | None:
    """Return the time that a value is: a text, a number since 1970, a number as a text, or log4j's instant."""
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
    return EPOCH + timedelta(seconds=second)


# -- what is said of a log of which no line can be read ---------------------------------------------------------------


class Form(NamedTuple):
    """What a log is that can't be read, and what to do. what: goes on from "is in the form of"."""

    what: str
    remedy: str


_LONGEST = 64 << 10
"""Bytes of a line that are looked at."""
_XML = re.compile(rb"\A\s*<(?:\?xml|log4j:|Event\b|Events\b|/)")
_SYSLOG = re.compile(rb"<\d{1,3}>|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ")
_SPREAD = re.compile(rb'\A\s*"message"\s{0,9}:')
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
    """Return the form of lines of which none can be read."""
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
    """Return whether what follows `MESSAGE` is a request as Kafka logged it before 2.8."""
    return rest.startswith((b"RequestHeader(", b"{api_key=", b"Name:"))


# -- the JSON of a request, as brokers log it (RequestConvertToJson): the few fields that are counted -----------------

# msgspec skips all other fields without making values of them. It is a C extension: executors need it installed, the
# zip can't bring it.

INT_MAX = 2**31 - 1
"""Kafka frames and throttle times are 32-bit: no request has more bytes, or milliseconds."""
_ANY_ERROR = re.compile(rb'rrorCode":[-1-9]')
"""In the JSON of a request: of the fields errorCode and topicErrorCode alike. Within texts a backslash precedes every
quote, so this matches fields alone. It begins with letters alone, which `re` searches for many times faster."""
_LITERAL = b'rrorCode":'
NOT_USUAL = (DecodeError, RecursionError)
"""What `decode` raises."""
OWN_ERRORS = frozenset({"PRODUCE", "FETCH"})
"""APIs whose errors are among the fields that are decoded."""
_T = TypeVar("_T")


# Fields stand in the order of the log: each is first looked for behind the one before.


class Partition(Struct, rename="camel", gc=False):
    """A partition in a request or an answer. records_size_in_bytes: of its record batches."""

    error_code: int = 0
    records_size_in_bytes: int = 0


class _Topic(Struct, rename="camel", gc=False):
    partition_data: list[Partition] | None = None


class _Replica(Struct, rename="camel", gc=False):
    replica_id: int = -1


class Request(Struct, rename="camel", gc=False):
    """What was asked. replica_state: of a fetch since Kafka 3.5, in place of replica_id."""

    replica_id: int | None = None
    replica_state: _Replica | None = None
    topic_data: list[_Topic] | None = None


class _Answer(Struct, rename="camel", gc=False):
    partition_responses: list[Partition] | None = None
    partitions: list[Partition] | None = None


class Response(Struct, rename="camel", gc=False):
    """What was answered."""

    error_code: int = 0
    responses: list[_Answer] | None = None


class _Header(Struct, rename="camel", gc=False, kw_only=True):
    client_id: str | None = None
    request_api_key_name: str


class Logged(Struct, rename="camel", gc=False, kw_only=True):
    """A whole request. response: text where none was sent (acks=0)."""

    is_forwarded: bool | None = None
    request_header: _Header
    request: Request | str | None = None
    response: Response | str | None = None
    local_time_ms: float | None = None
    throttle_time_ms: int | None = None
    principal: str


class _Bare(Struct, rename="camel"):
    """The same, with bodies of any form."""

    request_header: _Header
    principal: str
    is_forwarded: bool | None = None
    request: Raw = Raw(b"null")
    response: Raw = Raw(b"null")
    local_time_ms: Any = None
    throttle_time_ms: Any = None


_LOGGED, _BARE = Decoder(Logged), Decoder(_Bare)
_REQUEST, _RESPONSE = Decoder(Request), Decoder(Response)

decode = _LOGGED.decode
"""A request of the usual form. Raises `NOT_USUAL`: use `logged`, which takes others too."""


def logged(json: bytes) -> Logged | None:
    """Return a request whose bodies may be of any form: what is of another form than is known here counts as empty.
    None where it is no whole JSON, or has neither principal nor API.
    """
    try:
        return decode(json)
    except ValidationError:
        pass
    except NOT_USUAL:
        return None
    try:
        bare = _BARE.decode(json)
    except NOT_USUAL:
        return None
    local, throttled = bare.local_time_ms, bare.throttle_time_ms
    return Logged(
        is_forwarded=bare.is_forwarded,
        request_header=bare.request_header,
        request=_or_none(_REQUEST, bare.request),
        response=_or_none(_RESPONSE, bare.response),
        local_time_ms=float(local) if type(local) in (int, float) else None,
        throttle_time_ms=throttled if type(throttled) is int else None,
        principal=bare.principal,
    )


def _or_none(decoder: Decoder[_T], body: Raw) -> _T | None:
    try:
        return decoder.decode(body)
    except NOT_USUAL:
        return None


def is_clients(request: Logged) -> bool:
    """Return whether a client sent it to this broker: no replica, and no copy that the controller logs of what a broker
    forwards.
    """
    if request.is_forwarded is not False:
        return False
    asked = request.request
    if type(asked) is not Request:
        return True
    replica = asked.replica_state.replica_id if asked.replica_state is not None else asked.replica_id
    return replica is None or replica < 0


def has_error(json: bytes) -> bool:
    """Return whether the JSON has any error code but 0, wherever it is."""
    # A literal is found many times faster than a pattern.
    return _LITERAL in json and _ANY_ERROR.search(json) is not None


# -- a logged request that changes something, as ALTER_REQUEST's values -----------------------------------------------

_OWN_PORT = re.compile(r":\d+-")
_PORT_AND_NUMBERS = re.compile(r"\A\d+-\d+(?:-\d+)?")
_OF_ANOTHER_FORM = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)

UNREAD = Change("cluster", "", ":unread", "set", None, False, NO_ANSWER)
"""Another client changed something, and what cannot be told."""

Row = tuple[Any, ...]
"""The columns of ALTER_REQUEST from start_ts to error_code: those of the request, then `Change`."""


def altered(text: str, end_ts: datetime) -> list[Row]:
    """Return the rows of a request's JSON; none of one that changes nothing, or that is no whole request (`one_line`
    says which those are).

    Of one that changes something, and is of a form that is not known here, one row says so: `UNREAD`.
    """
    try:
        read = json_of(text, may_repeat=True)
        header = read["requestHeader"]
        api, forwarded = header["requestApiKeyName"], bool(read["isForwarded"])
        request, response = _body(read["request"]), _body(read["response"])
        if abs(int(header["correlationId"])) > INT_MAX + 1:
            return []
        head = (
            end_ts - timedelta(milliseconds=float(read["totalTimeMs"])),
            api,
            int(header["correlationId"]),
            header["clientId"],
            # A copy comes from the broker that forwards.
            None if forwarded else client_host(read["connection"]),
            read["principal"],
            forwarded,
            bool(request.get("validateOnly", request.get("dryRun", False))),
        )
    except _OF_ANOTHER_FORM:
        return []
    try:
        found = changes(api, request, response)
    except _OF_ANOTHER_FORM:
        found = (UNREAD,)
    return [(*head, *astuple(change)) for change in found]


def client_host(connection: str) -> str | None:
    """Return the client's address in the name of a connection; None where it is of another form.

    As Kafka names one (ServerConnectionId): ``10.0.0.1:9092-10.0.0.7:40000-1-0``, without the last number before Kafka
    4; addresses of IPv6 as they are.
    """
    own = _OWN_PORT.search(connection)
    host, _, rest = connection[own.end() :].rpartition(":") if own else ("", "", "")
    return host if host and _PORT_AND_NUMBERS.fullmatch(rest) else None


def _body(body: object) -> Mapping[str, Any]:
    """Return a body, which may be missing: where there is no response (acks=0) the log has an empty text."""
    return body if isinstance(body, dict) else {}


# -- lines of a block -------------------------------------------------------------------------------------------------

# Most are laid out as by Kafka's own logging configuration,
# `[%d] %p %m (%c)%n`. Of others (carriage returns, more behind the message, what `taken` takes out of its wrappers) the
# end is searched.

BEHIND = b" (" + LOGGER + b")"
_JSON = JSONDecoder()

NO_START, NO_TIME, NO_END, NO_TEXT, NO_JSON, OLD = (
    "the beginning of the line is missing",
    "no time before the request",
    "the end of the request is missing",
    "not UTF-8",
    "not whole JSON of a request",
    "of Kafka before 2.8, which logs no JSON",
)
NO_FIGURE = "a figure that no request has"
TOO_DEEP = f"JSON of more than {DEEPEST} levels"


class Line(NamedTuple):
    """A request's line. second, millis: its own time; in UTC where the line has a zone, else without one; json: the
    request's, of which `request` is."""

    byte_pos: int
    second: datetime
    millis: int
    json: bytes
    request: Logged


def head_of(text: bytes, begin: int, end: int) -> tuple[bytes, At | None]:
    """Return what comes before the request of the line at a position, and the second and milliseconds of the time in
    it; a line end, and None, where there is no request.
    """
    found = text.find(MESSAGE, begin, end)
    if found < 0:
        return b"\n", None
    return text[begin : found + len(MESSAGE)], time_of(text[begin:found])


def one_line(place: int, line: bytes) -> Line | Damaged | None:
    """Return a line by itself, in whatever layout; None where it is not the request logger's."""
    stripped = line.rstrip(b"\r")
    found = taken(stripped)
    if found is None:
        return Damaged.of(place, line, NO_START) if stripped.endswith((LOGGER, LOGGER + b")")) else None
    rest, at = found.rest, found.at
    if at is None:
        return Damaged.of(place, line, NO_TIME)
    json = rest.removesuffix(BEHIND)
    with suppress(*NOT_USUAL, UnicodeDecodeError):
        json.decode()
        return Line(place, *at, json, decode(json))
    if is_old(rest):
        return Damaged.of(place, line, OLD)
    try:
        text = rest.decode()
    except UnicodeDecodeError:
        return Damaged.of(place, line, NO_TEXT)
    if deeper_than(rest, DEEPEST):
        return Damaged.of(place, line, TOO_DEEP)
    try:
        _, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return Damaged.of(place, line, NO_JSON if rest.endswith(b"}" + BEHIND) else NO_END)
    behind = text[end:].strip()
    if not text.startswith("{") or (behind and (LOGGER.decode() not in behind or MESSAGE.decode() in behind)):
        return Damaged.of(place, line, NO_END)
    json = text[:end].encode()
    request = logged(json)
    if request is None:
        return Damaged.of(place, line, NO_JSON)
    return Line(place, *at, json, request)


def clocks(start: int, text: bytes) -> Iterator[tuple[int, datetime]]:
    """Yield (byte, time) of the request lines in a block of lines, in UTC where the line has a zone; the requests
    themselves are not read.
    """
    place = start
    for line in text.split(b"\n"):
        if (found := taken(line)) is not None and found.at is not None:
            second, millis = found.at
            yield place, second.replace(microsecond=millis * 1000)
        place += len(line) + 1
