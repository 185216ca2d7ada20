"""Lines of a request log: cut into parts for executors, taken apart, and decoded where a request changes something."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from datetime import datetime, timedelta
from json import JSONDecoder
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.history.redact import mask
from console.history.requests.alters import ALTER_KEYS, NO_ANSWER, Change, changes
from console.history.requests.files import Check, LogBytes, name_of, opened_as_planned
from console.history.requests.progress import Span, pieces
from console.history.requests.zone import fold_at, to_utc

# A logged request that changes something, as ALTER_REQUEST's values.

_CONNECTION = re.compile(r".*?:\d+-(?P<host>.+):\d+-\d+(?:-\d+)?")
"""As Kafka names a connection (ServerConnectionId): ``10.0.0.1:9092-10.0.0.7:40000-1-0``, addresses of IPv6 as they
are."""

_OF_ANOTHER_FORM = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)

UNREAD = Change("cluster", "", ":unread", "set", None, False, NO_ANSWER)
"""Another client changed something, and what cannot be told."""

Row = tuple[Any, ...]
"""start_ts, api, correlation_id, client_id, client_host, principal, is_forwarded, validate_only, then `Change`."""


def altered(text: str, end_ts: datetime) -> list[Row]:
    """The rows of a request's JSON; none of one that changes nothing, or that is no whole request (which is counted
    elsewhere: `console.history.transforms.request_logs`).

    Of one that changes something, and is of a form that is not known here, one row says so: `UNREAD`.
    """
    try:
        logged = json.loads(text)
        header = logged["requestHeader"]
        api, forwarded = header["requestApiKeyName"], bool(logged["isForwarded"])
        request, response = _body(logged["request"]), _body(logged["response"])
        head = (
            end_ts - timedelta(milliseconds=float(logged["totalTimeMs"])),
            api,
            int(header["correlationId"]),
            header["clientId"],
            # A copy comes from the broker that forwards.
            None if forwarded else client_host(logged["connection"]),
            logged["principal"],
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
    """The client's address in the name of a connection; None where it is of another form."""
    found = _CONNECTION.fullmatch(connection)
    return None if found is None else found["host"]


def _body(body: object) -> Mapping[str, Any]:
    """Where there is no answer (acks=0) the log has an empty text."""
    return body if isinstance(body, dict) else {}


# Lines of a request log taken apart, a block at a time: where, when, and the JSON, which is not looked into.
#
# Most lines have the layout of Kafka's own logging configuration, `[%d] %p %m (%c)%n`: they are cut by column in
# PyArrow. What is laid out otherwise (ISO 8601 with a T, carriage returns, more before the message) is cut line by
# line.

_HEAD_CHARS = 50
_HEAD = r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:DEBUG|TRACE) Completed request:$"
_TAIL = b"} (kafka.request.logger)"
_TAIL_CUT = 1 - len(_TAIL)
_FRAME_CHARS = 80
_FRAME = r'^\{"isForwarded":(?:true|false),"requestHeader":\{"requestApiKey":(?P<key>\d{1,4}),'
_MESSAGE = b"Completed request:"
_LOGGER = b"kafka.request.logger"
_JSON = JSONDecoder()
_LINE_TIME = re.compile(rb"^\[(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{3})\]", re.MULTILINE)
_TIME = re.compile(rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{3})")

NO_START, NO_TIME, NO_END, NO_TEXT, NO_JSON = (
    "the beginning of the line is missing",
    "no time before the request",
    "the end of the request is missing",
    "not UTF-8",
    "not whole JSON of a request",
)

LINE = pa.schema(
    [
        pa.field("byte_pos", pa.int64()),
        pa.field("at", pa.timestamp("us")),
        pa.field("api_key", pa.int32()),
        pa.field("json", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("sha256", pa.string()),
        pa.field("sample", pa.string()),
    ]
)
"""at: the line's own time, without a zone. api_key: empty where it does not stand where Kafka writes it. json: empty
where the line is damaged; then reason says how, and sha256 and sample stand for it."""


def lines(start: int, text: bytes, *, alters_only: bool = False) -> Iterator[pa.RecordBatch]:
    """The request lines and the damaged ones of a block, as `LINE`; other loggers' are left out.

    start: the block's place in its file. alters_only: only what may be a request that changes something, and what is
    damaged.
    """
    split = _split(text)
    lengths = pc.add(pc.binary_length(split), 1)
    places = pc.add(pc.subtract(pc.cumulative_sum(lengths), lengths).cast(pa.int64()), start)
    usual = pc.ends_with(split, _TAIL)
    if text.count(_TAIL) != pc.sum(usual).as_py():
        # Two lines became one, or a user has such a name.
        usual = pc.and_(usual, pc.equal(pc.count_substring(split, _TAIL), 1))
    try:
        head = pc.binary_slice(split, 0, _HEAD_CHARS).cast(pa.string())
        usual = pc.and_(usual, pc.match_substring_regex(head, _HEAD))
        frame = pc.binary_slice(split, _HEAD_CHARS, _HEAD_CHARS + _FRAME_CHARS)
        fast = _usual(split, places, head, frame, usual, alters_only)
    except pa.ArrowInvalid:
        # Some line is no UTF-8, or its time is no time.
        yield from _others(split, places, alters_only)
        return
    yield fast
    if not pc.all(usual).as_py():
        others = pc.invert(usual)
        yield from _others(split.filter(others), places.filter(others), alters_only)


def _split(text: bytes) -> pa.Array:
    size = len(text) - text.endswith(b"\n")
    offsets = pa.py_buffer(struct.pack("<qq", 0, size))
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(text)])
    return pc.split_pattern(whole, b"\n").flatten().cast(pa.binary())


def _usual(
    split: pa.Array, places: pa.Array, head: pa.Array, frame: pa.Array, usual: pa.Array, alters_only: bool
) -> pa.RecordBatch:
    # The client's id is behind the API's key: a cut inside a character of it is no matter.
    keys = pc.struct_field(pc.extract_regex(frame, _FRAME), "key").cast(pa.string()).cast(pa.int32())
    if alters_only:
        wanted = pc.or_(pc.is_null(keys), pc.is_in(keys, pa.array(sorted(ALTER_KEYS), pa.int32())))
        usual = pc.and_(usual, wanted)
    times = pc.replace_substring(pc.utf8_slice_codeunits(head.filter(usual), 1, 24), ",", ".")
    json = pc.binary_slice(split.filter(usual), _HEAD_CHARS, _TAIL_CUT).cast(pa.string())
    nothing = pa.nulls(len(json), pa.string())
    columns = [
        places.filter(usual),
        times.cast(pa.timestamp("us")),
        keys.filter(usual),
        json,
        nothing,
        nothing,
        nothing,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LINE)


def _others(split: pa.Array, places: pa.Array, alters_only: bool) -> Iterator[pa.RecordBatch]:
    rows = []
    for place, line in zip(places.to_pylist(), split.to_pylist(), strict=True):
        row = one_line(place, line)
        if row is not None and not (alters_only and row.get("api_key") not in (None, *ALTER_KEYS)):
            rows.append(row)
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=LINE)


def one_line(place: int, line: bytes) -> dict[str, Any] | None:
    """A line by itself, as a row of `LINE`; None where it is not the request logger's."""
    line = line.rstrip(b"\r")
    before, found, rest = line.partition(_MESSAGE)
    if not found:
        return damaged(place, line, NO_START) if line.endswith((_LOGGER, _LOGGER + b")")) else None
    time = _TIME.search(before)
    if time is None:
        return damaged(place, line, NO_TIME)
    try:
        day, clock, millis = (part.decode() for part in time.groups())
        at = datetime.fromisoformat(f"{day} {clock}.{millis}000")
    except ValueError:
        return damaged(place, line, NO_TIME)
    try:
        text = rest.decode()
    except UnicodeDecodeError:
        return damaged(place, line, NO_TEXT)
    try:
        _, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return damaged(place, line, NO_JSON if rest.endswith(_TAIL) else NO_END)
    behind = text[end:].strip()
    if not text.startswith("{") or (behind and (_LOGGER.decode() not in behind or _MESSAGE.decode() in behind)):
        return damaged(place, line, NO_END)
    json = text[:end]
    key = re.match(_FRAME, json)
    return {"byte_pos": place, "at": at, "api_key": int(key["key"]) if key else None, "json": json}


def line_times(text: bytes) -> Iterator[datetime]:
    """The times with which lines of a piece of a log begin, without a zone. It may begin and end inside lines."""
    for found in _LINE_TIME.finditer(text):
        with suppress(ValueError):
            yield datetime.fromisoformat(f"{found[1].decode()} {found[2].decode()}.{found[3].decode()}000")


def damaged(place: int, line: bytes, reason: str) -> dict[str, Any]:
    """What may be written down of a line that can't be read."""
    return {
        "byte_pos": place,
        "reason": reason,
        "sha256": hashlib.sha256(line).hexdigest(),
        "sample": mask(line[:1000].decode("utf-8", "replace")),
    }


# The work of reading request logs, in parts that can be done side by side, and one part's lines.

PART_BYTES = 64 << 20

REQUEST_LINE = pa.schema(
    [
        pa.field("cluster_id", pa.string()),
        pa.field("broker_id", pa.int32()),
        pa.field("file", pa.string()),
        pa.field("byte_pos", pa.int64()),
        pa.field("end_ts", pa.timestamp("us", "UTC")),
        pa.field("api_key", pa.int32()),
        pa.field("json", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("sha256", pa.string()),
        pa.field("sample", pa.string()),
    ]
)
"""As `lines.LINE`, with whose line it is; end_ts: the line's time in UTC."""
REQUEST_LINE_DDL = (
    "cluster_id STRING, broker_id INT, file STRING, byte_pos BIGINT, end_ts TIMESTAMP, api_key INT, json STRING, "
    "reason STRING, sha256 STRING, sample STRING"
)
"""The same in Spark's words."""


@dataclass(frozen=True)
class BrokerLog:
    """What is to be read of one broker's request log. zone: of the times in its lines, as ``Europe/Berlin``. patterns:
    where its files lie, also those that it will be rotated to."""

    cluster_id: str
    broker_id: int
    spans: tuple[Span, ...]
    zone: str = "UTC"
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A piece of a file, with all that its lines' rows need. fold_at: see `zone.to_utc`. checks, patterns: by which the
    file is known again, and found, where it is read: see `files.opened_as_planned`."""

    cluster_id: str
    broker_id: int
    path: str
    start: int
    end: int
    zone: str
    fold_at: int | None
    checks: tuple[Check, ...]
    patterns: tuple[str, ...] = ()

    def as_list(self) -> list[Any]:
        """For JSON."""
        return [getattr(self, field.name) for field in fields(self)]

    @staticmethod
    def of(read: Sequence[Any]) -> Part:
        """What `as_list` gave, from JSON."""
        made = dict(zip((field.name for field in fields(Part)), read, strict=True))
        made["checks"] = tuple((int(at), str(check)) for at, check in made["checks"])
        made["patterns"] = tuple(map(str, made["patterns"]))
        return Part(**made)


def parts_of(logs: Sequence[BrokerLog], at_most: int = PART_BYTES) -> tuple[Part, ...]:
    """All parts, each of at most so many bytes where its file can be split. Raises OSError, LogChangedError: a file
    can't be read; zoneinfo.ZoneInfoNotFoundError (a KeyError): there is no such zone."""
    return tuple(part for log in logs for span in log.spans for part in _parts(log, span, at_most))


def _parts(log: BrokerLog, span: Span, at_most: int) -> Iterator[Part]:
    with opened_as_planned(span.path, span.checks, log.patterns) as file:
        fold = fold_at(file, log.zone, span.end)
        cut = ((span.start, span.end),) if file.is_packed else pieces(span.start, span.end, at_most)
        known = dict(span.checks)
        checks = {at: known.get(at) or file.check(at) for at in {each for piece in cut for each in piece}}
    # The last line of a part may end behind it: where the span ends is checked for each.
    always = {min(span.checks), (span.end, known[span.end])}
    for start, end in cut:
        own = {*always, (start, checks[start]), (end, checks[end])}
        checked = tuple(sorted(own))
        yield Part(log.cluster_id, log.broker_id, span.path, start, end, log.zone, fold, checked, log.patterns)


def read_part(part: Part, *, alters_only: bool = False) -> Iterator[pa.RecordBatch]:
    """The part's request lines, and the damaged ones, as `REQUEST_LINE`. alters_only: see `lines.lines`. Raises
    OSError, EOFError (gzip, cut); LogChangedError, at the end too: then what was given before does not count."""
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        yield from _rows(part, file, alters_only)


def _rows(part: Part, opened: LogBytes, alters_only: bool) -> Iterator[pa.RecordBatch]:
    file = name_of(part.path)
    for at, text in opened.blocks(part.start, part.end):
        for batch in lines(at, text, alters_only=alters_only):
            if not batch.num_rows:
                continue
            rows, places = batch.num_rows, batch.column("byte_pos")
            end_ts = to_utc(batch.column("at"), places, part.zone, part.fold_at)
            whose = [
                pa.repeat(pa.scalar(part.cluster_id), rows),
                pa.repeat(pa.scalar(part.broker_id, pa.int32()), rows),
                pa.repeat(pa.scalar(file), rows),
            ]
            rest = [batch.column(name) for name in ("api_key", "json", "reason", "sha256", "sample")]
            yield pa.RecordBatch.from_arrays([*whose, places, end_ts, *rest], schema=REQUEST_LINE)
