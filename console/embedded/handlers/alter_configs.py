"""AlterConfigs: put configs in the place of all overrides that a resource has (KIP-133 as it was built)."""

from __future__ import annotations

from typing import Any

from console.embedded.answers import NO_TIME
from console.embedded.config_alter import KraftAltering, ZooKeeperAltering
from console.embedded.config_changes import ConfigChange, Operation
from console.embedded.context import RequestContext
from console.model.codes import SET, ResourceType
from console.model.config import ConfigResource


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-2. A request that names a resource twice is never answered, as real brokers never do."""
    changes = [
        ConfigChange(
            ConfigResource(ResourceType(item.resource_type), item.resource_name),
            tuple(Operation(config.name, SET, config.value) for config in item.configs),
            replaces=True,
        )
        for item in request.resources
    ]
    if len({change.resource for change in changes}) < len(changes):
        return None
    altering = KraftAltering if context.cluster.release.kraft else ZooKeeperAltering
    outcomes = altering(context, validate_only=request.validate_only).alter(changes)
    schema = context.schema
    return schema.AlterConfigsResponse(
        throttle_time=NO_TIME,
        responses=tuple(
            schema.AlterConfigsResourceResponse(
                error_code=code, error_message=message, resource_type=resource.type, resource_name=resource.name
            )
            for resource, code, message in outcomes
        ),
    )
