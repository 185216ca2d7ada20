"""Lines of a broker's request log (Kafka 2.8 to 4.x): the message without its wrappers, its time, and the decoded
request.

The message may be in a pattern layout, or a string in a JSON object (log4j's and logback's layouts, ECS, GELF, Docker);
both may follow a prefix of syslog or of a container runtime. All of it is untrusted: wrappers are opened only to a
small depth, and only the end of a prefix is searched.
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
_QUOTED = b'"' + LOGGER + b'"'
_ENDS = (LOGGER, LOGGER + b")")

At = tuple[datetime, int]
"""A time: the second, in UTC if the line has a zone and otherwise without a zone, and the milliseconds in it."""

_TIME = re.compile(
    rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?"
    rb"(Z\b|[+-]\d\d(?::?[0-5]\d)?(?!\d)| [+-]\d\d:?[0-5]\d(?!\d)| ?(?:UTC|GMT)\b)?"
)
_USUAL = re.compile(rb"\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3})\] [A-Z]{5} ")
"""Matches the whole text before a message in Kafka's own logging configuration; several times as fast as a search for
the time.
"""
_BEFORE = 4096
"""Maximum number of bytes before a message that are searched for its time."""
_LONGEST_TIME = 200
"""Maximum size of a time in JSON, in bytes."""
_DEEPEST = 4
"""Maximum number of wrappers around a line: a layout's JSON in Docker's JSON in a shipper's JSON, and one more."""
_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
"""Pairs of a bound and a factor, in rising order. A number below a bound is a time since 1970 in seconds,
milliseconds or microseconds; multiplied by the factor it is in nanoseconds. A number above all bounds is in
nanoseconds already.
"""
_YEARS = range(1970, 2200)
"""Valid years of a line's time: clients can choose names that contain any time, and datetime's arithmetic fails near
its limits.
"""


_MESSAGES = ("message", "log", "msg", "short_message", "full_message", "MESSAGE", "textPayload", "event")
"""The keys under which log events have the text of the message."""
_LOGGERS = ("logger", "loggerName", "logger_name", "log.logger", "_logger")
"""The keys under which log events have the name of the logger. ECS may also have the key `logger` in an object
`log`."""
_TIMES = ("instant", "timeMillis", "@timestamp", "timestamp", "time", "ts")
"""The keys under which log events have the time. Keys that only loggers use come before those that shippers use too."""


# A log may have the lines of all loggers of a broker, like a container's output. Other loggers write names into their
# messages that clients choose; such a name may be the text of a request. Therefore a line is a request only if nothing
# but these pieces precedes it.
_PIECES = re.compile(
    # At the line's beginning: a word (docker compose), or the headers of syslog, RFC 5424 and 3164
    rb"\A(?:[\w-]{1,100}:?|[\w.-]{1,100} {0,100}\|) {1,100}(?=\W?\d{4}-\d\d-)"
    rb"|\A<\d{1,3}>\d{1,2} [\dT:.Z+-]{1,40}(?: [^\s\[\]]{1,255}){4} (?:-(?!\S)|\[[^\]]{0,1000}\])"
    rb"|\A(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.Z+-]{1,40})"
    rb" (?![A-Z]{2,7} )[\w.-]{1,255} [\w/-]{1,100}(?:\.\w{1,20}(?=\[))?(?:\[\d{1,10}\])?: "
    # A container's runtime
    rb"|\bstd(?:out|err) [FP]\b"
    # Names of the logger, and of the class that logs
    rb"|\b(?:(?:kafka|k)\.)?(?:(?:request|r)\.)?logger(?:=|(?::\d{1,6})?(?![\w.]))"
    rb"|\b(?:kafka\.network\.)?RequestChannel[$\w]{0,40}(?:\.scala)?(?::\d{1,6})?(?![\w.])"
    # Threads
    rb"|\[ {0,50}[^\s\[\].]{1,150} {0,50}\]|\([^\s().]{1,150}(?:\([^\s().]{0,100}\)[^\s().]{0,100})?\)"
    rb"|\b(?:data-plane-|control-plane-)?kafka-(?:network-thread|request-handler)-[^\s.]{1,150}"
    # Times and numbers, levels and zones, names of fields, colours, and the characters between these
    rb"|\b\d[\d:.,/TZ+-]{0,40}(?!\w)|\b[A-Z][a-z]{2}\b,?(?= ?\d)|\b[A-Z]{1,5}\b|\b(?:debug|WARNING)\b"
    rb"|\b(?:time|ts|timestamp|level|lvl|severity|thread|msg|message)="
    rb"|\x1b\[[\d;]{0,20}[A-Za-z]|\xef\xbb\xbf|\{\}|[][\s()|:;,.+\-\"<>/~*#]"
)
_ONE_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_NAMED_BEHIND = re.compile(rb"[(\[]((?:[\w$-]{1,100}\.){1,20}[\w$-]{1,100})[)\]](?:\x1b\[[\d;]{0,20}[A-Za-z]|\s)*\Z")
"""Matches the name of a logger in brackets at the end of a line."""
_LONGEST_NAMED = 500


def _is_bare(before: bytes) -> bool:
    """Return whether the text before a message consists only of parts that layouts, container runtimes and shippers
    write; False if it has more than `_BEFORE` (4,096) bytes.
    """
    return not before or (len(before) <= _BEFORE and _is_of_pieces(before.translate(_ONE_DIGIT)))


@lru_cache(64)
def _is_of_pieces(before: bytes) -> bool:
    """Return whether a text consists only of parts that match `_PIECES`. before: the text with each digit replaced by
    the same digit, so that the cache gets few different texts.
    """
    return not _PIECES.sub(b"", before)


def _is_of_others(rest: bytes) -> bool:
    """Return whether the text after a request ends with the name of another logger."""
    behind = rest[rest.rfind(b"}") + 1 :][-_LONGEST_NAMED:]
    found = _NAMED_BEHIND.search(behind) if behind else None
    return found is not None and found[1] != LOGGER


class _Instant(Struct, rename="camel"):
    epoch_second: int
    nano_of_second: int = 0


_EVENT, _TEXT, _INSTANT, _NUMBER = Decoder(dict[str, Raw]), Decoder(str), Decoder(_Instant), Decoder(int | float)
_NO_JSON = (DecodeError, RecursionError, UnicodeDecodeError)
_NO_TIME = (*_NO_JSON, ValueError, OverflowError)


class Taken(NamedTuple):
    """A message of a logger, without the wrappers of its line."""

    rest: bytes
    """The message after the fixed text with which the logger's messages begin."""
    at: At | None
    is_json: bool
    """Whether the message was in a JSON object."""
    is_bare: bool = True
    """Whether the text before the message consists only of parts that layouts, container runtimes and shippers write.
    """


def taken(line: bytes, message: bytes = MESSAGE) -> Taken | None:
    """Return the message in a line, and the innermost time: that of the logger, not that of a wrapper. None if the line
    has no message that begins with the text `message`, or if the text of a request is in a message of another
    logger.
    """
    at: At | None = None
    is_json = False
    is_request = message == MESSAGE
    before, found, rest = line.partition(message)
    if not found:
        return None
    for _ in range(_DEEPEST):
        # The usual line has no JSON around it and ends the loop here.
        brace = before.find(b"{")
        inner = None if brace < 0 else _event(line[brace:] if brace else line, message, is_request=is_request)
        if inner is None:
            break
        if is_request and not _is_bare(before[:brace]):
            return None
        line, own = inner
        at, is_json = own or time_of(before[:brace]) or at, True
        before, found, rest = line.partition(message)
        if not found:
            return None
    is_bare = not is_request or _is_bare(before)
    if is_request and (_is_of_others(rest) or not (is_bare or _is_damaged(before, rest))):
        return None
    return Taken(rest, time_of(before) or at, is_json, is_bare)


def _is_damaged(before: bytes, rest: bytes) -> bool:
    """Return whether a request with other text before it nevertheless was written by the request logger: the other text
    is a broken JSON object, a JSON object with the request in an unexpected place, or an unknown form; or the
    request logger's name follows the request.
    """
    head, brace, _ = before.partition(b"{")
    return rest.endswith(_ENDS) or bool(_XML.match(before) or _SPREAD.match(before) or (brace and _is_bare(head)))


def _event(line: bytes, message: bytes, *, is_request: bool) -> tuple[bytes, At | None] | None:
    """Parse a line as a JSON object in which a string has the message.

    Args:
        is_request: whether the message is that of the request logger.

    Returns:
        The string, and the time of the object, None without a valid time. If another logger wrote the request, the
        string is empty. None if the line is not such an object.
    """
    try:
        event = _EVENT.decode(line)
        for name in _MESSAGES:
            raw = bytes(event.get(name, b""))
            if message in raw and raw.startswith(b'"'):
                if is_request and _is_event_of_others(event):
                    return b"", None
                times = (_at_of(bytes(event[each])[:_LONGEST_TIME]) for each in _TIMES if each in event)
                return _TEXT.decode(raw).encode("utf-8", "replace").strip(), next(filter(None, times), None)
    except _NO_JSON:
        pass
    return None


def _is_event_of_others(event: Mapping[str, Raw]) -> bool:
    """Return whether a log event names another logger."""
    for key in _LOGGERS:
        if key in event and _is_other(event[key]):
            return True
    log = event.get("log")
    if log is None or not bytes(log).startswith(b"{"):
        return False
    fields = _EVENT.decode(log)
    return "logger" in fields and _is_other(fields["logger"])


def _is_other(name: Raw) -> bool:
    return bytes(name) != _QUOTED and _TEXT.decode(name) != LOGGER.decode()


def time_of(before: bytes) -> At | None:
    """Return the last time in the text before a message; None if it has no valid time."""
    if not before:
        return None
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
    """Return a time in whole seconds, in UTC if it has a zone. A cache returns the same object for equal bytes. Raises
    ValueError: the bytes are not a valid time.
    """
    at = datetime.fromisoformat(f"{day.decode()} {clock.decode()}")
    if at.year not in _YEARS:
        raise ValueError("no year of a log")
    name = zone.strip().decode()
    if not name:
        return at
    hours, minutes = (0, 0) if name[0].isalpha() else (int(name[:3]), int(name[0] + (name[3:].lstrip(":") or "0")))
    return at.replace(tzinfo=timezone(timedelta(hours=hours, minutes=minutes))).astimezone(timezone.utc)


@lru_cache(16)
def _at_of(raw: bytes) -> At | None:
    """Return the time of a JSON value: a text, a number since 1970 (also as a text), or log4j's instant; None for any
    other value. The result is cached, since many consecutive lines have the same value.
    """
    with suppress(*_NO_TIME):
        if raw.startswith(b"{"):
            instant = _INSTANT.decode(raw)
            return _since_1970(instant.epoch_second * 10**9 + instant.nano_of_second)
        text = _TEXT.decode(raw).encode() if raw.startswith(b'"') else raw
        if found := _TIME.match(text):
            return _read(*(part or b"" for part in found.groups()))
        number = _NUMBER.decode(text)
        unit = next((unit for below, unit in _UNITS if abs(number) < below), 1)
        return _since_1970(number * unit if isinstance(number, int) else round(number * 1000) * unit // 1000)
    return None


def _since_1970(nanos: int) -> At:
    millis = nanos // 10**6
    second = _of_second(millis // 1000)
    if second.year not in _YEARS:
        raise ValueError("no year of a log")
    return second, millis % 1000


@lru_cache(16)
def _of_second(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)


# -- the form of a log without a readable line ------------------------------------------------------------------------


class Form(NamedTuple):
    """A description of the form of an unreadable log, and a remedy."""

    what: str
    """The words that complete the sentence "the log is in the form of …"."""
    remedy: str


_LONGEST = 64 << 10
"""Maximum size in bytes of a line that is examined."""
_XML = re.compile(rb"\A\s*<(?:\?xml|log4j:|Event\b|Events\b|/)")
_SYSLOG = re.compile(rb"<\d{1,3}>|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ")
_SPREAD = re.compile(rb'\A\s*"message"\s{0,9}:')
_OBJECT = re.compile(rb'\{\s{0,9}"')
_AS_JSON = "Write one JSON object a line"
_PATTERN = "log it by the pattern of Kafka's own configuration, [%d] %p %m (%c)%n"

CUTTERS = (
    "Docker and CRI split lines of more than 16 KiB, journald cuts them at LineMax=48K, and log4j2's "
    'JsonTemplateLayout at maxStringLength=16384: see "Lines that are cut" in docs/lake.md'
)
_WITHOUT_WORDS = (
    "have the tool write the lines alone (stern and logcli: --output raw). From a log that exists already, "
    "sed 's/^[^[]*\\[/[/' FILE drops everything before the first bracket"
)

OF_OTHERS = Form(
    "lines of other loggers, with none of kafka.request.logger",
    "Set kafka.request.logger to DEBUG on that broker, and name the file of its appender (kafka-request.log).",
)
OF_UNKNOWN = Form(
    "lines with the text of requests, but with another logger's name or with other words before it",
    f"If they are of kafka.request.logger, {_PATTERN}; or {_WITHOUT_WORDS}.",
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
    f"If something cuts them ({CUTTERS}), name the file of the logger's own appender. If they are whole, the request "
    "has to be a text in message, log or msg. From a log that exists already, jq -r .line FILE writes the texts of "
    "the field line, and jq -j .log FILE those of Docker, with their pieces joined.",
)
OF_CUT = Form(
    "lines in which no whole request is",
    f"See that nothing cuts or escapes them on their way ({CUTTERS}), and {_PATTERN}.",
)
OF_WORDS = Form(
    "lines with other words before the request",
    f"A tool has put them in front, such as the name of a pod, labels or a tag: {_WITHOUT_WORDS}.",
)
OF_BINARY = Form("no text", "Name a request log, as it was written or as .gz.")


def form_of(text: bytes, message: bytes = MESSAGE, others: Form = OF_OTHERS) -> Form:
    """Return a description of the form of lines that are all unreadable.

    Args:
        text: the lines.
        message: the text with which the logger's messages begin.
        others: the result if all lines are of other loggers.
    """
    lines = [line[:_LONGEST] for line in text.split(b"\n") if line.strip()]
    if any(b"\0" in line for line in lines):
        return OF_BINARY
    if sum(_XML.match(line) is not None for line in lines) * 2 > len(lines):
        return OF_XML
    asked = [line for line in lines if message in line]
    if not asked:
        return others
    found = [(line, request) for line in asked if (request := taken(line, message)) is not None]
    if not found:
        return OF_UNKNOWN
    line, request = found[-1]
    if is_old(request.rest):
        return OF_OLD
    if _XML.match(line):
        return OF_XML
    if _SPREAD.match(line):
        return OF_SPREAD
    if request.is_json:
        return OF_JSON_WITHOUT_TIME if request.at is None else OF_CUT_JSON
    if _OBJECT.search(line.partition(message)[0]):
        return OF_CUT_JSON
    if not request.is_bare:
        return OF_WORDS
    if request.at is None:
        return OF_SYSLOG if _SYSLOG.match(line) else OF_NO_TIME
    return OF_CUT


def is_old(rest: bytes) -> bool:
    """Return whether the text after `MESSAGE` has the form in which Kafka before 2.8 logged requests."""
    return rest.startswith((b"RequestHeader(", b"{api_key=", b"Name:"))


# -- the JSON of a request, as brokers log it (RequestConvertToJson): the few fields that are counted -----------------

# msgspec skips all other fields without creating objects for them. It is a C extension: executors need it installed, as
# the zip can't include it.

INT_MAX = 2**31 - 1
"""Maximum of a request's size in bytes and of its times in milliseconds: Kafka's frame sizes and throttle times are
32-bit.
"""
_ANY_ERROR = re.compile(rb'rrorCode":[-1-9]')
"""Matches both errorCode and topicErrorCode in the JSON of a request. Within strings a backslash precedes every quote,
so it matches only fields. It begins with letters, which `re` searches for many times faster.
"""
_LITERAL = b'rrorCode":'
NOT_USUAL = (DecodeError, RecursionError)
"""The exceptions that `decode` raises for a request of an unusual form."""
OWN_ERRORS = frozenset({"PRODUCE", "FETCH"})
"""APIs whose error codes are in the fields of `Response`; for all others the JSON is searched for an error code."""
_T = TypeVar("_T")


# Fields are in the order of the log: msgspec looks for each one first behind the one before.


class Partition(Struct, rename="camel", gc=False):
    """A partition in a request or a response."""

    error_code: int = 0
    records_size_in_bytes: int = 0
    """The size of the partition's record batches in bytes."""


class _Topic(Struct, rename="camel", gc=False):
    partition_data: list[Partition] | None = None


class _Replica(Struct, rename="camel", gc=False):
    replica_id: int = -1


class Request(Struct, rename="camel", gc=False):
    """The fields of a request's body that kac uses."""

    replica_id: int | None = None
    replica_state: _Replica | None = None
    """The state of a replica in a fetch, which since Kafka 3.5 has the id in place of `replica_id`; None in other
    requests."""
    topic_data: list[_Topic] | None = None


class _Answer(Struct, rename="camel", gc=False):
    partition_responses: list[Partition] | None = None
    partitions: list[Partition] | None = None


class Response(Struct, rename="camel", gc=False):
    """The fields of a response's body that kac uses."""

    error_code: int = 0
    responses: list[_Answer] | None = None


class _Header(Struct, rename="camel", gc=False, kw_only=True):
    client_id: str | None = None
    request_api_key_name: str


class Logged(Struct, rename="camel", gc=False, kw_only=True):
    """A request and its response, as a broker logs them."""

    is_forwarded: bool | None = None
    request_header: _Header
    request: Request | str | None = None
    response: Response | str | None = None
    """The response; a text if no response was sent (acks=0)."""
    local_time_ms: float | None = None
    throttle_time_ms: int | None = None
    principal: str


class _Bare(Struct, rename="camel"):
    """A request whose bodies may have any form."""

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
"""Decode a request of the usual form. Raises `NOT_USUAL`: then use `logged`, which also accepts other forms."""


def logged(json: bytes) -> Logged | None:
    """Return a request whose bodies may have any form; a body of an unknown form counts as empty. None if the JSON is
    incomplete, or has neither principal nor API.
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
    """Return whether a client sent the request to this broker. False for a replica's fetch, for the copy of a forwarded
    request that the controller logs, and if the log does not tell whether the request was forwarded.
    """
    if request.is_forwarded is not False:
        return False
    asked = request.request
    if type(asked) is not Request:
        return True
    replica = asked.replica_state.replica_id if asked.replica_state is not None else asked.replica_id
    return replica is None or replica < 0


def has_error(json: bytes) -> bool:
    """Return whether the JSON has an error code other than 0 anywhere."""
    # A literal search is many times faster than a pattern.
    return _LITERAL in json and _ANY_ERROR.search(json) is not None


# -- a logged request that changes something, as ALTER_REQUEST's values -----------------------------------------------

_OWN_PORT = re.compile(r":\d+-")
_PORT_AND_NUMBERS = re.compile(r"\A\d+-\d+(?:-\d+)?")
_OF_ANOTHER_FORM = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)

UNREAD = Change("cluster", "", ":unread", "set", None, False, NO_ANSWER)
"""The change that replaces a client's changes of an unknown form."""

Row = tuple[Any, ...]
"""The values of the columns of ALTER_REQUEST from start_ts to error_code: first those of the request, then those of
`Change`.
"""


def altered(text: str, end_ts: datetime) -> list[Row]:
    """Return the rows of ALTER_REQUEST for a request's JSON; empty if the request changes nothing, or if the JSON is
    incomplete (which `one_line` reports). If the form of the changes is unknown, the result is one row with
    `UNREAD`.

    Args:
        end_ts: the time of the line, in UTC.
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
            # A forwarded request has the connection of the forwarding broker, not the client's.
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
    """Return the client's address from the name of a connection; None if the name has another form.

    Kafka's form (ServerConnectionId) is ``10.0.0.1:9092-10.0.0.7:40000-1-0``, without the last number before Kafka 4;
    IPv6 addresses have no brackets.
    """
    own = _OWN_PORT.search(connection)
    host, _, rest = connection[own.end() :].rpartition(":") if own else ("", "", "")
    return host if host and _PORT_AND_NUMBERS.fullmatch(rest) else None


def _body(body: object) -> Mapping[str, Any]:
    """Return a body; an empty mapping if it is missing, as it is without a response (acks=0)."""
    return body if isinstance(body, dict) else {}


# -- lines of a block -------------------------------------------------------------------------------------------------

# Most lines have the layout of Kafka's own logging configuration, `[%d] %p %m (%c)%n`. For others (carriage returns,
# text behind the message, wrappers that `taken` opens) the end of the request is searched.

BEHIND = b" (" + LOGGER + b")"
END = b"}}"
"""The last bytes of a request's JSON. In a layout that writes the logger before the message, they end the line."""
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
OF_CUT_LINES = frozenset({NO_START, NO_END, NO_JSON})
"""The reasons that usually mean that some program cuts long lines."""


class Line(NamedTuple):
    """A line of the request log with a request."""

    byte_pos: int
    second: datetime
    """The time of the line, in whole seconds: in UTC if the line has a zone, otherwise without a zone."""
    millis: int
    """The milliseconds within that second."""
    json: bytes
    """The JSON of the request, decoded as `request`."""
    request: Logged


def head_of(text: bytes, begin: int, end: int) -> tuple[bytes, At | None]:
    """Return the text before the JSON of the request in the line at `begin` … `end`, and its time, None without a
    valid time. This is possible only for a line that has no other JSON, and before the request only the usual
    parts (`_is_bare`). For any other line return a line feed and None: `one_line` has to parse it.
    """
    found = text.find(MESSAGE, begin, end)
    if found < 0 or text.find(b"{", begin, found) >= 0 or not _is_bare(text[begin:found]):
        return b"\n", None
    return text[begin : found + len(MESSAGE)], time_of(text[begin:found])


def one_line(place: int, line: bytes) -> Line | Damaged | None:
    """Parse a single line in any layout. Return `Damaged` if its request can't be read; None if the request logger did
    not write it. place: the line's byte position.
    """
    stripped = line.rstrip(b"\r")
    found = taken(stripped)
    if found is None:
        return Damaged.of(place, line, NO_START) if stripped.endswith(_ENDS) else None
    rest, at = found.rest, found.at
    if at is None:
        return Damaged.of(place, line, NO_TIME)
    if not found.is_bare:
        return Damaged.of(place, line, NO_START if rest.endswith(_ENDS) else NO_END)
    # A layout may write more behind the request, such as the thread; another request there makes the line ambiguous.
    json = rest[: rest.rfind(b"}") + 1]
    if MESSAGE not in rest[len(json) :]:
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
    if not text.startswith("{") or MESSAGE.decode() in text[end:]:
        return Damaged.of(place, line, NO_END)
    json = text[:end].encode()
    request = logged(json)
    if request is None:
        return Damaged.of(place, line, NO_JSON)
    return Line(place, *at, json, request)


def clocks(start: int, text: bytes, message: bytes = MESSAGE) -> Iterator[tuple[int, datetime]]:
    """Yield (byte position, time) of the logger's lines in a block; times are in UTC if the line has a zone, otherwise
    without a zone. The messages are not parsed.
    """
    place = start
    for line in text.split(b"\n"):
        if (found := taken(line, message)) is not None and found.at is not None:
            second, millis = found.at
            yield place, second.replace(microsecond=millis * 1000)
        place += len(line) + 1
