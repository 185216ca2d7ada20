"""Client quotas (KIP-546): reading them, with many filters in one request if the broker supports that; and changing
them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from console.admin.delivery import Answer, Sender, Senders, applied_if, refused
from console.admin.errors import BadAnswer, BrokerError, Unsupported, failure
from console.admin.gc_pause import gc_paused
from console.admin.halving import each_of
from console.admin.link import Link, aside
from console.model.changes import AlterQuotas, Outcome, Status
from console.model.failure import Failure
from console.model.quota import Match, QuotaEntity, QuotaFilter, QuotaValues, filter_for_entity
from console.wire.fields import Fields

EVERYTHING = QuotaFilter()
BATCHED = 2
"""The version of DescribeClientQuotas that takes many filters. Only a proposal defines it; no Kafka release has it."""


class _LastAnswer(NamedTuple):
    """The last response with all quotas on a link, decoded."""

    known_by: tuple[int, int, int]
    """The version of the API, and the size in bytes and the hash of the response body, by which an equal response is
    recognized.
    """
    quotas: dict[QuotaEntity, QuotaValues]


_answers: WeakKeyDictionary[Link, _LastAnswer] = WeakKeyDictionary()


async def describe_quotas(
    link: Link,
    filter: QuotaFilter | None = None,
) -> dict[QuotaEntity, QuotaValues]:
    """Return entity -> its quotas, for all entities or those that match the filter. If nothing has changed, return the
    same object as before.

    Raises BrokerError if the broker refuses the filter or the principal, Unsupported before Kafka 2.6, and other
    AdminErrors.
    """
    await link.require("describe_client_quotas", 0, "2.6")
    wanted = filter or EVERYTHING
    fields = {"components": _components(wanted), "strict": wanted.strict}
    raw = await link.call_raw("describe_client_quotas", fields, prepare=_import_decoder)
    from console.wire.bounds_check import MalformedFrame
    from console.wire.quota_decoder import QuotaError, decode_quotas

    known_by = raw.version, len(raw.body), hash(raw.body)
    known = _answers.get(link) if wanted == EVERYTHING else None
    if known is not None and known.known_by == known_by:
        return known.quotas  # a second copy would take the same memory again for a moment
    with gc_paused():
        try:
            quotas = await aside(len(raw.body), lambda: decode_quotas(raw.version, raw.body))
        except MalformedFrame as error:
            raise BadAnswer.of(str(error)) from error
    if isinstance(quotas, QuotaError):
        raise BrokerError(failure(quotas.code, quotas.message))
    if wanted == EVERYTHING:
        _answers[link] = _LastAnswer(known_by, quotas)
    return quotas


def _import_decoder(_api: str, _version: int) -> None:
    import console.wire.quota_decoder  # noqa: F401

    asyncio.get_running_loop().run_in_executor(None, int)  # starts the thread that decodes a long answer


async def describe_quotas_of(
    link: Link, filters: Sequence[QuotaFilter], *, batched: bool = True
) -> list[dict[QuotaEntity, QuotaValues] | Failure]:
    """Return, for each filter in order, entity -> quotas for the entities that match it, or the failure to read them.

    If the broker supports DescribeClientQuotas v2, send one request for the strict filters and one for the others;
    otherwise send one for each filter, concurrently. Raises AdminError if the cluster is unreachable, and Unsupported
    before Kafka 2.6.

    Args:
        batched: whether v2 may be used. False for filters with very many matches, because kio decodes v2 in one call,
            which blocks all other threads.
    """
    if batched and len(filters) > 1 and await link.proposes("describe_client_quotas", BATCHED):
        try:
            return await _in_batches(link, filters)
        except Unsupported:
            pass  # another broker answered, which lacks this version
    await link.require("describe_client_quotas", 0, "2.6")

    async def one(wanted: QuotaFilter) -> dict[QuotaEntity, QuotaValues] | Failure:
        try:
            return await describe_quotas(link, wanted)
        except BrokerError as error:
            return error.failure

    return await asyncio.gather(*map(one, filters))


async def _in_batches(link: Link, filters: Sequence[QuotaFilter]) -> list[dict[QuotaEntity, QuotaValues] | Failure]:
    """Return, for each filter in order, its matches or its failure, by two requests: `strict` applies to all filters of
    a request.
    """
    kinds = [[wanted for wanted in filters if wanted.strict is strict] for strict in (True, False)]
    results = await asyncio.gather(*(each_of(kind, partial(_batched, link)) for kind in kinds if kind))
    strict, others = iter(results[0] if kinds[0] else ()), iter(results[-1])
    return [next(strict if wanted.strict else others) for wanted in filters]


async def _batched(link: Link, filters: Sequence[QuotaFilter]) -> list[dict[QuotaEntity, QuotaValues] | Failure]:
    fields = {"strict": filters[0].strict, "filters": [{"components": _components(wanted)} for wanted in filters]}
    response = await link.call("describe_client_quotas", fields, proposed=BATCHED)
    if len(response.filter_results) != len(filters):
        raise BadAnswer.of(f"{len(response.filter_results)} results for {len(filters)} filters")
    return [
        failure(result.error_code, result.error_message) if result.error_code else _entities_of(result.entries or ())
        for result in response.filter_results
    ]


def _components(wanted: QuotaFilter) -> list[Fields]:
    return [
        {"entity_type": c.type, "match_type": c.match, "match": c.name if c.match == Match.EXACT else None}
        for c in wanted.components
    ]


def _entities_of(entries: Iterable[Any]) -> dict[QuotaEntity, QuotaValues]:
    return {
        QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): {
            value.key: value.value for value in entry.values
        }
        for entry in entries
    }


# Changing quotas (AlterClientQuotas).

_FEW = 16


class QuotaSender(Sender[AlterQuotas, QuotaEntity]):
    """Sends AlterClientQuotas."""

    of = "ops"
    needs = "2.6"
    has_check = True

    async def refused(self) -> dict[QuotaEntity, Outcome]:
        """Return entity -> the refusal of values that brokers would accept although they limit nothing or
        everything.
        """
        found = {entity: _refusal(entity, values) for entity, values in self.request.ops.items()}
        return {entity: outcome for entity, outcome in found.items() if outcome is not None}

    def fields(self, targets: Sequence[QuotaEntity]) -> Fields:
        """Return the fields of the request with the changes of these entities."""
        entries = [_altered_entry(entity, self.request.ops[entity]) for entity in targets]
        return {"entries": entries, "validate_only": self.validate_only}

    def answers(self, response: Any, _targets: Sequence[QuotaEntity]) -> dict[QuotaEntity, Answer]:
        """Return entity -> the broker's result."""
        return {
            QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): (
                entry.error_code,
                entry.error_message,
            )
            for entry in response.entries
        }

    async def describe_again(self, targets: Sequence[QuotaEntity]) -> dict[QuotaEntity, Status]:
        """Return entity -> whether its quotas are as requested. For more than `_FEW` (16) entities, read all quotas of
        the cluster in one request.
        """
        few = len(targets) <= _FEW
        known = await _quotas_of(self.link, targets) if few else await describe_quotas(self.link)
        return {entity: quota_verdict(self.request.ops[entity], known.get(entity, {})) for entity in targets}


SENDERS: Senders = {AlterQuotas: QuotaSender}


async def _quotas_of(link: Link, entities: Sequence[QuotaEntity]) -> dict[QuotaEntity, QuotaValues]:
    known: dict[QuotaEntity, QuotaValues] = {}
    for part in await describe_quotas_of(link, [filter_for_entity(entity) for entity in entities]):
        if isinstance(part, Failure):
            raise BrokerError(part)
        known |= part
    return known


def quota_verdict(wanted: Mapping[str, float | None], seen: Mapping[str, float]) -> Status:
    """Return APPLIED if an entity's quotas are as requested, otherwise NOT_APPLIED. wanted: key -> its value; None for
    a removed key.
    """
    return applied_if(all(seen.get(key) == value for key, value in wanted.items()))


def _refusal(entity: QuotaEntity, values: Mapping[str, float | None]) -> Outcome | None:
    """Return the outcome that refuses values that kac does not send; None if it sends them. Brokers accept NaN and
    infinity, and then limit nothing or everything. An entity with two components of the same type is refused, too.
    """
    for key, value in values.items():
        if value is not None and not math.isfinite(value):
            return refused(entity, "INVALID_QUOTA", f"{key} can't be {value}", "Give a number greater than 0.")
    if len(set(entity.types)) < len(entity.types):
        return refused(entity, "INVALID_QUOTA", "the entity has two components of one type", "Name each type once.")
    return None


def _altered_entry(entity: QuotaEntity, values: Mapping[str, float | None]) -> Fields:
    return {
        "entity": [{"entity_type": part.type, "entity_name": part.name} for part in entity.parts],
        "ops": [
            {"key": key, "value": 0.0 if value is None else float(value), "remove": value is None}
            for key, value in values.items()
        ],
    }
