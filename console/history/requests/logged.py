"""A logged request that changes something, as ALTER_REQUEST's values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import astuple
from datetime import datetime, timedelta
from typing import Any

from .alters import NO_ANSWER, Change, changes

_CONNECTION = re.compile(r".*?:\d+-(?P<host>.+):\d+-\d+(?:-\d+)?")
"""As Kafka names a connection (ServerConnectionId): ``10.0.0.1:9092-10.0.0.7:40000-1-0``, addresses of IPv6 as they
are."""

_OF_ANOTHER_FORM = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)

UNREAD = Change("cluster", "", ":unread", "set", None, False, NO_ANSWER)
"""Another client changed something, and what cannot be told."""

Row = tuple[Any, ...]
"""start_ts, api, correlation_id, client_id, client_host, principal, is_forwarded, validate_only, then `Change`."""


def altered(text: str, end_ts: datetime) -> list[Row]:
    """The rows of a request's JSON; none of one that changes nothing, or that is no whole request (which is told of
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
