"""A request's JSON as brokers log it (RequestConvertToJson), decoded into the few fields that are counted.

msgspec skips all other fields without making values of them. It is a C extension: executors need it installed, the zip
can't bring it.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError
from msgspec.json import Decoder

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
    """A request whose bodies may be of any form: what is of another form than is known here counts as empty. None
    where it is no whole JSON, or has neither principal nor API."""
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
    """Whether a client sent it to this broker: no replica, and no copy that the controller logs of what a broker
    forwards."""
    if request.is_forwarded is not False:
        return False
    asked = request.request
    if type(asked) is not Request:
        return True
    replica = asked.replica_state.replica_id if asked.replica_state is not None else asked.replica_id
    return replica is None or replica < 0


def has_error(json: bytes) -> bool:
    """Whether the JSON has any error code but 0, wherever it is."""
    # A literal is found many times faster than a pattern.
    return _LITERAL in json and _ANY_ERROR.search(json) is not None
