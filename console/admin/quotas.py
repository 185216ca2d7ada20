"""Client quotas (KIP-546)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from console.admin.bulk import collector_off
from console.admin.error_codes import failure
from console.admin.errors import BadAnswer, BrokerError, Unsupported
from console.admin.link import Link
from console.model.failure import Failure
from console.model.quota import Match, QuotaEntity, QuotaFilter, QuotaValues

EVERYTHING = QuotaFilter()
BATCHED = 2
"""The version of DescribeClientQuotas that takes many filters: a proposal's, which no released Kafka has."""


async def describe_quotas(
    link: Link,
    filter: QuotaFilter | None = None,
) -> dict[QuotaEntity, QuotaValues]:
    """The quotas of all entities, or of those that the filter finds.

    Raises BrokerError where the broker refuses the filter or the principal, Unsupported before Kafka 2.6, and other
    AdminErrors.
    """
    from console.wire.frames import MalformedFrame
    from console.wire.quota_decoder import QuotaError, decode_quotas

    await link.require("describe_client_quotas", 0, "2.6")
    wanted = filter or EVERYTHING

    def ask(kio: ModuleType) -> Any:
        return kio.DescribeClientQuotasRequest(components=_components(kio, wanted), strict=wanted.strict)

    raw = await link.call_raw("describe_client_quotas", ask)
    with collector_off():
        try:
            quotas = decode_quotas(raw.version, bytes(raw.body))
        except MalformedFrame as error:
            raise BadAnswer(Failure("BAD_ANSWER", str(error), "")) from error
    if isinstance(quotas, QuotaError):
        raise BrokerError(failure(quotas.code, quotas.message))
    return quotas


async def describe_quotas_of(
    link: Link, filters: Sequence[QuotaFilter], *, batched: bool = True
) -> list[dict[QuotaEntity, QuotaValues] | Failure]:
    """What each filter finds, or why it can't be told, in the order of the filters. batched: False for what finds very
    many: kio decodes a batch in one piece, and no other thread gets on meanwhile.

    One request (one for the strict ones, one for the others) where the broker speaks DescribeClientQuotas of version 2;
    else one for each filter, all under way at once. Raises AdminError where the cluster is out of reach, and
    Unsupported before Kafka 2.6.
    """
    if batched and len(filters) > 1 and await link.proposes("describe_client_quotas", BATCHED):
        try:
            return await _in_batches(link, filters)
        except Unsupported:
            pass  # another broker answers by now, and it does not
    await link.require("describe_client_quotas", 0, "2.6")

    async def one(wanted: QuotaFilter) -> dict[QuotaEntity, QuotaValues] | Failure:
        try:
            return await describe_quotas(link, wanted)
        except BrokerError as error:
            return error.failure

    return await asyncio.gather(*map(one, filters))


async def _in_batches(link: Link, filters: Sequence[QuotaFilter]) -> list[dict[QuotaEntity, QuotaValues] | Failure]:
    """`strict` is for all filters of a request."""
    kinds = [[wanted for wanted in filters if wanted.strict is strict] for strict in (True, False)]
    results = await asyncio.gather(*(_batched(link, kind) for kind in kinds if kind))
    strict, others = iter(results[0] if kinds[0] else ()), iter(results[-1])
    return [next(strict if wanted.strict else others) for wanted in filters]


async def _batched(link: Link, filters: Sequence[QuotaFilter]) -> list[dict[QuotaEntity, QuotaValues] | Failure]:
    def ask(schema: ModuleType) -> Any:
        return schema.DescribeClientQuotasRequest(
            strict=filters[0].strict,
            filters=tuple(
                schema.DescribeClientQuotasFilter(components=_components(schema, wanted)) for wanted in filters
            ),
        )

    response = await link.call("describe_client_quotas", ask, proposed=BATCHED)
    if len(response.filter_results) != len(filters):
        raise BadAnswer(Failure("BAD_ANSWER", f"{len(response.filter_results)} results for {len(filters)} filters", ""))
    return [
        failure(result.error_code, result.error_message) if result.error_code else _entities(result.entries or ())
        for result in response.filter_results
    ]


def _components(schema: ModuleType, wanted: QuotaFilter) -> tuple[Any, ...]:
    return tuple(
        schema.ComponentData(entity_type=c.type, match_type=c.match, match=c.name if c.match == Match.EXACT else None)
        for c in wanted.components
    )


def _entities(entries: Iterable[Any]) -> dict[QuotaEntity, QuotaValues]:
    return {
        QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): {
            value.key: value.value for value in entry.values
        }
        for entry in entries
    }
