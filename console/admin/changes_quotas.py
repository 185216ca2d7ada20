"""AlterClientQuotas (KIP-546)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from console.admin.changes_delivery import Answer, deliver, refused
from console.admin.errors import BrokerError
from console.admin.link import Link
from console.admin.quotas import describe_quotas, describe_quotas_of
from console.admin.routing import CONTROLLER
from console.model.changes import AlterQuotas, Outcome, Status
from console.model.failure import Failure
from console.model.quota import QuotaEntity, QuotaValues, filter_for_entity

_FEW = 16


async def alter_quotas(link: Link, request: AlterQuotas, *, validate_only: bool) -> tuple[Outcome, ...]:
    """One outcome for each entity. Raises AdminError where nothing was sent."""
    await link.require("alter_client_quotas", 0, "2.6", CONTROLLER)
    outcomes = {
        entity: outcome for entity, values in request.ops.items() if (outcome := _refusal(entity, values)) is not None
    }

    async def ask(entities: Sequence[QuotaEntity]) -> Mapping[QuotaEntity, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.AlterClientQuotasRequest(
                entries=tuple(_entry(kio, entity, request.ops[entity]) for entity in entities),
                validate_only=validate_only,
            )

        response = await link.call("alter_client_quotas", build, to=CONTROLLER, change=not validate_only)
        return {
            QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): (
                entry.error_code,
                entry.error_message,
            )
            for entry in response.entries
        }

    async def look(entities: Sequence[QuotaEntity]) -> Mapping[QuotaEntity, Status]:
        if len(entities) <= _FEW:
            known = await _those_of(link, entities)
        else:
            known = await describe_quotas(link)
        return {entity: verdict(request.ops[entity], known.get(entity, {})) for entity in entities}

    sound = [entity for entity in request.ops if entity not in outcomes]
    outcomes |= await deliver(sound, ask, look, validate_only=validate_only)
    return tuple(outcomes[entity] for entity in request.ops)


async def _those_of(link: Link, entities: Sequence[QuotaEntity]) -> dict[QuotaEntity, QuotaValues]:
    known: dict[QuotaEntity, QuotaValues] = {}
    for part in await describe_quotas_of(link, [filter_for_entity(entity) for entity in entities]):
        if isinstance(part, Failure):
            raise BrokerError(part)
        known |= part
    return known


def verdict(wanted: Mapping[str, float | None], seen: Mapping[str, float]) -> Status:
    """Whether an entity's values are as wanted."""
    return Status.APPLIED if all(seen.get(key) == value for key, value in wanted.items()) else Status.NOT_APPLIED


def _refusal(entity: QuotaEntity, values: Mapping[str, float | None]) -> Outcome | None:
    """Brokers take NaN and infinity, even in a check, and then limit nothing or everything."""
    for key, value in values.items():
        if value is not None and not math.isfinite(value):
            return refused(entity, "INVALID_QUOTA", f"{key} can't be {value}", "Give a number greater than 0.")
    if len({part.type for part in entity.parts}) < len(entity.parts):
        return refused(entity, "INVALID_QUOTA", "the entity has two components of one type", "Name each type once.")
    return None


def _entry(kio: ModuleType, entity: QuotaEntity, values: Mapping[str, float | None]) -> Any:
    return kio.EntryData(
        entity=tuple(kio.EntityData(entity_type=part.type, entity_name=part.name) for part in entity.parts),
        ops=tuple(
            kio.OpData(key=key, value=0.0 if value is None else float(value), remove=value is None)
            for key, value in values.items()
        ),
    )
