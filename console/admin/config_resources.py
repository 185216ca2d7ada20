"""What has configs and is listed by no other API (KIP-1142)."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from console.admin.configs import named_broker
from console.admin.errors import BrokerError, failure
from console.admin.link import Link
from console.model.codes import BROKER, BROKER_LOGGER, CLIENT_METRICS, ResourceType
from console.model.config import ConfigResource


async def list_config_resources(link: Link, types: Iterable[ResourceType | int]) -> tuple[ConfigResource, ...]:
    """Return the resources of these types that have configs (KIP-1142), sorted.

    Before Kafka 4.1 brokers list client metrics only (KIP-714), so other types give no resources.
    Raises Unsupported before Kafka 3.7, and other AdminErrors.
    """
    wanted = tuple(dict.fromkeys(map(ResourceType, types)))
    version = await link.require("list_config_resources", 0, "3.7")
    if version == 0 and CLIENT_METRICS not in wanted:
        return ()

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(kio.ListConfigResourcesRequest, resource_types=wanted)

    response = await link.call("list_config_resources", build)
    if response.error_code:
        raise BrokerError(failure(response.error_code))
    found = (
        ConfigResource(ResourceType(getattr(item, "resource_type", CLIENT_METRICS)), item.resource_name)
        for item in response.config_resources
    )
    return tuple(sorted(each for each in found if each.type not in (BROKER, BROKER_LOGGER) or _names_broker(each)))


def _names_broker(resource: ConfigResource) -> bool:
    """Return whether a name from a broker is a broker's id, or that of the cluster default."""
    return resource.is_cluster_default or named_broker(resource) is not None
