"""Client quotas: changes and description."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import quotas
from console.embedded.answers import WireFormat, long_answer
from console.embedded.context import RequestContext
from console.embedded.quotas import BadFilter, Component, parsed_filter, quota_candidates
from console.embedded.refusals import CLUSTER_REFUSED, DONE, Refusal
from console.embedded.state import MAX_RECORDS
from console.model.quota import QuotaEntity, QuotaValues

Parts = Mapping[str, str | None]
_Result = tuple[Parts, Refusal]


class _Wanted(NamedTuple):
    """One entry of a request: an entity, and the changes of its quotas."""

    parts: Parts
    ops: tuple[tuple[str, float | None], ...]
    """Pairs of a quota key and its new value; None to delete the key."""


async def alter_client_quotas(request: Any, context: RequestContext) -> Any:
    """AlterClientQuotas (49), v0-1: sets and deletes quotas by entity (KIP-546; ClientQuotaControlManager).

    Apply the entries, and return one result for each entity.

    Needs ALTER_CONFIGS on the cluster.

    Version notes:
    - v1: flexible.
    """
    wanted = [
        _Wanted(
            quotas.ordered_parts((part.entity_type, part.entity_name) for part in entry.entity),
            tuple((op.key, None if op.remove else op.value) for op in entry.ops),
        )
        for entry in request.entries
    ]
    if not context.allowed("ALTER_CONFIGS"):
        results = [(item.parts, Refusal(ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED)) for item in wanted]
    else:
        results = await _applied(wanted, context, request.validate_only)
    return context.answer(
        entries=tuple(
            {
                "error_code": refusal.code,
                "error_message": refusal.message,
                "entity": tuple({"entity_type": type_, "entity_name": name} for type_, name in parts.items()),
            }
            for parts, refusal in results
        )
    )


_FINITE_FROM = (4, 4)
"""The first release that refuses NaN and infinity as values of quotas."""


async def _applied(wanted: list[_Wanted], context: RequestContext, validate_only: bool) -> list[_Result]:
    """Apply all entries as one change of the controller, or none of them if they need more than `MAX_RECORDS` (10,000)
    records. Return the result for each entity. A repeated entity or key is an error, but, as in Kafka, the first
    entry of a repeated entity is applied nevertheless.
    """
    results: dict[QuotaEntity, _Result] = {}
    changed: dict[QuotaEntity, quotas.Changes] = {}
    finite = context.cluster.release.number >= _FINITE_FROM
    for item in wanted:
        entity, keys = QuotaEntity.of(item.parts), [key for key, _ in item.ops]
        # Leave the first entry in `changed`: Kafka reports the error of the second entry for the entity, but applies
        # the first one.
        if entity in results or len(set(keys)) < len(keys):
            message = quotas.ENTITY_TWICE.format(entity=quotas.shown_parts(item.parts))
            results[entity] = item.parts, Refusal(ErrorCode.invalid_request, message)
            continue
        problem = await quotas.entity_problem(item.parts)
        try:
            changes = quotas.checked_quotas(dict(item.ops), item.parts, finite=finite) if problem is None else {}
        except quotas.BadValue as bad:
            problem, changes = str(bad), {}
        results[entity] = item.parts, Refusal(ErrorCode.invalid_request, problem) if problem else DONE
        changed[entity] = quotas.quota_records(changes, context.state.quotas.get(entity, {}))
    # Kafka's controller writes at most MAX_RECORDS in one change; each key of an entity is a record.
    if sum(map(len, changed.values())) > MAX_RECORDS:
        refusal = Refusal(ErrorCode.policy_violation, quotas.TOO_MANY_QUOTAS)
        return [(item.parts, refusal) for item in wanted]
    if not validate_only:
        for entity, changes in changed.items():
            if changes:
                context.state.alter_quota(entity, changes)
    return list(results.values())


async def describe_client_quotas(request: Any, context: RequestContext) -> Any:
    """DescribeClientQuotas (48), v0-1: the quotas of the entities that match a filter (KIP-546;
    ClientQuotasImage.describe).

    Return the quotas of the matching entities, or one error for the whole filter.

    Needs DESCRIBE_CONFIGS on the cluster. v2 is a proposal's (`batched_describes`).

    Version notes:
    - v1: flexible.
    """
    if not context.allowed("DESCRIBE_CONFIGS"):
        return context.answer(error_code=ErrorCode.cluster_authorization_failed)
    components = [Component(item.entity_type, item.match_type, item.match) for item in request.components]
    try:
        wanted = parsed_filter(components, request.strict)
    except BadFilter as bad:
        return context.answer(error_code=bad.code, error_message=bad.message)
    found = (
        (entity, values) for entity, values in quota_candidates(context.view.quotas, wanted) if wanted.finds(entity)
    )
    return await long_answer(
        context.schema.DescribeClientQuotasResponse,
        context.answer(error_message="", entries=()),
        encoded_entries(context.version, found, client_first=True),
    )


FLEXIBLE_FROM = 1
_KEPT = 10_000
"""Maximum number of entries in each cache."""
_DOUBLE = struct.Struct(">d")


def encoded_entries(
    version: int, entries: Iterable[tuple[QuotaEntity, QuotaValues]], *, client_first: bool
) -> Iterator[bytes]:
    """Yield each entity with its quotas as an encoded element of the response's array.

    Args:
        version: the version of the response, which is flexible from FLEXIBLE_FROM on.
        client_first: whether client-id comes before user, as in brokers' responses.
    """
    encode = _Encoder(version >= FLEXIBLE_FROM, client_first)
    return (encode(entity, values) for entity, values in entries)


class _Encoder:
    """An encoder of entities with their quotas that caches repeated parts: a million entities have few different
    components and combinations of quotas.
    """

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
            # Store the quotas too, so that no other object gets their id() while the entry is used.
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
