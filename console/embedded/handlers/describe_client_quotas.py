"""DescribeClientQuotas (48), v0-1: the quotas of the entities that match a filter (KIP-546;
ClientQuotasImage.describe).

Needs DESCRIBE_CONFIGS on the cluster. v2 is a proposal's (`batched_describes`).

Version notes:
- v1: flexible.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import WireFormat, long_answer
from console.embedded.context import RequestContext
from console.embedded.quotas import BadFilter, Component, parsed_filter, quota_candidates
from console.model.quota import QuotaEntity, QuotaValues


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the quotas of the matching entities, or one error for the whole filter."""
    if not context.allowed("DESCRIBE_CONFIGS"):
        return _answer(context, ErrorCode.cluster_authorization_failed, None, None)
    components = [Component(item.entity_type, item.match_type, item.match) for item in request.components]
    try:
        wanted = parsed_filter(components, request.strict)
    except BadFilter as bad:
        return _answer(context, bad.code, bad.message, None)
    found = (
        (entity, values) for entity, values in quota_candidates(context.view.quotas, wanted) if wanted.finds(entity)
    )
    return await long_answer(
        context.schema.DescribeClientQuotasResponse,
        _answer(context, 0, "", ()),
        encoded_entries(context.version, found, client_first=True),
    )


def _answer(context: RequestContext, code: int, message: str | None, entries: tuple[()] | None) -> Any:
    return context.answer(error_code=code, error_message=message, entries=entries)


FLEXIBLE_FROM = 1
_KEPT = 10_000
"""Most entries of each cache."""
_DOUBLE = struct.Struct(">d")


def encoded_entries(
    version: int, entries: Iterable[tuple[QuotaEntity, QuotaValues]], *, client_first: bool
) -> Iterator[bytes]:
    """Return each entity with its quotas as an encoded element of the response's array, lazily.

    Args:
        version: of the response, from FLEXIBLE_FROM on in the flexible format.
        client_first: whether client-id stands before user, as brokers write it.
    """
    encode = _Encoder(version >= FLEXIBLE_FROM, client_first)
    return (encode(entity, values) for entity, values in entries)


class _Encoder:
    """Encodes entries, and caches what repeats: a million entities have few components and few sets of quotas."""

    def __init__(self, flexible: bool, client_first: bool) -> None:
        self._form = WireFormat(flexible)
        self._lengths = tuple(map(self._form.length, range(4)))
        self._step = -1 if client_first else 1
        self._parts: dict[tuple[str, str | None], bytes] = {}
        self._values: dict[int, tuple[QuotaValues, bytes]] = {}

    def __call__(self, entity: QuotaEntity, values: QuotaValues) -> bytes:
        parts = self._parts
        known = self._values.get(id(values))
        if known is None:
            if len(self._values) >= _KEPT:
                self._values.clear()
            # The quotas are kept too, so that their id() stays theirs.
            known = self._values[id(values)] = values, self._tail(values)
        if len(parts) >= _KEPT:
            parts.clear()
        named = zip(entity.types, entity[1::2], strict=True)
        found = [parts.get(part) or self._part(*part) for part in named][:: self._step]
        return b"".join((self._lengths[len(found)], *found, known[1]))

    def _part(self, type_: str, name: str | None) -> bytes:
        form = self._form
        encoded = self._parts[type_, name] = form.string(type_) + form.string(name) + form.end
        return encoded

    def _tail(self, values: QuotaValues) -> bytes:
        form = self._form
        pairs = (form.string(key) + _DOUBLE.pack(value) + form.end for key, value in values.items())
        return b"".join((form.length(len(values)), *pairs, form.end))
