"""AlterConfigs (33), v0-2: replaces all overrides of each resource (KIP-133 as Kafka has it).

A key that the request leaves out is deleted, a sensitive one too.

Version notes:
- v2: flexible.
"""

from __future__ import annotations

from typing import Any

from console.embedded.config_alter import altered_results
from console.embedded.config_changes import ConfigChange, Operation
from console.embedded.context import RequestContext
from console.model.codes import SET, ResourceType
from console.model.config import ConfigResource


async def handle(request: Any, context: RequestContext) -> Any:
    """Replace the overrides of each resource. As by real brokers, a request that repeats a resource is never
    answered."""
    changes = [
        ConfigChange(
            ConfigResource(ResourceType(item.resource_type), item.resource_name),
            tuple(Operation(config.name, SET, config.value) for config in item.configs),
            replaces=True,
        )
        for item in request.resources
    ]
    # A broker fails to collect the changes by resource, and again when it builds the error's answer (measured on 4.3).
    if len({change.resource for change in changes}) < len(changes):
        return None
    return context.answer(responses=altered_results(context, changes, validate_only=request.validate_only))
