"""IncrementalAlterConfigs: set, delete, append to and subtract from configs (KIP-339)."""

from __future__ import annotations

from typing import Any

from console.embedded.answers import NO_TIME
from console.embedded.config_alter import KraftAltering, ZooKeeperAltering
from console.embedded.config_changes import ConfigChange, Operation
from console.embedded.context import RequestContext
from console.model.codes import AlterOp, ResourceType
from console.model.config import ConfigResource


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-1."""
    changes = [
        ConfigChange(
            ConfigResource(ResourceType(item.resource_type), item.resource_name),
            tuple(Operation(config.name, AlterOp(config.config_operation), config.value) for config in item.configs),
        )
        for item in request.resources
    ]
    altering = KraftAltering if context.cluster.release.kraft else ZooKeeperAltering
    outcomes = altering(context, validate_only=request.validate_only).alter(changes)
    schema = context.schema
    return schema.IncrementalAlterConfigsResponse(
        throttle_time=NO_TIME,
        responses=tuple(
            schema.AlterConfigsResourceResponse(
                error_code=code, error_message=message, resource_type=resource.type, resource_name=resource.name
            )
            for resource, code, message in outcomes
        ),
    )
