"""Entries of DescribeClientQuotas as bytes, quickly: a million of them are read with a few sets of limits."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_TIME, long_answer, varint
from console.embedded.context import RequestContext
from console.embedded.quotas import BadFilter, Component, parsed_filter, quota_candidates
from console.model.quota import QuotaEntity, QuotaPart, QuotaValues

FLEXIBLE_FROM = 1
_KEPT = 10_000
_DOUBLE = struct.Struct(">d")


def encoded_entries(
    version: int, entries: Iterable[tuple[QuotaEntity, QuotaValues]], *, client_first: bool
) -> Iterator[bytes]:
    """Each entity with its limits as one element of the response's array."""
    encode = _Encoder(version >= FLEXIBLE_FROM, client_first)
    return (encode(entity, values) for entity, values in entries)


class _Encoder:
    """What was encoded before is kept: parts by what they are, limits by which they are."""

    def __init__(self, flexible: bool, client_first: bool) -> None:
        self._flexible = flexible
        self._end = b"\x00" if flexible else b""
        self._counts = tuple(self._count(number) for number in range(4))
        self._step = -1 if client_first else 1
        self._parts: dict[QuotaPart, bytes] = {}
        self._values: dict[int, tuple[QuotaValues, bytes]] = {}

    def __call__(self, entity: QuotaEntity, values: QuotaValues) -> bytes:
        parts = self._parts
        known = self._values.get(id(values))
        if known is None:
            if len(self._values) >= _KEPT:
                self._values.clear()
            # The limits are kept beside, so that no others get their id meanwhile.
            known = self._values[id(values)] = values, self._tail(values)
        if len(parts) >= _KEPT:
            parts.clear()
        found = [parts.get(part) or self._part(part) for part in entity[:: self._step]]
        return b"".join((self._counts[len(found)], *found, known[1]))

    def _part(self, part: QuotaPart) -> bytes:
        encoded = self._parts[part] = b"".join((self._text(part.type), self._text(part.name), self._end))
        return encoded

    def _tail(self, values: QuotaValues) -> bytes:
        pairs = ((self._text(key), _DOUBLE.pack(value), self._end) for key, value in values.items())
        return b"".join((self._count(len(values)), *(piece for pair in pairs for piece in pair), self._end))

    def _count(self, number: int) -> bytes:
        return varint(number + 1) if self._flexible else struct.pack(">i", number)

    def _text(self, text: str | None) -> bytes:
        if text is None:
            return b"\x00" if self._flexible else b"\xff\xff"
        data = text.encode()
        return (varint(len(data) + 1) if self._flexible else struct.pack(">h", len(data))) + data


# DescribeClientQuotas: the limits of the entities that a filter finds (KIP-546; ClientQuotasImage.describe).


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-1. Needs DESCRIBE_CONFIGS on the cluster."""
    if not context.allowed("DESCRIBE_CONFIGS"):
        return _answer(context, ErrorCode.cluster_authorization_failed, None, None)
    components = [Component(item.entity_type, item.match_type, item.match) for item in request.components]
    release = context.cluster.release
    try:
        wanted = parsed_filter(components, request.strict, release)
    except BadFilter as bad:
        return _answer(context, bad.code, bad.message, None)
    found = (
        (entity, values) for entity, values in quota_candidates(context.view.quotas, wanted) if wanted.finds(entity)
    )
    return await long_answer(
        context.schema.DescribeClientQuotasResponse,
        _answer(context, 0, "", ()),
        encoded_entries(context.version, found, client_first=release.kraft),
    )


def _answer(context: RequestContext, code: int, message: str | None, entries: tuple[()] | None) -> Any:
    return context.schema.DescribeClientQuotasResponse(
        throttle_time=NO_TIME, error_code=code, error_message=message, entries=entries
    )
