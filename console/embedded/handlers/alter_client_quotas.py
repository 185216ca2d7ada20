"""AlterClientQuotas (49), v0-1: sets and deletes quotas by entity (KIP-546; ClientQuotaControlManager).

Needs ALTER_CONFIGS on the cluster.

Version notes:
- v1: flexible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import quotas
from console.embedded import quotas as entities
from console.embedded.context import RequestContext
from console.embedded.refusals import CLUSTER_REFUSED
from console.embedded.state import MAX_RECORDS
from console.model.quota import QuotaEntity, QuotaValues

Parts = Mapping[str, str | None]


class _Result(NamedTuple):
    parts: Parts
    code: int = 0
    message: str | None = None


class _Wanted(NamedTuple):
    """One entry of the request. ops: quota key and value, None to delete it."""

    parts: Parts
    ops: tuple[tuple[str, float | None], ...]


async def handle(request: Any, context: RequestContext) -> Any:
    """Apply the entries, and return one result for each entity."""
    wanted = [
        _Wanted(
            entities.ordered_parts((part.entity_type, part.entity_name) for part in entry.entity),
            tuple((op.key, None if op.remove else op.value) for op in entry.ops),
        )
        for entry in request.entries
    ]
    if not context.allowed("ALTER_CONFIGS"):
        results = [_Result(item.parts, ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED) for item in wanted]
    else:
        results = await _applied(wanted, context, request.validate_only)
    schema = context.schema
    return context.answer(
        entries=tuple(
            schema.EntryData(
                error_code=result.code,
                error_message=result.message,
                entity=tuple(
                    schema.EntityData(entity_type=type_, entity_name=name) for type_, name in result.parts.items()
                ),
            )
            for result in results
        )
    )


_FINITE_FROM = (4, 4)
"""The first release that refuses NaN and infinity as values."""


async def _applied(wanted: list[_Wanted], context: RequestContext, validate_only: bool) -> list[_Result]:
    """Apply all entries as one change of the controller, or none if they need too many records.

    A repeated entity or key is an error; of a repeated entity the first entry is still applied.
    """
    results: dict[QuotaEntity, _Result] = {}
    changed: dict[QuotaEntity, quotas.Changes] = {}
    finite = context.cluster.release.number >= _FINITE_FROM
    for item in wanted:
        entity, keys = QuotaEntity.of(item.parts), [key for key, _ in item.ops]
        # The first entry stays in `changed`: Kafka reports the error of the second one for the entity, and applies the
        # first.
        if entity in results or len(set(keys)) < len(keys):
            message = quotas.ENTITY_TWICE.format(entity=entities.shown_parts(item.parts))
            results[entity] = _Result(item.parts, ErrorCode.invalid_request, message)
            continue
        problem = await entities.entity_problem(item.parts)
        try:
            changes = quotas.checked_quotas(dict(item.ops), item.parts, finite=finite) if problem is None else {}
        except quotas.BadValue as bad:
            problem, changes = str(bad), {}
        results[entity] = _Result(item.parts, ErrorCode.invalid_request if problem else 0, problem)
        changed[entity] = quotas.quota_records(changes, _limits(context, entity))
    # A controller writes at most MAX_RECORDS in one change; counted by key, not by entity.
    if sum(map(len, changed.values())) > MAX_RECORDS:
        return [_Result(item.parts, ErrorCode.policy_violation, quotas.TOO_MANY_QUOTAS) for item in wanted]
    if not validate_only:
        for entity, changes in changed.items():
            _apply(context, entity, changes)
    return list(results.values())


def _limits(context: RequestContext, entity: QuotaEntity) -> QuotaValues:
    return context.state.quotas.get(entity, {})


def _apply(context: RequestContext, entity: QuotaEntity, changes: quotas.Changes) -> None:
    if changes:
        context.state.alter_quota(entity, changes)
