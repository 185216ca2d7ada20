"""Client quotas (KIP-546)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from console.admin.bulk import collector_off
from console.admin.error_codes import failure
from console.admin.errors import BadAnswer, BrokerError
from console.admin.link import Link
from console.model.failure import Failure
from console.model.quota import Match, QuotaEntity, QuotaFilter, QuotaValues

EVERYTHING = QuotaFilter()


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
        components = tuple(
            kio.ComponentData(entity_type=c.type, match_type=c.match, match=c.name if c.match == Match.EXACT else None)
            for c in wanted.components
        )
        return kio.DescribeClientQuotasRequest(components=components, strict=wanted.strict)

    raw = await link.call_raw("describe_client_quotas", ask)
    with collector_off():
        try:
            quotas = decode_quotas(raw.version, bytes(raw.body))
        except MalformedFrame as error:
            raise BadAnswer(Failure("BAD_ANSWER", str(error), "")) from error
    if isinstance(quotas, QuotaError):
        raise BrokerError(failure(quotas.code, quotas.message))
    return quotas
