"""Lines of a broker's request log (log4j and JSON, Kafka 2.8 to 4.x): what they say, decoded."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple
from datetime import datetime, timedelta
from json import JSONDecoder
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.history.redact import mask
from console.history.requests.alters import ALTER_KEYS, NO_ANSWER, Change, changes

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
