"""Lines of a broker's request log (Kafka 2.8 to 4.x): where, when, and the request, decoded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple
from datetime import datetime, timedelta
from json import JSONDecoder
from typing import Any, NamedTuple

from console.history.redact import mask
from console.history.requests.alters import NO_ANSWER, Change, changes
from console.history.requests.forms import LOGGER, MESSAGE, At, is_old, taken, time_of
from console.history.requests.logged import INT_MAX, NOT_USUAL, Logged, decode, logged

# A logged request that changes something, as ALTER_REQUEST's values.

_OWN_PORT = re.compile(r":\d+-")
_PORT_AND_NUMBERS = re.compile(r"\d+-\d+(?:-\d+)?")
_OF_ANOTHER_FORM = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)

UNREAD = Change("cluster", "", ":unread", "set", None, False, NO_ANSWER)
"""Another client changed something, and what cannot be told."""

Row = tuple[Any, ...]
"""The columns of ALTER_REQUEST from start_ts to error_code: those of the request, then `Change`."""


def altered(text: str, end_ts: datetime) -> list[Row]:
    """The rows of a request's JSON; none of one that changes nothing, or that is no whole request
    (`requests` says which those are).

    Of one that changes something, and is of a form that is not known here, one row says so: `UNREAD`.
    """
    try:
        read = json.loads(text)
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
    """The client's address in the name of a connection; None where it is of another form.

    As Kafka names one (ServerConnectionId): ``10.0.0.1:9092-10.0.0.7:40000-1-0``, without the last number before Kafka
    4; addresses of IPv6 as they are.
    """
    own = _OWN_PORT.search(connection)
    host, _, rest = connection[own.end() :].rpartition(":") if own else ("", "", "")
    return host if host and _PORT_AND_NUMBERS.fullmatch(rest) else None


def _body(body: object) -> Mapping[str, Any]:
    """Where there is no answer (acks=0) the log has an empty text."""
    return body if isinstance(body, dict) else {}


# Lines of a request log, a block at a time. Most are laid out as by Kafka's own logging configuration,
# `[%d] %p %m (%c)%n`. Of others (carriage returns, more behind the message, what `forms` takes out of its wrappers) the
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


class Damaged(NamedTuple):
    """What may be written down of a line that can't be read. sha256: of its bytes, in hex; sample: masked."""

    byte_pos: int
    reason: str
    sha256: str
    sample: str


class Line(NamedTuple):
    """A request's line. second, millis: its own time; in UTC where the line has a zone, else without one; json: the
    request's, of which `request` is."""

    byte_pos: int
    second: datetime
    millis: int
    json: bytes
    request: Logged


def head_of(text: bytes, begin: int, end: int) -> tuple[bytes, At | None]:
    """What comes before the request of the line that stands there, and the second and milliseconds of the time in it; a
    line end, and None, where that is no request."""
    found = text.find(MESSAGE, begin, end)
    if found < 0:
        return b"\n", None
    return text[begin : found + len(MESSAGE)], time_of(text[begin:found])


def one_line(place: int, line: bytes) -> Line | Damaged | None:
    """A line by itself, however it is laid out; None where it is not the request logger's."""
    stripped = line.rstrip(b"\r")
    found = taken(stripped)
    if found is None:
        return damaged_line(place, line, NO_START) if stripped.endswith((LOGGER, LOGGER + b")")) else None
    rest, at = found.rest, found.at
    if at is None:
        return damaged_line(place, line, NO_TIME)
    json = rest.removesuffix(BEHIND)
    with suppress(*NOT_USUAL, UnicodeDecodeError):
        json.decode()
        return Line(place, *at, json, decode(json))
    if is_old(rest):
        return damaged_line(place, line, OLD)
    try:
        text = rest.decode()
    except UnicodeDecodeError:
        return damaged_line(place, line, NO_TEXT)
    try:
        _, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return damaged_line(place, line, NO_JSON if rest.endswith(b"}" + BEHIND) else NO_END)
    behind = text[end:].strip()
    if not text.startswith("{") or (behind and (LOGGER.decode() not in behind or MESSAGE.decode() in behind)):
        return damaged_line(place, line, NO_END)
    json = text[:end].encode()
    request = logged(json)
    if request is None:
        return damaged_line(place, line, NO_JSON)
    return Line(place, *at, json, request)


def clocks(start: int, text: bytes) -> Iterator[tuple[int, datetime]]:
    """(byte, time) of the request lines in a block of lines, in UTC where the line has a zone; of what they ask nothing
    is read."""
    place = start
    for line in text.split(b"\n"):
        if (found := taken(line)) is not None and found.at is not None:
            second, millis = found.at
            yield place, second.replace(microsecond=millis * 1000)
        place += len(line) + 1


def damaged_line(place: int, line: bytes, reason: str) -> Damaged:
    """What may be written down of it."""
    return Damaged(place, reason, hashlib.sha256(line).hexdigest(), mask(line[:1000].decode("utf-8", "replace")))
