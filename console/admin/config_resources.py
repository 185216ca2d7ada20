"""What has configs and is listed by no other API (KIP-1142)."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from console.admin.errors import BrokerError, failure
from console.admin.link import Link
from console.model.codes import ResourceType
from console.model.config import ConfigResource
from console.model.entity_types import BY_NUMBER

_FIRST, _SINCE = next(
    (ResourceType(number), each.listed.since)
    for number, each in BY_NUMBER.items()
    if each.listed is not None and each.listed.version == 0
)
"""The only type that version 0 lists, without saying so, and the release from which on it does."""


async def list_config_resources(link: Link, types: Iterable[ResourceType | int]) -> tuple[ConfigResource, ...]:
    """Return the resources of these types that have configs (KIP-1142), sorted.

    Before Kafka 4.1 brokers list one type only (KIP-1000), so other types give no resources.
    Raises Unsupported before Kafka 3.7, and other AdminErrors.
    """
    wanted = tuple(dict.fromkeys(map(ResourceType, types)))
    version = await link.require("list_config_resources", 0, _SINCE)
    if version == 0 and _FIRST not in wanted:
        return ()

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(kio.ListConfigResourcesRequest, resource_types=wanted)

    response = await link.call("list_config_resources", build)
    if response.error_code:
        raise BrokerError(failure(response.error_code))
    found = (
        ConfigResource(ResourceType(getattr(item, "resource_type", _FIRST)), item.resource_name)
        for item in response.config_resources
    )
    return tuple(sorted(each for each in found if each.is_cluster_default or each.type.entity.names.allows(each.name)))
